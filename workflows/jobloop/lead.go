package jobloop

import (
	"time"
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
	case j.executions.Crowded():
		return 0
	case j.executions.Len() > 0:
		return j.LeadTime()
	}
	return max(j.LeadTime(), j.HoldTime())
}
