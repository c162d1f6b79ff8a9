package checker

import (
	"slices"
	"strings"
	"time"

	"almanac/lab/record"
)

// checkOverlap checks that no execution of an occurrence begins while another one runs, unless the overlap policy
// allows that. Those that a pause held, of backfills and of manual runs have rules of their own.
func (c *checker) checkOverlap(j *record.JobLog) {
	var all []*record.ActionLog
	for _, a := range j.Actions {
		if a.Action == record.MainAction && ofSchedule(j, a.Due) {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b *record.ActionLog) int { return a.First().Arrived.Compare(b.First().Arrived) })
	for i, a := range all {
		d, ok := j.DefinitionOf(a.First().Version, a.First().Arrived)
		if !ok || d.Overlap == "allowAll" {
			continue
		}
		for _, before := range all[:i] {
			c.checkBeside(j, before, a)
		}
	}
}

// ofSchedule reports whether an execution that is due at t is certainly an occurrence that was neither held nor
// backfilled.
func ofSchedule(j *record.JobLog, t time.Time) bool {
	return len(j.ManualRunsDue(t)) == 0 && j.BackfillOf(t) == nil &&
		!slices.ContainsFunc(j.Entries[t.Unix()], func(e *record.Entry) bool { return e.Recovered })
}

// checkBeside checks that an execution had ended when another one began.
func (c *checker) checkBeside(j *record.JobLog, before, a *record.ActionLog) {
	from, began, ended := before.First().Arrived, a.First().Arrived, before.Last().End()
	if !ended.Add(-clockSlack).After(began) || j.Changing(from, began) {
		return
	}
	const text = "the occurrence due %s began at %s, and the one due %s ran until %s"
	args := []any{record.Clock(a.Due), record.Clock(began), record.Clock(before.Due), record.Clock(ended)}
	if f := c.lastLoss(from.Add(-clockSlack), began); f != nil {
		c.excused(Overlaps, j.Job, began, f, text, args...)
		return
	}
	if c.overloaded(from, began) {
		c.excused(Overlaps, j.Job, began, nil, text, args...)
		return
	}
	c.violation(Overlaps, j.Job, began, text, args...)
}

// crowdedOut reports whether an occurrence is missed, as its entry says, since another one waited already: one that was
// due before it and was decided after it was due.
func crowdedOut(j *record.JobLog, e *record.Entry) bool {
	waited := func(due, decided time.Time) bool { return due.Before(e.Due) && !decided.Before(e.Due.Add(-clockSlack)) }
	return slices.ContainsFunc(j.Actions, func(a *record.ActionLog) bool {
		return a.Action == record.MainAction && waited(a.Due, a.First().Arrived)
	}) || slices.ContainsFunc(j.Read.Entries, func(other record.Entry) bool {
		return !strings.Contains(other.Message, anotherWaited) && waited(other.Due, other.Start)
	})
}

// anotherWaited is what the history says of an occurrence that a waiting one left no place.
const anotherWaited = "another occurrence waited already"
