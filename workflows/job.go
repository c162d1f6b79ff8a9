package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
)

// JobInput is the input of a run of [Job]: from [NewJob] for a new job, or from the run before when it
// continues as new.
type JobInput struct {
	Key                job.Key        `json:"key"`
	Created            time.Time      `json:"created"` // whole seconds, UTC
	Definition         job.Definition `json:"definition"`
	Generation         int            `json:"generation"`
	CollectionDisabled bool           `json:"collectionDisabled,omitempty"` // the collection is not enabled

	Plan         Planned   `json:"plan"`                   // occurrences ahead
	Decided      time.Time `json:"decided,omitzero"`       // occurrences up to here are started or dropped
	BusyUntil    time.Time `json:"busyUntil,omitzero"`     // see decisionInput
	CatchUp      time.Time `json:"catchUp,omitzero"`       // see decisionInput
	Started      int       `json:"started,omitempty"`      // occurrences started, which recurrence.count limits
	ManualRuns   int       `json:"manualRuns,omitempty"`   // manual runs started
	DeferredRuns int       `json:"deferredRuns,omitempty"` // manual runs accepted while draining, left to the next run of the workflow
	Failed       bool      `json:"failed,omitempty"`       // the last occurrence failed
	Final        time.Time `json:"final,omitzero"`         // when the job was completed or faulted, or last changed or run after that
	FailedRun    string    `json:"failedRun,omitempty"`    // run id of the newest earlier run whose history holds a failure
	Waiting      []Waiting `json:"waiting,omitempty"`      // executions that wait for their next attempts

	// Lead is how long before its due time the next occurrence is dispatched, in milliseconds.
	Lead int `json:"lead,omitempty"`
	// Hold: if the next occurrence is due within this time, in milliseconds, it is dispatched at once
	// instead of sleeping until its lead; see [activities.Lead].
	Hold int `json:"hold,omitempty"`

	Last           time.Time `json:"last,omitzero"` // start of the last execution
	ExecutionCount int       `json:"executions,omitempty"`
	FailureCount   int       `json:"failures,omitempty"`
	FaultedCount   int       `json:"faults,omitempty"`
}

// A Waiting is an execution that a run hands over while it waits for its next attempt.
type Waiting struct {
	job.Execution           // ActionName is the current action
	Manual        bool      `json:"manual,omitempty"`
	Sent          bool      `json:"sent,omitempty"`  // an attempt was sent, so the execution cannot return to the plan
	Before        standing  `json:"before,omitzero"` // restored if the execution returns to the plan
	Tried         int       `json:"tried,omitempty"` // attempts of the current action whose requests may have been sent
	Next          time.Time `json:"next"`            // start of the next attempt
}

// keepFinal is how long a completed or faulted job is kept after its last execution or change.
const keepFinal = 60 * 24 * time.Hour

// A run continues as new after ExecutionsPerRun executions, or when the server suggests it, once no
// attempt is being made. Without the workflow in its cache, a worker replays the run at 0.2 ms per
// execution; a new run costs 17 ms. If attempts always overlap, the run drains at the drain limits, far
// below those at which the server ends a workflow (51,200 events, 50 MB).
const (
	ExecutionsPerRun = 100

	drainAfter  = 600    // executions
	drainEvents = 10_000 // events
	drainBytes  = 12 << 20
)

// Limits of a job's executions that have not ended, those waiting for an attempt included. They bound
// what a run hands over and the server's record of the workflow: the server ends a workflow whose
// record exceeds 8 MB, and the attempts of one activity can take 25 kB.
const (
	maxOverlapping = 100 // occurrences
	maxManualRuns  = 50  // manual runs
)

// NewJob returns the input of a new job's workflow, from which the job's first status follows. The
// definition must be valid; collectionDisabled tells that the collection is not enabled.
func NewJob(k job.Key, d job.Definition, collectionDisabled bool, now time.Time) (JobInput, error) {
	in := JobInput{Key: k, Created: now.UTC().Truncate(time.Second), Definition: d, Generation: 1, CollectionDisabled: collectionDisabled, Lead: firstLead(k)}
	plan, err := d.Timetable(in.Created, in.Created)
	if err != nil {
		return JobInput{}, err
	}
	in.Plan = planFirst(plan)
	in.Decided = in.Created.Add(-time.Second)
	if in.active() && in.exhausted() {
		in.finish(in.Created)
	}
	return in, nil
}

// Begin returns the latest time at which a new job's workflow has to begin; zero for at once. It is 2 to 5
// minutes (15 leads) before the job is due, so that the workflows of a herd begin at different times.
func (in *JobInput) Begin() time.Time {
	next, ok := in.next()
	if !ok || !in.active() {
		return time.Time{}
	}
	return next.Add(-15 * in.lead())
}

// errStranger ends a workflow whose input was not made by Almanac.
var errStranger = refuse(ErrTypeInvalid, "The workflow was not started by Almanac, so nothing lists it: create jobs and job collections through the API.")

// Job is one scheduled job, from its creation to its deletion.
func Job(ctx workflow.Context, in JobInput) error {
	if in.Key.Name == "" || in.Created.IsZero() || in.Generation == 0 || in.Definition.Action.Type == "" {
		return errStranger
	}
	j := &jobLoop{JobInput: in, changing: workflow.NewMutex(ctx)}
	if err := j.handle(ctx); err != nil {
		return err
	}
	j.resume(ctx)
	return j.run(ctx)
}

// A jobLoop is the state of a run of [Job]: the input of the next run, and what is running.
type jobLoop struct {
	JobInput

	running    []*execution
	executions int  // in this run
	activities int  // action activities in this run
	failures   bool // an attempt failed in this run
	full       bool // the history is so long that the run drains
	timer      timer
	changed    bool      // wakes the loop
	askAgain   time.Time // when to look again whether a dispatched occurrence was sent; see verdictAsk
	deleted    bool

	changing  workflow.Mutex // held while a change is applied; nothing is decided meanwhile
	listeners []*listener
	handling  int // signals being handled
}

// run decides what is due, sleeps until the next occurrence or a change, and repeats.
func (j *jobLoop) run(ctx workflow.Context) error {
	for {
		j.changed = false
		info := workflow.GetInfo(ctx)
		j.full = j.full || info.GetCurrentHistoryLength() >= drainEvents || info.GetCurrentHistorySize() >= drainBytes
		expires := j.expires()
		if ctx.Err() != nil || !expires.IsZero() && !workflow.Now(ctx).Before(expires) { // cancelling the workflow itself deletes the job
			_ = j.change(ctx, j.discard) // cannot fail
		}
		switch {
		case j.deleted:
			return j.leave(ctx)
		case j.mayContinueAsNew(ctx): // before the next occurrence is started: one may always be waiting
			return j.continueAsNew(ctx)
		}
		j.startDeferred(ctx)
		j.decide(ctx)
		j.describe(ctx)
		j.timer.set(ctx, j.wake(workflow.Now(ctx)))
		j.await(ctx)
	}
}

// await waits until the loop has something to do or the workflow is cancelled. It handles signals.
func (j *jobLoop) await(ctx workflow.Context) {
	awake := func() bool { return j.changed || j.timer.fired() || j.draining() && j.mayContinueAsNew(ctx) }
	for workflow.Await(ctx, func() bool { return awake() || j.signalled() }) == nil {
		if j.handleSignals(ctx); awake() {
			return
		}
	}
}

// decide starts or drops the occurrences that are due or to be dispatched ahead, or leaves them waiting.
func (j *jobLoop) decide(ctx workflow.Context) {
	if j.changing.IsLocked() {
		return
	}
	now := workflow.Now(ctx).Truncate(time.Second)
	for j.active() {
		j.refill(ctx)
		due, ok := j.next()
		if !ok || due.After(workflow.Now(ctx).Add(j.ahead())) || !j.heldUntil(workflow.Now(ctx)).IsZero() {
			break
		}
		switch decide(j.decisionInput(due, now)) {
		case decisionWait:
			return
		case decisionAsk:
			if !j.ask(ctx) {
				return
			}
		case decisionRun:
			j.start(ctx, due)
		case decisionRunFirst:
			until := j.BusyUntil
			j.start(ctx, due)
			j.drop(ctx, until, job.OutcomeMissed, "the execution before it was still under way and another occurrence waited already")
		case decisionSkip:
			j.drop(ctx, j.BusyUntil, job.OutcomeSkipped, "the execution before it was still under way")
		case decisionMiss:
			j.drop(ctx, due, job.OutcomeMissed, fmt.Sprintf("%d executions of the job were under way, which is as many as may be", maxOverlapping))
		case decisionCatchUp:
			j.catchUp(ctx, due, now)
			if j.Plan.More {
				return
			}
		}
	}
	if j.active() && j.over() {
		j.finish(now)
		j.showState(ctx)
	}
}

// ask looks up whether the dispatched occurrences that are due were sent. It reports whether the next
// occurrence can be decided now.
func (j *jobLoop) ask(ctx workflow.Context) bool {
	if now := workflow.Now(ctx); now.Before(j.askAgain) {
		return false
	}
	j.look(ctx)
	j.askAgain = workflow.Now(ctx).Add(askInterval)
	return !j.unknown() && !j.changing.IsLocked()
}

// askInterval is the time between two such lookups. An occurrence that was not sent and never will be
// is lost within a few seconds.
const askInterval = 2 * time.Second

func (j *jobLoop) decisionInput(due, now time.Time) decisionInput {
	return decisionInput{
		Due:       due,
		Another:   len(j.Plan.Due) > 1 && !j.Plan.Due[1].After(now), // regardless of recurrence.count, which dropped occurrences do not use up
		Busy:      j.overlapping() > 0,
		Crowded:   j.crowded(),
		Unknown:   j.unknown(),
		Draining:  j.draining(),
		BusyUntil: j.BusyUntil,
		CatchUp:   j.CatchUp,
		Overlap:   j.Definition.Recurrence.Overlap(),
	}
}

// active reports whether occurrences run when they are due.
func (in *JobInput) active() bool {
	return in.Definition.State == job.StateEnabled && !in.CollectionDisabled
}

func (in *JobInput) exhausted() bool {
	_, ok := in.next()
	return !ok && !in.Plan.More
}

// over reports whether no occurrence is left and all have ended.
func (j *jobLoop) over() bool { return j.exhausted() && j.overlapping() == 0 }

// next returns the next undecided occurrence, due or not.
func (in *JobInput) next() (time.Time, bool) {
	r := in.Definition.Recurrence
	if len(in.Plan.Due) == 0 || r != nil && r.Count > 0 && in.Started >= r.Count {
		return time.Time{}, false
	}
	return in.Plan.Due[0], true
}

func (in *JobInput) finish(now time.Time) {
	in.Definition.State = finalState(in.Failed)
	in.Final = now
	in.Plan = Planned{Done: true}
}

// overlapping returns the number of occurrences that have not ended.
func (j *jobLoop) overlapping() int { return len(j.running) - j.runningManually() }

// demanded returns the number of manual runs that have not ended.
func (j *jobLoop) runningManually() (n int) {
	for _, e := range j.running {
		if e.manual {
			n++
		}
	}
	return n
}

// crowded reports whether as many occurrences as allowed have not ended.
func (j *jobLoop) crowded() bool { return j.overlapping() >= maxOverlapping }

// unknown reports whether a dispatched occurrence may or may not have been sent.
func (j *jobLoop) unknown() bool {
	return slices.ContainsFunc(j.running, func(e *execution) bool { return !e.manual && e.phase == dispatched })
}

// draining reports whether no new attempt may begin, so that the run can continue as new when the
// current ones have ended.
func (j *jobLoop) draining() bool { return j.full || j.executions >= drainAfter }

// wake returns when the loop is to run again if nothing changes; zero for never.
func (j *jobLoop) wake(now time.Time) time.Time {
	if !j.Final.IsZero() {
		return j.expires()
	}
	if j.Plan.More { // too many to drop in one workflow task: another takes the next step
		return now.Add(time.Millisecond)
	}
	next, ok := j.next()
	if !ok || !j.active() || j.changing.IsLocked() || j.decisionInput(next, now).waits() {
		return time.Time{}
	}
	wake := next
	if !j.crowded() {
		wake = next.Add(-j.lead())
	}
	if held := j.heldUntil(now); !held.IsZero() {
		wake = later(wake, held)
	} else if !wake.After(now) { // waiting for ask
		wake = later(wake, j.askAgain)
	}
	return wake
}

// expires returns when a final job is to be deleted; zero if it is not final or has executions left.
func (j *jobLoop) expires() time.Time {
	if j.Final.IsZero() || len(j.running) > 0 || j.DeferredRuns > 0 {
		return time.Time{}
	}
	return j.Final.Add(keepFinal)
}

// mayContinueAsNew reports whether the run is long enough and no attempt is being made.
func (j *jobLoop) mayContinueAsNew(ctx workflow.Context) bool {
	long := j.draining() || j.executions >= ExecutionsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	trying := func(e *execution) bool { return !e.waits }
	return long && !j.deleted && !slices.ContainsFunc(j.running, trying) && j.quiet(ctx)
}

func (j *jobLoop) continueAsNew(ctx workflow.Context) error {
	for _, e := range j.running {
		j.Waiting = append(j.Waiting, e.handOver())
	}
	if r := j.Definition.Recurrence; r != nil && r.Overlap() == job.OverlapAllowAll && j.draining() {
		j.CatchUp = workflow.Now(ctx) // what came due meanwhile would have run
	}
	if j.failures {
		j.FailedRun = workflow.GetInfo(ctx).WorkflowExecution.RunID
	}
	return workflow.NewContinueAsNewError(ctx, TypeJob, j.JobInput)
}

// leave ends the workflow of a deleted job once every request is answered.
func (j *jobLoop) leave(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	for {
		err := workflow.Await(ctx, func() bool { return j.quiet(ctx) || j.signalled() })
		if err != nil || j.quiet(ctx) {
			return err
		}
		j.handleSignals(ctx)
	}
}

// snapshot returns the job for readers, without secrets. Occurrences dispatched ahead are not counted
// but listed in Ahead: a query has no clock to tell whether they are due.
func (j *jobLoop) snapshot() job.Job {
	s := j.Snapshot()
	if j.overlapping() > 0 {
		s.Status.Reason = "" // the last occurrence has not ended
	}
	for _, e := range j.running {
		if e.manual || e.phase != dispatched {
			continue
		}
		if s.Ahead == nil {
			s.Ahead = &job.Ahead{Next: s.Status.NextExecutionTime}
			s.Status.NextExecutionTime, s.Status.LastExecutionTime = job.NewTime(e.Due), job.NewTime(e.before.Last)
		}
		s.Ahead.Due = append(s.Ahead.Due, e.Due)
		s.Status.ExecutionCount--
	}
	return s
}

// Snapshot returns the job for readers, without secrets.
func (in *JobInput) Snapshot() job.Job {
	s := job.Status{
		LastExecutionTime: job.NewTime(in.Last),
		ExecutionCount:    in.ExecutionCount,
		FailureCount:      in.FailureCount,
		FaultedCount:      in.FaultedCount,
	}
	switch next, ok := in.next(); {
	case ok && in.active():
		s.NextExecutionTime = job.NewTime(next)
	case !ok && in.Plan.Done:
		s.Reason = in.Definition.WhyOver(in.Created, in.Started)
	}
	return job.Job{Key: in.Key, Created: in.Created, Definition: in.Definition.Redacted(), Status: s, Generation: in.Generation}
}

// describe sets the details that the Temporal Web UI and CLI show.
func (j *jobLoop) describe(ctx workflow.Context) {
	s := j.snapshot().At(workflow.Now(ctx))
	next := "none"
	switch {
	case s.Status.NextExecutionTime != nil:
		next = s.Status.NextExecutionTime.String()
	case s.Status.Reason != "":
		next += ". " + s.Status.Reason
	}
	last := "never"
	if s.Status.LastExecutionTime != nil {
		last = s.Status.LastExecutionTime.String()
	}
	text := s.Definition.Text() //workflowcheck:ignore // it looks up a time zone, and goes into no command
	workflow.SetCurrentDetails(ctx, fmt.Sprintf(
		"**%s** (%s)\n\n%s\n\n- next execution: %s\n- last execution: %s\n- executions: %d, failures: %d, faulted: %d",
		j.Key.Name, s.Definition.State, text, next, last,
		s.Status.ExecutionCount, s.Status.FailureCount, s.Status.FaultedCount))
}

// A timer fires at a given time.
type timer struct {
	at     time.Time
	future workflow.Future
	cancel workflow.CancelFunc
}

// set makes the timer fire at the given time, or never if that is zero. A timer already set for it is
// kept. Cancelling the workflow does not stop it.
func (t *timer) set(ctx workflow.Context, at time.Time) {
	if t.future != nil && t.at.Equal(at) && !t.future.IsReady() {
		return
	}
	if t.future != nil && !t.future.IsReady() {
		t.cancel()
	}
	*t = timer{}
	if at.IsZero() {
		return
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx) // otherwise it would be cancelled with the workflow, and seem to fire
	*t = timer{at: at, cancel: cancel, future: workflow.NewTimerWithOptions(ctx, at.Sub(workflow.Now(ctx)),
		workflow.TimerOptions{Summary: "until " + at.UTC().Format("2006-01-02T15:04:05.999Z07:00")})}
}

func (t *timer) fired() bool { return t.future != nil && t.future.IsReady() }
