package jobloop

import (
	"time"

	"almanac/job"
)

// An ending is the end of an execution whose request was sent, or may have been: its final status.
type ending struct {
	due, at time.Time // when it was due, and when it ended
	failed  bool
	why     string // why it failed, at most maxError bytes
}

// A change says what the end of an execution changed in how a job is doing.
type change struct {
	turnedFailing bool // it failed, and the one that ended before it did not
	recovered     bool // it succeeded, and the one that ended before it failed
	failures      int  // how many failed in a row, with this one; if recovered, before this one
}

// maxError is the size limit of the error that a job's status keeps, in bytes.
const maxError = 500

// record adds the end of an execution to the outcomes, and returns what that changed. Executions count in the
// order in which they end, manual runs like occurrences. Occurrences that were not run are none of them.
func record(o *job.Outcomes, e ending) change {
	before := o.ConsecutiveFailures
	o.LastOutcome = &job.LastOutcome{Status: job.OutcomeCompleted, ExpectedExecutionTime: job.NewTime(e.due), EndTime: job.NewTime(e.at)}
	if !e.failed {
		o.LastSuccessTime, o.FailingSince, o.ConsecutiveFailures = job.NewTime(e.at), nil, 0
		return change{recovered: before > 0, failures: before}
	}
	o.LastOutcome.Status = job.OutcomeFailed
	o.LastError = &job.LastError{Message: e.why, EndTime: job.NewTime(e.at)}
	if o.ConsecutiveFailures++; before == 0 {
		o.FailingSince = job.NewTime(e.at)
	}
	return change{turnedFailing: before == 0, failures: o.ConsecutiveFailures}
}
