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

// A RerunStatus says what a request to run a job again did.
type RerunStatus string

// What a request to run a job again did.
const (
	RerunStarted RerunStatus = "Started"
	// a manual run of the job runs or waits already, or the same request was made before.
	RerunUnderWay  RerunStatus = "UnderWay"
	RerunNotFailed RerunStatus = "NotFailed" // the execution that ended last succeeded, or none has ended
	RerunRefused   RerunStatus = "Refused"   // see Rerun.Err
)

// A RerunAnswer is the answer of a job's workflow to a request to run it again.
type RerunAnswer struct {
	Status    RerunStatus `json:"status"`
	Execution string      `json:"execution,omitempty"` // as in [Rerun]
}

// A Rerun is the result for one job of a request to run jobs again.
type Rerun struct {
	Key       Key
	Status    RerunStatus
	Execution string // name of the manual run that was started, or that runs or waits already; see [ExecutionName]
	Err       error  // why a job was refused; the job may or may not have been started if it is of [KindUnavailable]
}
