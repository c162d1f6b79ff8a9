package job

import "time"

// A Status is how a job stands, as the REST API shows it.
type Status struct {
	LastExecutionTime *Time `json:"lastExecutionTime,omitempty"` // when the last execution started
	NextExecutionTime *Time `json:"nextExecutionTime,omitempty"` // when the next occurrence is due
	ExecutionCount    int   `json:"executionCount"`              // executions started: occurrences and runs on demand, retries not counted
	FailureCount      int   `json:"failureCount"`                // executions that ended without success
	FaultedCount      int   `json:"faultedCount"`                // of these, the ones whose retries were exhausted

	// Reason says why no occurrence is left; see [Definition.WhyOver].
	Reason string `json:"reason,omitempty"`
}

// A Job is what is known of a job: its definition without secrets, and how it stands.
type Job struct {
	Key        Key        `json:"key"`
	Created    time.Time  `json:"created"`
	Definition Definition `json:"definition"` // State is the state the job is in
	Status     Status     `json:"status"`
	Generation int        `json:"generation"` // counts the changes of the definition
	Ahead      *Ahead     `json:"ahead,omitempty"`

	// Unread says, in an entry of a list, why the job could not be read. Then
	// nothing but the key is known of it.
	Unread string `json:"-"`
}

// Ahead are occurrences that were dispatched before their due time. A job's status does
// not count them: it names the first one as the next execution.
type Ahead struct {
	Due  []time.Time `json:"due"`            // oldest first
	Next *Time       `json:"next,omitempty"` // NextExecutionTime once all of them are due
}

// At returns the job as it stands at an instant: what was dispatched ahead and is due by
// then has been executed.
func (j Job) At(now time.Time) Job {
	ahead := j.Ahead
	j.Ahead = nil
	if ahead == nil {
		return j
	}
	for i, due := range ahead.Due {
		if due.After(now) {
			break
		}
		s := &j.Status
		s.ExecutionCount++
		if last := s.LastExecutionTime; last == nil || last.Before(due) { // a run on demand may have come after it
			s.LastExecutionTime = NewTime(due)
		}
		if s.NextExecutionTime = ahead.Next; i+1 < len(ahead.Due) {
			s.NextExecutionTime = NewTime(ahead.Due[i+1])
		}
	}
	return j
}

// An ActionName tells a job's two actions apart.
type ActionName string

// The names that the history uses.
const (
	MainAction  ActionName = "MainAction"
	ErrorAction ActionName = "ErrorAction"
)

// An Execution is one occurrence of a job, or one run on demand: all attempts
// of its action, and of its error action if they fail.
type Execution struct {
	ID         string     `json:"id"`     // a UUID, the same for all attempts: what a receiver may tell repetitions by
	Due        time.Time  `json:"due"`    // when it was to start
	Repeat     int        `json:"repeat"` // 1 for the job's first execution, 2 for the second …
	ActionName ActionName `json:"action"`
	Job        string     `json:"job"`        // the job's name
	Collection string     `json:"collection"` // its collection's name
}

// An Outcome is how an attempt ended, or why there was none.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted Outcome = "Completed"
	OutcomeFailed    Outcome = "Failed"
	OutcomeMissed    Outcome = "Missed"    // came due when nothing could run it, or too many waited
	OutcomeSkipped   Outcome = "Skipped"   // came due while the one before it ran
	OutcomeCancelled Outcome = "Cancelled" // withdrawn before it was sent
	OutcomePostponed Outcome = "Postponed" // known to Azure Scheduler; nothing ends like this
)

// An Attempt is the record of one attempt of an action.
type Attempt struct {
	Number  int       `json:"n"` // 1 for the first
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Outcome Outcome   `json:"outcome"`
	Message string    `json:"message"` // what was answered, or what went wrong; without secrets
}

// A Record is an entry of a job's history: an attempt of an execution, or an
// occurrence that was not run.
type Record struct {
	Execution
	Attempt
}
