package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/recurrence"
)

// record runs ask, which asks the recurrence engine, and records the answer
// in the history. A replay takes the recorded answer.
func (j *jobLoop) record(ctx workflow.Context, ask func(*recurrence.Plan) Planned) {
	now := workflow.Now(ctx)
	value := workflow.SideEffect(ctx, func(workflow.Context) any {
		plan, err := j.Definition.Plan(j.Created, now)
		if err != nil {
			// The definition was valid when it was written, so a time zone is gone or this
			// worker is older than the one that took the job. Failing the workflow task keeps
			// the job as it is until a worker that can read it comes.
			panic("the recurrence of " + j.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // see above
		}
		return ask(plan)
	})
	var answer Planned
	if err := value.Get(&answer); err != nil {
		panic("a recorded plan of " + j.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // likewise
	}
	j.Plan = answer
}

// refill plans on when all planned occurrences are decided but for one.
func (j *jobLoop) refill(ctx workflow.Context) {
	if len(j.Plan.Due) > 1 || j.Plan.Done {
		return
	}
	from := j.Decided
	j.record(ctx, func(p *recurrence.Plan) Planned { return planFrom(p, from) })
}

// decided takes the next occurrence off the plan.
func (j *jobLoop) decided(due time.Time) {
	j.Decided = due
	j.Plan.Due = j.Plan.Due[1:]
}

// drop records that the occurrences that are left and due up to until were
// not run, and why. It does nothing if there is none.
func (j *jobLoop) drop(ctx workflow.Context, until time.Time, outcome job.Outcome, why string) {
	for {
		j.refill(ctx)
		next, ok := j.next()
		if !ok || next.After(until) {
			return
		}
		from := next.Add(-time.Second)
		j.record(ctx, func(p *recurrence.Plan) Planned { return planDrop(p, from, until, outcome, why) })
		j.settleDropped(ctx)
	}
}

// catchUp decides about several occurrences, from due on, that came due while
// nothing could run them: those within the catch-up window are admitted, the
// others missed.
func (j *jobLoop) catchUp(ctx workflow.Context, due, now time.Time) {
	from, window := due.Add(-time.Second), j.Definition.Recurrence.CatchUp()
	j.record(ctx, func(p *recurrence.Plan) Planned {
		until := missedUntil(p, from, now, window)
		return planDrop(p, from, until, job.OutcomeMissed, "nothing could run it when it was due")
	})
	j.settleDropped(ctx)
	if !j.Plan.More {
		j.CatchUp = now
	}
}

// settleDropped books what the last answer dropped.
func (j *jobLoop) settleDropped(ctx workflow.Context) {
	d := j.Plan.Dropped
	if d == nil {
		return
	}
	j.Decided = d.Last
	j.Plan.Dropped = nil // it is in the history; the next run need not be told
	j.reportDropped(ctx, d)
}

// noteCancelled records that an execution that was due at an instant was cancelled
// before anything was sent for it.
func (j *jobLoop) noteCancelled(ctx workflow.Context, due time.Time) {
	d := &Dropped{Outcome: job.OutcomeCancelled, Why: "the job was changed before it was sent"}
	d.add(due)
	workflow.SideEffect(ctx, func(workflow.Context) any { return Planned{Dropped: d} })
	j.reportDropped(ctx, d)
}

func (j *jobLoop) reportDropped(ctx workflow.Context, d *Dropped) {
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"outcome": string(d.Outcome)}).
		Counter("almanac_dropped_occurrences").Inc(int64(d.Count))
	workflow.GetLogger(ctx).Warn("occurrences were not run", "job", j.Key.ARMID(), "count", d.Count,
		"first", d.First, "last", d.Last, "outcome", d.Outcome, "why", d.Why)
}

// replan plans anew after the job was enabled or its schedule changed: from now on,
// with nothing run at once for it, but for an enabled one-time job whose time has passed.
func (j *jobLoop) replan(ctx workflow.Context, enabled bool) {
	decided := j.Decided
	if enabled && j.Definition.Recurrence == nil {
		j.record(ctx, func(p *recurrence.Plan) Planned { return planFrom(p, decided) })
		return
	}
	if before := workflow.Now(ctx).Truncate(time.Second).Add(-time.Second); before.After(decided) {
		decided = before
	}
	j.Decided = decided
	j.record(ctx, func(p *recurrence.Plan) Planned { return planOn(p, decided) })
}
