package state

import (
	"time"

	"almanac/job"
)

// An Ending is the end of an execution whose request was sent, or may have been: its final status.
type Ending struct {
	Due, At time.Time // when it was due, and when it ended
	Failed  bool
	Why     string // why it failed, at most [MaxError] bytes
}

// MaxError is the size limit of the error that a job's status keeps, in bytes.
const MaxError = 500

// Record adds the end of an execution to the outcomes, and returns how many had failed in a row before it. Executions count in
// the order in which they end, manual runs like occurrences. Occurrences that were not run are none of them.
func Record(o *job.Outcomes, e Ending) (failedBefore int) {
	failedBefore = o.ConsecutiveFailures
	o.LastOutcome = &job.LastOutcome{Status: job.OutcomeCompleted, ExpectedExecutionTime: job.NewTime(e.Due), EndTime: job.NewTime(e.At)}
	if !e.Failed {
		o.LastSuccessTime, o.FailingSince, o.ConsecutiveFailures = job.NewTime(e.At), nil, 0
		return failedBefore
	}
	o.LastOutcome.Status = job.OutcomeFailed
	o.LastError = &job.LastError{Message: e.Why, EndTime: job.NewTime(e.At)}
	if o.ConsecutiveFailures++; failedBefore == 0 {
		o.FailingSince = job.NewTime(e.At)
	}
	return failedBefore
}
