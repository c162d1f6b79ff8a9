package jobloop

import (
	"cmp"
	"time"

	"almanac/activities"
	"almanac/workflows/jobloop/execution"
)

// An occurrence is dispatched ahead: its activity is scheduled before the due time, and a worker holds
// it until then. So the queueing of a herd is over when it is due.

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ahead returns how long before its due time an occurrence may be dispatched now. If nothing is running
// it may be held for longer than the lead, up to the hold, which saves a timer and a workflow task.
func (j *loop) ahead() time.Duration {
	switch {
	case j.crowded():
		return 0
	case len(j.running) > 0:
		return j.LeadTime()
	}
	return max(j.LeadTime(), j.HoldTime())
}

// held returns the occurrence that a worker may hold at now; nil if none. There is at most one.
func (j *loop) held(now time.Time) *execution.Execution {
	for _, e := range j.running {
		if e.Due.After(now) {
			return e
		}
	}
	return nil
}

// heldUntil returns the due time of the occurrence that a worker may hold at now; zero if none.
func (j *loop) heldUntil(now time.Time) time.Time {
	if e := j.held(now); e != nil {
		return e.Due
	}
	return time.Time{}
}

// adoptHold stores the hold and the loss time that an execution's activity returned for the next one.
func (j *loop) adoptHold(out *activities.Output, end *activities.Ending) {
	j.Hold = cmp.Or(out.Hold, end.Hold, j.Hold)
	j.Loss = cmp.Or(out.Loss, j.Loss)
}
