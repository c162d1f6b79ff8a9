package input

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/template"
	"almanac/recurrence/cron"
)

// homes are the members of a job by the object that they belong into.
var homes = map[string]string{
	"frequency": "recurrence", "interval": "recurrence", "count": "recurrence", "endTime": "recurrence", "schedule": "recurrence",
	"timeZone": "recurrence", "catchUpWindow": "recurrence", "overlapPolicy": "recurrence",
	"minutes": "recurrence.schedule", "hours": "recurrence.schedule", "weekDays": "recurrence.schedule", "monthDays": "recurrence.schedule",
	"monthlyOccurrences": "recurrence.schedule", "months": "recurrence.schedule",
	"request": "action", "queueMessage": "action", "serviceBusQueueMessage": "action", "serviceBusTopicMessage": "action",
	"retryPolicy": "action", "errorAction": "action", "retryType": "action.retryPolicy", "retryCount": "action.retryPolicy", "retryInterval": "action.retryPolicy",
	"uri": "action.request", "method": "action.request", "headers": "action.request", "body": "action.request", "authentication": "action.request",
	"startTime": "properties", "state": "properties", "notifications": "properties", "disableAfter": "properties",
}

// advise adds to the errors of a job what its writer most likely meant. n are the properties.
func (p *parser) advise(n *fields.Node, d *job.Definition) {
	for _, e := range p.List {
		name := e.Path[strings.LastIndexByte(e.Path, '.')+1:]
		switch {
		case name == "cron" && e.Code == fields.Unknown:
			adviseCron(e, n.Member("recurrence").Member("cron"))
		case e.Path == p.pathOf("recurrence") && e.Value == fields.String:
			adviseCron(e, n.Member("recurrence"))
		case e.Code == fields.Unknown:
			p.adviseHome(e, name)
		case (name == "body" || name == "message") && (e.Value == fields.Object || e.Value == fields.List):
			e.Hint = `write the JSON as a text, with its quotes escaped, such as "{\"id\":1}"`
		case name == "retryInterval" && e.Value == fields.Number:
			e.Allowed = p.Rules["retryInterval"].Allowed
			if text := n.Member("action").Member("retryPolicy").Member("retryInterval"); text != nil {
				e.Value, e.Hint = text.Scalar(), `30 seconds are "PT30S"`
			}
		case name == "retryCount" && e.Code == fields.OutOfRange && fmt.Sprint(e.Value) == "0":
			e.Hint = `for no retries send "retryType": "none"`
		case e.Code == fields.Invalid && strings.HasPrefix(e.Allowed, "a date"):
			e.Hint = missingDay(fmt.Sprint(e.Value))
		case e.Path == p.pathOf("recurrence.schedule") && d.Recurrence != nil && d.Recurrence.Schedule != nil:
			e.Hint = neverOn(d.Recurrence.Schedule)
		case e.Code == fields.Forbidden && strings.HasPrefix(e.Allowed, "with frequency ") && name == "weekDays":
			e.Hint = `"frequency": "week" runs on each of these days`
		}
	}
}

// adviseHome says where a member belongs that is unknown where it is.
func (p *parser) adviseHome(e *job.FieldError, name string) {
	for known, home := range homes {
		if !fields.SameName(known, name) || home == "properties" && p.path == "" {
			continue
		}
		if at := strings.TrimSuffix(e.Path, "."+name); at != home && at != p.pathOf(home) {
			e.Allowed, e.Hint = "", "it belongs in "+home
		}
	}
}

// adviseCron shows the recurrence that a cron expression means.
func adviseCron(e *job.FieldError, given *fields.Node) {
	if given == nil || given.Kind != fields.String {
		return
	}
	rule, err := cron.Parse(given.Text)
	if err != nil {
		e.Hint = `a recurrence is an object, such as {"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}, and no cron expression`
		return
	}
	if text, err := json.Marshal(rule); err == nil {
		e.Hint = `that cron expression is "recurrence": ` + string(text)
		if e.Code == fields.Unknown {
			e.Allowed = ""
		} else {
			e.Value = given.Text
		}
	}
}

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

// neverOn names the dates of a schedule that no year has.
func neverOn(s *job.Schedule) string {
	var never []string
	for _, month := range s.Months {
		most := time.Date(2024, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() // of a leap year
		for _, day := range s.MonthDays {
			if day > most {
				never = append(never, fmt.Sprintf("%d %s", day, time.Month(month)))
			}
		}
	}
	if never == nil {
		return ""
	}
	return "there is no " + strings.Join(never, ", and no ")
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

// literal refuses placeholders that would be sent as they are written, unless the writer says that by "template": false, or the stored
// action has some.
func (p *parser) literal(n *fields.Node, path string, a, stored *job.Action) {
	parameters := n.Member(parameter(a.Type))
	if parameters == nil || parameters.Member("template") != nil || !template.Forgotten(a) || template.Forgotten(stored) {
		return
	}
	p.fail(path+"."+parameter(a.Type), fields.Invalid, `"template": true to have placeholders such as {{.Job.Name}} filled in, or "template": false to send them as they are`, "")
}

// expression matches what stands for a value in templates of Azure Resource Manager.
var expression = regexp.MustCompile(`^\[\w+\(.*\].*$`)

// refuseExpressions refuses secrets that are expressions of a template: nothing here evaluates them.
func (p *parser) refuseExpressions(a *job.Action, path string, stored *job.Action) {
	eachSecret(a, path, stored, func(s secret) {
		if expression.MatchString(*s.value) && !p.Has(s.path) {
			p.fail(s.path, fields.Invalid, "the secret itself", "an expression of a template, such as [parameters('name')], is not evaluated here")
		}
	})
}
