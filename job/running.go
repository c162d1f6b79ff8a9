package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Running is the executions of a job that have not ended.
type Running struct {
	Run        string    `json:"run"` // id of the run of the job's workflow
	Executions []Ongoing `json:"executions"`
}

// An Ongoing is an execution that has not ended, as recorded by the job's workflow. The attempts of an activity that
// has not ended are recorded by Temporal's server only.
type Ongoing struct {
	Execution             // ActionName is the current action; without names
	Activity    string    `json:"activity,omitempty"`    // id of its activity; empty while it waits to begin another
	Next        time.Time `json:"next,omitzero"`         // when that begins
	Tried       int       `json:"tried,omitempty"`       // attempts of the current action in ended activities
	MaxAttempts int       `json:"maxAttempts,omitempty"` // of the current action
	Error       string    `json:"error,omitempty"`       // of the main action's last attempt that failed
	ErrorEnd    time.Time `json:"errorEnd,omitzero"`     // when that ended
	// of the error action's last attempt whose error is known
	Compensation *LastError `json:"compensation,omitempty"`
	Withdrawn    bool       `json:"withdrawn,omitempty"` // a change ends it: no other attempt follows
	Deferred     bool       `json:"deferred,omitempty"`  // a manual run that the next run of the workflow begins
}

// A Retry is what comes next in an execution that failed so far.
type Retry struct {
	Execution  string     `json:"execution"` // its id: see [ExecutionName]
	ActionName ActionName `json:"actionName"`
	// number of the next attempt, or of the one that is being made; 2 for the first retry
	Attempt         int   `json:"attempt"`
	MaxAttempts     int   `json:"maxAttempts"`
	NextAttemptTime *Time `json:"nextAttemptTime,omitempty"` // when it begins; nil: it is being made
	// of the action's last attempt whose error is known; nil if there is none
	LastError *LastError `json:"lastError,omitempty"`
}

// A Stage says how far an execution is.
type Stage string

// The stages of an execution.
const (
	StageWaiting Stage = "waiting" // no attempt is being made, and one will be
	StageRunning Stage = "running" // an attempt is being made
	StageEnded   Stage = "ended"
)

// An ExecutionStatus is an execution as it stands.
type ExecutionStatus struct {
	Key   Key
	Name  string // see [ExecutionName]
	Stage Stage

	Execution // of an ended one without records only Repeat is known

	Outcome Outcome  // of an ended one; empty if it has no records
	Reason  string   // why it waits, or why an ended one has no records
	Retry   *Retry   // as in [Status]
	Records []Record // its entries in the history, newest first
}

// ExecutionName returns the name of an execution in the API: the number of the registration with which the job was
// created, and that of the execution. No other execution ever gets it, and a job that is created anew has none of those
// of the job before.
func ExecutionName(registration, repeat int) string {
	return fmt.Sprintf("%x-%d", registration, repeat)
}

// ParseExecutionName is the inverse of [ExecutionName]. Names compare without case.
func ParseExecutionName(name string) (registration, repeat int, ok bool) {
	name = strings.ToLower(name)
	first, second, _ := strings.Cut(name, "-")
	number, err := strconv.ParseInt(first, 16, 64)
	repeat, errRepeat := strconv.Atoi(second)
	registration = int(number)
	return registration, repeat, err == nil && errRepeat == nil && repeat > 0 && ExecutionName(registration, repeat) == name
}

// Failed reports whether the execution failed so far, by the record of its workflow.
func (o *Ongoing) Failed() bool { return o.Tried > 0 || o.ActionName == ErrorAction }

// AddFailure has the status show an execution that has not ended and whose last attempt failed: it counts as failed
// until one succeeds. retry is what comes next in it; nil if no attempt follows.
func (s *Status) AddFailure(last *LastError, retry *Retry) {
	s.FailureCount++
	if last != nil && (s.LastError == nil || !ended(last).Before(ended(s.LastError))) {
		s.LastError = last
	}
	sooner := func(a, b *Retry) bool {
		return b == nil || b.NextAttemptTime != nil && (a.NextAttemptTime == nil || a.NextAttemptTime.Before(b.NextAttemptTime.Time))
	}
	if retry != nil && sooner(retry, s.Retry) {
		s.Retry = retry
	}
}

// ended returns when a failed attempt ended; zero if that is not known.
func ended(e *LastError) time.Time {
	if e.EndTime == nil {
		return time.Time{}
	}
	return e.EndTime.Time
}

// Conclude sets the outcome of an execution that has ended, from its records.
func (p *ExecutionStatus) Conclude() {
	if p.Stage != StageEnded {
		return
	}
	for _, r := range p.Records {
		if r.ActionName == MainAction {
			p.Execution, p.Outcome = r.Execution, r.Outcome
			return
		}
	}
	p.Reason = ExecutionUnrecorded
}
