// Package execution has the record of a job's executions that have not ended: how far each is, what
// was sent, and the options of its activities. A [Set] owns them, answers what the job's loop asks of them, and
// withdraws them.
package execution

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/internal/audit"
	"almanac/internal/redact"
	"almanac/job"
	"almanac/job/template"
	"almanac/workflows/jobloop/state"
)

// A Phase is an execution's progress as recorded by the workflow.
//
//	        the loop starts it                 SetNext, record: a fence was passed
//	                │                                       │
//	                ▼                                       ▼
//	           dispatched ────────────────────────────▶   sent ────────────┐
//	                │                                       │              │
//	Set.Withdraw ───┴───────────────┬───────────────────────┘              │
//	                                ▼                                      ▼
//	                           withdrawing ──▶ withdrawn ────────────▶  removed
//	                                │                                      ▲
//	                                └────────▶ returned ───────────────────┘
//
// An execution of any phase is removed when its last activity ends.
//
//	phase         meaning
//	dispatched    no request is known to have been sent; a worker may hold it
//	sent          a request may have been sent
//	withdrawing   cancelled; whether a request may have been sent is being looked up
//	withdrawn     a request may have been sent, and no other follows
//	returned      no request was sent, and none will be
//
// A clock decides in one case: an activity that the server cancelled while no worker had it says nothing
// of earlier attempts. See [lookups.Pending.Unrecorded].
type Phase int

// The phases.
const (
	Dispatched Phase = iota
	Sent
	Withdrawing
	Withdrawn
	Returned
)

// An Execution is an occurrence or manual run that has not ended.
type Execution struct {
	state.Waiting
	Action job.Action
	Phase  Phase
	// BetweenAttempts says that no activity of it is scheduled: the next is at Next, by a later run if this one ends
	// before.
	BetweenAttempts bool
	// MayHaveBeenSent says that its activity was cancelled when it was due, and that the server may have forgotten an
	// attempt that failed at once.
	MayHaveBeenSent bool
	Activity        string           // id of the activity scheduled last
	Looked          *lookups.Pending // what the last lookup found of that activity; nil if there was none
	ReleaseAsked    bool             // its worker was asked to release an attempt
	// Loss is how long after its due time or, if that was past, after a worker began it, it counts as lost.
	Loss    time.Duration
	LastEnd time.Time // when its last attempt ended, by its worker; zero if there is no record of it
	Cancel  workflow.CancelFunc
}

const (
	// clockMargin is how far a worker's clock may differ from the server's before the worker uses the server's.
	clockMargin = time.Second

	// nextMargin is how long before its next attempt an execution can be cancelled, once an attempt was sent.
	nextMargin = 500 * time.Millisecond
)

// ID returns the id of an execution of a job: a hash of the job's id, its creation time, the id of its first run, and
// what (the due time with the offset of local time, or "run N"). So an occurrence keeps its id however often it is
// decided, and a job created anew under the same name has other ids.
func ID(k *job.Key, created time.Time, firstRun, what string) string {
	name := strings.Join([]string{k.WorkflowID(), created.Format(time.RFC3339), firstRun, what}, "\n")
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}

// HandOver returns what the next run needs to continue a waiting execution.
func (e *Execution) HandOver() state.Waiting {
	w := e.Waiting
	if w.Sent {
		w.Undo = state.Undo{}
	}
	return w
}

// Limits of the texts that an execution keeps, in bytes as JSON has them. With the names, an execution that waits takes
// 10 kB of the input of the next run at most, and 150 of them 1.5 of 2 MiB.
const (
	maxMessage = 4096
	maxError   = 1024
	maxCaller  = 512
)

// MaxAttempts returns how many attempts the current action may have.
func (e *Execution) MaxAttempts() int {
	policy := e.Action.RetryPolicy
	if c := e.Action.ErrorAction; e.ActionName == job.ErrorAction && c != nil && c.RetryPolicy != nil {
		policy = c.RetryPolicy
	}
	return policy.Attempts()
}

// End returns how the execution ended, which the workflow learned now.
func (e *Execution) End(now time.Time, failed bool) job.ExecutionEnd {
	return job.ExecutionEnd{
		Execution: e.Execution, Manual: e.Manual, Failed: failed, Error: cmp.Or(e.Error, job.ExecutionLost),
		Began: e.Began, Ended: e.EndedAt(now), Attempts: e.Attempts,
	}
}

// Planned returns when the occurrence is due by the plan: another time than its own if the plan was made again with
// newer time zones.
func (e *Execution) Planned() time.Time {
	if e.Moved.IsZero() {
		return e.Due
	}
	return e.Moved
}

// Nominal returns the nominal time of an occurrence, by which requests know it.
func (e *Execution) Nominal() time.Time {
	if e.By == nil {
		return e.Planned()
	}
	return e.By.Nominal
}

// NoteError keeps why an attempt of the current action failed, unless it is not known.
func (e *Execution) NoteError(why string, end time.Time) {
	why = redact.CutJSON(redact.Cut(why, job.MaxError), maxError)
	switch {
	case why == "":
	case e.ActionName == job.MainAction:
		e.Error, e.ErrorEnd = why, end
	default:
		e.Compensation = &job.LastError{Message: why, EndTime: job.NewTime(end)}
	}
}

// NoteFailure keeps what the error action can say of the action, which is nil if it says nothing.
func (e *Execution) NoteFailure(f *template.Failure) {
	if f != nil {
		f.Message, f.Error = redact.CutJSON(f.Message, maxMessage), redact.CutJSON(f.Error, maxError)
	}
	e.Failure = f
}

// CallerOf returns who ran the job by hand, for [job.Execution].
func CallerOf(a audit.Actor) string { return redact.CutJSON(a.Name(), maxCaller) }

// Unrecorded returns what may have been sent without a record, for an execution whose activity the server cancelled, at
// now, while no worker had it.
func (e *Execution) Unrecorded(now time.Time) lookups.Unrecorded {
	return e.Looked.Unrecorded(e.Begin(), now)
}

// margin returns how long before its next attempt an execution can be cancelled. It is longer if
// nothing was sent, so that [Execution.Unrecorded] still says so afterwards.
func (e *Execution) margin() time.Duration {
	if e.Sent {
		return nextMargin
	}
	return nextMargin + lookups.ServerSkew
}

// SetNext sets when the next attempt begins, after one of the execution's activities ended: at end.Next or,
// if that is zero, when interval has passed since the last attempt.
func (e *Execution) SetNext(now time.Time, end *activities.Ending, interval time.Duration) {
	e.BetweenAttempts, e.Next = true, end.Next
	if n := len(end.Attempts); n > 0 && end.Next.IsZero() {
		passed := max(0, now.Sub(end.Attempts[n-1].End)-clockMargin)
		e.Next = now.Add(interval - passed)
	}
	if e.Next.Before(now) {
		e.Next = now
	}
	if e.Sent && e.Phase == Dispatched {
		e.Phase = Sent
	}
}

// record records what a lookup found of the execution's activity.
func (e *Execution) record(p *lookups.Pending) {
	if n := len(p.Attempts); n > 0 && p.Attempts[n-1].Outcome.Failed() {
		e.NoteError(p.Attempts[n-1].Why(), p.Attempts[n-1].End)
	}
	e.Looked, e.Sent = p, e.Sent || len(p.Attempts) > 0
	if e.Phase == Dispatched && (p.Sent || e.Sent) {
		e.Phase = Sent
	}
}

// EndedAt returns when an execution ended whose end the workflow learned now: when its last attempt ended, which
// can be long before if the outcome had to wait, or its worker was lost.
func (e *Execution) EndedAt(now time.Time) time.Time {
	if e.LastEnd.IsZero() || e.LastEnd.After(now) {
		return now
	}
	return e.LastEnd
}

// ongoing returns the execution for readers, who know the job.
func (e *Execution) ongoing() job.Ongoing {
	o := job.Ongoing{
		Execution: e.Execution, Activity: e.Activity, Tried: e.Tried, MaxAttempts: e.MaxAttempts(),
		Error: e.Error, ErrorEnd: e.ErrorEnd, Compensation: e.Compensation, Withdrawn: e.Phase >= Withdrawing,
	}
	if e.BetweenAttempts {
		o.Activity, o.Next = "", e.Next
	}
	o.Job, o.Collection = "", ""
	return o
}
