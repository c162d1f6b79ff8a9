package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// checkWindow checks that all occurrences of the job start equally long after they are due, within its flexible window,
// and that none is sent before.
func (m *model) checkWindow() {
	m.delay = m.delayFound()
	window := m.Created().Definition.Window
	for _, e := range m.all() {
		if e.Planned.IsZero() {
			continue
		}
		switch delay := e.Planned.Sub(e.Due); {
		case delay < 0 || delay >= window:
			m.c.violation(Windows, m.Job, e.Due, "what is due %s was to start %s later, the flexible window is %s",
				record.Clock(e.Due), delay, window)
		case delay != m.delay:
			m.c.violation(Windows, m.Job, e.Due, "what is due %s was to start %s later, others %s", record.Clock(e.Due),
				delay, m.delay)
		case e.Recovered || e.Backfill != "":
			m.c.violation(Windows, m.Job, e.Due, "what is due %s was recovered or backfilled, and delayed",
				record.Clock(e.Due))
		}
	}
	for _, r := range m.Requests {
		o := m.occurrence(r.Due)
		regular := m.BackfillOf(r.Due) == nil && len(m.ManualRunsDue(r.Due)) == 0 && len(o.in) == 0 && !o.near &&
			!slices.ContainsFunc(o.entries, func(e *record.Entry) bool { return e.Recovered })
		if regular && r.Arrived.Before(o.planned.Add(-time.Millisecond)) {
			m.c.violation(Windows, m.Job, r.Arrived, "%s due %s arrived %s before its planned start", r.ID,
				record.Clock(r.Due), o.planned.Sub(r.Arrived))
		}
	}
}

// delayFound returns how long after its due time an occurrence of the job starts, as the history has it.
func (m *model) delayFound() time.Duration {
	for _, e := range m.all() {
		if !e.Planned.IsZero() {
			return e.Planned.Sub(e.Due)
		}
	}
	return 0
}

// backfilling reports whether a backfill of the job may have been running at a time.
func (m *model) backfilling(t time.Time) bool {
	return slices.ContainsFunc(m.Requests, func(r *record.Request) bool {
		return m.BackfillOf(r.Due) != nil && r.Arrived.Sub(t).Abs() < time.Minute
	})
}

func (m *model) checkBackfills() {
	for i, c := range m.Changes {
		if c.Kind == record.BeginBackfill {
			m.checkBackfill(c, m.Changes[i+1:])
		}
	}
}

// checkBackfill checks a backfill. after are the changes after it.
func (m *model) checkBackfill(c *record.Change, after []*record.Change) {
	b := c.Backfill
	outcome, _ := c.Outcome()
	ended, paused := m.endOf(b, after)
	var began []*record.ActionLog
	for _, due := range m.definitionAt(c.Issued()).Due(b.From.Add(-time.Second), b.Until) {
		if due.Before(b.From) {
			continue
		}
		a := m.backfilled(b, due, outcome == record.Applied && ended.IsZero() && paused.IsZero())
		if a != nil {
			began = append(began, a)
		}
	}
	slices.SortFunc(began, func(x, y *record.ActionLog) int { return x.First().Arrived.Compare(y.First().Arrived) })
	m.checkPace(c, began, after)
	for _, stop := range []time.Time{ended, paused} {
		m.checkStopped(b, stop, began, after)
	}
}

// endOf returns when a backfill was ended, and when it was paused and not resumed; zero if it was not.
func (m *model) endOf(b *record.Backfill, after []*record.Change) (ended, paused time.Time) {
	for _, c := range after {
		outcome, at := c.Outcome()
		mine := c.Kind == record.ChangeBackfill && c.Backfill.Name == b.Name
		switch {
		case c.Kind == record.Delete || c.Kind == record.ChangeRecurrence || mine && c.Backfill.Action == "end",
			mine && outcome == record.Unknown:
			if outcome == record.Unknown {
				at = never
			}
			return at, paused
		case mine && c.Backfill.Action == "pause":
			paused = at
		case mine && c.Backfill.Action == "resume":
			paused = time.Time{}
		}
	}
	return ended, paused
}

// backfilled checks an occurrence of a backfill, and returns its requests; nil if there are none.
func (m *model) backfilled(b *record.Backfill, due time.Time, must bool) (found *record.ActionLog) {
	at := record.Clock(due)
	executions := 0
	for _, a := range m.Actions {
		if a.Action == record.MainAction && a.Due.Equal(due) {
			found = a
			executions++
		}
	}
	numbers, wrong := map[int]bool{}, false
	for _, e := range m.Entries[due.Unix()] {
		if e.Due.Equal(due) && e.Action == record.MainAction {
			numbers[e.Repeat] = true
			wrong = wrong || e.Backfill != b.Name && e.Repeat > 0
		}
	}
	read := m.Read != nil && m.Read.Status == 200
	switch final := read && m.Read.Final; {
	case executions > 1 || len(numbers) > 1:
		m.c.violation(Backfills, m.Job, due, "the backfill %s ran the occurrence due %s in %d executions", b.Name, at,
			max(executions, len(numbers)))
	case wrong:
		m.c.violation(Backfills, m.Job, due, "the entry of the occurrence due %s is not one of the backfill %s", at, b.Name)
	case must && final && executions == 0 && len(numbers) == 0:
		m.c.violation(Backfills, m.Job, due, "the backfill %s did not run the occurrence due %s", b.Name, at)
	case final && executions == 1 && len(numbers) == 0:
		m.c.violation(Backfills, m.Job, due, "the backfill %s ran the occurrence due %s, and it has no entry", b.Name, at)
	}
	return found
}

// checkPace checks that a backfill begins no more often, and has no more executions at once, than it was asked for.
func (m *model) checkPace(c *record.Change, began []*record.ActionLog, after []*record.Change) {
	b := c.Backfill
	for i, a := range began {
		arrived := a.First().Arrived
		if least := c.Issued().Add(time.Duration(i) * b.Every); arrived.Before(least) {
			m.c.violation(Backfills, m.Job, arrived, "the backfill %s began its execution %d %s early", b.Name, i+1,
				least.Sub(arrived))
		}
		beside := 0
		for _, other := range began[:i] {
			if other.Last().End().After(arrived) {
				beside++
			}
		}
		if beside >= max(1, b.AtOnce) && m.c.log.LastFault(arrived.Add(-settling), arrived) == nil &&
			!slices.ContainsFunc(after, func(c *record.Change) bool {
				return c.Kind != record.ChangeBackfill && !c.Issued().After(arrived)
			}) {
			m.c.violation(Backfills, m.Job, arrived, "the backfill %s ran %d at once, %d may", b.Name, beside+1,
				max(1, b.AtOnce))
		}
	}
}

// checkStopped checks that a backfill begins nothing after it was ended or paused, but for what had begun by then: its
// attempts may still be on their way.
func (m *model) checkStopped(b *record.Backfill, stop time.Time, began []*record.ActionLog, after []*record.Change) {
	if stop.IsZero() || slices.ContainsFunc(after, func(c *record.Change) bool {
		return c.Kind == record.ChangeBackfill && c.Backfill.Name == b.Name && c.Backfill.Action == "resume" &&
			c.Issued().After(stop)
	}) {
		return
	}
	later := slices.DeleteFunc(slices.Clone(began), func(a *record.ActionLog) bool {
		return !a.First().Arrived.After(stop)
	})
	if len(later) > max(1, b.AtOnce) {
		m.c.violation(Backfills, m.Job, stop, "the backfill %s was stopped at %s, and began %d occurrences after that",
			b.Name, record.Clock(stop), len(later))
	}
}
