package jobloop

import (
	"reflect"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/internal/visibility"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/plan"
)

func (j *loop) setState(ctx workflow.Context, s job.State) { j.setStateAs(ctx, s, new(job.Promise)) }

// replace puts a new definition in force, and its text into the memo unless text is "". When it
// returns, no more requests are sent by the old definition; attempts already sent run to their end.
//
// A pruned job is taken back.
//
// A completed or faulted job is treated as an enabled job without occurrences: a definition with an
// occurrence left makes it active again, one without leaves it final.
func (j *loop) replace(ctx workflow.Context, d job.Definition, text string) {
	j.replaceAs(ctx, d, text, new(job.Promise))
}

// replaceAs is [loop.replace] with what is said of a pause: by a request that disables the job what becomes of what
// comes due, and by one that enables it what of that runs.
func (j *loop) replaceAs(ctx workflow.Context, d job.Definition, text string, p *job.Promise) {
	old, wasActive := j.Definition, j.Active()
	final := old.State.Final()
	if final {
		old.State = job.StateEnabled
	}
	// These compare JSON. encoding/json is deterministic for types without maps; workflowcheck only
	// finds its cache and the garbage collector.
	same := d.Equal(&old)           //workflowcheck:ignore
	timing := d.SameSchedule(&old)  //workflowcheck:ignore
	enabled := d.Equal(enable(old)) //workflowcheck:ignore
	open := d.SameBlackouts(&old)   //workflowcheck:ignore
	if same && j.Pruning == nil {
		return
	}
	j.Pruning = nil
	if !enabled { // if the job is only enabled, manual runs go on: their definition is the same
		j.withdraw(ctx)
	}
	j.Generation++
	if wasActive {
		j.generator.noteSkipped(ctx)
		j.generator.noteOff(ctx, true)
	}
	respread := j.Definition.FlexibleWindow != d.FlexibleWindow && j.ByDays()
	holds := d.State == job.StateDisabled && timing && p.Holds()
	if wasActive && (!timing || d.State != job.StateEnabled) && !holds {
		j.generator.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, job.WhyJobChanged)
	}
	if !timing || d.State != job.StateEnabled {
		j.Releasing = nil
	}
	if d.State != job.StateDisabled && j.Halted != "" {
		j.Halted, j.Forgiven = "", j.Outcomes.ConsecutiveFailures
		visibility.ShowHalted(ctx, &j.Key, "")
	}
	if !timing {
		j.endBackfill(ctx, "The schedule was changed.")
	}
	if !wasActive && !final && !timing {
		j.dropHeld(ctx, d.Recurrence != nil)
	}
	if !timing {
		if wasActive && !d.ByDays() && len(j.Blackouts) == 0 {
			j.generator.dropLate(ctx)
		}
		j.generator.forget(ctx)
	}
	before := j.DisabledBy
	j.noteDisabling(ctx, d.State, p, wasActive)
	shown, notifications := j.Definition.State, j.Definition.Notifications
	j.Definition, j.Final = d, time.Time{}
	sameNotifications := reflect.DeepEqual(notifications, d.Notifications) //workflowcheck:ignore // of types without maps, as above
	if !sameNotifications {
		j.raiser.RulesChanged(ctx)
	}
	switch {
	case final && (!timing || !open): // even if the job is not active: whether it is final depends on the new schedule
		j.generator.replan(ctx, false)
	case !final && !wasActive && timing && j.releases(p, before):
		j.release(ctx, choice(p, before.Promised(), j.Held), job.WhyPaused)
	case !final && j.Active() && (!timing || !wasActive):
		j.Held = nil
		j.generator.replan(ctx, !wasActive)
	case !final && j.Held != nil && !timing, !final && (j.Active() || j.Held != nil) && (!open || respread):
		j.generator.closedUntil = time.Time{}
		j.generator.record(ctx, j.generator.request(plan.StepAfter, j.Decided))
	}
	if before != nil && j.DisabledBy == nil && j.CollectionDisabled {
		j.stillInactive(ctx, j.CollectionPause, job.WhyPaused)
	}
	if (final && d.State == job.StateEnabled || j.Active()) && j.over() {
		j.Finish(workflow.Now(ctx))
	}
	j.TimetableChanged(workflow.Now(ctx))
	if j.Definition.State != shown {
		visibility.ShowState(ctx, &j.Key, j.Definition.State, j.Optional, &j.Outcomes, &j.Listed)
	}
	if text != "" {
		visibility.ShowText(ctx, &j.Key, text)
	}
}

// noteDisabling notes by whom the job is disabled that is about to get a state.
func (j *loop) noteDisabling(ctx workflow.Context, s job.State, p *job.Promise, wasActive bool) {
	switch {
	case s != job.StateDisabled:
		j.DisabledBy = nil
	case j.Definition.State != job.StateDisabled:
		j.DisabledBy = &job.Disabling{At: workflow.Now(ctx).UTC(), By: execution.CallerOf(audit.ActorOf(ctx)), Promise: *p}
		if wasActive || j.Held != nil {
			j.hold(p)
		}
	}
}

// releases reports whether the job is active from now on and occurrences are held that are to be decided, or are to be
// run although they were not. The state before says by whom it was disabled.
func (j *loop) releases(asked *job.Promise, before *job.Disabling) bool {
	return j.Active() && (j.Held != nil || asked.Recover != "" || choice(asked, before.Promised()).Keep() > 0)
}

func enable(d job.Definition) *job.Definition {
	d.State = job.StateEnabled
	return &d
}

// applyCollection applies the state of the collection. An older one than that applied last arrived late, or is that of
// an earlier collection of the name, and changes nothing.
func (j *loop) applyCollection(ctx workflow.Context, c *workflows.CollectionState) {
	if c.Generation < j.Collection {
		return
	}
	j.Collection = c.Generation
	j.raiser.Inherit(ctx, c.Rules)
	j.inheritWindow(ctx, c.FlexibleWindow)
	j.inheritBlackouts(ctx, c.Blackouts)
	if p := c.Pause; c.Disabled && p != nil && p.Ends(workflow.Now(ctx)) {
		c.Disabled, c.Recover, j.pauseOver = false, &p.Promise, p.Until // it is late, and the pause is over
	}
	if !c.Disabled {
		j.setCollectionState(ctx, true, c.Recover, nil)
		j.pauseOver = time.Time{}
		return
	}
	j.setCollectionState(ctx, false, nil, c.Pause)
}

// inheritWindow applies the flexible window of the collection. What is held for another start returns to the plan.
func (j *loop) inheritWindow(ctx workflow.Context, window job.Duration) {
	if window == j.FlexibleWindow {
		return
	}
	before := j.Delay()
	j.FlexibleWindow = window
	if held := j.executions.Held(workflow.Now(ctx)); held != nil && !held.Manual && j.Delay() != before {
		j.withdrawHeld(ctx, held)
	}
	if j.ByDays() {
		j.blackoutsChanged(ctx)
	}
	j.TimetableChanged(workflow.Now(ctx))
}

// setCollectionState applies a change of the collection's state: while the collection is not enabled, no
// occurrence of its jobs runs, whatever their own state. Disabling it withdraws manual runs, too, those
// of jobs that are not active included.
func (j *loop) setCollectionState(ctx workflow.Context, enabled bool, asked *job.Promise, pause *job.Disabling) {
	if j.CollectionDisabled == !enabled {
		if !enabled {
			j.prolong(ctx, pause)
		}
		return
	}
	holds := pause != nil && pause.Holds()
	if !enabled {
		j.withdraw(ctx)
	}
	wasActive := j.Active()
	if wasActive {
		j.generator.noteSkipped(ctx)
		j.generator.noteOff(ctx, true)
		if !holds {
			j.generator.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, job.WhyCollectionChanged)
		}
	}
	if !enabled {
		j.Releasing = nil
	}
	before := j.CollectionPause
	j.CollectionDisabled, j.CollectionPause = !enabled, pause
	if pause != nil && (wasActive || j.Held != nil) {
		j.hold(&pause.Promise)
	}
	j.TimetableChanged(workflow.Now(ctx))
	c := choice(asked, before.Promised(), j.Held)
	switch {
	case !enabled || j.Definition.State.Final():
	case !j.Active():
		j.stillInactive(ctx, j.DisabledBy, job.WhyCollectionPaused)
	case j.Held != nil || asked != nil && asked.Recover != "" || c.Keep() > 0:
		j.release(ctx, c, job.WhyCollectionPaused)
	default:
		j.generator.replan(ctx, true)
	}
}

// prolong takes what is promised now of a collection that was disabled before; nil: nothing is, so that it stays disabled
// until somebody enables it. What is held stays so.
func (j *loop) prolong(ctx workflow.Context, pause *job.Disabling) {
	if j.CollectionPause = pause; pause == nil {
		return
	}
	if j.Held != nil {
		j.hold(&pause.Promise)
	} else if j.Definition.State == job.StateEnabled {
		j.holdFromNow(ctx, &pause.Promise)
	}
}

// remove deletes the job, unless it is deleted already, and unregisters its name from the collection. The
// loop then ends, and with it all executions.
func (j *loop) remove(ctx workflow.Context) {
	if j.deleted {
		return
	}
	j.end(ctx)
	defer j.raiser.Leave(ctx)()
	err := workflow.SignalExternalWorkflow(ctx, j.Key.Collection.WorkflowID(), "", workflows.SignalRemoved, workflows.Registration{Name: j.Key.Name, Number: j.Registration}).Get(ctx, nil)
	if err != nil { // the collection is gone, so nothing lists the job
		workflow.GetLogger(ctx).Info("the job collection was not notified that the job is gone", "job", j.Key.ARMID(), "error", err)
	}
}

// end makes the loop end. When it returns, no more requests are sent.
func (j *loop) end(ctx workflow.Context) {
	j.deleted, j.generator.stopped = true, true
	j.withdraw(ctx)
	j.gone = true
}

// applyZones plans again with a newer release of the time zone database, if the job's zone has other rules in it.
// Nothing is run for it.
func (j *loop) applyZones(ctx workflow.Context, z plan.Zone) {
	if !j.Plan.Zone.Outdated(z.Release, z.Rules) || j.Definition.State.Final() {
		return
	}
	if held := j.executions.Held(workflow.Now(ctx)); held != nil && !held.Manual {
		j.withdrawHeld(ctx, held)
	}
	r := j.generator.request(plan.StepAfter, j.Decided)
	r.Least = z.Release
	j.generator.record(ctx, r)
}
