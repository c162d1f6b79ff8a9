package laws

import (
	"slices"
	"time"
)

// checkOccurrences checks that every occurrence that was due for certain reached
// the receiver, or that the history says why not.
func (c *checker) checkOccurrences(j *life) {
	started := j.startedDues()
	for _, s := range j.spans() {
		if !s.active {
			continue
		}
		for _, due := range s.definition.due(s.from, s.to) {
			if s.definition.Count > 0 && countBefore(started, due) >= s.definition.Count {
				break
			}
			if j.accounted(due) || c.mayBeUnknown(j, due) {
				continue
			}
			c.violation(NoLoss, j.Job, due, "the occurrence due %s was never sent, and the history does not mention it (version %d)", clock(due), s.definition.Version)
		}
	}
}

// mayBeUnknown reports whether an occurrence that nobody knows of may be one that
// was due shortly before its job was deleted.
func (c *checker) mayBeUnknown(j *life, due time.Time) bool {
	deleted := j.deleted()
	if deleted == nil {
		return j.read == nil || j.read.Status != 200 // read reports it
	}
	grace := lateness
	if f := c.fault(due.Add(-settling), deleted.Issued()); f != nil {
		grace = deleted.Issued().Sub(f.Start) + settling
	}
	if j.busyAt(due, deleted.Issued()) {
		return true // it waited for the one before it
	}
	if (j.read == nil || j.read.Status != 200) && c.fault(due.Add(-settling), due.Add(lateness)) != nil {
		return true // it may have been dropped, and nobody read the history in time
	}
	return due.Add(grace).After(deleted.Issued())
}

// startedDues returns the due times of the executions that were sent, or are in
// the history as if they were, oldest first, but for runs on demand.
func (j *life) startedDues() []time.Time {
	var all []time.Time
	for _, s := range j.sends {
		if s.action == Main && (len(j.demandedBy(s.due)) == 0 || j.occurrence(s.due)) {
			all = append(all, s.due)
		}
	}
	for unix, entries := range j.entries {
		started := slices.ContainsFunc(entries, func(e *Entry) bool { return e.Repeat > 0 && (e.Status == "Completed" || e.Status == "Failed") })
		if due := time.Unix(unix, 0).UTC(); started && (len(j.demandedBy(due)) == 0 || j.occurrence(due)) {
			all = append(all, due)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

func countBefore(all []time.Time, t time.Time) int {
	n, _ := slices.BinarySearchFunc(all, t, time.Time.Compare)
	return n
}

// under returns the stretch in which an execution was running, as far as the
// receiver and the history know.
func (j *life) under(due time.Time) (from, to time.Time) {
	for _, s := range j.sends {
		if s.due.Unix() != due.Unix() {
			continue
		}
		if from.IsZero() || s.first().Arrived.Before(from) {
			from = s.first().Arrived
		}
		if end := s.last().End(); end.After(to) {
			to = end
		}
	}
	for _, e := range j.entries[due.Unix()] {
		if e.Repeat == 0 {
			continue
		}
		if from.IsZero() || e.Start.Before(from) {
			from = e.Start
		}
		if e.End.After(to) {
			to = e.End
		}
	}
	return from, to
}

// busyAt reports whether another execution was running at some time from due
// to until.
func (j *life) busyAt(due, until time.Time) bool {
	seen := map[int64]bool{}
	check := func(other time.Time) bool {
		if seen[other.Unix()] || !other.Before(due) {
			return false
		}
		seen[other.Unix()] = true
		from, to := j.under(other)
		return !from.IsZero() && !from.After(until) && !to.Add(busySlack).Before(due)
	}
	for _, s := range j.sends {
		if check(s.due) {
			return true
		}
	}
	for unix := range j.entries {
		if check(time.Unix(unix, 0)) {
			return true
		}
	}
	return false
}

// busySlack is how long after its last answer an execution may still be under
// way: its outcome has to be recorded.
const busySlack = 2 * time.Second

// checkDropped checks that what was not run had a reason.
func (c *checker) checkDropped(j *life) {
	for unix, entries := range j.entries {
		due := time.Unix(unix, 0)
		for _, e := range entries {
			if e.Status != "Missed" && e.Status != "Skipped" || e.Action != Main {
				continue
			}
			if j.arrival(due) != nil && len(j.demandedBy(due)) == 0 && e.Repeat == 0 {
				c.violation(NoLoss, j.Job, due, "the occurrence due %s was sent, and the history says that it was not: %s", clock(due), e.Message)
				continue
			}
			s, known := j.spanAt(due)
			if known && e.Status == "Skipped" && s.definition.Overlap != "skip" {
				c.violation(NoLoss, j.Job, due, "the occurrence due %s is Skipped, the overlap policy is %s", clock(due), s.definition.Overlap)
				continue
			}
			overlapped := j.busyAt(due, due) && (!known || s.definition.Overlap != "allowAll")
			if overlapped || c.fault(due.Add(-settling), maxTime(e.Start, due)) != nil || j.changing(due.Add(-5*time.Second), maxTime(e.Start, due).Add(5*time.Second)) {
				continue
			}
			c.violation(NoLoss, j.Job, due, "the occurrence due %s was dropped without need: %s, %s", clock(due), e.Status, e.Message)
		}
	}
}

// checkNeverArrived checks that an attempt which the history has as failed since
// its worker stopped was about to be sent when that stopped. A worker that only
// held the occurrence has sent nothing: then it must be sent by another one.
func (c *checker) checkNeverArrived(j *life) {
	for unix, entries := range j.entries {
		due := time.Unix(unix, 0).UTC()
		for _, action := range []string{Main, Error} {
			if sent, sure := j.sendsDue(due, action); sent != nil || !sure {
				continue
			}
			for _, e := range entries {
				if e.Action != action || e.Repeat == 0 || e.Status != "Failed" || c.sending(e) != nil {
					continue
				}
				c.violation(NoLoss, j.Job, due, "%s due %s never arrived, and the history counts it as an attempt (%d) although no fault stopped its sender then: %s",
					action, clock(due), e.Retry+1, e.Message)
			}
		}
	}
}

// lease is for how long ahead of sending, at most, an attempt is recorded as one
// that may have been sent.
const lease = 5 * time.Second

// sending returns a fault that began, or stopped the sender, while an attempt of
// the history that never arrived may have been about to be sent.
func (c *checker) sending(e *Entry) *Fault {
	for i := range c.log.Faults {
		f := &c.log.Faults[i]
		gone := f.restarts()
		from := e.Start.Add(-lease)
		if gone && !f.Start.Before(from) && !f.Start.After(e.End) || !gone && f.overlaps(from, e.End) {
			return f
		}
	}
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// changing reports whether a change was made, or may have been, at some time from a to b.
func (j *life) changing(a, b time.Time) bool {
	for _, change := range j.changes {
		outcome, at := j.outcome(change)
		if !change.Issued().After(b) && (outcome == Unknown || !at.Before(a)) {
			return true
		}
	}
	return false
}
