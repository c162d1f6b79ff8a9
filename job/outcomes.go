package job

import "time"

// Outcomes say how a job's executions have ended. They are kept while the job is disabled, and by a change of its
// definition. The zero value is that of a job of which no execution has ended.
type Outcomes struct {
	LastOutcome *LastOutcome `json:"lastOutcome,omitempty"` // of the execution that ended last
	// of the last one that failed; kept when the job recovers
	LastError           *LastError `json:"lastError,omitempty"`
	ConsecutiveFailures int        `json:"consecutiveFailures,omitempty"` // how many of the last ones failed in a row
	// when the first of these ended; nil if the last one succeeded
	FailingSince    *Time `json:"failingSince,omitempty"`
	LastSuccessTime *Time `json:"lastSuccessTime,omitempty"` // when the last one that succeeded ended
}

// LastSuccess returns when the last execution that succeeded ended; zero if none has.
func (o *Outcomes) LastSuccess() time.Time {
	if o.LastSuccessTime == nil {
		return time.Time{}
	}
	return o.LastSuccessTime.Time
}

// A LastOutcome is how the execution that ended last did.
type LastOutcome struct {
	Status                Outcome `json:"status"` // OutcomeCompleted or OutcomeFailed
	ExpectedExecutionTime *Time   `json:"expectedExecutionTime"`
	EndTime               *Time   `json:"endTime"` // of its last attempt, the error action's included
}

// A LastError is why the last execution that failed did, one included that has not ended and has failed so far.
type LastError struct {
	Message string `json:"message"` // of the last attempt of its action, as in the history, at most 500 bytes
	EndTime *Time  `json:"endTime"` // of the execution or, if that has not ended, of the attempt
}

// An ExecutionEnd is how an execution ended whose request was sent, or may have been.
type ExecutionEnd struct {
	Execution
	Manual   bool // a manual run, not an occurrence
	Failed   bool
	Error    string    // why it failed, at most [MaxError] bytes
	Began    time.Time // when its first attempt began; zero if that is not known
	Ended    time.Time
	Attempts int // of its action, that may have been sent

	FailedBefore int // how many executions had failed in a row before it; set by [Outcomes.Add]
}

// MaxError is the size limit of the sentence that says why something failed, in bytes, wherever it is kept: in the
// status of a job, the history, alerts, deliveries and the journal. The server cuts failures of 4 KiB while it waits for
// a retry.
const MaxError = 500

// Late returns how long after its due time the execution began; negative if that is not known.
func (e *ExecutionEnd) Late() time.Duration {
	if e.Began.IsZero() {
		return -1
	}
	if e.Recovered || e.Backfill != "" { // it was not to begin when it was due
		return 0
	}
	return max(0, e.Began.Sub(e.Begin()))
}

// Mark returns the execution for [Recent].
func (e *ExecutionEnd) Mark() Mark {
	due := e.Due
	if e.Backfill != "" { // it counts when it ran
		due = e.Ended
	}
	return Mark{Due: due, Manual: e.Manual, Outcome: OutcomeOf(e.Failed), Late: e.Late()}
}

// Add adds the end of an execution, and sets its FailedBefore. Executions count in the order in which they end, manual
// runs like occurrences. Occurrences that were not run are none of them.
func (o *Outcomes) Add(e *ExecutionEnd) {
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
