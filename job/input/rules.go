package input

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/kind"
	"almanac/recurrence"
)

// fixedRules are the rules of fields that no configuration changes.
var fixedRules = map[string]fields.Rule{
	"actionType":    typeRule(kind.ActionTypes()),
	"timeZone":      {Allowed: job.AllowedTimeZones, Valid: func(name string) bool { return locate(name) != nil }},
	"utcTime":       timeIn(time.UTC),
	"date":          {Allowed: "a date such as 2026-01-31", Valid: func(s string) bool { return isTime(s) && len(s) == len(time.DateOnly) }},
	"someTime":      {Allowed: "a date such as 2026-01-31, or a date and time such as 2026-01-31T08:30:00", Valid: isTime},
	"minRecurrence": minRecurrence,
	"clockOrTime":   {Allowed: job.AllowedClockOrTime, Valid: isClockOrTime},
}

// isTime reports whether a text is a date, or a date and time.
func isTime(s string) bool {
	_, err := recurrence.ParseTime(s, nil)
	return err == nil
}

// typeRule is the rule of a type of action or target, which keeps its spelling.
func typeRule(types []string) fields.Rule {
	return fields.Rule{Code: fields.Unsupported, Allowed: fields.OneOf(types), Valid: func(s string) bool {
		return slices.ContainsFunc(types, func(t string) bool { return fields.SameName(t, s) })
	}}
}

// rules returns all rules of fields. Times without an offset are in zone; states are the allowed states.
func (l *Limits) rules(zone *time.Location, states ...string) map[string]fields.Rule {
	rules := maps.Clone(fixedRules)
	maps.Copy(rules, notificationRules)
	maps.Copy(rules, kind.Rules(l.kinds()))
	rules["localTime"] = timeIn(zone)
	rules["retryInterval"] = durationRule(l.MinRetryInterval, l.MaxRetryInterval)
	rules["retryCount"] = fields.Rule{Max: l.MaxRetryCount}
	rules["catchUpWindow"] = durationRule(0, l.MaxCatchUpWindow)
	rules["flexibleWindow"] = durationRule(0, job.MaxFlexibleWindow)
	rules["sku"] = fields.Rule{Words: sortedNames(l.Tiers)}
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
