package checker

import (
	"cmp"
	"slices"
	"time"

	"almanac/lab/record"
)

// What can become of an occurrence of a job with calendars follows from its rule, and from when it was created, changed
// and paused, and its calendars were changed. Each of these takes effect at some time from its request on, so that an
// occurrence has several fates around it; what happened has to be one of them.

// How an occurrence ends.
type how int

const (
	runs     how = iota
	dropped      // by calendars, or since another one is due at the same time
	gone         // it is none, for good, or nothing has to say what became of it
	unplaced     // no day of its month has its number
)

// A fate is what may become of an occurrence.
type fate struct {
	how     how
	nominal time.Time
	at      time.Time // when it is decided: the due time of one that runs
	object  int       // the use whose calendar objects to the nominal time; -1: none does
	same    bool      // another one is due at the same time
}

// isGone is the fate of an occurrence of which nothing has to say what became of it.
var isGone = fate{how: gone}

// A dated is an occurrence of a job with calendars.
type dated struct {
	id    identity
	fates []fate
}

func (o *dated) add(f fate) {
	if !slices.Contains(o.fates, f) {
		o.fates = append(o.fates, f)
	}
}

// only reports whether all of its fates end in some way.
func (o *dated) only(h how) bool {
	return !slices.ContainsFunc(o.fates, func(f fate) bool { return f.how != h })
}

const (
	// toldAfter is how long after a change of a calendar the jobs know it that use it.
	toldAfter = 12 * time.Second
	// soonDecided is how long before it is due an occurrence may be decided.
	soonDecided = 12 * time.Second
	// daysAround is how many days away the occurrences are that may be moved into the run. The calendars of a run have
	// fewer days off in a row.
	daysAround = 15
)

// A model of a job with calendars.
type calendarModel struct {
	*record.JobLog
	c       *checker
	planner *planner
	all     []*dated
	known   map[identity]*dated
	state   map[string][]*reign // of each calendar
}

// A reign is the time in which jobs may have been planned by one version of a calendar.
type reign struct {
	calendar *record.Calendar
	from, to time.Time // to is zero while it lasts
}

// settledAt returns when what was requested has certainly reached the jobs.
func (c *checker) settledAt(issued, answered time.Time) time.Time {
	until := answered.Add(toldAfter)
	for i := range c.log.Faults {
		if f := &c.log.Faults[i]; f.Overlaps(issued.Add(-settling), until) {
			until = later(until, f.End.Add(settling))
		}
	}
	return until
}

// reigns returns the versions of the calendars of a collection, oldest first.
func (m *calendarModel) reigns() map[string][]*reign {
	all := map[string][]*reign{}
	for _, change := range m.Calendars {
		name := change.Calendar.Name
		if change.Kind != record.PutCalendar {
			continue // until it is put again nothing is planned
		}
		outcome, answered := change.Outcome()
		settled := never
		if outcome != record.Unknown {
			settled = m.c.settledAt(change.Issued(), answered)
		}
		for _, before := range all[name] {
			if before.to.IsZero() || before.to.After(settled) {
				before.to = settled
			}
		}
		all[name] = append(all[name], &reign{calendar: change.Calendar, from: change.Issued()})
	}
	return all
}

// views returns what the calendars of a rule may have been, for who read them at some time from a to b. One of them may
// also have been a further one.
func (m *calendarModel) views(a, b time.Time, further *record.Calendar) []view {
	all := []view{nil}
	for _, use := range m.planner.rule.Uses {
		var next []view
		for _, r := range m.state[use.Name] {
			if r.calendar != further && (r.from.After(b) || !r.to.IsZero() && !r.to.After(a)) {
				continue
			}
			for _, v := range all {
				next = append(next, append(slices.Clone(v), r.calendar))
			}
		}
		all = next
	}
	return all
}

// A step is what makes the job plan again.
type step struct {
	from, until time.Time // when it does
	kind        string
	definition  *record.Definition // nil: the same
	calendar    *record.Calendar   // that was put
}

// steps returns what made the job plan, in the order in which it was certainly done. It is false if that is not certain from some time on.
func (m *calendarModel) steps() (all []step, certain bool) {
	certain = true
	add := func(c *record.Change, kind string, until time.Time) {
		if outcome, _ := m.Outcome(c); outcome == record.Unknown && kind != record.PutCalendar {
			certain = false
			return
		}
		all = append(all, step{from: c.Issued(), until: until, kind: kind, definition: c.Definition, calendar: c.Calendar})
	}
	for _, c := range m.Changes {
		if _, at := m.Outcome(c); c.Kind != record.ChangeAction {
			add(c, c.Kind, m.readable(c.Issued(), m.c.settledAt(c.Issued(), at)))
		}
	}
	uses := map[string]bool{}
	for _, d := range m.Definitions() {
		for _, u := range d.Rule.Uses {
			uses[u.Name] = true
		}
	}
	for _, c := range m.Calendars {
		if c.Kind == record.PutCalendar && uses[c.Calendar.Name] {
			outcome, answered := c.Outcome()
			until := never
			if outcome != record.Unknown {
				until = m.readable(c.Issued(), m.c.settledAt(c.Issued(), answered))
			}
			add(c, record.PutCalendar, until)
		}
	}
	created := m.Created().Issued()
	all = slices.DeleteFunc(all, func(s step) bool { return s.kind == record.PutCalendar && s.until.Before(created) })
	for i := range all {
		all[i].from = later(all[i].from, created) // a job that is new is told of a change before it
	}
	slices.SortStableFunc(all, func(a, b step) int {
		switch record.Create {
		case a.kind:
			return -1
		case b.kind:
			return 1
		}
		return a.until.Compare(b.until)
	})
	return all, certain
}

// readable returns when what the job was told from one time to another has certainly been planned: not while one of its
// calendars cannot be read.
func (m *calendarModel) readable(from, until time.Time) time.Time {
	lost := map[string]time.Time{}
	for _, c := range m.Calendars {
		_, at := c.Outcome()
		switch since := lost[c.Calendar.Name]; {
		case c.Kind == record.LoseCalendar:
			lost[c.Calendar.Name] = c.Issued()
		case c.Kind == record.PutCalendar && !since.IsZero():
			if back := m.c.settledAt(c.Issued(), at); !since.After(until) && !back.Before(from) {
				until = later(until, back.Add(toldAfter))
			}
			delete(lost, c.Calendar.Name)
		}
	}
	for _, since := range lost {
		if !since.After(until) {
			return never
		}
	}
	return until
}

// simulate sets the fates of all occurrences. It returns up to when these are certain.
func (m *calendarModel) simulate() (until time.Time) {
	steps, certain := m.steps()
	m.state, m.known = m.reigns(), map[identity]*dated{}
	var paused time.Time // zero: it is not
	for _, s := range steps {
		if s.definition != nil {
			m.planner = newPlanner(s.definition)
		}
		switch s.kind {
		case record.Create:
			m.create(s)
			m.replan(s)
		case record.Disable, record.DisableCollection:
			if paused.IsZero() {
				paused = s.from
			}
			continue
		case record.Delete:
			if paused.IsZero() {
				paused = s.from
			}
			m.leave(paused)
			return paused
		case record.Enable, record.EnableCollection:
			m.anew(s, paused)
			m.replan(s)
			paused = time.Time{}
		case record.ChangeRecurrence:
			m.anew(s, s.from)
			m.replan(s)
		case record.PutCalendar:
			m.replan(s)
		}
		m.collide(s.until)
	}
	switch {
	case !certain:
		return time.Time{}
	case !paused.IsZero() && paused.Before(m.c.log.Run.Quiet):
		return paused
	}
	return m.c.log.Run.Quiet
}

// leave adds that an occurrence is gone, of those that are due from a time on.
func (m *calendarModel) leave(from time.Time) {
	m.each(func(o *dated, f fate) {
		o.add(f)
		if !f.at.Before(from.Add(-lateness)) {
			o.add(isGone)
		}
	})
}

// each replaces the fates of all occurrences.
func (m *calendarModel) each(next func(o *dated, f fate)) {
	for _, o := range m.all {
		before := o.fates
		o.fates = nil
		for _, f := range before {
			if f.how == gone {
				o.add(f)
			} else {
				next(o, f)
			}
		}
		if len(o.fates) == 0 { // nobody could read the calendars
			o.fates = before
		}
	}
}

// create plans a new job.
func (m *calendarModel) create(s step) {
	for _, id := range m.planner.identities(s.from, m.c.log.Run.Frozen, daysAround) {
		o := &dated{id: id}
		m.all, m.known[id] = append(m.all, o), o
		for _, v := range m.views(s.from, s.until, nil) {
			for _, now := range []time.Time{s.from, s.until} {
				o.add(m.plan(id, v, now.Truncate(time.Second), false))
			}
		}
	}
}

// plan returns what becomes of an occurrence that is undecided when the job is planned; planned says that it was before.
func (m *calendarModel) plan(id identity, v view, now time.Time, planned bool) fate {
	nominal, ok := m.planner.nominal(v, id)
	if !ok {
		return fate{how: unplaced, at: never}
	}
	due, object, ok := m.planner.due(v, nominal)
	switch {
	case !ok && nominal.Before(now) && !planned:
		return isGone
	case !ok:
		return fate{how: dropped, nominal: nominal, at: later(nominal, now), object: object}
	case !due.Before(now):
		return fate{how: runs, nominal: nominal, at: due, object: object}
	case !planned && nominal.Before(now):
		return isGone
	}
	if due, ok = m.planner.fromNow(v, nominal, now, object); !ok {
		return fate{how: dropped, nominal: nominal, at: later(nominal, now), object: object}
	}
	return fate{how: runs, nominal: nominal, at: due, object: object}
}

// replan plans again by calendars as they are at the end of a step, and by the one of the step: it may have been in force
// before another one that was put meanwhile.
func (m *calendarModel) replan(s step) {
	views := m.views(s.until, s.until, s.calendar)
	m.each(func(o *dated, f fate) {
		if f.how != unplaced && f.at.Before(s.from.Add(-time.Second)) {
			o.add(f)
			return
		}
		if f.at.Before(s.until.Add(soonDecided)) {
			o.add(f)
		}
		for _, v := range views {
			for _, now := range []time.Time{s.from, s.until} {
				if now = now.Truncate(time.Second).Add(time.Second); now.After(f.at.Add(soonDecided)) {
					now = f.at
				}
				o.add(m.plan(o.id, v, now, f.how != unplaced))
				if f.how == unplaced {
					o.add(m.plan(o.id, v, now, true))
				}
			}
		}
	})
}

// anew plans a job that was paused from a time on, or whose schedule has changed then: what was due meanwhile is gone, or
// planned as one to come.
func (m *calendarModel) anew(s step, paused time.Time) {
	views := m.views(s.from, s.until, nil)
	m.each(func(o *dated, f fate) {
		if f.how != unplaced && f.at.Before(paused.Add(-lateness)) {
			o.add(f)
			if f.how == runs {
				return
			}
		}
		if f.at.Before(s.until.Add(soonDecided)) || f.how != runs {
			o.add(f)
			o.add(isGone) // what was skipped is decided, unless the new schedule runs it later
		}
		for _, v := range views {
			for _, now := range []time.Time{s.from, s.until} {
				now = now.Truncate(time.Second)
				o.add(m.plan(o.id, v, now, false))
				if f.how == runs {
					o.add(m.plan(o.id, v, now, true))
				}
			}
		}
	})
}

// collide drops what is due at the same time as another occurrence whose nominal time is nearer. What is nominally due
// before a time may have been so before it was planned.
func (m *calendarModel) collide(until time.Time) {
	at := map[int64][]*dated{}
	for _, o := range m.all {
		for _, f := range o.fates {
			if k := f.at.Unix(); f.how == runs && !slices.Contains(at[k], o) {
				at[k] = append(at[k], o)
			}
		}
	}
	for _, rivals := range at {
		if len(rivals) > 1 {
			for _, o := range rivals {
				o.yield(rivals, until)
			}
		}
	}
}

// yield adds that the occurrence is dropped, if one of others may be nearer to a due time that they share.
func (o *dated) yield(rivals []*dated, until time.Time) {
	for _, f := range slices.Clone(o.fates) {
		if f.how != runs {
			continue
		}
		for _, other := range rivals {
			if other == o || !slices.ContainsFunc(other.fates, func(g fate) bool {
				return g.how == runs && g.at.Equal(f.at) && nearer(&g, &f)
			}) {
				continue
			}
			lost := fate{how: dropped, nominal: f.nominal, at: f.nominal, object: f.object, same: true}
			o.add(lost)
			if f.nominal.Before(until) {
				o.add(isGone)
			}
			if len(other.fates) == 1 {
				o.fates = slices.DeleteFunc(o.fates, func(g fate) bool { return g == f })
			}
		}
	}
}

// nearer reports whether of two that are due at the same time the first one stays.
func nearer(a, b *fate) bool {
	da, db := a.at.Sub(a.nominal).Abs(), b.at.Sub(b.nominal).Abs()
	return cmp.Or(cmp.Compare(da, db), a.nominal.Compare(b.nominal)) < 0
}
