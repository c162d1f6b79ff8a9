package jobloop

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/plan"
)

// A job or its collection can be disabled with a promise: until when, and what becomes of the occurrences that come due
// meanwhile. They are held: they stay undecided, after [state.Input.Decided], until the job is active again. Then
// [loop.release] decides which of them run, and the others have an entry that says why not. Those that run are
// recovered: plan.Decide lets as many run at once as was promised, and regular ones wait behind them.

// stateCommand returns the row of the update by which a job is enabled or disabled. It is a signal, too.
func (j *loop) stateCommand(name string, s job.State) update {
	apply := func(ctx workflow.Context, r *workflows.StateRequest) error {
		if err := cmp.Or(j.unchangedSince(r.Generation), j.maySetState()); err != nil {
			return err
		}
		j.setStateAs(ctx, s, &r.Promise)
		return nil
	}
	handle := func(ctx workflow.Context, r workflows.StateRequest) (job.Job, error) {
		_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error { return apply(ctx, &r) }))
		return j.snapshot(), err
	}
	validate := func(ctx workflow.Context, r workflows.StateRequest) error {
		if j.requests.repeated(ctx) { // it is only answered
			return nil
		}
		if wrong := r.Check(workflow.Now(ctx)); wrong != "" {
			return workflows.Refuse(workflows.ErrTypeInvalid, wrong)
		}
		return cmp.Or(j.unchangedSince(r.Generation), j.maySetState())
	}
	signal := func(ctx workflow.Context) error { return apply(ctx, new(workflows.StateRequest)) }
	return update{name, handle, validate, signal}
}

// setStateAs enables or disables the job as a request says. Disabling a job that is disabled changes what is promised.
func (j *loop) setStateAs(ctx workflow.Context, s job.State, p *job.Promise) {
	again := s == job.StateDisabled && j.Definition.State == s
	d := j.Definition
	d.State = s
	j.replaceAs(ctx, d, "", p)
	since := j.DisabledBy
	if since == nil { // as it was created
		since = &job.Disabling{At: workflow.Now(ctx).UTC()}
	}
	if !again || *p == since.Promise {
		return
	}
	if p.Recover == "" && j.Held != nil { // what is held stays so
		p.Recover, p.AtOnce = j.Held.Recover, cmp.Or(p.AtOnce, j.Held.AtOnce)
	}
	j.DisabledBy = &job.Disabling{At: since.At, By: execution.CallerOf(audit.ActorOf(ctx)), Promise: *p}
	if j.Held != nil {
		j.hold(p)
	} else if !j.CollectionDisabled {
		j.holdFromNow(ctx, p)
	}
	j.TimetableChanged(workflow.Now(ctx))
}

// hold notes what is promised of the occurrences that come due while the job or its collection is disabled. It is for a
// job that is active until then, or whose occurrences are held already: else nothing was due since it was disabled.
func (j *loop) hold(p *job.Promise) {
	if p.Holds() {
		j.Held = &job.Promise{Recover: p.Recover, AtOnce: p.AtOnce}
	}
}

// holdFromNow is [loop.hold] for a job that was not active, of whose occurrences before now none is held.
func (j *loop) holdFromNow(ctx workflow.Context, p *job.Promise) {
	if !p.Holds() || j.Definition.State.Final() {
		return
	}
	j.hold(p)
	before := workflow.Now(ctx).Truncate(time.Second).Add(-time.Second)
	if j.Definition.Recurrence != nil && before.After(j.Decided) {
		j.Decided = before
		j.generator.record(ctx, j.generator.request(plan.StepAfter, j.Decided))
	}
}

// stillInactive decides what is held when one of two reasons ends for which the job is not active, and the other
// remains. If that holds what comes due, it is held on; otherwise nothing of it can run, and it is left out now.
func (j *loop) stillInactive(ctx workflow.Context, other *job.Disabling, why string) {
	switch {
	case other != nil && other.Holds() && j.Held == nil:
		j.holdFromNow(ctx, &other.Promise)
	case other == nil || !other.Holds():
		if j.Held != nil {
			j.release(ctx, new(job.Promise), why)
		}
	}
}

// dropHeld records that held occurrences do not run, since the schedule is about to change. Then nothing that the new
// one has before now is held, if that repeats: one that runs once may yet run.
func (j *loop) dropHeld(ctx workflow.Context, repeats bool) {
	if j.Held != nil {
		j.generator.noteSkipped(ctx)
		j.generator.drop(ctx, workflow.Now(ctx), job.OutcomeCancelled, job.WhyJobChanged)
	}
	if now := workflow.Now(ctx).Truncate(time.Second); repeats && now.After(j.Decided) {
		j.Decided = now
	}
}

// release decides the occurrences that were held, as a request or a pause that ends says. why is the reason of those that
// do not run.
func (j *loop) release(ctx workflow.Context, choice *job.Promise, why string) {
	j.Alerts.Forget()
	if len(j.Skips)+len(j.SkipWindows) > 0 {
		j.generator.noteSkipped(ctx)
	}
	until := workflow.Now(ctx).Truncate(time.Second).Add(-time.Second)
	if over := j.pauseOver; !over.IsZero() && over.Before(workflow.Now(ctx)) { // what came due since was not held
		until = over.Add(-time.Nanosecond).Truncate(time.Second)
	}
	j.Releasing = &plan.Releasing{
		Until: until, Keep: choice.Keep(), AtOnce: choice.AtOnce, Why: job.WhyNotRecovered(why, choice.Keep()),
	}
	j.Held = nil
	j.generator.releaseStep(ctx)
}

// releaseStep decides as many of the occurrences that were held as one workflow task may.
func (g *generator) releaseStep(ctx workflow.Context) {
	g.stepped = workflow.Now(ctx)
	r := g.request(plan.StepRelease, g.Decided)
	r.Until, r.Keep, r.AtOnce = g.Releasing.Until, g.Releasing.Keep, g.Releasing.AtOnce
	r.Outcome, r.Why = job.OutcomeSkipped, g.Releasing.Why
	g.record(ctx, r)
}

// releasing takes the next step of a release, once in a workflow task, and reports whether another one is to follow.
func (g *generator) releasing(ctx workflow.Context) bool {
	if g.Releasing != nil && !g.undecidable() && !workflow.Now(ctx).Equal(g.stepped) {
		g.releaseStep(ctx)
	}
	return g.Releasing != nil
}

// released takes the answer to a request of [generator.releaseStep]: what is planned up to its end is recovered.
func (g *generator) released(ctx workflow.Context, r *plan.Request) {
	if g.Plan.More {
		return
	}
	g.Releasing = nil
	if next, ok := g.Next(); ok && !next.After(r.Until) {
		begun := workflow.Now(ctx).Truncate(time.Second).Add(-time.Second)
		g.Recovery = &plan.Recovery{Until: r.Until, AtOnce: r.AtOnce, Begun: begun}
	}
}

// choice returns what becomes of what is held: as the request says that enables it, or else as was promised.
func choice(asked *job.Promise, promised ...*job.Promise) *job.Promise {
	for _, p := range append([]*job.Promise{asked}, promised...) {
		if p != nil && p.Recover != "" {
			chosen := *p
			if asked != nil && asked.AtOnce > 0 {
				chosen.AtOnce = asked.AtOnce
			}
			return &chosen
		}
	}
	return &job.Promise{}
}

// pauseEnds returns when the job or its collection is to be enabled by itself; zero for never.
func (j *loop) pauseEnds() (at time.Time) {
	if d := j.DisabledBy; d != nil && j.Definition.State == job.StateDisabled {
		at = d.Until
	}
	if j.CollectionPause != nil && j.CollectionDisabled {
		at = earlier(at, j.CollectionPause.Until)
	}
	return at
}

// pausesOver reports whether the job or its collection is to be enabled by itself, since the time has come.
func (j *loop) pausesOver(ctx workflow.Context) bool {
	at := j.pauseEnds()
	return !at.IsZero() && !workflow.Now(ctx).Before(at) && !j.deleted
}

// endPauses enables the job, or takes its collection for enabled, if the time that was promised has come. A change that
// comes later than that finds it so, although nothing ran since then that could have noticed.
func (j *loop) endPauses(ctx workflow.Context) {
	if !j.pausesOver(ctx) {
		return
	}
	j.pauseOver = j.lastOver(workflow.Now(ctx))
	// the one that was to end last decides what is held, as it would have without a downtime
	if own, other := j.DisabledBy, j.CollectionPause; own != nil && other != nil && own.Until.Before(other.Until) {
		j.endPause(ctx)
	}
	j.endCollectionPause(ctx)
	j.endPause(ctx)
	j.pauseOver = time.Time{}
}

// endPause enables the job if it is disabled until a time that has come.
func (j *loop) endPause(ctx workflow.Context) {
	if p := j.DisabledBy; p != nil && j.Definition.State == job.StateDisabled && p.Ends(workflow.Now(ctx)) {
		noteEnd(ctx, &plan.Released{Until: p.Until})
		j.setStateAs(ctx, job.StateEnabled, &p.Promise)
	}
}

// endCollectionPause takes the collection for enabled if it is disabled until a time that has come.
func (j *loop) endCollectionPause(ctx workflow.Context) {
	if p := j.CollectionPause; p != nil && j.CollectionDisabled && p.Ends(workflow.Now(ctx)) {
		noteEnd(ctx, &plan.Released{Collection: true, Until: p.Until})
		j.setCollectionState(ctx, true, &p.Promise, nil)
	}
}

// lastOver returns when the last of the pauses was to end that are over now.
func (j *loop) lastOver(now time.Time) (over time.Time) {
	if p := j.CollectionPause; p != nil && j.CollectionDisabled && p.Ends(now) {
		over = p.Until
	}
	if p := j.DisabledBy; p != nil && j.Definition.State == job.StateDisabled && p.Ends(now) {
		over = execution.Later(over, p.Until)
	}
	return over
}

// noteEnd records that a pause ends by itself, for readers of the history.
func noteEnd(ctx workflow.Context, r *plan.Released) {
	workflow.SideEffect(ctx, func(workflow.Context) any { return plan.Plan{Released: r} })
}

// recovering notes whether held occurrences that run now have all ended.
func (j *loop) recovering(ctx workflow.Context) {
	r := j.Recovery
	if r == nil {
		return
	}
	next, ok := j.Next()
	if ok && r.Of(next) || j.executions.Recovered() > 0 {
		return
	}
	now := workflow.Now(ctx)
	if r.Ended.IsZero() {
		r.Ended = now
	}
	one := j.overlap() == job.OverlapAllowAll
	if one && ok && next.After(r.Ended) && !next.After(now) && now.Sub(r.Ended) < r.Ended.Sub(r.Begun) {
		r.Begun, r.Ended = r.Ended, now // fewer wait behind those that waited
	}
	switch {
	case !ok || next.After(r.Ended):
		j.Recovery = nil
	case one && next.After(r.Begun): // what waited runs one after another, and not all at once
		j.CatchUp = execution.Later(j.CatchUp, r.Ended)
	}
}
