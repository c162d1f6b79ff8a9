package input

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/recurrence/cron"
	"almanac/recurrence/rrule"
)

// zoneOfNotation returns the time zone that the cron expression or the RRULE of a recurrence names; nil if it names none.
func zoneOfNotation(n *fields.Node) *time.Location {
	if text := n.Member("cron"); text != nil {
		rule, _ := cron.Parse(text.Text)
		return rule.Location
	}
	if text := n.Member("rrule"); text != nil {
		set, _ := rrule.ParseSet(text.Text, time.Time{}, nil)
		return set.Zone
	}
	return nil
}

// keepRules keeps what a client dropped that does not know it: a recurrence without these members, and else as an answer
// had it, is the one that is stored. One that differs would lose them, which is an error; null removes them.
func (p *parser) keepRules(n *fields.Node, d *job.Definition, o ParseOptions) {
	if o.Stored == nil || o.merged || o.Stored.Recurrence == nil {
		return
	}
	stored, given := o.Stored.Recurrence, n.Member("recurrence")
	if given == nil && n.Index("recurrence") >= 0 { // null
		return
	}
	rest := *stored
	var dropped []string
	for _, rule := range []struct {
		name string
		has  bool
		drop func()
	}{
		{"cron", stored.Cron != "", func() { rest.Cron = "" }},
		{"rrule", stored.RRule != "", func() { rest.RRule = "" }},
		{"also", len(stored.Also) > 0, func() { rest.Also = nil }},
		{"exclusions", len(stored.Exclusions) > 0, func() { rest.Exclusions = nil }},
		{"calendars", len(stored.Calendars) > 0, func() { dropCalendars(&rest) }},
	} {
		if rule.has && (given == nil || given.Index(rule.name) < 0) {
			rule.drop()
			dropped = append(dropped, rule.name)
		}
	}
	if dropped == nil {
		return
	}
	besides := p.dropExtensions(&rest, given)
	if d.Recurrence != nil && sameJSON(withoutEmpty(d.Recurrence), withoutEmpty(&rest)) {
		kept := *stored
		p.withoutError(p.pathOf("recurrence.frequency"), fields.Required)
		d.Recurrence = &kept
		return
	}
	if d.Recurrence != nil && d.Recurrence.Notated() && onlyNotation(dropped) {
		return // another expression in its place
	}
	for _, name := range append(dropped, besides...) {
		p.fail(p.pathOf("recurrence."+name), fields.Required, "",
			"this change of the recurrence would lose the job's "+name+": send it as it is to be, or null to remove it")
	}
}

// dropCalendars drops from a recurrence its calendars, and the working days, which a client that knows the one knows, too.
func dropCalendars(r *job.Recurrence) {
	r.Calendars = nil
	drop := func(s *job.Schedule) *job.Schedule {
		if s == nil {
			return nil
		}
		rest := *s
		rest.WorkingDays = nil
		return &rest
	}
	r.Schedule, r.Also = drop(r.Schedule), slices.Clone(r.Also)
	for i := range r.Also {
		r.Also[i].Schedule = drop(r.Also[i].Schedule)
	}
}

// withoutEmpty returns a recurrence without schedules that say nothing.
func withoutEmpty(r *job.Recurrence) *job.Recurrence {
	rest := *r
	rest.Also = slices.Clone(r.Also)
	for i := range rest.Also {
		dropEmpty(&rest.Also[i].Schedule)
	}
	dropEmpty(&rest.Schedule)
	return &rest
}

// dropEmpty drops a schedule that says nothing.
func dropEmpty(s **job.Schedule) {
	if *s != nil && reflect.ValueOf(**s).IsZero() {
		*s = nil
	}
}

// dropExtensions drops from a recurrence what a client drops, too, that knows none of the rules, and returns the names.
func (p *parser) dropExtensions(rest *job.Recurrence, given *fields.Node) (dropped []string) {
	drop := func(name string, has bool, drop func()) {
		if has && (given == nil || given.Index(name) < 0) {
			drop()
			dropped = append(dropped, name)
		}
	}
	drop("timeZone", rest.TimeZone != "", func() { rest.TimeZone = "" })
	drop("catchUpWindow", rest.CatchUpWindow != "", func() { rest.CatchUpWindow = "" })
	drop("overlapPolicy", rest.OverlapPolicy != "", func() { rest.OverlapPolicy = "" })
	return dropped
}

// onlyNotation reports whether nothing but cron and rrule was dropped.
func onlyNotation(dropped []string) bool {
	return !slices.ContainsFunc(dropped, func(name string) bool { return name != "cron" && name != "rrule" })
}

func sameJSON(a, b any) bool {
	one, errOne := json.Marshal(a)
	two, errTwo := json.Marshal(b)
	return errOne == nil && errTwo == nil && string(one) == string(two)
}

// withoutError removes the error of a path and a code.
func (p *parser) withoutError(path string, code fields.Code) {
	p.List = slices.DeleteFunc(p.List, func(e *job.FieldError) bool { return e.Path == path && e.Code == code })
}

// localEnd returns the end of local times, which may be nil.
func localEnd(l *job.LocalTimes) string {
	if l == nil {
		return ""
	}
	return l.End
}

// notation settles what a recurrence says in another notation, and checks its further rules and exclusions. A time zone
// and a start in an expression stand for timeZone and startTime. What it means goes to frequency, interval and schedule
// if they can say it. It returns the start as a local time; "" if the expression has none.
func (p *parser) notation(n *fields.Node, d *job.Definition, o ParseOptions) (start string) {
	r := d.Recurrence
	if n == nil || r == nil {
		return ""
	}
	path := p.pathOf("recurrence")
	if n.Member("cron") != nil || n.Member("rrule") != nil {
		p.withoutError(path+".frequency", fields.Required)
	}
	if len(r.Also) > job.MaxFurtherRules {
		p.fail(path+".also", fields.TooMany, fmt.Sprintf("at most %d rules beside the first one", job.MaxFurtherRules), "")
	}
	if len(r.Exclusions) > job.MaxExclusions {
		p.fail(path+".exclusions", fields.TooMany, fmt.Sprintf("at most %d", job.MaxExclusions), "")
	}
	if r.Notated() {
		start = p.firstNotation(n, d, o)
	}
	loc, _ := r.Location() // an error of its own
	for i := range r.Also {
		p.furtherRule(p.BodyPath(fields.ItemPath(path+".also", i)), &r.Also[i], d.StartTime, loc)
	}
	return start
}

// firstNotation settles the first rule of a recurrence, which is a cron expression or an RRULE.
func (p *parser) firstNotation(n *fields.Node, d *job.Definition, o ParseOptions) (start string) {
	r, path := d.Recurrence, p.pathOf("recurrence")
	if r.Cron != "" && r.RRule != "" {
		p.fail(path+".rrule", fields.Forbidden, "", "cron and rrule say the same thing: leave one of them out")
		return ""
	}
	loc, err := r.Location()
	if err != nil {
		return "" // an error of its own
	}
	anchor := o.Created
	if d.StartTime != nil {
		anchor = d.StartTime.Time
	}
	set, member, zone := rrule.Set{}, "cron", (*time.Location)(nil)
	if r.Cron != "" {
		set.Rule, err = cron.Parse(r.Cron)
		zone = set.Rule.Location
	} else {
		member = "rrule"
		set, err = rrule.ParseSet(r.RRule, anchor, loc)
		zone = set.Zone
	}
	if err != nil {
		return "" // timing says so
	}
	at := path + "." + member
	switch {
	case zone != nil && loc == nil && r.TimeZone == "":
		r.TimeZone, loc = zone.String(), zone
	case zone != nil && (loc == nil || zone.String() != loc.String()):
		p.fail(at, fields.Forbidden, "", fmt.Sprintf("it is in %s, and timeZone is %s: leave one of them out", zone, r.TimeZone))
		return ""
	}
	set.Rule.Location = loc
	if !set.Start.IsZero() {
		if d.StartTime != nil && !d.StartTime.Equal(set.Start) {
			p.fail(at, fields.Forbidden, "", "its DTSTART is not the startTime: leave one of them out")
			return ""
		}
		if d.StartTime == nil {
			d.StartTime = job.NewTime(set.Start)
			if loc != nil && !startsInUTC(r.RRule) {
				start = set.Start.In(loc).Format("2006-01-02T15:04:05")
			}
		}
	}
	p.meaning(n, r, &set, at)
	return start
}

// startsInUTC reports whether the DTSTART of an RRULE is an instant in UTC.
func startsInUTC(text string) bool {
	for line := range strings.SplitSeq(strings.ToUpper(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "DTSTART") {
			return strings.HasSuffix(line, "Z")
		}
	}
	return false
}

// meaning sets frequency, interval and schedule to what an expression, at a path, means. If they are given they must say
// the same.
func (p *parser) meaning(n *fields.Node, r *job.Recurrence, set *rrule.Set, at string) {
	rule := set.Rule
	if rule.Location == nil || rule.Location == time.UTC {
		rule.EveryPass = false // no local time comes twice
	}
	means := job.Recurrence{Interval: 1}
	if rule.Plain() && rule.Count == 0 && rule.End.IsZero() && len(set.Dates)+len(set.Excluded) == 0 {
		means.SetRule(&rule)
	}
	given := job.Recurrence{Frequency: r.Frequency, Interval: max(r.Interval, 1), Schedule: r.Schedule}
	if given.Frequency == "" && given.Schedule == nil && given.Interval == 1 {
		r.Frequency, r.Interval, r.Schedule = means.Frequency, means.Interval, means.Schedule
		return
	}
	if sameJSON(&given, &means) {
		return
	}
	hint := "leave out one of the two"
	if n.Member("frequency") == nil {
		at = p.pathOf("recurrence.schedule")
		if given.Schedule == nil {
			at = p.pathOf("recurrence.interval")
		}
		hint = "leave it out"
	}
	rule.Location = nil
	p.fail(at, fields.Forbidden, "", fmt.Sprintf("the expression means %q, and frequency, interval and schedule say something else: %s", rule.String(), hint))
}

// furtherRule checks which members a rule beside the first one has.
func (p *parser) furtherRule(path string, f *job.FurtherRule, start *job.Time, loc *time.Location) {
	forbid := func(bad bool, name, why string) bool {
		if bad {
			p.fail(path+"."+name, fields.Forbidden, "", why)
		}
		return bad
	}
	notated := f.Cron != "" || f.RRule != ""
	const oneNotation = "a rule has one of frequency, cron and rrule"
	switch {
	case forbid(f.Cron != "" && f.RRule != "", "rrule", oneNotation):
	case forbid(notated && f.Frequency != "" && f.Cron != "", "cron", oneNotation), forbid(notated && f.Frequency != "", "rrule", oneNotation):
	case forbid(notated && f.Schedule != nil, "schedule", oneNotation), forbid(notated && f.Interval != 0, "interval", oneNotation):
	case !notated && f.Frequency == "":
		if !p.Has(path + ".frequency") {
			p.fail(path+".frequency", fields.Required, "a frequency, cron or rrule", "")
		}
	case f.Cron != "":
		rule, _ := cron.Parse(f.Cron)
		forbid(otherZone(rule.Location, loc), "cron", "all rules of a recurrence are in its timeZone")
	case f.RRule != "":
		set, _ := rrule.ParseSet(f.RRule, time.Time{}, loc)
		forbid(otherZone(set.Zone, loc), "rrule", "all rules of a recurrence are in its timeZone")
		forbid(!set.Start.IsZero() && (start == nil || !start.Equal(set.Start)), "rrule", "all rules of a recurrence count from its startTime: leave out DTSTART")
	}
}

// otherZone reports whether an expression names a zone that is not the one of the recurrence.
func otherZone(zone, loc *time.Location) bool {
	if loc == nil {
		loc = time.UTC
	}
	return zone != nil && zone.String() != loc.String()
}
