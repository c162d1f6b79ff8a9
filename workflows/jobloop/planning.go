package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/workflows/plan"
)

// record asks the recurrence engine in a side effect, which records the answer in the history, and takes it
// for the plan. A replay takes the recorded answer.
func (j *loop) record(ctx workflow.Context, ask func(*timetable.Timetable) plan.Plan) {
	skips := j.Skips
	value := workflow.SideEffect(ctx, func(workflow.Context) any {
		timetable, err := timetable.Of(&j.Definition, j.Created)
		if err != nil {
			// The definition was accepted when it was written, so its time zone is unknown here, or this worker is
			// older than the one that accepted it. Failing the workflow task keeps the job until
			// another worker can read it.
			panic("the recurrence of " + j.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // see above
		}
		return ask(timetable.Without(skips))
	})
	var answer plan.Plan
	if err := value.Get(&answer); err != nil {
		panic("a recorded plan of " + j.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // likewise
	}
	j.Plan = answer
	if d := answer.Dropped; d != nil {
		j.Decided = d.Last
		j.Plan.Dropped = nil // it is in the history; the next run does not need it
		j.reportDropped(ctx, d)
	}
}

// refill plans further occurrences when at most one planned occurrence is undecided.
func (j *loop) refill(ctx workflow.Context) {
	if len(j.Plan.Due) > 1 || j.Plan.Done {
		return
	}
	from := j.Decided
	j.record(ctx, func(p *timetable.Timetable) plan.Plan { return plan.After(p, from) })
}

func (j *loop) decided(due time.Time) {
	j.Decided = due
	j.Plan.Due = j.Plan.Due[1:]
}

// drop records why the undecided occurrences due up to until are not run. It does nothing if there are none.
func (j *loop) drop(ctx workflow.Context, until time.Time, outcome job.Outcome, why string) {
	for {
		j.refill(ctx)
		next, ok := j.Next()
		if !ok || next.After(until) {
			return
		}
		from := next.Add(-time.Second)
		j.record(ctx, func(p *timetable.Timetable) plan.Plan { return plan.Drop(p, from, until, outcome, why) })
	}
}

// catchUp decides several occurrences, from due on, that came due while nothing could run them. Those
// within the catch-up window will run; the others are missed.
func (j *loop) catchUp(ctx workflow.Context, due, now time.Time) {
	from, window := due.Add(-time.Second), j.Definition.Recurrence.CatchUp()
	j.record(ctx, func(p *timetable.Timetable) plan.Plan {
		until := plan.MissedUntil(p, from, now, window)
		return plan.Drop(p, from, until, job.OutcomeMissed, "nothing could run it when it was due")
	})
	if !j.Plan.More {
		j.CatchUp = now
	}
}

// noteCancelled records that an execution was cancelled, or an attempt of it, and why. It is for those without any other entry. repeat is
// the number of the execution; 0 for an occurrence that has none, or an attempt.
func (j *loop) noteCancelled(ctx workflow.Context, due time.Time, repeat int, why string) {
	d := &plan.Dropped{Outcome: job.OutcomeCancelled, Why: why, Repeat: repeat}
	d.Add(due)
	workflow.SideEffect(ctx, func(workflow.Context) any { return plan.Plan{Dropped: d} })
	j.reportDropped(ctx, d)
}

func (j *loop) reportDropped(ctx workflow.Context, d *plan.Dropped) {
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"outcome": string(d.Outcome)}).
		Counter("almanac_dropped_occurrences").Inc(int64(d.Count))
	j.CoverUntil(workflow.Now(ctx))
	workflow.GetLogger(ctx).Warn("occurrences were not run", "job", j.Key.ARMID(), "count", d.Count,
		"first", d.First, "last", d.Last, "outcome", d.Outcome, "why", d.Why)
	j.raiser.Dropped(ctx, d)
}

// replan plans from now on, after the job was enabled or its schedule changed. Nothing runs at once,
// except an enabled one-time job whose time has passed.
func (j *loop) replan(ctx workflow.Context, enabled bool) {
	j.Alerts.Forget()
	decided := j.Decided
	if enabled && j.Definition.Recurrence == nil {
		j.record(ctx, func(p *timetable.Timetable) plan.Plan { return plan.After(p, decided) })
		return
	}
	if before := workflow.Now(ctx).Truncate(time.Second).Add(-time.Second); before.After(decided) {
		decided = before
	}
	j.Decided = decided
	j.record(ctx, func(p *timetable.Timetable) plan.Plan { return plan.Anew(p, decided) })
}
