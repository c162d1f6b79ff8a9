package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows/plan"
)

// An occurrence is dispatched ahead: its activity is scheduled before the due time, and a worker holds it until then. So
// the queueing of a herd is over when it is due.

// ahead returns how long before its due time an occurrence may be dispatched now. If nothing is running
// it may be held for longer than the lead, up to the hold, which saves a timer and a workflow task.
func (j *loop) ahead() time.Duration {
	switch {
	case j.executions.Crowded():
		return 0
	case j.executions.Len() > 0:
		return j.LeadTime()
	}
	return max(j.LeadTime(), j.HoldTime())
}

// request returns the request for a plan from a time on.
func (j *loop) request(step plan.Step, from time.Time) *plan.Request {
	next, _ := j.Next()
	return &plan.Request{
		Created: j.Created, StartTime: j.Definition.StartTime, Recurrence: j.Definition.Recurrence, Local: j.Definition.Local, Skips: j.Skips,
		Zone: j.Plan.Zone, Times: j.remembered(), Next: next, Step: step, From: from,
	}
}

// record asks the recurrence engine in a side effect, which records the answer in the history, and takes it
// for the plan. A replay takes the recorded answer. If the time zones of this worker are older than those of the plan, another
// worker is asked, and the plan stays as it is until that has answered.
func (j *loop) record(ctx workflow.Context, r *plan.Request) {
	value := workflow.SideEffect(ctx, func(workflow.Context) any {
		answer, err := r.Answer()
		if err != nil {
			// The definition was accepted when it was written, so its time zone is unknown here, or this worker is
			// older than the one that accepted it. Failing the workflow task keeps the job until
			// another worker can read it.
			panic("the recurrence of " + j.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // see above
		}
		return answer
	})
	var answer plan.Plan
	if err := value.Get(&answer); err != nil {
		panic("a recorded plan of " + j.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // likewise
	}
	if answer.Behind != "" {
		j.askAnother(ctx, r, answer.Behind)
		return
	}
	j.take(ctx, r, answer)
}

// take takes the answer to a request for the plan.
func (j *loop) take(ctx workflow.Context, r *plan.Request, answer plan.Plan) {
	j.asked, j.Behind = nil, ""
	j.Plan = answer
	j.Plan.Dropped, j.Plan.Moved = nil, nil // they are in the history; the next run does not need them
	if m := answer.Moved; m != nil {
		j.move(ctx, m)
	}
	if d := answer.Dropped; d != nil {
		j.Decided = d.Last
		j.reportDropped(ctx, d)
	}
	if r.Step == plan.StepCatchUp && !j.Plan.More {
		j.CatchUp = r.Now
	}
}

// refill plans further occurrences when at most one planned occurrence is undecided. A request for a newer release than the plan's does
// not keep it from that: the only worker that has the release may be gone.
func (j *loop) refill(ctx workflow.Context) {
	newer := j.asked
	if len(j.Plan.Due) > 1 || j.Plan.Done || newer != nil && newer.Least == "" {
		return
	}
	j.record(ctx, j.request(plan.StepAfter, j.Decided))
	if newer != nil && j.asked == nil && j.Plan.Zone != nil && j.Plan.Zone.Release < newer.Least {
		j.asked = newer
	}
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
		if !ok || next.After(until) || j.undecidable() {
			return
		}
		r := j.request(plan.StepDrop, next.Add(-time.Second))
		r.Until, r.Outcome, r.Why = until, outcome, why
		j.record(ctx, r)
	}
}

// catchUp decides several occurrences, from due on, that came due while nothing could run them. Those
// within the catch-up window will run; the others are missed.
func (j *loop) catchUp(ctx workflow.Context, due, now time.Time) {
	r := j.request(plan.StepCatchUp, due.Add(-time.Second))
	r.Now, r.Window = now, j.Definition.Recurrence.CatchUp()
	r.Outcome, r.Why = job.OutcomeMissed, "nothing could run it when it was due"
	j.record(ctx, r)
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
	j.IrregularUntil(workflow.Now(ctx))
	workflow.GetLogger(ctx).Warn("occurrences were not run", "job", j.Key.ARMID(), "count", d.Count,
		"first", d.First, "last", d.Last, "outcome", d.Outcome, "why", d.Why)
	for due := range d.All() {
		j.Recent.Add(job.Mark{Due: due, Outcome: d.Outcome, Late: -1}, workflow.Now(ctx))
	}
	j.raiser.Dropped(ctx, d)
}

// replan plans from now on, after the job was enabled or its schedule changed. Nothing runs at once,
// except an enabled one-time job whose time has passed.
func (j *loop) replan(ctx workflow.Context, enabled bool) {
	j.Alerts.Forget()
	if enabled && j.Definition.Recurrence == nil {
		j.record(ctx, j.request(plan.StepAfter, j.Decided))
		return
	}
	if before := workflow.Now(ctx).Truncate(time.Second).Add(-time.Second); before.After(j.Decided) {
		j.Decided = before
	}
	r := j.request(plan.StepAnew, j.Decided)
	j.Plan.Due, j.Plan.Done, j.Plan.More = nil, false, false // while another worker is asked, nothing is planned
	j.record(ctx, r)
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier returns the earlier of two times, of which zero stands for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
