package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
)

// JobInput is everything that a run of [Job] starts from: a new job, made by
// [NewJob], or what the run before hands over when it continues as new.
type JobInput struct {
	Key        job.Key        `json:"key"`
	Created    time.Time      `json:"created"` // whole seconds, UTC
	Definition job.Definition `json:"definition"`
	Generation int            `json:"generation"`
	Resting    bool           `json:"resting,omitempty"` // the collection is not enabled

	Plan      Planned   `json:"plan"`                // what is ahead
	Decided   time.Time `json:"decided,omitzero"`    // occurrences up to here are started or dropped
	BusyUntil time.Time `json:"busyUntil,omitzero"`  // see situation
	CatchUp   time.Time `json:"catchUp,omitzero"`    // see situation
	Started   int       `json:"started,omitempty"`   // due occurrences that were started: what recurrence.count limits
	Demanded  int       `json:"demanded,omitempty"`  // runs on demand
	Owed      int       `json:"owed,omitempty"`      // runs on demand that were promised and wait for the next run of the workflow
	Failed    bool      `json:"failed,omitempty"`    // whether the last occurrence failed
	Final     time.Time `json:"final,omitzero"`      // of a job that is completed or faulted: when it became so, or was changed or run last
	FailedRun string    `json:"failedRun,omitempty"` // the newest earlier run whose history holds a failure
	Waiting   []Waiting `json:"waiting,omitempty"`   // executions that wait for their next attempts

	// Lead is how far ahead of its due time the next occurrence is dispatched, in
	// milliseconds.
	Lead int `json:"lead,omitempty"`
	// Hold is within what time an occurrence that is next is dispatched at once, in
	// milliseconds, instead of sleeping until its lead; see [activities.Lead].
	Hold int `json:"hold,omitempty"`

	Last           time.Time `json:"last,omitzero"` // when the last execution started
	ExecutionCount int       `json:"executions,omitempty"`
	FailureCount   int       `json:"failures,omitempty"`
	FaultedCount   int       `json:"faults,omitempty"`
}

// A Waiting is an execution whose next attempt a later run makes.
type Waiting struct {
	job.Execution           // ActionName is the action that is tried
	Manual        bool      `json:"manual,omitempty"`
	Sent          bool      `json:"sent,omitempty"`  // an attempt of the execution was sent: it cannot be returned to the plan
	Before        standing  `json:"before,omitzero"` // what the job goes back to if it is
	Tried         int       `json:"tried,omitempty"` // attempts of that action whose requests may have left
	Next          time.Time `json:"next"`            // when the next one begins
}

// keepFinal is how long a job that is completed or faulted stays after its last execution or change.
const keepFinal = 60 * 24 * time.Hour

// A run of a job continues as new after so many executions, if the server does not suggest
// it before, at a moment when no attempt is being made. A worker that has not got a workflow
// in its cache replays what the run did so far: 0.2 ms an execution, where a new run takes
// 17 ms. If there is no such moment, the run makes one, far below what the server ends a
// workflow at (51,200 events, 50 MB): it drains.
const (
	ExecutionsPerRun = 100

	drainAfter  = 600    // executions
	drainEvents = 10_000 // events
	drainBytes  = 12 << 20
)

// How many executions of a job may be under way at once, those that wait for an attempt
// included, bounds what a run hands over, and what the server keeps of its workflow: that
// it ends at 8 MB, and the records of an activity's attempts can take 25 kB.
const (
	maxOverlapping = 100 // occurrences
	maxDemanded    = 50  // runs on demand
)

// NewJob returns the input of a new job's workflow. The job's whole first status follows from it.
// The definition must be valid; resting says whether the job's collection is not enabled.
func NewJob(k job.Key, d job.Definition, resting bool, now time.Time) (JobInput, error) {
	in := JobInput{Key: k, Created: now.UTC().Truncate(time.Second), Definition: d, Generation: 1, Resting: resting, Lead: firstLead(k)}
	plan, err := d.Plan(in.Created, in.Created)
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

// Begin returns when a new job's workflow has to begin at the latest; zero for at once.
// It is 2 to 5 minutes before the job is due, so that herds begin a few at a time, too.
func (in *JobInput) Begin() time.Time {
	next, ok := in.next()
	if !ok || !in.active() {
		return time.Time{}
	}
	return next.Add(-15 * in.lead())
}

// errStranger ends a workflow whose input Almanac did not make.
var errStranger = refuse(ErrTypeInvalid, "The workflow was not started by Almanac, so nothing lists it: create jobs and job collections through the API.")

// Job runs one scheduled job for as long as it exists.
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

// A jobLoop is a run of [Job]: what the next run is told, and what is running.
type jobLoop struct {
	JobInput

	running    []*execution
	executions int  // in this run
	activities int  // in this run, those that perform actions
	failures   bool // whether an attempt failed in this run
	full       bool // the run's history is so long that it drains
	timer      timer
	changed    bool      // something happened that the loop should look at
	askAgain   time.Time // when to ask again whether a dispatched occurrence was sent; see verdictAsk
	deleted    bool

	changing  workflow.Mutex // held while a change is applied; nothing is decided meanwhile
	listeners []*listener
	handling  int // signals that are being handled
}

// run is the job's life: decide what is due, then sleep until the next
// occurrence, or until something changes.
func (j *jobLoop) run(ctx workflow.Context) error {
	for {
		j.changed = false
		info := workflow.GetInfo(ctx)
		j.full = j.full || info.GetCurrentHistoryLength() >= drainEvents || info.GetCurrentHistorySize() >= drainBytes
		expires := j.expires()
		if ctx.Err() != nil || !expires.IsZero() && !workflow.Now(ctx).Before(expires) { // that someone cancelled the workflow itself is as good as a delete
			_ = j.change(ctx, j.discard) // which cannot fail
		}
		switch {
		case j.deleted:
			return j.leave(ctx)
		case j.mayContinueAsNew(ctx): // before the next occurrence is started, for there may always be one that waits
			return j.continueAsNew(ctx)
		}
		j.payOwed(ctx)
		j.decide(ctx)
		j.describe(ctx)
		j.timer.set(ctx, j.wake(workflow.Now(ctx)))
		j.await(ctx)
	}
}

// await waits until there is something to look at, or the workflow is cancelled. Signals
// are handled meanwhile.
func (j *jobLoop) await(ctx workflow.Context) {
	awake := func() bool { return j.changed || j.timer.fired() || j.draining() && j.mayContinueAsNew(ctx) }
	for workflow.Await(ctx, func() bool { return awake() || j.signalled() }) == nil {
		if j.handleSignals(ctx); awake() {
			return
		}
	}
}

// decide starts, drops or leaves waiting every occurrence that is due, or is to
// be dispatched ahead.
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
		switch judge(j.situation(due, now)) {
		case verdictWait:
			return
		case verdictAsk:
			if !j.ask(ctx) {
				return
			}
		case verdictRun:
			j.start(ctx, due)
		case verdictRunFirst:
			until := j.BusyUntil
			j.start(ctx, due)
			j.drop(ctx, until, job.OutcomeMissed, "the execution before it was still under way and another occurrence waited already")
		case verdictSkip:
			j.drop(ctx, j.BusyUntil, job.OutcomeSkipped, "the execution before it was still under way")
		case verdictMiss:
			j.drop(ctx, due, job.OutcomeMissed, fmt.Sprintf("%d executions of the job were under way, which is as many as may be", maxOverlapping))
		case verdictCatchUp:
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

// ask asks the server whether the occurrences that are due and dispatched were
// sent. It reports whether the decision can be made now.
func (j *jobLoop) ask(ctx workflow.Context) bool {
	if now := workflow.Now(ctx); now.Before(j.askAgain) {
		return false
	}
	j.look(ctx)
	j.askAgain = workflow.Now(ctx).Add(askInterval)
	return !j.unknown() && !j.changing.IsLocked()
}

// askInterval is how often the server is asked whether an occurrence was sent. One
// that was not, and never will be, is lost within a few seconds.
const askInterval = 2 * time.Second

// situation returns what the decision about the next occurrence depends on.
func (j *jobLoop) situation(due, now time.Time) situation {
	return situation{
		Due:       due,
		Another:   len(j.Plan.Due) > 1 && !j.Plan.Due[1].After(now), // count does not matter: what is dropped uses up none
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
	return in.Definition.State == job.StateEnabled && !in.Resting
}

// exhausted reports whether no occurrence is left.
func (in *JobInput) exhausted() bool {
	_, ok := in.next()
	return !ok && !in.Plan.More
}

// over reports whether no occurrence is left, nor one that has not ended.
func (j *jobLoop) over() bool { return j.exhausted() && j.overlapping() == 0 }

// next returns the next undecided occurrence, be it due or not.
func (in *JobInput) next() (time.Time, bool) {
	r := in.Definition.Recurrence
	if len(in.Plan.Due) == 0 || r != nil && r.Count > 0 && in.Started >= r.Count {
		return time.Time{}, false
	}
	return in.Plan.Due[0], true
}

// finish makes the job completed or faulted.
func (in *JobInput) finish(now time.Time) {
	in.Definition.State = finalState(in.Failed)
	in.Final = now
	in.Plan = Planned{Done: true}
}

// overlapping returns how many occurrences were dispatched and have not ended.
func (j *jobLoop) overlapping() int { return len(j.running) - j.demanded() }

// demanded returns how many runs on demand were dispatched and have not ended.
func (j *jobLoop) demanded() (n int) {
	for _, e := range j.running {
		if e.manual {
			n++
		}
	}
	return n
}

// crowded reports whether no occurrence is started beside those that have not ended.
func (j *jobLoop) crowded() bool { return j.overlapping() >= maxOverlapping }

// unknown reports whether it is not known of an occurrence that is dispatched
// whether it was sent.
func (j *jobLoop) unknown() bool {
	return slices.ContainsFunc(j.running, func(e *execution) bool { return !e.manual && e.phase == dispatched })
}

// draining reports whether no attempt is to begin before those that are being made have
// ended, so that the run can continue as new.
func (j *jobLoop) draining() bool { return j.full || j.executions >= drainAfter }

// wake returns when the loop is to look again if nothing else happens; zero for never.
func (j *jobLoop) wake(now time.Time) time.Time {
	if !j.Final.IsZero() {
		return j.expires()
	}
	if j.Plan.More { // it is a long way: another workflow task takes the next step
		return now.Add(time.Millisecond)
	}
	next, ok := j.next()
	if !ok || !j.active() || j.changing.IsLocked() || j.situation(next, now).waits() {
		return time.Time{}
	}
	wake := next
	if !j.crowded() {
		wake = next.Add(-j.lead())
	}
	if held := j.heldUntil(now); !held.IsZero() {
		wake = later(wake, held)
	} else if !wake.After(now) { // the loop waits for an answer
		wake = later(wake, j.askAgain)
	}
	return wake
}

// expires returns when a final job has been kept long enough; zero while it is not final, or runs.
func (j *jobLoop) expires() time.Time {
	if j.Final.IsZero() || len(j.running) > 0 || j.Owed > 0 {
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

// continueAsNew hands over to a new run.
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

// leave ends the workflow of a deleted job, once everybody has been answered.
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

// snapshot returns the job as its readers see it, without secrets. What was
// dispatched ahead is not counted, and told apart, for a query has no clock.
func (j *jobLoop) snapshot() job.Job {
	s := j.Snapshot()
	if j.overlapping() > 0 {
		s.Status.Reason = "" // the last occurrence is not over
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

// Snapshot returns the job as its readers see it, without secrets.
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

// describe tells the Temporal Web UI and CLI how the job stands.
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
	workflow.SetCurrentDetails(ctx, fmt.Sprintf(
		"**%s** (%s)\n\n%s\n\n- next execution: %s\n- last execution: %s\n- executions: %d, failures: %d, faulted: %d",
		j.Key.Name, s.Definition.State, s.Definition.Text(), next, last,
		s.Status.ExecutionCount, s.Status.FailureCount, s.Status.FaultedCount))
}

// A timer sleeps until an instant.
type timer struct {
	at     time.Time
	future workflow.Future
	cancel workflow.CancelFunc
}

// set makes the timer fire at that instant, or never if it is zero. A timer
// that is set for it already goes on, also when the workflow itself is cancelled.
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
	ctx, cancel := workflow.NewDisconnectedContext(ctx) // else it would seem to fire then
	*t = timer{at: at, cancel: cancel, future: workflow.NewTimerWithOptions(ctx, at.Sub(workflow.Now(ctx)),
		workflow.TimerOptions{Summary: "until " + at.UTC().Format("2006-01-02T15:04:05.999Z07:00")})}
}

// fired reports whether the instant has come.
func (t *timer) fired() bool { return t.future != nil && t.future.IsReady() }
