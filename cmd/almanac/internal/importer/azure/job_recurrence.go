package azure

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/value"
	"almanac/internal/iso8601"
)

// time writes a time as the API does: in UTC and in whole seconds.
func (r *rewriter) time(of *value.Value, name, path string) *time.Time {
	v := of.Get(name)
	text, ok := v.Str()
	if !ok {
		return nil
	}
	t, err := parseTime(text)
	if err != nil {
		r.say(importer.Never, path, v, "it is no date and time such as 2026-01-31T08:30:00Z, and the service took no other")
		return nil
	}
	whole := t.Truncate(time.Second)
	if !whole.Equal(t) {
		r.say(importer.Same, path, v, "fractions of a second are dropped")
	}
	of.Set(name, value.Text(whole.Format(time.RFC3339), v.Line))
	return &whole
}

// parseTime reads a time. One without an offset is in UTC. That of utcNow() has no hyphens.
func parseTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if t, err := time.Parse("20060102T150405Z", text); err == nil {
		return t, nil
	}
	if t, err := iso8601.ParseTime(strings.Replace(text, " ", "T", 1), time.UTC); err == nil {
		return t.UTC(), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "1/2/2006 3:04:05 PM"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return iso8601Date(text)
}

func iso8601Date(text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	return t.UTC(), err
}

// start returns the start time; nil if there is none.
func (r *rewriter) start() *time.Time { return parsed(r.p.Get("startTime")) }

func parsed(v *value.Value) *time.Time {
	text, ok := v.Str()
	if !ok {
		return nil
	}
	t, err := parseTime(text)
	if err != nil {
		return nil
	}
	t = t.Truncate(time.Second)
	return &t
}

// once looks at a job that runs once.
func (r *rewriter) once() {
	start, given := r.start(), r.p.Get("startTime")
	if given != nil && start == nil {
		return
	}
	past := start == nil || start.Before(r.now)
	switch {
	case r.origin.exists && past:
		if !r.p.Get("state").Is("disabled") {
			r.p.Set("state", value.Text("disabled", r.d.Line))
			r.say(importer.Same, "state", given, "the job runs once, and that time is past: it is written as disabled, so that it does not run again")
		}
		return
	case past:
		r.say(importer.Same, "startTime", given, "the job runs once, as soon as it is created: with apply here, 20 s after it there")
	}
	r.d.Source = func(from time.Time) iter.Seq[time.Time] {
		return func(yield func(time.Time) bool) {
			if past {
				yield(from)
			} else {
				yield(*start)
			}
		}
	}
}

// recurrence looks at a job that repeats.
func (r *rewriter) recurrence(v *value.Value) {
	if v.Get("interval") == nil {
		v.Set("interval", value.Int(1, v.Line))
	}
	foreign := v.Get("timeZone") != nil && !v.Get("timeZone").Is("UTC")
	if v.Get("timeZone") == nil {
		v.Set("timeZone", value.Text("UTC", v.Line))
	}
	end := r.time(v, "endTime", "recurrence.endTime")
	if s := v.Get("schedule"); s != nil && s.Kind == value.Object && len(s.Members) == 0 {
		v.Remove("schedule")
	}
	if f := v.Get("frequency"); (f.Is("minute") || f.Is("hour")) && v.Get("schedule") != nil {
		r.say(importer.Differs, "recurrence.schedule", v.Get("schedule"),
			"the service took a schedule with day, week and month only; here it filters the minutes or hours")
	}
	for _, name := range []string{"weekDays", "minutes", "hours", "monthDays", "months"} { // the service took one without brackets
		if one := v.Get("schedule", name); one != nil && (one.Kind == value.String || one.Kind == value.Number) {
			v.Get("schedule").Set(name, &value.Value{Kind: value.List, Items: []*value.Value{one}, Line: one.Line})
		}
	}
	if n, _ := v.Get("interval").Whole(); n > 1 && v.Get("frequency").Is("week") && len(itemsOf(v.Get("schedule", "weekDays"))) > 1 {
		r.say(importer.Same, "recurrence", v, "weeks begin on Monday here; on which day they began in the service is not documented")
	}
	r.phase(v)
	r.hours(v)
	r.remaining(v)
	ordered(v)
	if foreign {
		return
	}
	rule, ok := ruleOf(v)
	if !ok || r.p.Get("startTime") != nil && r.start() == nil {
		return
	}
	rule.end = end
	start := r.start()
	r.d.Source = func(from time.Time) iter.Seq[time.Time] { return rule.runs(start, from) }
}

// ordered gives the members of a recurrence the order of the API.
func ordered(v *value.Value) {
	o := value.Obj(v.Line)
	for _, name := range []string{"frequency", "interval", "count", "endTime", "timeZone", "schedule"} {
		if m := v.Get(name); m != nil {
			o.Set(name, m)
			v.Remove(name)
		}
	}
	v.Members = append(o.Members, v.Members...)
}

// phase gives a job that repeats a start time, where the service has begun to count already.
func (r *rewriter) phase(v *value.Value) {
	if r.p.Get("startTime") != nil {
		return
	}
	if !r.origin.exists && !r.origin.terraform {
		r.say(importer.Same, "startTime", v, "there is none: the first run is at once (20 s after the creation there), and each later one counts from the creation; the service counted from when the run before it had begun")
		return
	}
	if next := parsed(r.status.Get("nextExecutionTime")); next != nil {
		r.p.Set("startTime", value.Text(next.Format(time.RFC3339), r.status.Get("nextExecutionTime").Line))
		r.say(importer.Same, "startTime", v, "there is none, and the job has run: its next run is written, from which later ones count; the service counted from when the run before had begun")
		return
	}
	if phaseFree(v) {
		r.p.Set("startTime", value.Text(importer.AnyPast, v.Line))
		r.say(importer.Same, "startTime", v, "there is none, and the job has run: a past time is written, so that nothing runs at once")
		return
	}
	text := "the job has run already, and counts its runs from a time that the source does not have: give its next run"
	if r.origin.terraform {
		text = "Terraform sends the time at which it creates the job, from which the runs count: the state has it, or give the next run"
	}
	r.p.Set("startTime", value.Needed(v.Line, text))
}

// phaseFree reports whether the runs are the same whatever the start time.
func phaseFree(v *value.Value) bool {
	n, _ := v.Get("interval").Whole()
	s := v.Get("schedule")
	if n != 1 || s.Get("hours") == nil || s.Get("minutes") == nil {
		return false
	}
	switch f := v.Get("frequency"); {
	case f.Is("day"):
		return true
	case f.Is("week"):
		return s.Get("weekDays") != nil
	case f.Is("month"):
		return s.Get("monthDays") != nil || s.Get("monthlyOccurrences") != nil
	}
	return false
}

// hours writes out the hour of a schedule with minutes alone: the service took that of the start.
func (r *rewriter) hours(v *value.Value) {
	s, f := v.Get("schedule"), v.Get("frequency")
	if s.Get("minutes") == nil || s.Get("hours") != nil || f.Is("minute") || f.Is("hour") {
		return
	}
	at := r.p.Get("startTime")
	start := r.start()
	switch {
	case at != nil && start == nil:
		s.Set("hours", value.Needed(s.Line, "the hour of the start time, in which the service ran a schedule with minutes alone; without hours it runs every hour here"))
	case start == nil:
		s.Set("hours", value.Needed(s.Line, "the hour at which the job was created, in which the service ran a schedule with minutes alone; without hours it runs every hour here"))
	default:
		s.Set("hours", value.Ints([]int{start.Hour()}, s.Line))
		r.say(importer.Same, "recurrence.schedule.hours", s, "the service ran a schedule with minutes alone in the hour of the start only, and here it runs every hour: the hour is written")
	}
}

// remaining writes how many runs are left of the count.
func (r *rewriter) remaining(v *value.Value) {
	count, ok := v.Get("count").Whole()
	if !ok || !r.origin.exists {
		return
	}
	ran, known := r.status.Get("executionCount").Whole()
	switch {
	case !known:
		r.say(importer.Differs, "recurrence.count", v.Get("count"), "the source does not say how many of these runs have been: here they are counted anew")
	case ran >= count:
		r.p.Set("state", value.Text("disabled", r.d.Line))
		r.say(importer.Same, "state", v.Get("count"), "all of its runs have been, so it is written as disabled")
	case ran > 0:
		v.Set("count", value.Int(count-ran, v.Get("count").Line))
		r.say(importer.Same, "recurrence.count", v.Get("count"), fmt.Sprintf("%d of %d runs have been, so %d are written", ran, count, count-ran))
	}
}
