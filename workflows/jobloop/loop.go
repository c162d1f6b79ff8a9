// Package jobloop holds the workflow of a scheduled job. It has three parts, and a loop that runs them:
//
//	            loop.go: decide what is due, sleep, continue as new, leave
//	                 │                    │                    │
//	             generator            executions            requests
//	                 │                    │                    │
//	generator.go asks the        execution.go begins and   handlers.go is the table of
//	recurrence engine, zones.go  settles executions,       updates, requests.go has them
//	plans again with newer time  action.go makes their     change the job one at a time,
//	zones, package plan decides  attempts, package         changes.go, skip.go, confirm.go
//	                             execution owns them and   and failing.go are the changes
//	                             withdraws them
//
// status.go shows the job, package alerts raises its alerts, and package state is what one run hands over to the next.
package jobloop

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/internal/await"
	"almanac/workflows/internal/visibility"
	"almanac/workflows/jobloop/alerts"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// keepFinal is how long a completed or faulted job is kept after its last execution or change.
const keepFinal = 60 * 24 * time.Hour

// A run continues as new after ExecutionsPerRun executions, or when the server suggests it, once no attempt is being
// made. Without the workflow in its cache, as after a crash, worker and server spend 0.7 ms on each execution of the
// run; a new run costs 17 ms. If attempts always overlap, or requests come without end, the run drains at the drain
// limits, far below those at which the server ends a workflow (51,200 events, 50 MB) or refuses requests (2,000
// updates, 10,000 signals): it starts nothing, takes back the occurrence that is held, and continues as new when the
// current attempts have ended.
const (
	ExecutionsPerRun = 50
	UpdatesPerRun    = 1000

	drainAfter   = 600    // executions
	drainSignals = 5000   // signals
	drainEvents  = 10_000 // events
	drainBytes   = 12 << 20
)

// Workflow is one scheduled job, from its creation to its deletion.
func Workflow(ctx workflow.Context, in state.Input) error {
	if in.Key.Name == "" || in.Created.IsZero() || in.Generation == 0 || in.Registration == 0 || in.Definition.Action.Type == "" {
		return workflows.ErrForeign
	}
	if err := workflows.CheckStart(ctx, &in.Definition); err != nil {
		return err
	}
	var err error
	if in.Optional, err = in.Optional.Record(ctx); err != nil {
		return err
	}
	j := &loop{Input: in}
	j.executions = execution.Set{Key: j.Key, PutBack: j.putBack}
	j.requests = requests{key: j.Key, state: &j.Input, first: j.endPauses}
	j.raiser = &alerts.Raiser{
		Key: j.Key, State: &j.Alerts, Definition: &j.Definition, Outcomes: &j.Outcomes, Courier: alerts.CourierOf(ctx),
	}
	j.generator = generator{Input: &j.Input, executions: &j.executions, raiser: j.raiser}
	if err := j.handle(ctx); err != nil {
		return err
	}
	j.confirm(ctx)
	j.resume(ctx)
	j.raiser.Resume()
	return j.run(ctx)
}

// For returns [Workflow] for a worker whose courier hands over the alerts of its jobs.
func For(c alerts.Courier) func(workflow.Context, state.Input) error {
	return func(ctx workflow.Context, in state.Input) error { return Workflow(alerts.WithCourier(ctx, c), in) }
}

// A loop is the state of a run of [Workflow]: the input of the next run, and what has not ended.
type loop struct {
	state.Input

	timer    await.Timer
	changed  bool      // wakes the loop
	askAgain time.Time // when to look again whether a dispatched occurrence was sent; see [plan.Ask]

	generator  generator
	executions execution.Set
	begun      int     // executions in this run
	activities int     // action activities in this run
	scheduled  perTask // activities of actions
	full       bool    // the history is so long that the run drains

	requests     requests
	mine         bool      // the loop has the turn, since it plans by calendars
	pauseOver    time.Time // when the pause was to end that ends now by itself; zero: none does
	disabling    bool      // the job is about to be disabled by disableAfter
	deleted      bool      // nothing is to be sent from now on
	gone         bool      // it is deleted, and nothing can be sent any more
	unregistered error     // the job is not registered, and ends

	raiser *alerts.Raiser
}

// run decides what is due, sleeps until the next occurrence or a change, and repeats, until the job is deleted
// or the run continues as new.
func (j *loop) run(ctx workflow.Context) error {
	for {
		j.changed, j.requests.wake, j.generator.wake = false, false, false
		info := workflow.GetInfo(ctx)
		j.full = j.full || info.GetCurrentHistoryLength() >= drainEvents || info.GetCurrentHistorySize() >= drainBytes
		if ctx.Err() != nil || j.expired(workflow.Now(ctx)) {
			// cancelling the workflow itself deletes the job
			cancelled := ctx.Err() != nil
			_ = j.requests.change(ctx, allowed(func(ctx workflow.Context) { // cannot fail
				if cancelled || j.expired(workflow.Now(ctx)) { // a change whose turn was before may have kept it
					j.remove(ctx)
				}
			}))
		}
		j.takeBackHeld(ctx)
		switch {
		case j.deleted:
			return j.leave(ctx)
		case j.mayContinueAsNew(ctx): // before the next occurrence is started: one may always be waiting
			return j.continueAsNew(ctx)
		}
		j.startDeferred(ctx)
		if j.pausesOver(ctx) && !j.requests.turns.Taken() {
			_ = j.requests.change(ctx, allowed(func(workflow.Context) {})) // which is what ends them
		}
		j.checkQuiet(ctx)
		j.decide(ctx)
		j.runBackfill(ctx)
		j.show(ctx)
		j.raiser.HandOver(ctx)
		j.sleep(ctx)
	}
}

// decide plans further occurrences, and starts, drops or leaves waiting those that are due or to be
// dispatched ahead.
func (j *loop) decide(ctx workflow.Context) {
	if j.busy() || j.disabling {
		return
	}
	if !j.mine && j.ByDays() {
		j.inTurn(ctx, j.decide)
		return
	}
	if j.generator.releasing(ctx) {
		return
	}
	if j.Active() {
		j.generator.noteSkipped(ctx)
		j.generator.noteOff(ctx, false)
	}
	delay := j.Delay()
	now := workflow.Now(ctx).Add(-delay).Truncate(time.Second) // what is due by then may start
	for j.Active() {
		j.generator.refill(ctx)
		j.recovering(ctx)
		due, ok := j.Next()
		if !ok || due.Add(j.delayOf(due)).After(workflow.Now(ctx).Add(j.generator.ahead())) ||
			!j.executions.HeldUntil(workflow.Now(ctx)).IsZero() {
			break
		}
		situation := j.situation(due, now)
		switch {
		case j.generator.undecidable():
			return
		case !situation.MustWait() && j.intoBlackout(ctx, due):
			if j.Plan.More || j.generator.asked != nil || !j.waitsForBlackout(due).IsZero() {
				return
			}
			continue
		}
		switch plan.Decide(situation) {
		case plan.Wait:
			return
		case plan.Ask:
			if !j.ask(ctx) {
				return
			}
		case plan.Run:
			if j.overlap() == job.OverlapAllowAll && !due.After(j.CatchUp) {
				j.BusyUntil = now.Add(delay) // what came due while others were caught up runs as well
			}
			j.start(ctx, due)
		case plan.RunFirst:
			until := j.BusyUntil.Add(-delay)
			if j.Recovery != nil {
				until = execution.Later(until, j.Recovery.Ended)
			}
			j.start(ctx, due)
			j.generator.drop(ctx, until, job.OutcomeMissed, job.WhyAnotherWaited)
		case plan.Skip:
			j.generator.drop(ctx, j.BusyUntil.Add(-delay), job.OutcomeSkipped, job.WhyStillRunning)
		case plan.Miss:
			j.generator.drop(ctx, execution.Later(due, j.CatchUp), job.OutcomeMissed,
				job.WhyCrowded(execution.MaxOverlapping))
		case plan.CatchUp:
			if j.missedForHost(due, now) {
				j.generator.drop(ctx, due, job.OutcomeMissed, job.WhyHostFull)
				continue
			}
			if j.generator.catchUp(ctx, due, now); j.Plan.More {
				return
			}
		}
	}
	j.finishIfOver(ctx)
}

// busy reports whether somebody else than the loop has the turn.
func (j *loop) busy() bool { return j.requests.turns.Taken() && !j.mine }

// inTurn has the loop do something in a turn of its own: it plans by calendars, and no request may change the job
// meanwhile. It does nothing if somebody has the turn.
func (j *loop) inTurn(ctx workflow.Context, do func(workflow.Context)) {
	if j.busy() || j.requests.turns.Wait(ctx) != nil {
		return
	}
	j.mine = true
	do(ctx)
	j.mine = false
	j.requests.turns.End()
}

// finishIfOver completes an active job, or marks it as faulted, if no occurrence is left and all have ended.
func (j *loop) finishIfOver(ctx workflow.Context) {
	if j.Active() && j.over() {
		j.Finish(workflow.Now(ctx).Truncate(time.Second))
		visibility.ShowState(ctx, &j.Key, j.Definition.State, j.Optional, &j.Outcomes, &j.Listed)
	}
}

// situation returns what the decision about the next occurrence depends on.
func (j *loop) situation(due, now time.Time) plan.Situation {
	s := plan.Situation{
		Due: due,
		// regardless of recurrence.count, which dropped occurrences do not use up
		Another:   len(j.Plan.Due) > 1 && !j.Plan.Due[1].After(now),
		Busy:      j.executions.Busy(j.overlap()),
		Crowded:   j.executions.Crowded(),
		Unknown:   j.executions.Unknown(),
		Draining:  j.draining(),
		BusyUntil: j.BusyUntil.Add(-j.Delay()),
		CatchUp:   j.CatchUp,
		Overlap:   j.overlap(),
	}
	if r := j.Recovery; r != nil {
		s.Recovers, s.Full = r.Of(due), j.executions.Recovered() >= r.Limit()
		s.Beside = j.executions.Occurrences() > j.executions.Recovered()
		s.Down = r.Begun
		s.Behind, s.Recovered = !s.Recovers && j.executions.Recovering(j.overlap()), r.Ended
	}
	return s
}

// askInterval is the time between two lookups of ask. An occurrence that was not sent and never will be
// is lost within a few seconds.
const askInterval = 2 * time.Second

// ask looks up whether the dispatched occurrences that are due were sent. It reports whether the next
// occurrence can be decided now.
func (j *loop) ask(ctx workflow.Context) bool {
	if workflow.Now(ctx).Before(j.askAgain) {
		return false
	}
	j.executions.Look(ctx)
	j.askAgain = workflow.Now(ctx).Add(askInterval)
	return !j.executions.Unknown() && !j.busy()
}

// outlineWaits is how long an outline with further outcomes waits for something else that wakes the loop, and alertsWait
// how long the question does which alerts were handed over.
const (
	outlineWaits = 5 * time.Minute
	alertsWait   = time.Minute
)

// sleep waits until the next occurrence is to be decided, something changes or the workflow is cancelled. It
// handles signals meanwhile.
func (j *loop) sleep(ctx workflow.Context) {
	wake, quiet := earlier(j.wake(workflow.Now(ctx)), j.backfillAt(ctx)), j.quietAt()
	wake = unless(wake, j.OutlineAt(), outlineWaits)
	wake = unless(wake, j.raiser.AskAt(), alertsWait)
	if wake.IsZero() && !quiet.IsZero() {
		j.timer.SetBy(ctx, quiet) // each success puts it off
	} else {
		j.timer.Set(ctx, earlier(wake, quiet))
	}
	awake := func() bool {
		return j.changed || j.requests.wake || j.generator.wake || j.OutlineChanged || j.raiser.Raised() || j.timer.Fired() ||
			j.draining() && j.mayContinueAsNew(ctx)
	}
	later := j.timer.At.After(workflow.Now(ctx)) // it fires in another workflow task
	for workflow.Await(ctx, func() bool { return awake() || j.requests.signals.waiting() }) == nil {
		if later && j.timer.Fired() {
			j.generator.planned = 0
		}
		if j.requests.signals.handle(ctx); awake() {
			return
		}
	}
}

// unless returns when to wake up if there is something to do at the time at, which can wait until wake if that is soon
// after it. Zero means never.
func unless(wake, at time.Time, waits time.Duration) time.Time {
	if !at.IsZero() && (wake.IsZero() || wake.Sub(at) > waits) {
		return at
	}
	return wake
}

// maxSleep is half of the time that the loop sleeps at most. An occurrence can be due in 900 years, and neither a
// [time.Duration] nor what a server stores of a timer reaches as far.
const maxSleep = 365 * 24 * time.Hour

// wake returns when the loop is to run again if nothing changes and the job is not quiet; zero for never.
func (j *loop) wake(now time.Time) time.Time {
	if !j.Final.IsZero() || j.Pruning != nil {
		return earlier(j.expires(), j.wakeForPause(now))
	}
	if j.Plan.More && j.Active() || j.Releasing != nil && !j.generator.undecidable() && !j.requests.turns.Taken() {
		// too many to drop in one workflow task: another takes the next step
		return now.Add(time.Millisecond)
	}
	if at := j.wakeForPause(now); !at.IsZero() {
		return at
	}
	if !j.Active() || j.requests.turns.Taken() || j.generator.undecidable() {
		return time.Time{}
	}
	return earlier(earlier(j.wakeForNext(now), j.generator.nextSkipped(now)), j.generator.nextOff())
}

// wakeForPause returns when it is to be looked whether a pause is over; zero for never.
func (j *loop) wakeForPause(now time.Time) time.Time {
	at := j.pauseEnds()
	if at.IsZero() || j.Active() || j.requests.turns.Taken() {
		return time.Time{}
	}
	return earlier(at, now.Truncate(maxSleep).Add(2*maxSleep))
}

// wakeForNext returns when the next occurrence is to be decided; zero for never.
func (j *loop) wakeForNext(now time.Time) time.Time {
	next, ok := j.Next()
	if !ok || j.situation(next, now).MustWait() {
		return time.Time{}
	}
	wake := next.Add(j.delayOf(next))
	if !j.executions.Crowded() {
		wake = wake.Add(-j.LeadTime())
	}
	wake = earlier(wake, now.Truncate(maxSleep).Add(2*maxSleep)) // the same time for long, so that the timer is kept
	if held := j.executions.HeldUntil(now); !held.IsZero() {
		wake = execution.Later(wake, held)
	} else if !wake.After(now) { // waiting for ask
		wake = execution.Later(wake, j.askAgain)
	}
	return execution.Later(wake, j.waitsForBlackout(next))
}

// mayContinueAsNew reports whether the run is long enough and no attempt is being made.
func (j *loop) mayContinueAsNew(ctx workflow.Context) bool {
	return j.long(ctx) && !j.deleted && !j.disabling && j.executions.Trying() == 0 && j.requests.finished(ctx)
}

// long reports whether the run is long enough to continue as new.
func (j *loop) long(ctx workflow.Context) bool {
	return j.draining() || j.begun >= ExecutionsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

func (j *loop) continueAsNew(ctx workflow.Context) error {
	j.Waiting = append(j.Waiting, j.executions.HandOver()...)
	if j.overlap() == job.OverlapAllowAll && j.draining() {
		j.CatchUp = workflow.Now(ctx).Add(-j.Delay()) // what came due meanwhile would have run
	}
	forgetRequests(&j.Input, workflow.Now(ctx))
	run := workflow.GetInfo(ctx).WorkflowExecution.RunID
	if j.executions.Failures {
		j.FailedRun = run
	}
	if j.requests.changes || j.generator.moved || j.ChangedRun == "" { // "" in the first run, which created the job
		j.ChangedRun = run
	}
	return workflow.NewContinueAsNewError(ctx, workflows.TypeJob, j.Input)
}

// leave ends the workflow of a deleted job once every request is answered.
func (j *loop) leave(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	for {
		err := workflow.Await(ctx, func() bool { return j.requests.finished(ctx) || j.requests.signals.waiting() })
		if err != nil || j.requests.finished(ctx) {
			return cmp.Or(err, j.unregistered)
		}
		j.requests.signals.handle(ctx)
	}
}

// over reports whether no occurrence is left and all have ended.
func (j *loop) over() bool { return j.Exhausted() && j.executions.Occurrences() == 0 }

// delayOf returns how long after its due time the next occurrence is to start. One that was held is not delayed.
func (j *loop) delayOf(due time.Time) time.Duration {
	if j.Recovery.Of(due) {
		return 0
	}
	return j.DelayOf(due)
}

func (j *loop) overlap() job.OverlapPolicy { return j.Definition.Recurrence.Overlap() }

// draining reports whether no new attempt may begin, so that the run can continue as new when the
// current ones have ended.
func (j *loop) draining() bool {
	return j.full || j.begun >= drainAfter || j.requests.many()
}

// takeBackHeld returns the occurrence that is held to the plan while the run drains, or if nothing else keeps a long
// run from continuing as new. One that is due soon stays: its request may leave, and then it has to be an execution
// with all its retries.
func (j *loop) takeBackHeld(ctx workflow.Context) {
	held := j.executions.Held(workflow.Now(ctx))
	inTheWay := j.draining() || j.long(ctx) && j.executions.Trying() == 1 && j.requests.finished(ctx)
	if !inTheWay || j.deleted || held == nil || held.Manual || j.requests.turns.Taken() ||
		j.requests.turns.Wait(ctx) != nil {
		return
	}
	defer j.requests.turns.End()
	j.withdrawHeld(ctx, held)
}
