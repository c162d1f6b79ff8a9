package jobloop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// A plan depends on the time zone database of the worker that made it; its release is recorded with the plan. A worker with a newer
// release plans again: when the job needs further occurrences, or when a worker of that release asks for it by [workflows.SignalZones].
// A worker with an older one plans nothing. What is planned runs as planned, and an activity asks other workers.

// planning are the options of the activity that plans with another worker. A worker that is too old refuses, and the server gives
// the activity to another one, which may be the same, until one plans. The interval becomes so long because all jobs of a zone may wait,
// for as long as no worker has the release: 10,000 make 33 attempts a second then.
var planning = workflow.ActivityOptions{
	Summary:             "plan with newer time zones",
	StartToCloseTimeout: 20 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Minute},
}

// askAnother asks another worker, whose time zones are not older than those of the plan, since those of this one are. A request that is
// overtaken by another one is dropped.
func (j *loop) askAnother(ctx workflow.Context, r *plan.Request, behind string) {
	j.Behind = behind
	j.asked = r
	workflow.GetLogger(ctx).Warn("the time zones of this worker are older than those of the job's plan; another worker is asked to plan",
		"job", j.Key.ARMID(), "release", behind, "plan", r.Zone.Release)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var answer plan.Plan
			err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, planning), workflows.ActivityPlan, r).Get(ctx, &answer)
			if j.asked != r || err != nil || j.deleted { // it fails only when the workflow is cancelled
				return
			}
			if r.Zone == j.Plan.Zone && slices.EqualFunc(r.Times, j.remembered(), time.Time.Equal) { // nothing was planned or decided meanwhile
				workflow.SideEffect(ctx, func(workflow.Context) any { return answer }) // for readers of the history
				j.take(ctx, r, answer)
				j.changed = true
				return
			}
			r = j.renewed(r)
			j.asked = r
		}
	})
}

// renewed returns a request for the state of the job that has changed since.
func (j *loop) renewed(r *plan.Request) *plan.Request {
	now := *r
	now.Zone, now.Skips, now.Times = j.Plan.Zone, j.Skips, j.remembered()
	now.Next, _ = j.Next()
	if r.Step == plan.StepAfter {
		now.From = j.Decided
	}
	return &now
}

// undecidable reports whether what is due cannot be decided until another worker has planned.
func (j *loop) undecidable() bool { return j.asked != nil && j.asked.Step != plan.StepAfter }

// remembered returns the times in the job's state that stand for local times; see [loop.move].
func (j *loop) remembered() []time.Time {
	times := append([]time.Time{j.Decided}, j.Skips...)
	return append(times, j.executions.Times()...)
}

// move notes that the plan was made by other rules of the time zone than the one before: what is remembered by its time has another
// one. An execution that is held keeps its due time; if it returns to the plan, it has the new one.
func (j *loop) move(ctx workflow.Context, m *plan.Moved) {
	skips := len(j.Skips)
	j.Decided = m.Times[0]
	copy(j.Skips, m.Times[1:])
	j.executions.Move(m.Times[1+skips:])
	if !m.Start.IsZero() {
		j.Definition.StartTime = job.NewTime(m.Start)
	}
	if !m.End.IsZero() {
		r := *j.Definition.Recurrence
		r.EndTime = job.NewTime(m.End)
		j.Definition.Recurrence = &r
	}
	j.requests.changes = true // a reader of the changes finds it in this run
	j.TimetableChanged(workflow.Now(ctx))
	workflow.GetLogger(ctx).Info("the job was planned again with other time zones", "job", j.Key.ARMID(), "release", j.Plan.Zone.Release,
		"before", m.Release, "was", m.Was, "is", m.Is)
}

// applyZones plans again with a newer release of the time zone database, if the job's zone has other rules in it. Nothing is run for it.
func (j *loop) applyZones(ctx workflow.Context, z plan.Zone) {
	if !j.Plan.Zone.Outdated(z.Release, z.Rules) || j.Definition.State.Final() {
		return
	}
	if held := j.executions.Held(workflow.Now(ctx)); held != nil && !held.Manual {
		j.withdrawHeld(ctx, held)
	}
	r := j.request(plan.StepAfter, j.Decided)
	r.Least = z.Release
	j.record(ctx, r)
}

// Plan is the activity that answers a request with the time zones of this worker. It fails if these are too old.
func Plan(_ context.Context, r plan.Request) (plan.Plan, error) {
	answer, err := r.Answer()
	if err == nil && answer.Behind != "" {
		err = fmt.Errorf("the time zones of this worker are those of %s, and those of %s or later are needed", answer.Behind, max(r.Zone.Release, r.Least))
	}
	return answer, err
}
