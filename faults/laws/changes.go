package laws

import (
	"time"
)

// checkChanges checks that nothing is sent that an answered change forbids.
func (c *checker) checkChanges(j *life) {
	for _, r := range j.requests {
		if created := j.created(); created == nil || r.Arrived.Before(created.Issued()) {
			c.violation(Updated, j.Job, r.Arrived, "%s of %s arrived before the job was created", r.Action, r.ID)
			continue
		}
		for i, change := range j.changes {
			outcome, answered := change.Outcome()
			if outcome != Applied || !r.Arrived.After(answered) || !j.forbids(i, r) {
				continue
			}
			late := r.Arrived.Sub(answered)
			if late <= c.log.Run.Tolerance {
				c.excused(lawOf(change.Kind), j.Job, r.Arrived, nil, "%s of %s arrived %s after the answer to %s", r.Action, r.ID, late.Round(time.Millisecond), change.Kind)
				continue
			}
			c.violation(lawOf(change.Kind), j.Job, r.Arrived, "%s of %s due %s (version %d) arrived %s after the answer to %s at %s",
				r.Action, r.ID, clock(r.Due), r.Version, late.Round(time.Millisecond), change.Kind, clock(answered))
			break
		}
	}
}

func lawOf(kind string) string {
	switch kind {
	case Disable, DisableCollection:
		return Disabled
	case Delete:
		return Deleted
	}
	return Updated
}

// forbids reports whether the change of that index forbids a request that
// arrives after its answer.
func (j *life) forbids(i int, r *Request) bool {
	change := j.changes[i]
	issued := change.Issued().Truncate(time.Second)
	switch change.Kind {
	case Delete:
		return true
	case ChangeAction:
		return r.Version < change.Definition.Version
	case ChangeRecurrence:
		if r.Version < change.Definition.Version {
			return true
		}
		if j.mayBeDemanded(r, change) {
			return false
		}
		return r.Due.Before(issued) || !j.onGridSince(i, r)
	case Disable, DisableCollection:
		if j.mayBeDemanded(r, change) {
			return false
		}
		enabled, ok := j.enabledAfter(i)
		if !ok {
			return true
		}
		if d, known := j.definitionOf(r.Version, r.Arrived); known && d.Once {
			return r.Arrived.Before(enabled) // it runs at once when it is enabled
		}
		return r.Due.Before(enabled.Truncate(time.Second))
	}
	return false
}

// mayBeDemanded reports whether a request may belong to a run on demand that was
// answered after a change was issued.
func (j *life) mayBeDemanded(r *Request, change *Change) bool {
	for _, run := range j.demandedBy(r.Due) {
		if outcome, at := run.Outcome(); outcome == Unknown || !at.Before(change.Issued()) {
			return true
		}
	}
	return false
}

// onGridSince reports whether a request is due by the recurrence that a change
// put in force, or by a later one.
func (j *life) onGridSince(i int, r *Request) bool {
	for _, change := range j.changes[i:] {
		if change.Definition != nil && !change.Issued().After(r.Arrived) && change.Definition.onGrid(r.Due) {
			return true
		}
	}
	return false
}

// enabledAfter returns when a job that a change disabled may have been enabled again.
func (j *life) enabledAfter(i int) (time.Time, bool) {
	opposite := map[string]string{Disable: Enable, DisableCollection: EnableCollection}[j.changes[i].Kind]
	for _, change := range j.changes[i+1:] {
		if change.Kind == opposite {
			return change.Issued(), true
		}
	}
	return time.Time{}, false
}

// checkAnswers checks that every change is answered, unless what answers it was down.
func (c *checker) checkAnswers() {
	for i := range c.log.Changes {
		change := &c.log.Changes[i]
		for _, t := range change.Tries {
			if t.Status != 0 && t.Status < 500 {
				continue
			}
			if f := outage(c.log, t); f != nil {
				c.excused(Unanswered, change.Job, t.Issued, f, "%s was answered %d", change.Kind, t.Status)
				continue
			}
			c.violation(Unanswered, change.Job, t.Issued, "%s was answered %d after %s although the API and Temporal were up: %s",
				change.Kind, t.Status, t.Answered.Sub(t.Issued).Round(time.Millisecond), t.Error)
		}
	}
}

// afterOutage is how long after a fault the API may still refuse changes.
const afterOutage = 10 * time.Second

// outage returns a fault that explains why a try had no answer.
func outage(l *Log, t Try) *Fault {
	for i := range l.Faults {
		f := &l.Faults[i]
		if f.Stopped(API, Server, Workers) && !f.Start.After(t.Answered) && !f.End.Add(afterOutage).Before(t.Issued) {
			return f
		}
	}
	return nil
}
