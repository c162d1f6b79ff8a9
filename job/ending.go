package job

import "time"

// An Ending is how an execution ended whose request was sent, or may have been.
type Ending struct {
	Execution
	Manual   bool // a manual run, not an occurrence
	Failed   bool
	Error    string    // why it failed, at most [MaxError] bytes
	Began    time.Time // when its first attempt began; zero if that is not known
	Ended    time.Time
	Attempts int // of its action, that may have been sent

	FailedBefore int // how many executions had failed in a row before it; set by [Outcomes.Add]
}

// MaxError is the size limit of the error that a job's status keeps, in bytes.
const MaxError = 500

// Late returns how long after its due time the execution began; negative if that is not known.
func (e *Ending) Late() time.Duration {
	if e.Began.IsZero() {
		return -1
	}
	return max(0, e.Began.Sub(e.Due))
}

// Mark returns the execution for [Recent].
func (e *Ending) Mark() Mark {
	return Mark{Due: e.Due, Manual: e.Manual, Outcome: OutcomeOf(e.Failed), Late: e.Late()}
}

// Add adds the end of an execution, and sets its FailedBefore. Executions count in the order in which they end, manual
// runs like occurrences. Occurrences that were not run are none of them.
func (o *Outcomes) Add(e *Ending) {
	e.FailedBefore = o.ConsecutiveFailures
	o.LastOutcome = &LastOutcome{
		Status: OutcomeOf(e.Failed), ExpectedExecutionTime: NewTime(e.Due), EndTime: NewTime(e.Ended),
	}
	if !e.Failed {
		o.LastSuccessTime, o.FailingSince, o.ConsecutiveFailures = NewTime(e.Ended), nil, 0
		return
	}
	o.LastError = &LastError{Message: e.Error, EndTime: NewTime(e.Ended)}
	if o.ConsecutiveFailures++; e.FailedBefore == 0 {
		o.FailingSince = NewTime(e.Ended)
	}
}
