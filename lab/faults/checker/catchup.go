package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

const (
	calmBefore = 75 * time.Second
	calmAfter  = 75 * time.Second
	idleBefore = 3 * time.Second
)

// checkCatchUp checks the occurrences that were due in a downtime, of jobs that were idle and not changed then.
func (c *checker) checkCatchUp(j *record.JobLog) {
	for i := range c.log.Faults {
		f := &c.log.Faults[i]
		if !f.Total() || c.nearOtherFault(f) {
			continue
		}
		for _, s := range j.Spans() {
			if s.Active && !s.Definition.Once && s.Definition.Count == 0 &&
				s.From.Before(f.Start.Add(-calmBefore)) && s.To.After(f.End.Add(calmAfter)) &&
				!j.Changing(f.Start.Add(-calmBefore), f.End.Add(calmAfter)) && c.idle(j, f.Start) {
				c.verdict.Downtimes++
				c.checkDowntime(j, f, &s)
			}
		}
	}
}

// nearOtherFault reports whether another fault was close to this one.
func (c *checker) nearOtherFault(f *record.Fault) bool {
	return slices.ContainsFunc(c.log.Faults, func(other record.Fault) bool {
		return !other.Start.Equal(f.Start) && other.Overlaps(f.Start.Add(-calmBefore), f.End.Add(calmAfter))
	})
}

// idle reports whether no execution of the job was running, or about to start, at t: nothing of it had come to its end
// shortly before, or later if the server was late, was repeated after t, or was due and came or was decided only then.
func (c *checker) idle(j *record.JobLog, t time.Time) bool {
	for _, a := range j.Actions {
		last := a.Last()
		if a.Due.After(t) {
			continue
		}
		if last.Arrived.After(t) || last.End().Add(idleBefore+c.lag(t)).After(t) ||
			!last.Success() && last.End().Add(calmBefore).After(t) {
			return false
		}
	}
	for _, entries := range j.Entries {
		if slices.ContainsFunc(entries, func(e *record.Entry) bool {
			return !e.Due.After(t) && e.End.Add(idleBefore).After(t)
		}) {
			return false
		}
	}
	for _, d := range j.Definitions() {
		if len(d.Due(t.Add(-idleBefore-time.Second), t.Add(time.Second))) > 0 && !d.Once {
			return false
		}
	}
	return !slices.ContainsFunc(j.ManualRuns,
		func(r *record.Change) bool { return t.Sub(r.Issued()).Abs() < calmBefore })
}

// checkDowntime checks the occurrences that were due in a downtime. In a catch-up window they run one after
// the other, with allowAll while no attempt of another is made, and those left when the job is changed are not sent.
func (c *checker) checkDowntime(j *record.JobLog, f *record.Fault, s *record.Span) {
	d := &s.Definition
	dues := d.Due(f.Start, f.Restart)
	var ended, began time.Time                                                  // when the occurrences before ended, and when the last of them began
	changed := func() bool { return c.doneBy(later(ended, f.End)).After(s.To) } // before the job had to be ready
	for i, due := range dues {
		arrival, latest := j.Arrival(due), i == len(dues)-1
		switch {
		case arrival == nil && changed():
		case d.CatchUp && arrival == nil:
			c.violation(CatchUp, j.Job, due,
				"the occurrence due %s, within the catch-up window of an hour, was not sent after the %s; the "+
					"history says %s", record.Clock(due), f, statusOf(j, due))
		case d.CatchUp && arrival.Arrived.Before(ended) &&
			(d.Overlap != "allowAll" || arrival.Arrived.Before(began) || beingSent(j, dues[:i], arrival.Arrived)):
			c.violation(CatchUp, j.Job, due,
				"the occurrence due %s was sent before the one before it had ended, after the %s", record.Clock(due), f)
		case d.CatchUp:
			ended, began = later(ended, endOf(j, due)), later(began, arrival.Arrived)
		case !latest && arrival != nil:
			c.violation(CatchUp, j.Job, due,
				"the occurrence due %s was sent at %s after the %s, although a later one was due as well and there "+
					"is no catch-up window",
				record.Clock(due), record.Clock(arrival.Arrived), f)
		case !latest && statusOf(j, due) != "Missed":
			c.violation(CatchUp, j.Job, due,
				"the occurrence due %s during the %s must be Missed in the history, which says %s", record.Clock(due),
				f, statusOf(j, due))
		case latest && arrival == nil && !decidedLate(j, due) && due.Add(time.Minute).After(f.End.Add(30*time.Second)):
			c.violation(CatchUp, j.Job, due,
				"the occurrence due %s, the latest one during the %s, was not sent; the history says %s",
				record.Clock(due), f, statusOf(j, due))
		}
	}
}

// decidedLate reports whether an occurrence was missed after the next one was due: under load it may be
// decided so late that it is no longer the latest one.
func decidedLate(j *record.JobLog, due time.Time) bool {
	return slices.ContainsFunc(j.Entries[due.Unix()], func(e *record.Entry) bool {
		return e.Status == "Missed" && !e.Start.Before(due.Add(time.Minute))
	})
}

// beingSent reports whether a request of one of the occurrences was being answered at t.
func beingSent(j *record.JobLog, dues []time.Time, t time.Time) bool {
	for _, a := range j.Actions {
		if slices.ContainsFunc(dues, a.Due.Equal) && slices.ContainsFunc(a.Requests, func(r *record.Request) bool {
			return r.Arrived.Before(t) && r.End().After(t)
		}) {
			return true
		}
	}
	return false
}

// endOf returns when the last request of an occurrence ended.
func endOf(j *record.JobLog, due time.Time) time.Time {
	var end time.Time
	for _, a := range j.Actions {
		if a.Due.Equal(due) {
			end = later(end, a.Last().End())
		}
	}
	return end
}

// statusOf returns the status of an occurrence in the history: Missed if any entry says so, or if the history
// of a deleted job could not be read.
func statusOf(j *record.JobLog, due time.Time) string {
	if j.Read == nil || j.Read.Status != 200 {
		if j.Deleted() != nil {
			return "Missed"
		}
		return "nothing"
	}
	entries := j.Entries[due.Unix()]
	switch {
	case len(entries) == 0:
		return "nothing"
	case slices.ContainsFunc(entries, func(e *record.Entry) bool { return e.Status == "Missed" }):
		return "Missed"
	}
	return entries[0].Status
}
