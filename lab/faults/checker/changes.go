package checker

import (
	"slices"
	"time"

	"almanac/lab/record"
)

// checkChanges checks that after the answer to a change no request arrives that the change forbids.
func (c *checker) checkChanges(j *record.JobLog) {
	for _, r := range j.Requests {
		if created := j.Created(); created == nil || r.Arrived.Before(created.Issued()) {
			c.violation(Updated, j.Job, r.Arrived, "%s of %s arrived before the job was created", r.Action, r.ID)
			continue
		}
		for i, change := range j.Changes {
			outcome, answered := change.Outcome()
			if outcome != record.Applied || !r.Arrived.After(answered) || !forbids(j, i, r) {
				continue
			}
			late := r.Arrived.Sub(answered)
			if late <= c.log.Run.Tolerance {
				c.excused(lawOf(change.Kind), j.Job, r.Arrived, nil, "%s of %s arrived %s after the answer to %s",
					r.Action, r.ID, late.Round(time.Millisecond), change.Kind)
				continue
			}
			c.violation(lawOf(change.Kind), j.Job, r.Arrived,
				"%s of %s due %s (version %d) arrived %s after the answer to %s at %s",
				r.Action, r.ID, record.Clock(r.Due), r.Version, late.Round(time.Millisecond), change.Kind,
				record.Clock(answered))
			break
		}
	}
}

// lawOf returns the law that a request after a change of that kind violates.
func lawOf(kind string) string {
	switch kind {
	case record.Disable, record.DisableCollection:
		return Disabled
	case record.Delete:
		return Deleted
	}
	return Updated
}

// forbids reports whether the change with index i forbids a request that arrives after its answer.
func forbids(j *record.JobLog, i int, r *record.Request) bool {
	change := j.Changes[i]
	issued := change.Issued().Truncate(time.Second)
	switch change.Kind {
	case record.Delete:
		return true
	case record.ChangeAction:
		return r.Version < change.Definition.Version
	case record.ChangeRecurrence:
		if r.Version < change.Definition.Version {
			return true
		}
		if ofLaterManualRun(j, r, change) {
			return false
		}
		if b := j.BackfillOf(r.Due); b != nil { // the change ends those before it, but for what has begun
			return false
		}
		return r.Due.Before(issued) || !dueSince(j, i, r)
	case record.Disable, record.DisableCollection:
		if ofLaterManualRun(j, r, change) {
			return false
		}
		enabled, ok := enabledAfter(j, i)
		if !ok {
			return true
		}
		if d, known := j.DefinitionOf(r.Version, r.Arrived); known && d.Once {
			return r.Arrived.Before(enabled) // a one-time job runs at once when it is enabled
		}
		return r.Due.Before(enabled.Truncate(time.Second))
	}
	return false
}

// ofLaterManualRun reports whether a request may be of a manual run that was answered after a change was issued.
func ofLaterManualRun(j *record.JobLog, r *record.Request, change *record.Change) bool {
	return slices.ContainsFunc(j.ManualRunsDue(r.Due), func(run *record.Change) bool {
		outcome, at := run.Outcome()
		return outcome == record.Unknown || !at.Before(change.Issued())
	})
}

// dueSince reports whether a request is due by the schedule of the change with index i, or by a later one.
func dueSince(j *record.JobLog, i int, r *record.Request) bool {
	return slices.ContainsFunc(j.Changes[i:], func(change *record.Change) bool {
		return change.Definition != nil && !change.Issued().After(r.Arrived) && change.Definition.IsDue(r.Due)
	})
}

// enabledAfter returns when a job that the change with index i disabled may have been enabled again.
func enabledAfter(j *record.JobLog, i int) (time.Time, bool) {
	opposite := map[string]string{record.Disable: record.Enable,
		record.DisableCollection: record.EnableCollection}[j.Changes[i].Kind]
	for _, change := range j.Changes[i+1:] {
		if change.Kind == opposite {
			return change.Issued(), true
		}
	}
	return time.Time{}, false
}

// checkAnswers checks that every change is answered, unless the API or Temporal was down.
func (c *checker) checkAnswers() {
	for i := range c.log.Changes {
		change := &c.log.Changes[i]
		for _, t := range change.Tries {
			if !t.Unanswered() {
				continue
			}
			if f := c.log.Outage(t); f != nil {
				c.excused(Unanswered, change.Job, t.Issued, f, "%s was answered %d", change.Kind, t.Status)
				continue
			}
			if c.overloaded(t.Issued, t.Answered) {
				c.excused(Unanswered, change.Job, t.Issued, nil, "%s was answered %d after %s while others were sent very late",
					change.Kind, t.Status, t.Answered.Sub(t.Issued).Round(time.Millisecond))
				continue
			}
			c.violation(Unanswered, change.Job, t.Issued,
				"%s was answered %d after %s although the API and Temporal were up: %s",
				change.Kind, t.Status, t.Answered.Sub(t.Issued).Round(time.Millisecond), t.Error)
		}
	}
}
