package input

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
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
	"uri":            {Allowed: "an absolute http or https URL"}, // the rest is for uriError
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
	return s != "" && utf8.RuneCountInString(s) <= 260 && !strings.ContainsFunc(s, isBlankOrControl)
}

func isBlankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// notInXML reports whether XML 1.0 cannot represent r. Messages are sent as XML, in which such a character
// would arrive as another one.
func notInXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
}

func isTimeToLive(s string) bool {
	if _, err := iso8601.ParseDuration(s); err == nil {
		return true
	}
	_, err := recurrence.ParseTime(s, time.UTC)
	return err == nil
}

// uriError returns what is wrong with a URI, without its path; nil if nothing is.
func uriError(uri string, kind job.ActionType) *job.FieldError {
	bad := func(allowed string) *job.FieldError {
		e := &job.FieldError{Code: fields.Invalid, Allowed: allowed}
		if u, err := url.Parse(uri); err == nil && isHTTP(u) { // redaction is reliable only for a proper URL
			e.Value = job.RedactURI(uri)
		}
		return e
	}
	u, err := url.Parse(uri)
	if err != nil || strings.ContainsFunc(uri, isBlankOrControl) {
		return bad("an absolute http or https URL without blanks and control characters")
	}
	_, err = strconv.ParseUint("0"+u.Port(), 10, 16)
	switch {
	case !isHTTP(u), err != nil:
		return bad("an absolute http or https URL with a host")
	case u.Scheme != "https" && kind == job.ActionHTTPS:
		return bad("an https URL, as the action is of type Https")
	}
	return nil
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// connectionHeaders concern a single connection, so the HTTP client sets them.
var connectionHeaders = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headerError returns what is wrong with a header, without its path; nil if nothing is.
func headerError(h job.Member) *job.FieldError {
	belongsToConnection := slices.ContainsFunc(connectionHeaders, func(name string) bool { return fields.SameName(name, h.Name) })
	badInValue := func(r rune) bool { return r != '\t' && (r < ' ' || r == 0x7f) }
	switch {
	case !isToken(h.Name):
		return &job.FieldError{Code: fields.Invalid, Allowed: "the name of an HTTP header: letters, digits and hyphens"}
	case belongsToConnection:
		return &job.FieldError{Code: fields.Forbidden, Hint: "this header is set for each connection as it needs it"}
	case strings.ContainsFunc(h.Value, badInValue):
		return &job.FieldError{Code: fields.Invalid, Allowed: "a value without line breaks and control characters"}
	case strings.EqualFold(h.Name, "Host") && !isVirtualHost(h.Value):
		return &job.FieldError{Code: fields.Invalid, Allowed: "a host name such as www.example.com, with or without a port, but neither an address nor localhost"}
	}
	return nil
}

var (
	virtualHost = regexp.MustCompile(`^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$`)
	// numericLabel matches a last label that makes some parsers take a name for an IPv4 address.
	numericLabel = regexp.MustCompile(`(?i)(^|\.)([0-9]+|0x[0-9a-f]*)\.?$`)
	localhost    = regexp.MustCompile(`(?i)(^|\.)localhost\.?$`)
)

// isVirtualHost reports whether a value is allowed in a Host header. Addresses and localhost are not:
// servers meant for their own machine or network rely on the Host header to detect requests from web pages
// of other sites.
func isVirtualHost(value string) bool {
	host := value
	if name, port, ok := strings.Cut(value, ":"); ok {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		host = name
	}
	return virtualHost.MatchString(host) && len(host) <= 253 && !numericLabel.MatchString(host) && !localhost.MatchString(host)
}

// isToken reports whether s is an HTTP token.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letterOrDigit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
