package input

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence"
	"almanac/recurrence/cron"
	"almanac/recurrence/rrule"
)

// Times are also written in notations that a job does not take: cron expressions, rules of RFC 5545, and words.
var (
	cronText  = regexp.MustCompile(`^(?:(?:CRON_)?TZ=\S+\s+)?(?:@[a-z]+(?:\s+\S+)?|[0-9*?][0-9A-Za-z*,/?#-]*(?:\s+[0-9A-Za-z*,/?#-]+){4,6})$`)
	cronCall  = regexp.MustCompile(`^(?i:cron)\((.*)\)$`)
	ruleText  = regexp.MustCompile(`(?i)(?:^|[:;\s])FREQ=`)
	everyText = regexp.MustCompile(`^(?:every |rate\()? ?(?:(\d{1,9}) ?)?(m|min|minutes?|minutely|h|hours?|hourly|d|days?|daily|weeks?|weekly|months?|monthly|years?|yearly)\)?$`)
	clockText = regexp.MustCompile(`^([01]?\d|2[0-3]):([0-5]\d)(?::00)?$`)
)

// noRecurrence says what a recurrence is.
const noRecurrence = `a recurrence is an object, such as {"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}, and no cron expression`

const oneRecurrence = "a job has one recurrence: make a job for each of them"

// isCron reports whether a member is called after cron.
func isCron(name string) bool { return strings.HasPrefix(fields.Normalize(name), "cron") }

// adviseNotation shows the recurrence that a text in another notation means, or says why none has that meaning. The
// text may stand in a list or an object. It reports whether there is one.
func adviseNotation(e *job.FieldError, given *fields.Node) bool {
	name := e.Path[strings.LastIndexByte(e.Path, '.')+1:]
	if isCron(name) && given != nil && given.Kind == fields.List && len(given.Items) > 1 {
		e.Allowed, e.Hint = "", oneRecurrence
		return true
	}
	text := notationIn(given, isCron(name))
	if text == nil || given.Kind != fields.String && (e.Hint != "" || notationOf(text.Text) == "text") { // such as "day"
		return false
	}
	hint, err := translated(text.Text)
	if err != nil {
		hint, e.Allowed = "that "+notationOf(text.Text)+" cannot be translated: "+err.Error(), ""
	}
	e.Hint = hint
	if e.Code == fields.Unknown {
		e.Allowed = ""
	} else if given.Kind == fields.String {
		e.Value = given.Text
	}
	return true
}

// notationIn returns the one text in a value that is in another notation; nil if there is none. A value that is sure to
// be a cron expression need not look like one.
func notationIn(n *fields.Node, sure bool) *fields.Node {
	switch {
	case n == nil:
	case n.Kind == fields.String:
		if sure || notationOf(n.Text) != "" {
			return n
		}
	case n.Kind == fields.List && len(n.Items) == 1:
		return notationIn(n.Items[0], sure)
	case n.Kind == fields.Object:
		for _, member := range n.Entries {
			if text := notationIn(member.Value, isCron(member.Name)); text != nil {
				return text
			}
		}
	}
	return nil
}

// notationOf returns the name of the notation of a text; "" if it has none that is known.
func notationOf(text string) string {
	switch text = strings.TrimSpace(text); {
	case cronText.MatchString(text), cronCall.MatchString(text):
		return "cron expression"
	case ruleText.MatchString(text):
		return "rule"
	case everyText.MatchString(strings.ToLower(text)):
		return "text"
	}
	return ""
}

// translated returns the members of a job that a text in another notation means.
func translated(text string) (string, error) {
	text = strings.TrimSpace(text)
	var (
		what  = notationOf(text)
		rule  recurrence.Rule
		start time.Time
		err   error
	)
	switch what {
	case "rule":
		rule, start, err = rrule.Parse(text)
	case "text":
		return fmt.Sprintf(`that is "recurrence": %s`, everyUnit(text)), nil
	default:
		what = "cron expression"
		if call := cronCall.FindStringSubmatch(text); call != nil {
			text = withoutYear(call[1])
		}
		rule, err = cron.Parse(text)
	}
	if err != nil {
		return "", err
	}
	if !rule.Plain() {
		member := map[string]string{"rule": "rrule"}[what]
		return fmt.Sprintf(`that %s is "recurrence": {%q: %q}`, what, cmp.Or(member, "cron"), text), nil
	}
	written, err := json.Marshal(rule)
	if err != nil {
		return "", err
	}
	before := ""
	if !start.IsZero() {
		before = fmt.Sprintf(`"startTime": %q, `, job.NewTime(start).String())
	}
	return fmt.Sprintf(`that %s is %s"recurrence": %s`, what, before, written), nil
}

// withoutYear returns the cron expression in cron(…) of AWS, which has a year after the five fields.
func withoutYear(text string) string {
	if parts := strings.Fields(text); len(parts) == cronFields+1 && strings.Trim(parts[cronFields], "*?") == "" {
		return strings.Join(parts[:cronFields], " ")
	}
	return text
}

// everyUnit returns the recurrence of a text such as "every 5 minutes" or "daily".
func everyUnit(text string) string {
	m := everyText.FindStringSubmatch(strings.ToLower(text))
	units := map[string]string{"m": "minute", "mi": "minute", "mo": "month", "h": "hour", "ho": "hour", "d": "day", "da": "day", "we": "week", "ye": "year"}
	unit := units[m[2][:min(2, len(m[2]))]]
	if m[1] == "" || m[1] == "1" {
		return fmt.Sprintf(`{"frequency":%q}`, unit)
	}
	return fmt.Sprintf(`{"frequency":%q,"interval":%s}`, unit, m[1])
}

// adviseRecurrence says what to write in place of a recurrence that is no object.
func adviseRecurrence(e *job.FieldError, given *fields.Node) {
	switch {
	case given == nil:
	case given.Kind == fields.List && len(given.Items) == 0:
		e.Hint = "a job without a recurrence runs once"
	case given.Kind == fields.List && len(given.Items) > 1:
		e.Hint = oneRecurrence
	case given.Kind == fields.List && given.Items[0].Kind == fields.Object:
		e.Hint = `write the object without the brackets, such as "recurrence": {"frequency":"day"}`
	default:
		e.Hint = noRecurrence
	}
}

// A cronField is the field of a cron expression that has the values of a member of schedule.
var cronField = map[string]string{"minutes": "%s * * * *", "hours": "0 %s * * *", "monthDays": "0 0 %s * *", "months": "0 0 1 %s *", "weekDays": "0 0 * * %s"}

// dayNames matches names of days, which cron has with three letters.
var dayNames = regexp.MustCompile(`(?i)\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*`)

// adviseValues shows the list that a text such as "*/2" or "9-17" stands for in a member of schedule. It reports
// whether there is one.
func adviseValues(e *job.FieldError, given *fields.Node) bool {
	name, _, _ := strings.Cut(e.Path[strings.LastIndexByte(e.Path, '.')+1:], "[")
	form := cronField[name]
	if form == "" || given == nil || given.Kind != fields.String || !strings.ContainsAny(given.Text, "*,/-") {
		return false
	}
	rule, err := cron.Parse(fmt.Sprintf(form, dayNames.ReplaceAllString(strings.ReplaceAll(given.Text, " ", ""), "$1")))
	if err != nil {
		return false
	}
	text, err := json.Marshal(rule)
	var written struct{ Schedule map[string]json.RawMessage }
	if err != nil || json.Unmarshal(text, &written) != nil {
		return false
	}
	values := written.Schedule[name]
	if values == nil { // all of them
		return false
	}
	e.Hint = fmt.Sprintf("write %q: %s", name, values)
	return true
}

// adviseClock says where a time of day such as 09:00 belongs. It reports whether the value is one.
func adviseClock(e *job.FieldError, given *fields.Node) bool {
	if given == nil || given.Kind != fields.String {
		return false
	}
	m := clockText.FindStringSubmatch(given.Text)
	if m == nil {
		return false
	}
	hour, _ := strconv.Atoi(m[1]) // the pattern has digits alone
	minute, _ := strconv.Atoi(m[2])
	if e.Code == fields.Unknown {
		e.Allowed = ""
	}
	e.Hint = fmt.Sprintf(`a time of day is "recurrence": {"frequency":"day","schedule":{"hours":[%d],"minutes":[%d]}}`, hour, minute)
	return true
}

// withoutFrequency removes the errors about a frequency that is missing, or is a word for a notation: the one that was
// shown has one.
func (p *parser) withoutFrequency(n *fields.Node) {
	path := p.pathOf("recurrence.frequency")
	given := n.Member("recurrence").Member("frequency")
	p.List = slices.DeleteFunc(p.List, func(e *job.FieldError) bool {
		return e.Path == path && (e.Code == fields.Required || e.Code == fields.Unsupported && given != nil && notationOf(given.Text) == "" && e.Hint == "")
	})
}

// adviseZone says what is meant by the name of a time zone that is not known, or why it is not.
func adviseZone(e *job.FieldError, name string) {
	switch zones := recurrence.CurrentZones(); {
	case adviseOffset(e, name):
	case zones != nil && recurrence.IsKnown(name):
		e.Hint = "the time zones of the release " + zones.Release() + ", which are in use here, lack it: see --zoneinfo"
	default:
		e.Hint = didYouMean(fields.Nearest(name, recurrence.ZoneNames()))
	}
}

var offsetText = regexp.MustCompile(`^(?i:utc|gmt)?([+-])(\d{1,2})(?::?(\d\d))?$`)

// adviseOffset says which time zone has an offset from UTC. It reports whether the text is one.
func adviseOffset(e *job.FieldError, text string) bool {
	m := offsetText.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	e.Hint = "a time zone such as Europe/Paris follows the changes of its clock; Etc/GMT-1 is UTC+1 all year"
	if m[3] == "" || m[3] == "00" {
		sign := map[string]string{"+": "-", "-": "+"}[m[1]]
		hours := strings.TrimLeft(m[2], "0")
		if zone := "Etc/GMT" + sign + hours; locate(zone) != nil && hours != "" {
			e.Hint = fmt.Sprintf("%s is that offset all year, and a zone such as Europe/Paris follows the changes of its clock", zone)
		}
	}
	return true
}
