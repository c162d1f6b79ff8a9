package input

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"almanac/internal/certificate"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/recurrence"
)

// fixedRules are the rules of fields that no configuration changes. Hidden are those in place of which people
// paste a connection string.
var fixedRules = map[string]fields.Rule{
	"actionType":     {Code: fields.Unsupported, Allowed: "Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic", Valid: func(s string) bool { return job.ActionType(s).Kind() != "" }},
	"method":         {Code: fields.Unsupported, Allowed: "GET, PUT, POST, PATCH, DELETE, HEAD or OPTIONS", Valid: job.IsMethod},
	"uri":            {Allowed: "an absolute http or https URL"}, // the rest is for request.CheckURI
	"timeZone":       {Allowed: job.AllowedTimeZones, Valid: func(name string) bool { return locate(name) != nil }},
	"utcTime":        timeIn(time.UTC),
	"pfx":            {Allowed: wantPFX, Valid: func(s string) bool { _, err := certificate.Decode(s); return err == nil }},
	"storageAccount": {Allowed: "the name of a storage account: at most 63 letters, digits and hyphens", Valid: hostLabel.MatchString, Hidden: true},
	"storageQueue":   {Allowed: "the name of a storage queue: 3 to 63 letters, digits and hyphens, not a hyphen first", Valid: queueName.MatchString, Hidden: true},
	"namespace":      {Allowed: "the name of a Service Bus namespace, without the rest of its host name: at most 63 letters, digits and hyphens", Valid: hostLabel.MatchString, Hidden: true},
	"entity":         {Allowed: "the name of a Service Bus queue or topic: 1 to 260 characters without blanks and control characters", Valid: isEntity, Hidden: true},
	"timeToLive":     {Allowed: "a duration such as PT30S or 00:00:30, or a date and time", Valid: isTimeToLive},
	"minRecurrence":  minRecurrence,
}

// rules returns all rules of fields. Times without an offset are in zone; states are the allowed states.
func (l *Limits) rules(zone *time.Location, states ...string) map[string]fields.Rule {
	rules := maps.Clone(fixedRules)
	maps.Copy(rules, notificationRules)
	rules["localTime"] = timeIn(zone)
	rules["retryInterval"] = durationRule(l.MinRetryInterval, l.MaxRetryInterval)
	rules["retryCount"] = fields.Rule{Max: l.MaxRetryCount}
	rules["catchUpWindow"] = durationRule(0, l.MaxCatchUpWindow)
	rules["sku"] = fields.Rule{Words: sortedNames(l.Tiers)}
	short := func(s string) bool { return utf8.RuneCountInString(s) <= l.BodyBytes }
	most := fmt.Sprintf("at most %d characters", l.BodyBytes)
	rules["body"] = fields.Rule{Code: fields.TooLong, Allowed: most, Valid: short}
	rules["queueMessage"] = fields.Rule{
		Allowed: most + ", all of which XML can hold",
		Valid:   func(s string) bool { return short(s) && !strings.ContainsFunc(s, notInXML) },
	}
	rules["state"] = fields.Rule{Words: states}
	return rules
}

// locate returns the time zone with that name; nil for none.
func locate(name string) *time.Location {
	loc, err := recurrence.LoadLocation(name)
	if err != nil || name == "" {
		return nil
	}
	return loc
}

// timeIn is the rule for a date, or a date and time, which is in loc if it has no offset.
func timeIn(loc *time.Location) fields.Rule {
	return fields.Rule{
		Allowed: "a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00Z",
		Parse: func(s string) (any, bool) {
			t, err := iso8601.ParseTime(s, loc)
			return t, err == nil
		},
	}
}

// durationRule is the rule for an ISO 8601 duration or a .NET TimeSpan, which keeps its spelling.
func durationRule(least, most time.Duration) fields.Rule {
	return fields.Rule{
		Allowed: fmt.Sprintf("a duration such as PT30S or 00:00:30, from %s to %s", iso8601.FormatDuration(least), iso8601.FormatDuration(most)),
		Valid: func(s string) bool {
			d, err := iso8601.ParseDuration(s)
			return err == nil && d >= least && d <= most
		},
	}
}

var (
	hostLabel = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`)
	queueName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{2,62}$`)
)

func isEntity(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= 260 && !strings.ContainsFunc(s, fields.IsBlankOrControl)
}

// notInXML reports whether XML 1.0 cannot represent r. Messages are sent as XML, in which such a character
// would arrive as another one.
func notInXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
}

func isTimeToLive(s string) bool {
	if _, err := iso8601.ParseDuration(s); err == nil || job.IsForEver(s) {
		return true
	}
	_, err := recurrence.ParseTime(s, time.UTC)
	return err == nil
}
