package preview

import (
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Change is a question: what does another definition do to the next runs of a job?
type Change struct {
	Job  job.Job // as its workflow answers
	New  job.Definition
	Now  time.Time
	Take int // runs of each definition, 1 to 100

	WasUses, Uses []calendars.Use // of the two definitions; nil for one without calendars
}

// A Fate is what a change does to a run.
type Fate string

// The fates of runs. A run moves if the old and the new definition each have one on that day, in the zone of the new
// one, that the other does not have: they are paired in their order.
const (
	Stays Fate = "same"
	Moves Fate = "moves"
	IsNew Fate = "new"
	Goes  Fate = "goes"
)

// A Run is one of the next runs of a job that changes.
type Run struct {
	Was, WillBe time.Time // zero for none
	Fate        Fate
}

// At returns when the run comes in the order of a diff.
func (r Run) At() time.Time {
	if r.WillBe.IsZero() || !r.Was.IsZero() && r.Was.Before(r.WillBe) {
		return r.Was
	}
	return r.WillBe
}

// A Diff is the answer to a [Change]: all runs up to some time.
type Diff struct {
	Runs []Run
	Next time.Time // the next run with the change, wherever it is; zero for none
	Done bool      // none follows, by either definition
	Was  string
	Text string // the recurrences in English; empty for none

	Adjustments []Adjustment // what calendars make of the occurrences of the new definition, up to the last of its runs
}

// Run computes the next runs before and after the change.
func (c Change) Run() (Diff, error) {
	was, wasDone, err := c.Before()
	if err != nil {
		return Diff{}, err
	}
	willBe, done, table, err := c.after()
	if err != nil {
		return Diff{}, err
	}
	d := Diff{Done: wasDone && done, Was: c.Job.Definition.When(), Text: c.New.When()}
	if len(willBe) > 0 {
		d.Next = willBe[0]
	}
	until := time.Time{} // up to here both lists are complete
	for _, l := range []struct {
		times []time.Time
		done  bool
	}{{was, wasDone}, {willBe, done}} {
		if last := len(l.times) - 1; !l.done && (until.IsZero() || l.times[last].Before(until)) {
			until = l.times[last]
		}
	}
	if !until.IsZero() {
		later := func(t time.Time) bool { return t.After(until) }
		was, willBe = slices.DeleteFunc(was, later), slices.DeleteFunc(willBe, later)
	}
	d.Runs = pair(was, willBe, zoneOf(&c.New))
	d.Adjustments = c.adjust(table, willBe, done && until.IsZero())
	return d, nil
}

// adjust returns what calendars make of occurrences up to the last of some runs, or of all if nothing follows.
func (c Change) adjust(table *timetable.Timetable, runs []time.Time, done bool) []Adjustment {
	if table == nil || !table.ByDays() {
		return nil
	}
	until := c.Now
	switch r := c.New.Recurrence; {
	case done && (r == nil || r.Count == 0):
		until = toEnd(r, table, c.Now, c.Now)
	case len(runs) > 0:
		until = runs[len(runs)-1]
	}
	all, _ := adjustments(table, c.Now, until, zoneOf(&c.New))
	return all
}

// Before returns the next runs without the change, and whether none follows.
func (c Change) Before() ([]time.Time, bool, error) {
	runs, done, _, err := c.before()
	return runs, done, err
}

// before is Before with the timetable; nil if the job is not active.
func (c Change) before() ([]time.Time, bool, *timetable.Timetable, error) {
	j := &c.Job
	if !active(j, &j.Definition) {
		return nil, true, nil, nil
	}
	all, err := timetable.OfJob(j, c.WasUses)
	if err != nil {
		return nil, false, nil, err
	}
	all = all.Without(j.Skips, j.SkipWindows...)
	var planned []time.Time // by a worker, whose rules of the zone may be others
	after := c.Now
	for _, due := range j.Planned {
		if due.After(c.Now) {
			planned = append(planned, due.UTC())
		}
		if _, offset := due.Zone(); all.Resume(due, offset).After(after) {
			after = all.Resume(due, offset)
		}
	}
	next, ok := all.After(later(after, j.Decided))
	runs, done := c.take(all, planned, next, ok, left(&j.Definition, j.Started))
	return runs, done, all, nil
}

// After returns the next runs with the change, and whether none follows. It decides as the workflow of a job does when
// its definition is replaced.
func (c Change) After() ([]time.Time, bool, error) {
	runs, done, _, err := c.after()
	return runs, done, err
}

// after is After with the timetable; nil if the job is not active.
func (c Change) after() ([]time.Time, bool, *timetable.Timetable, error) {
	old, wasActive := c.Job.Definition, active(&c.Job, &c.Job.Definition)
	final := old.State.Final()
	if final {
		old.State = job.StateEnabled
	}
	isActive, timing := active(&c.Job, &c.New), c.New.SameSchedule(&old)
	open := c.New.SameBlackouts(&old)
	switch {
	case !isActive, final && timing && open:
		return nil, true, nil, nil
	case !final && timing && wasActive && open:
		return c.before()
	case !final && timing && wasActive:
		return c.withBlackouts()
	}
	decided, err := c.decided()
	if err != nil {
		return nil, false, nil, err
	}
	all, err := timetable.With(c.New.Under(c.Job.SharedBlackouts), c.Job.Created, c.Uses, c.Now.Truncate(time.Second), decided)
	if err != nil {
		return nil, false, nil, err
	}
	all = all.Without(c.Job.Skips, c.Job.SkipWindows...)
	var next time.Time
	var ok bool
	if !final && !wasActive && c.New.Recurrence == nil { // one whose time has passed runs at once
		next, ok = all.After(c.Job.Decided)
		next = later(next, c.Now.Truncate(time.Second))
	} else {
		next, ok = all.From(later(c.Now.Truncate(time.Second), c.Job.Decided.Add(time.Second)))
	}
	runs, done := c.take(all, nil, next, ok, left(&c.New, c.Job.Started))
	return runs, done, all, nil
}

// decided returns which nominal times are decided, whatever calendars the job gets.
func (c Change) decided() (*calendars.Memory, error) {
	m := &calendars.Memory{Until: c.Job.Decided, Anew: true}
	if c.Job.Memory != nil {
		m.Early = c.Job.Memory.Early
	}
	if !c.Job.Definition.Under(c.Job.SharedBlackouts).ByDays() {
		return m, nil
	}
	old, err := timetable.OfJob(&c.Job, c.WasUses)
	if err != nil {
		return nil, err
	}
	m = old.Memory(c.Now.Truncate(time.Second))
	m.Anew = true
	return m, nil
}

// withBlackouts returns the next runs of a job that changes in its blackouts: what these held runs on, or is released.
func (c Change) withBlackouts() ([]time.Time, bool, *timetable.Timetable, error) {
	now := c.Now.UTC().Truncate(time.Second)
	was, err := timetable.OfJob(&c.Job, c.WasUses)
	if err != nil {
		return nil, false, nil, err
	}
	memory := was.Memory(now)
	if memory == nil { // it had none
		memory = &calendars.Memory{Until: later(now, c.Job.Decided)}
	}
	all, err := timetable.With(c.New.Under(c.Job.SharedBlackouts), c.Job.Created, c.Uses, now.Add(time.Second), memory)
	if err != nil {
		return nil, false, nil, err
	}
	all = all.Without(c.Job.Skips, c.Job.SkipWindows...)
	next, ok := all.After(now)
	runs, done := c.take(all, nil, next, ok, left(&c.New, c.Job.Started))
	return runs, done, all, nil
}

// active reports whether a job runs by a definition.
func active(j *job.Job, d *job.Definition) bool {
	return d.State == job.StateEnabled && !j.CollectionDisabled
}

// left returns how many runs a definition has left at most; -1 for no limit.
func left(d *job.Definition, started int) int {
	if d.Recurrence == nil || d.Recurrence.Count == 0 {
		return -1
	}
	return max(0, d.Recurrence.Count-started)
}

// take returns the first runs: those that are planned, and next and those that follow it.
func (c Change) take(
	all *timetable.Timetable, planned []time.Time, next time.Time, ok bool, left int,
) (runs []time.Time, done bool) {
	for {
		var run time.Time
		switch {
		case left == len(runs), len(planned) == 0 && !ok:
			return runs, true
		case len(planned) > 0:
			run, planned = planned[0], planned[1:]
		default:
			run = next
			next, ok = all.After(next)
		}
		if len(runs) == c.Take {
			return runs, false
		}
		runs = append(runs, run)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// zoneOf returns the zone in which a day begins for people who read when a job runs.
func zoneOf(d *job.Definition) *time.Location {
	if d.Recurrence != nil {
		if zone, err := d.Recurrence.Location(); err == nil && zone != nil {
			return zone
		}
	}
	return time.UTC
}

// pair returns what becomes of runs, in the order of their times.
func pair(was, willBe []time.Time, zone *time.Location) (runs []Run) {
	type day struct{ gone, added []time.Time }
	days := map[string]*day{}
	of := func(t time.Time) *day {
		name := t.In(zone).Format(time.DateOnly)
		if days[name] == nil {
			days[name] = &day{}
		}
		return days[name]
	}
	for _, t := range was {
		if slices.ContainsFunc(willBe, t.Equal) {
			runs = append(runs, Run{t, t, Stays})
		} else {
			of(t).gone = append(of(t).gone, t)
		}
	}
	for _, t := range willBe {
		if !slices.ContainsFunc(was, t.Equal) {
			of(t).added = append(of(t).added, t)
		}
	}
	for _, d := range days {
		for i := range max(len(d.gone), len(d.added)) {
			switch {
			case i >= len(d.added):
				runs = append(runs, Run{Was: d.gone[i], Fate: Goes})
			case i >= len(d.gone):
				runs = append(runs, Run{WillBe: d.added[i], Fate: IsNew})
			default:
				runs = append(runs, Run{d.gone[i], d.added[i], Moves})
			}
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return a.At().Compare(b.At()) })
	return runs
}
