package input

import (
	"encoding/json"
	"fmt"
	"strings"

	"almanac/internal/fields"
	"almanac/job"
)

var calendarMembers = fields.Names[job.Calendar]()

// ParseCalendar parses the body of a PUT of a calendar, with its members under "properties" or at the top. The error is
// an [*job.Error] of [job.KindInvalid] that lists every bad field.
func ParseCalendar(body []byte) (job.Calendar, error) {
	l := new(DefaultLimits())
	l.JobBytes = job.MaxCalendarBodyBytes
	p, err := parseEnvelope(body, l, envelope{what: "calendar", inside: calendarMembers})
	if err != nil {
		return job.Calendar{}, err
	}
	c := p.calendar()
	if err := p.err("calendar"); err != nil {
		return job.Calendar{}, err
	}
	return c, checkCalendarSize(&c)
}

// calendar decodes the calendar that the parser's properties are.
func (p *parser) calendar() (c job.Calendar) {
	p.Rules = fixedRules
	p.Decode(p.properties, p.path, &c)
	if weekend := p.properties.Member("weekendDays"); weekend != nil && c.WeekendDays == nil {
		c.WeekendDays = []string{}
	}
	p.entries(&c)
	return c
}

// givenCalendars decodes the calendars that a request has, by their names. Each is as it is stored, or as it is answered,
// with its members under "properties".
func (p *parser) givenCalendars() map[string]job.Calendar {
	given := p.tree.Member("calendars")
	if given == nil {
		return nil
	}
	if given.Kind != fields.Object {
		p.Reject("calendars", given, "an object with a calendar for each name")
		return nil
	}
	if len(given.Entries) > job.MaxCalendars {
		p.fail("calendars", fields.TooMany, fmt.Sprintf("at most %d", job.MaxCalendars), "")
		return nil
	}
	all := map[string]job.Calendar{}
	for _, e := range given.Entries {
		path := fields.MemberPath("calendars", e.Name)
		p.addAt(path, job.CheckCalendarName(e.Name))
		if e.Value.Kind != fields.Object {
			p.Reject(path, e.Value, "a calendar")
			continue
		}
		one := &parser{limits: p.limits, tree: e.Value, properties: e.Value, path: path}
		if inside := e.Value.Member("properties"); inside != nil && inside.Kind == fields.Object {
			one.properties, one.path = inside, path+".properties"
		}
		all[job.NormalizeName(e.Name)] = one.calendar()
		for _, f := range one.List {
			p.Add(f)
		}
	}
	return all
}

// entries checks what tags cannot say of a calendar.
func (p *parser) entries(c *job.Calendar) {
	for _, text := range []struct {
		name, value string
		most        int
	}{{"source", c.Source, job.MaxCalendarSource}, {"description", c.Description, job.MaxCalendarText}} {
		if len(text.value) > text.most {
			p.fail(p.pathOf(text.name), fields.TooLong, fmt.Sprintf("at most %d bytes", text.most), "")
		}
	}
	_, err := c.Table(0)
	for _, f := range fields.Joined[*job.FieldError](err) {
		path := p.BodyPath(p.pathOf(f.Path))
		if list, rest, ok := strings.Cut(f.Path, "."); ok {
			path = p.BodyPath(p.pathOf(list)) + "." + rest
		}
		if !p.Has(path) && (f.Code != fields.Required || !p.Has(p.pathOf(f.Path))) {
			p.addAt(path, f)
		}
	}
}

// checkCalendarSize returns an error if a calendar takes more than it may, which names its longest list.
func checkCalendarSize(c *job.Calendar) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(text) <= job.MaxCalendarBytes {
		return nil
	}
	e := badRequest("The calendar is not valid")
	e.Fields = []*job.FieldError{{
		Path: c.LongestList(), Code: fields.TooMany,
		Allowed: fmt.Sprintf("so many that the calendar takes at most %d bytes (it takes %d)", job.MaxCalendarBytes, len(text)),
	}}
	return e
}
