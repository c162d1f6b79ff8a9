// Package state has what a run of a job's workflow hands over to the next: the input of the workflow.
package state

import (
	"cmp"
	"time"

	"almanac/activities"
	"almanac/job"
	"almanac/job/template"
	"almanac/recurrence/calendars"
	"almanac/workflows"
	"almanac/workflows/internal/visibility"
	"almanac/workflows/jobloop/alerts"
	"almanac/workflows/plan"
)

// Input is the input of a run of a job's workflow: from [New] for a new job, or from the run before when it
// continues as new.
type Input struct {
	Key                job.Key        `json:"key"`
	Created            time.Time      `json:"created"` // whole seconds, UTC
	Definition         job.Definition `json:"definition"`
	Generation         int            `json:"generation"`
	CollectionDisabled bool           `json:"collectionDisabled,omitempty"` // the collection is not enabled

	Registration int `json:"registration"` // its number; the generation begins with it
	// the workflow was started late, and the collection has not confirmed the registration yet
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	Collection  int  `json:"collection,omitempty"` // generation of the collection's state that the job applied last

	Plan    plan.Plan `json:"plan"`             // occurrences ahead
	Decided time.Time `json:"decided,omitzero"` // occurrences up to here are started or dropped
	// due times of occurrences that were skipped, which no plan has; at least of those after Decided
	Skips []time.Time `json:"skips,omitempty"`
	// times in which all are skipped, until they have passed
	SkipWindows []job.SkipWindow `json:"skipWindows,omitempty"`
	// occurrences up to here that were skipped have their entries; of no meaning if none ever was
	SkipsNoted time.Time `json:"skipsNoted,omitzero"`
	PutOffs    []PutOff  `json:"putOffs,omitempty"`    // occurrences that were put off and are to be decided again
	BusyUntil  time.Time `json:"busyUntil,omitzero"`   // see [plan.Situation]
	CatchUp    time.Time `json:"catchUp,omitzero"`     // see [plan.Situation]
	Started    int       `json:"started,omitempty"`    // occurrences started, which recurrence.count limits
	ManualRuns int       `json:"manualRuns,omitempty"` // manual runs started
	// manual runs accepted while draining, left to the next run of the workflow
	Deferred []ManualRun `json:"deferred,omitempty"`
	Failed   bool        `json:"failed,omitempty"` // the last occurrence failed
	// when the job was completed or faulted, or last changed or run after that
	Final time.Time `json:"final,omitzero"`
	// run id of the newest earlier run whose history holds a failure
	FailedRun string `json:"failedRun,omitempty"`
	// run id of the newest earlier run whose history holds a change: its start, an update or a signal
	ChangedRun string    `json:"changedRun,omitempty"`
	Waiting    []Waiting `json:"waiting,omitempty"` // executions that wait for their next attempts

	// Lead is how long before its due time an occurrence is dispatched if the job sleeps until then, in milliseconds.
	Lead int `json:"lead"`
	// Hold: if the next occurrence is due within this time, in milliseconds, the job does not sleep, and the occurrence
	// is dispatched at once; 0: not known yet.
	Hold int `json:"hold,omitempty"`
	// Loss is how long after its due time an occurrence that is held counts as lost, in milliseconds; 0: not known yet.
	Loss int `json:"loss,omitempty"`

	Alerts alerts.State `json:"alerts,omitzero"` // what was raised, and by which rules of the collection

	Irregular      time.Time `json:"irregular,omitzero"`       // see [job.Outline]
	OutlineChanged bool      `json:"outlineChanged,omitempty"` // since the memo got it
	OutlineDue     bool      `json:"outlineDue,omitempty"`     // outcomes have been added to it since
	Outlined       time.Time `json:"outlined,omitzero"`        // when the memo got it
	ManualOutlined time.Time `json:"manualOutlined,omitzero"`  // when it got it last because of a manual run

	Last time.Time `json:"last,omitzero"` // start of the last execution
	// the highest [job.Execution.Repeat]; executions that returned to the plan had one, too
	Numbered       int `json:"numbered,omitempty"`
	ExecutionCount int `json:"executions,omitempty"`
	FailureCount   int `json:"failures,omitempty"`
	FaultedCount   int `json:"faults,omitempty"`

	Outcomes job.Outcomes        `json:"outcomes,omitzero"`
	Recent   job.Recent          `json:"recent,omitzero"`
	Listed   job.Outcome         `json:"listed,omitempty"` // the last outcome that Temporal's lists show
	Optional visibility.Optional `json:"optional,omitzero"`
	// Temporal's lists show when the job is due next, which costs a write for each execution
	ShowNext   bool      `json:"showNext,omitempty"`
	ListedNext time.Time `json:"listedNext,omitzero"` // the next execution that they show; zero: none

	Applied Requests `json:"applied,omitempty"` // updates
	// requests to run the job again that started a manual run, by their keys
	Reruns Requests `json:"reruns,omitempty"`

	// why a calendar could not be read when the job was to be planned; "" if it was
	Unread string `json:"unread,omitempty"`
	// release of the worker that could not plan, since its time zones are older than those of the plan
	Behind string `json:"behind,omitempty"`
	Halted string `json:"halted,omitempty"` // why the job was disabled by disableAfter
	// by whom and when the job was disabled; nil if it is not, or that is not known
	DisabledBy *job.Disabling `json:"disabledBy,omitempty"`
	// by whom and until when the collection is disabled, if that holds what comes due
	CollectionPause *job.Disabling `json:"collectionPause,omitempty"`
	// occurrences after Decided are held, and what is promised of them; nil: none are
	Held *job.Promise `json:"held,omitempty"`
	// occurrences that were held run now; nil: none do
	Recovery *plan.Recovery `json:"recovery,omitempty"`
	// occurrences after Decided that were held are decided step by step; nil: none are
	Releasing *plan.Releasing `json:"releasing,omitempty"`
	Compared  Compares        `json:"compared,omitzero"` // comparisons of secrets
	Pruning   *job.Pruning    `json:"pruning,omitempty"` // of a pruned job
	// of the collection; see [job.CollectionProperties]
	FlexibleWindow job.Duration   `json:"flexibleWindow,omitempty"`
	Blackouts      []job.Blackout `json:"blackouts,omitempty"` // likewise, beside the job's own
	// backfills, oldest first: the last few that have ended, and the one that has not
	Backfills []plan.Backfill `json:"backfills,omitempty"`
	// failures in a row that disableAfter does not count: before the job was enabled again, or ended by a change
	Forgiven int `json:"forgiven,omitempty"`
}

// Compares counts comparisons of secrets since a time.
type Compares struct {
	Since time.Time `json:"since"`
	Count int       `json:"n"`
}

// Waiting is an execution that waits for its next attempt, as a run hands it over.
type Waiting struct {
	job.Execution      // ActionName is the current action
	Manual        bool `json:"manual,omitempty"` // a manual run, not an occurrence
	// an attempt was sent, so the execution cannot return to the plan
	Sent bool `json:"sent,omitempty"`
	Undo Undo `json:"before,omitzero"`
	// attempts of the current action, in ended activities, whose requests may have been sent
	Tried   int               `json:"tried,omitempty"`
	Next    time.Time         `json:"next"`              // start of the next attempt
	Failure *template.Failure `json:"failure,omitempty"` // of the action, for an error action with placeholders
	Began   time.Time         `json:"began,omitzero"`    // start of the first attempt
	PutOff  int               `json:"putOff,omitempty"`  // how often its first attempt was put off in ended activities
	// when the occurrence is due by newer time zones; zero: as before
	Moved time.Time `json:"moved,omitzero"`
	// of the action, that may have been sent, the last one included
	Attempts int `json:"attempts,omitempty"`
	// of an occurrence that is known by its number in the month, and not by its nominal time
	Identity *calendars.Identity `json:"identity,omitempty"`
	Held     *calendars.Held     `json:"held,omitempty"` // see [plan.Note]
	As       string              `json:"as,omitempty"`   // of a backfill: what its id has of the occurrence
	// of the action's last attempt that failed, at most [job.MaxError] bytes
	Error    string    `json:"error,omitempty"`
	ErrorEnd time.Time `json:"errorEnd,omitzero"` // when that attempt ended
	// why the error action's last attempt failed that is known, of as many bytes; nil if there is none
	Compensation *job.LastError `json:"compensation,omitempty"`
}

// A PutOff is an occurrence that returned to the plan after its first attempt was put off, since its host had no place.
type PutOff struct {
	Due   time.Time `json:"due"`   // by the plan
	Times int       `json:"times"` // how often
}

// A ManualRun is a manual run that was accepted.
type ManualRun struct {
	Repeat int    `json:"repeat"`           // as in [job.Execution], as is Caller
	Caller string `json:"caller,omitempty"` // at most 512 bytes
}

// Undo is the part of the job's state before an occurrence was started, which is restored if it returns to the plan.
type Undo struct {
	Decided time.Time `json:"decided,omitzero"`
	Last    time.Time `json:"last,omitzero"`
}

// New returns the input of a new job's workflow, from which the job's first status follows. The
// definition must be valid; c is the collection as it answered the registration with that number.
func New(k job.Key, d job.Definition, registration int, c workflows.CollectionState, now time.Time) (Input, error) {
	return NewBy(k, d, registration, c, now, nil)
}

// NewBy is [New] for a job that may have calendars, which are nil for one that has none.
func NewBy(
	k job.Key, d job.Definition, registration int, c workflows.CollectionState, now time.Time, by *plan.Calendars,
) (Input, error) {
	in := Input{
		Key: k, Created: now.UTC().Truncate(time.Second), Definition: d, Lead: int(plan.Lead(k).Milliseconds()),
		Generation: registration, Registration: registration,
		Collection: c.Generation, CollectionDisabled: c.Disabled, Alerts: alerts.State{Inherited: c.Rules},
	}
	in.FlexibleWindow, in.Blackouts = c.FlexibleWindow, c.Blackouts
	if c.Pause != nil {
		in.CollectionPause = c.Pause
		if c.Pause.Holds() && d.State == job.StateEnabled {
			in.Held = &job.Promise{Recover: c.Pause.Recover, AtOnce: c.Pause.AtOnce}
		}
	}
	in.Decided = in.Created.Add(-time.Second)
	first := plan.Request{Created: in.Created, StartTime: d.StartTime, Recurrence: d.Recurrence, Local: d.Local, Step: plan.StepFirst, From: in.Decided}
	first.Blackouts, first.Spread = in.AllBlackouts(), in.SpreadByDays()
	var err error
	if by == nil && in.ByDays() {
		by = new(plan.Calendars)
	}
	if by != nil {
		by.Made = in.Created
		in.Plan, err = first.AnswerBy(*by)
	} else {
		in.Plan, err = first.Answer()
	}
	if err != nil {
		return Input{}, err
	}
	if in.Active() && in.Exhausted() {
		in.Finish(in.Created)
	}
	return in, nil
}

// Begin returns the latest time at which a new job's workflow has to begin; zero for at once. It is the time at which
// its first occurrence is dispatched, which saves a timer.
func (in *Input) Begin() time.Time {
	next, ok := in.Next()
	if !ok || !in.Active() {
		return time.Time{}
	}
	return next.Add(in.DelayOf(next) - in.LeadTime())
}

// ByDays reports whether calendars or blackouts say when the job runs.
func (in *Input) ByDays() bool {
	return in.Definition.ByDays() || len(in.Blackouts) > 0 || in.Plan.Rules != ""
}

// AllBlackouts returns the blackouts of the job, and then those of its collection.
func (in *Input) AllBlackouts() []job.Blackout {
	if len(in.Blackouts) == 0 {
		return in.Definition.Blackouts
	}
	return job.AllBlackouts(in.Definition.Blackouts, in.Blackouts)
}

// SpreadByDays returns the flexible window of a job with blackouts, in which no run of it may start; 0 of another one.
func (in *Input) SpreadByDays() time.Duration {
	if len(in.Definition.Blackouts)+len(in.Blackouts) == 0 {
		return 0
	}
	return in.window()
}

// window returns the flexible window of the job or of its collection.
func (in *Input) window() time.Duration {
	window := cmp.Or(in.Definition.FlexibleWindow, in.FlexibleWindow)
	if window == "" {
		return 0
	}
	return window.Value()
}

// DelayOf is [Input.Delay] of an occurrence: its window ends before a blackout begins.
func (in *Input) DelayOf(due time.Time) time.Duration {
	if n := in.Plan.Note(due); n != nil && !n.Closes.IsZero() {
		return job.Spread(in.Key, min(in.window(), n.Closes.Sub(due)))
	}
	return in.Delay()
}

// Delay returns how long after its due time an occurrence is to start, by the flexible window of the job or of its
// collection.
func (in *Input) Delay() time.Duration {
	return job.Spread(in.Key, in.window())
}

// Snapshot returns the job for readers, without secrets.
func (in *Input) Snapshot() job.Job {
	s := job.Status{
		LastExecutionTime: job.NewTime(in.Last),
		ExecutionCount:    in.ExecutionCount,
		FailureCount:      in.FailureCount,
		FaultedCount:      in.FaultedCount,
		Outcomes:          in.Outcomes,
		Owner:             in.Definition.Owner,
	}
	if in.Pruning != nil {
		s.PruneAt, s.FormerState = job.NewTime(in.Pruning.Until()), in.Pruning.State
	}
	switch next, ok := in.Next(); {
	case ok && in.Active():
		s.NextExecutionTime = job.NewTime(next)
		if in.Unread != "" {
			s.Reason = job.WhyUnread(in.Unread)
		}
	case in.Active() && in.onlySkipped():
		s.Reason = job.WhyAllSkipped
	case in.Active() && in.leftOut():
		s.Reason = job.WhyLeftOut
	case in.Pruning != nil:
		s.Reason = in.Pruning.Why()
	case !ok && in.Plan.Done:
		s.Reason = in.Definition.Under(in.Blackouts).WhyOver(in.Created, in.Started)
	case in.Unread != "" && in.Active():
		s.Reason = job.WhyUnread(in.Unread)
	case in.Behind != "" && in.Active():
		s.Reason = job.WhyUnplanned(in.Behind, in.Plan.Zone.Release)
	case in.Definition.State == job.StateDisabled:
		s.Reason = cmp.Or(in.Halted, job.WhyDisabledAs(job.WhyDisabled, in.DisabledBy))
	case in.CollectionDisabled:
		s.Reason = job.WhyDisabledAs(job.WhyCollectionDisabled, in.CollectionPause)
	}
	return job.Job{
		Key: in.Key, Created: in.Created, Definition: in.Definition.Redacted(), Status: s, Generation: in.Generation, Skips: in.Skips,
		SkipWindows:  in.SkipWindows,
		Registration: in.Registration, Numbered: in.Numbered,
		Started: in.Started, Decided: in.Decided, CollectionDisabled: in.CollectionDisabled, DisabledBy: in.DisabledBy,
		CollectionPause: in.CollectionPause, Held: in.Held, Pruning: in.Pruning, Backfills: in.backfills(),
		Made: in.Plan.Made, Memory: in.Plan.Memory, SharedBlackouts: in.Blackouts,
	}
}

func (in *Input) backfills() (all []job.Backfill) {
	for i := range in.Backfills {
		all = append(all, in.Backfills[i].Backfill)
	}
	return all
}

// LeadTime returns how long before its due time an occurrence is dispatched if the job sleeps until then.
func (in *Input) LeadTime() time.Duration { return plan.Shorten(milliseconds(in.Lead), in.HoldTime()) }

// HoldTime returns the time within which the next occurrence is dispatched at once. While it is not known, it is the
// usual one.
func (in *Input) HoldTime() time.Duration {
	return cmp.Or(milliseconds(in.Hold), activities.DefaultMaxHold)
}

// LossTime returns Loss, the loss time of occurrences that are held. While it is not known, it is the longest of a
// quick server: the job may be one of many that are new.
func (in *Input) LossTime() time.Duration {
	return cmp.Or(milliseconds(in.Loss), activities.MaxHeldLoss)
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Active reports whether occurrences run when they are due.
func (in *Input) Active() bool {
	return in.Definition.State == job.StateEnabled && !in.CollectionDisabled
}

// Next returns the next undecided occurrence, due or not.
func (in *Input) Next() (time.Time, bool) {
	if len(in.Plan.Due) == 0 || in.usedUp() {
		return time.Time{}, false
	}
	return in.Plan.Due[0], true
}

// Exhausted reports whether no occurrence is left to decide.
func (in *Input) Exhausted() bool {
	_, ok := in.Next()
	unplanned := in.Behind != "" || in.Unread != ""
	return !ok && !in.Plan.More && (!unplanned || len(in.Plan.Due) > 0) && !in.onlySkipped() && !in.leftOut()
}

// leftOut reports whether calendars drop all occurrences that are left. Until these have passed, another calendar can have
// them run.
func (in *Input) leftOut() bool {
	return len(in.Plan.Due) == 0 && (in.Plan.Idle || len(in.Plan.Off) > 0) && !in.usedUp()
}

// usedUp reports whether the count of the job is.
func (in *Input) usedUp() bool {
	r := in.Definition.Recurrence
	return r != nil && r.Count > 0 && in.Started >= r.Count
}

// onlySkipped reports whether all occurrences that are left are skipped. Until they have passed, a request can have them
// run.
func (in *Input) onlySkipped() bool {
	return len(in.Plan.Due) == 0 && len(in.Plan.Skipped) > 0 && !in.usedUp()
}

// Finish makes the job completed or, if its last occurrence failed, faulted.
func (in *Input) Finish(now time.Time) {
	in.Definition.State = job.StateCompleted
	if in.Failed {
		in.Definition.State = job.StateFaulted
	}
	in.Final, in.Held, in.Recovery, in.Releasing = now, nil, nil, nil
	if r := in.Definition.Recurrence; r != nil && r.Count > 0 {
		in.TimetableChanged(now)
	}
	in.Plan = in.Plan.Over(in.Decided, now)
}
