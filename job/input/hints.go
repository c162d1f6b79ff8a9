package input

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/template"
)

// homes are the objects that have a member, by its normalized name, outer ones first.
var homes = fields.Homes[job.Definition]("notifications", "errorAction")

// notificationHomes are likewise those in a notification.
var notificationHomes = fields.Homes[job.Notification]()

// advise adds to the errors of a job what its writer most likely meant. n are the properties.
func (p *parser) advise(n *fields.Node, d *job.Definition) {
	translated := false // a text in another notation
	for _, e := range p.List {
		name := e.Path[strings.LastIndexByte(e.Path, '.')+1:]
		given := nodeAt(n, strings.TrimPrefix(strings.TrimPrefix(e.Path, p.path), "."))
		if given == nil {
			given = nodeAt(p.tree, e.Path) // beside the properties
		}
		switch {
		case p.isOfTimes(e) && adviseNotation(e, given):
			translated = true
		case e.Code == fields.Invalid && e.Path == p.pathOf("recurrence"):
			adviseRecurrence(e, given)
		case e.Code == fields.Unsupported && e.Path == p.pathOf("recurrence.frequency"):
			adviseFrequency(e, given)
		case (e.Code == fields.Unknown || name == "startTime") && !strings.Contains(e.Path, "action") && adviseClock(e, given):
		case adviseValues(e, given):
		case e.Code == fields.Unsupported && (name == "day" || strings.HasPrefix(name, "weekDays[")) && given != nil && given.Kind == fields.String:
			e.Hint = cmp.Or(e.Hint, nearWord(given.Text, e.Allowed))
		case e.Code == fields.Invalid && name == "timeZone" && given != nil && given.Kind == fields.String:
			adviseZone(e, given.Text)
		case e.Code == fields.Unknown && adviseNotification(e, name):
		case e.Code == fields.Unknown:
			p.adviseHome(e, name, d.Action.Type)
		case (name == "body" || name == "message") && (e.Value == fields.Object || e.Value == fields.List):
			e.Hint = `write the JSON as a text, with its quotes escaped, such as "{\"id\":1}"`
		case strings.HasPrefix(p.Rules[name].Allowed, "a duration") && e.Code == fields.Invalid && given != nil:
			adviseDuration(e, given, p.Rules[name].Allowed)
		case name == "state" && e.Code == fields.Unsupported && given != nil:
			e.Hint = cmp.Or(didYouMean(stateWords[strings.ToLower(given.Text)]), nearWord(given.Text, e.Allowed))
		case e.Code == fields.Unsupported && strings.HasSuffix(e.Path, "authentication.type") && given != nil && inHeader.MatchString(given.Text):
			e.Hint = `send a token or a key in a header, such as "headers": {"Authorization": "Bearer …"}`
		case e.Code == fields.Invalid && given != nil && given.Kind == fields.String && digits.MatchString(given.Text) && strings.HasPrefix(e.Allowed, "an integer"):
			e.Hint = "write the number without quotes: " + given.Text
		case e.Code == fields.Unsupported && given != nil && given.Kind == fields.String:
			e.Hint = cmp.Or(e.Hint, nearWord(given.Text, e.Allowed))
		case name == "uri" && e.Code == fields.Invalid && given != nil && function.MatchString(given.Text):
			e.Hint = notEvaluated
		case name == "headers" && e.Value == fields.List:
			e.Hint = `write the headers as members, such as {"Accept": "text/plain"}`
		case name == "retryCount" && e.Code == fields.OutOfRange && fmt.Sprint(e.Value) == "0":
			e.Hint = `for no retries send "retryType": "none"`
		case e.Code == fields.Invalid && strings.HasPrefix(e.Allowed, "a date"):
			e.Hint = cmp.Or(missingDay(fmt.Sprint(e.Value)), withoutT(fmt.Sprint(e.Value)))
		case e.Path == p.pathOf("recurrence.schedule") && d.Recurrence != nil && d.Recurrence.Schedule != nil:
			e.Hint = cmp.Or(e.Hint, neverOn(d))
		case (e.Path == p.pathOf("recurrence.cron") || e.Path == p.pathOf("recurrence.rrule")) && d.Recurrence.Notated():
			if rule, err := d.Recurrence.Rule(time.Time{}); err == nil {
				e.Hint = cmp.Or(e.Hint, never(rule.Months, rule.MonthDays))
			}
		case e.Code == fields.Forbidden && strings.HasPrefix(e.Allowed, "with frequency ") && name == "weekDays":
			e.Hint = `"frequency": "week" runs on each of these days`
		}
	}
	if translated {
		p.withoutFrequency(n)
	}
}

// isOfTimes reports whether an error may be about a text that says when a job runs.
func (p *parser) isOfTimes(e *job.FieldError) bool {
	switch e.Path {
	case p.pathOf("recurrence"), p.pathOf("recurrence.schedule"), p.pathOf("recurrence.interval"):
		return e.Code == fields.Invalid
	}
	return e.Code == fields.Unknown && !strings.HasPrefix(e.Path, p.pathOf("action")) && !strings.HasPrefix(e.Path, p.pathOf("notifications"))
}

// nearWord asks whether a word is meant of those that are allowed, such as the whole of one of which the beginning was
// given.
func nearWord(given, allowed string) string {
	words := strings.Split(strings.Replace(allowed, " or ", ", ", 1), ", ")
	near := fields.Nearest(given, words)
	for _, word := range words {
		if len(given) > 1 && len(given) < len(word) && strings.EqualFold(word[:len(given)], given) {
			near = word
		}
	}
	return didYouMean(near)
}

func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return `did you mean "` + near + `"?`
}

// nodeAt returns the value at a path below n, such as recurrence.schedule.hours[0]; nil if there is none.
func nodeAt(n *fields.Node, path string) *fields.Node {
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		n = n.Member(name)
		for rest != "" {
			index, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(index)
			if n == nil || err != nil || i >= len(n.Items) {
				return nil
			}
			n, rest = n.Items[i], strings.TrimPrefix(after, "[")
		}
	}
	return n
}

var (
	// inHeader matches words for an authentication that is a header.
	inHeader = regexp.MustCompile(`(?i)^(?:bearer|token|jwt|header|api[-_ ]?key)$`)
	digits   = regexp.MustCompile(`^\d{1,9}$`)
)

// stateWords are other words for a state.
var stateWords = map[string]string{
	"on": "enabled", "true": "enabled", "active": "enabled", "running": "enabled",
	"off": "disabled", "false": "disabled", "inactive": "disabled", "paused": "disabled", "stopped": "disabled",
}

// periods are other words for a frequency.
var periods = map[string]string{
	"minutely": "minute", "minutes": "minute", "hourly": "hour", "hours": "hour", "daily": "day", "days": "day", "weekly": "week", "weeks": "week",
	"monthly": "month", "months": "month", "yearly": "year", "years": "year", "annually": "year",
}

// adviseFrequency says which frequency is meant.
func adviseFrequency(e *job.FieldError, given *fields.Node) {
	if given == nil || given.Kind != fields.String {
		return
	}
	if word := periods[strings.ToLower(given.Text)]; word != "" {
		e.Hint = didYouMean(word)
		return
	}
	if len(strings.Fields(given.Text)) >= cronFields && adviseNotation(e, given) {
		return
	}
	e.Hint = nearWord(given.Text, e.Allowed)
}

var plainDuration = regexp.MustCompile(`^(\d{1,9}) ?(|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)$`)

// adviseDuration says how a number, or a text such as 30s, is written as a duration.
func adviseDuration(e *job.FieldError, given *fields.Node, allowed string) {
	if given.Kind == fields.Number {
		e.Value, e.Allowed = given.Scalar(), allowed
	}
	m := plainDuration.FindStringSubmatch(strings.ToLower(given.Text))
	switch {
	case m == nil || given.Kind != fields.Number && given.Kind != fields.String:
	case m[2] == "", m[2][0] == 's':
		e.Hint = fmt.Sprintf(`%s seconds are "PT%sS"`, m[1], m[1])
	case m[2][0] == 'd':
		e.Hint = fmt.Sprintf(`%s days are "P%sD"`, m[1], m[1])
	case m[2][0] == 'h':
		e.Hint = fmt.Sprintf(`%s hours are "PT%sH"`, m[1], m[1])
	default:
		e.Hint = fmt.Sprintf(`%s minutes are "PT%sM"`, m[1], m[1])
	}
}

// otherNames are names that members have elsewhere, normalized.
var otherNames = map[string]string{
	"tz": "timeZone", "zone": "timeZone", "timezoneid": "timeZone", "timezonename": "timeZone", "until": "endTime", "start": "startTime", "end": "endTime",
	"every": "interval", "repeat": "interval", "auth": "authentication", "credentials": "authentication",
	"url": "uri", "href": "uri", "endpoint": "uri", "verb": "method", "httpmethod": "method", "payload": "body", "data": "body", "retries": "retryCount",
	"enabled": "state", "disabled": "state", "active": "state", "paused": "state",
}

// retryNames are names that the members of a retry policy have elsewhere, normalized.
var retryNames = map[string]string{
	"type": "retryType", "kind": "retryType", "policy": "retryType", "interval": "retryInterval", "delay": "retryInterval", "count": "retryCount",
	"attempts": "retryCount", "maxattempts": "retryCount", "max": "retryCount", "maxretries": "retryCount", "limit": "retryCount",
}

// adviseHome says where a member belongs that is unknown where it is, in an action of a type.
func (p *parser) adviseHome(e *job.FieldError, name string, t kind.Type) {
	other := otherNames[fields.Normalize(name)]
	if own := retryNames[fields.Normalize(name)]; own != "" && strings.HasSuffix(e.Path, ".retryPolicy."+name) {
		e.Allowed, e.Hint = "", didYouMean(own)
		return
	}
	for _, home := range homes[fields.Normalize(cmp.Or(other, name))] {
		if home == "" && p.path == "" || isOfAnother(home, t) {
			continue
		}
		at := strings.TrimSuffix(e.Path, "."+name)
		switch home = cmp.Or(home, "properties"); {
		case at == home, at == p.pathOf(home):
			if other != "" {
				e.Allowed, e.Hint = "", didYouMean(other)
			}
		case other != "":
			e.Allowed, e.Hint = "", fmt.Sprintf("did you mean %q, which belongs in %s?", other, home)
		default:
			e.Allowed, e.Hint = "", "it belongs in "+home
		}
		return
	}
}

var inNotification = regexp.MustCompile(`^.*notifications(?:\[\d+\])?\.`)

// adviseNotification says where a member of a notification belongs that is unknown where it is, and reports whether it
// is one of a notification.
func adviseNotification(e *job.FieldError, name string) bool {
	prefix := inNotification.FindString(e.Path)
	if prefix == "" {
		return false
	}
	other := otherNames[fields.Normalize(name)]
	found := notificationHomes[fields.Normalize(cmp.Or(other, name))]
	depth := func(path string) int { return strings.Count(path, ".") }
	if len(found) == 0 || found[0] == "" || len(found) > 1 && depth(found[0]) == depth(found[1]) {
		return true // it belongs nowhere, or that depends on the type of the target
	}
	at := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(e.Path, prefix), name), ".")
	switch {
	case at == found[0] && other != "":
		e.Allowed, e.Hint = "", didYouMean(other)
	case at == found[0]:
	case other != "":
		e.Allowed, e.Hint = "", fmt.Sprintf("did you mean %q, which belongs in %s?", other, found[0])
	default:
		e.Allowed, e.Hint = "", "it belongs in "+found[0]
	}
	return true
}

// isOfAnother reports whether an object is, or is in, the parameters of an action of another type; an unknown type has
// a request.
func isOfAnother(path string, t kind.Type) bool {
	inAction, ok := strings.CutPrefix(path, "action.")
	member, _, _ := strings.Cut(inAction, ".")
	return ok && slices.Contains(kind.Members(), member) && member != cmp.Or(t.Member(), kind.HTTP.Member())
}

// cronFields is how many fields a cron expression has at least.
const cronFields = 5

var dayPattern = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)`)

// missingDay says how many days the month of a date has if it has too few for it.
func missingDay(text string) string {
	m := dayPattern.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	year, _ := strconv.Atoi(m[1])
	month, _ := strconv.Atoi(m[2])
	day, _ := strconv.Atoi(m[3])
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC)
	if month < 1 || month > 12 || day <= last.Day() {
		return ""
	}
	return fmt.Sprintf("%s %d has %d days", last.Month(), year, last.Day())
}

var blankBeforeClock = regexp.MustCompile(`^(\d{4}-\d\d-\d\d) +(\d\d:\d\d\S*)$`)

// withoutT shows a date and time that has a blank in place of the T.
func withoutT(text string) string {
	m := blankBeforeClock.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return didYouMean(m[1] + "T" + m[2])
}

// neverOn names the dates of a schedule that no year has. A negative day counts from the end of its month.
func neverOn(d *job.Definition) string {
	r := d.Recurrence
	months := r.Schedule.Months
	if len(months) == 0 && d.StartTime != nil && r.Interval > 0 && r.Interval%12 == 0 {
		months = []int{int(d.StartTime.Month())}
	}
	return never(months, r.Schedule.MonthDays)
}

// never names the days that none of the months has.
func never(months, days []int) string {
	var none []string
	for _, n := range months {
		month := time.Month(n)
		most := time.Date(2024, month+1, 0, 0, 0, 0, 0, time.UTC).Day() // of a leap year
		for _, day := range days {
			switch {
			case day > most:
				none = append(none, fmt.Sprintf("%d %s", day, month))
			case -day > most:
				none = append(none, fmt.Sprintf("day %d of %s, which has at most %d", day, month, most))
			}
		}
	}
	if none == nil {
		return ""
	}
	return "there is no " + strings.Join(none, ", and no ")
}

// unmeant refuses what an action most likely should not have. n is the action as it was sent.
func (p *parser) unmeant(n *fields.Node, path string, a, stored *job.Action) {
	p.refuseExpressions(a, path, stored)
	withErrorAction(a, path, stored, func(inner *job.Action, path string, stored *job.Action) {
		if inner == a {
			p.literal(n, path, inner, stored)
		} else {
			p.literal(n.Member("errorAction"), path, inner, stored)
		}
	})
}

// literal refuses placeholders that would be sent as they are written, unless the writer says that by "template":
// false, or the stored action has some.
func (p *parser) literal(n *fields.Node, path string, a, stored *job.Action) {
	name := a.Type.Member()
	sent := n.Member(name)
	if sent == nil || sent.Member("template") != nil || !template.Forgotten(a) || template.Forgotten(stored) {
		return
	}
	p.fail(path+"."+name, fields.Invalid, `"template": true to have placeholders such as {{.Job.Name}} filled in, `+
		`or "template": false to send them as they are`, "")
}

// expression matches what stands for a value in templates of Azure Resource Manager.
var expression = regexp.MustCompile(`^\[\s*\w+\(.*\].*$`)

// placeholder matches what stands for a secret in other tools: ${NAME}, $(NAME), {{NAME}} and @parameters('name').
var placeholder = regexp.MustCompile(`^(?:\$\{[^{}]+\}|\$\{\{[^{}]+\}\}|\$\([\w.-]+\)|\{\{[^{}]+\}\}|@\{?(?i:parameters|variables|body|concat|outputs|appsetting)\(.*\)\}?)$`)

// function matches such a value that calls a function of these templates. A member that may be any text is refused only
// if its value does.
var function = regexp.MustCompile(`^\[\s*(?i:parameters|variables|concat|format|reference|resourceId|toLower|toUpper|base64|uniqueString|guid|string|json|list\w*)\(.*\)\s*\]$`)

// refuseExpressions refuses secrets, user names, headers and bodies that are expressions of a template, and secrets that
// are placeholders: nothing here evaluates them.
func (p *parser) refuseExpressions(a *job.Action, path string, stored *job.Action) {
	eachSecret(placesOf(a, path, stored), false, func(path string, s *kind.Secret) {
		switch {
		case p.Has(path):
		case expression.MatchString(*s.Value):
			p.fail(path, fields.Invalid, "the secret itself", notEvaluated)
		case placeholder.MatchString(*s.Value):
			p.fail(path, fields.Invalid, "the secret itself", notFilled)
		}
	})
	withErrorAction(a, path, stored, func(a *job.Action, path string, _ *job.Action) {
		for _, part := range a.Parts() {
			for _, text := range part.Parameters.Texts() {
				at := path + "." + part.Name + "." + text.Path
				free := text.Use == kind.InURI || text.Use == kind.InProperty // it may be such a text
				if !free && function.MatchString(*text.Value) && !p.Has(at) {
					p.fail(at, fields.Invalid, "the text itself", notEvaluated)
				}
			}
		}
	})
}

const notFilled = "a placeholder of another tool, such as ${NAME}, is not filled in here"

const notEvaluated = "an expression of a template, such as [parameters('name')], is not evaluated here"
