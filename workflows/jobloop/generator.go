package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows/jobloop/alerts"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// A generator plans the occurrences of a job, and records those that do not run. Its embedded input, executions and
// raiser are required.
type generator struct {
	*state.Input
	executions *execution.Set
	raiser     *alerts.Raiser

	asked   *plan.Request // of another worker, since this one's time zones are too old; nil: none
	moved   bool          // other rules of the time zone have changed the plan in this run
	stopped bool          // nothing is to be planned
	wake    bool          // the loop has to run
	stepped time.Time     // when the last step of a release was taken

	planned  int      // plans by calendars that this workflow task may have recorded
	coverage coverage // when a plan was last asked for what calendars drop

	closedUntil time.Time // held occurrences wait until then, since it is a blackout
}

// An occurrence is dispatched ahead: its activity is scheduled before the due time, and a worker holds it until then.
// So the queueing of a herd is over when it is due.

// ahead returns how long before its due time an occurrence may be dispatched now. If nothing is running
// it may be held for longer than the lead, up to the hold, which saves a timer and a workflow task.
func (g *generator) ahead() time.Duration {
	switch {
	case g.executions.Crowded():
		return 0
	case g.executions.Len() > 0:
		return g.LeadTime()
	}
	return max(g.LeadTime(), g.HoldTime())
}

// request returns the request for a plan from a time on.
func (g *generator) request(step plan.Step, from time.Time) *plan.Request {
	next, _ := g.Next()
	return &plan.Request{
		Created: g.Created, StartTime: g.Definition.StartTime, Recurrence: g.Definition.Recurrence,
		Local: g.Definition.Local, Skips: g.Skips, SkipWindows: g.SkipWindows, SkipsNoted: g.SkipsNoted,
		Zone: g.Plan.Zone, Times: g.remembered(), Next: next, Step: step, From: from, Early: g.Plan.EarlyAt(g.Decided), Passed: g.Plan.PassedAt(g.Decided),
		Blackouts: g.AllBlackouts(), Spread: g.SpreadByDays(),
	}
}

// record asks the recurrence engine in a side effect, which records the answer in the history, and takes it for the
// plan. A replay takes the recorded answer. If the time zones of this worker are older than those of the plan, another
// worker is asked, and the plan stays as it is until that has answered.
//
// A job with calendars or blackouts is planned beside the workflow: the caller must have the turn.
func (g *generator) record(ctx workflow.Context, r *plan.Request) {
	if g.ByDays() {
		g.recordBy(ctx, r)
		return
	}
	value := workflow.SideEffect(ctx, func(workflow.Context) any {
		answer, err := r.Answer()
		if err != nil {
			// The definition was accepted when it was written, so its time zone is unknown here, or this worker is
			// older than the one that accepted it. Failing the workflow task keeps the job until
			// another worker can read it.
			panic("the recurrence of " + g.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // see above
		}
		return answer
	})
	var answer plan.Plan
	if err := value.Get(&answer); err != nil {
		panic("a recorded plan of " + g.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // likewise
	}
	if answer.Behind != "" {
		g.askAnother(ctx, r, answer.Behind)
		return
	}
	g.take(ctx, r, answer)
}

// take takes the answer to a request for the plan.
func (g *generator) take(ctx workflow.Context, r *plan.Request, answer plan.Plan) {
	g.asked, g.Behind, g.Unread = nil, "", ""
	decided := g.Decided
	if d := answer.Dropped; d != nil {
		decided = execution.Later(decided, d.Last)
	}
	answer.Early = answer.EarlyAt(decided)
	g.Plan = answer
	g.Plan.Dropped, g.Plan.Moved, g.Plan.Released = nil, nil, nil // they are in the history; the next run does not need them
	if m := answer.Moved; m != nil {
		g.move(ctx, m)
	}
	if d := answer.Dropped; d != nil {
		if r.Step == plan.StepSkipped {
			g.SkipsNoted = d.Last
		} else {
			g.Decided = d.Last
		}
		g.noteDropped(ctx, d)
	}
	if r.Step == plan.StepCatchUp && !g.Plan.More {
		g.CatchUp = r.Now
	}
	if r.Step == plan.StepRelease {
		g.released(ctx, r)
	}
}

// refill plans further occurrences when at most one planned occurrence is undecided. A request for a newer release than
// the plan's does not keep it from that: the only worker that has the release may be gone.
func (g *generator) refill(ctx workflow.Context) {
	g.leaveOutSkipped()
	newer := g.asked
	if newer != nil && newer.Least == "" || (len(g.Plan.Due) > 1 || g.Plan.Done) && !g.cover(workflow.Now(ctx)) {
		return
	}
	g.record(ctx, g.request(plan.StepAfter, g.Decided))
	if newer != nil && g.asked == nil && g.Plan.Zone != nil && g.Plan.Zone.Release < newer.Least {
		g.asked = newer
	}
}

func (g *generator) decided(due time.Time) {
	g.Decided = due
	g.Plan.Due = g.Plan.Due[1:]
}

// drop records why the undecided occurrences due up to until are not run. It does nothing if there are none.
func (g *generator) drop(ctx workflow.Context, until time.Time, outcome job.Outcome, why string) {
	for before := (time.Time{}); ; {
		g.refill(ctx)
		next, ok := g.Next()
		if !ok || next.After(until) || g.undecidable() || next.Equal(before) {
			return
		}
		before = next
		r := g.request(plan.StepDrop, next.Add(-time.Second))
		r.Until, r.Outcome, r.Why = until, outcome, why
		g.record(ctx, r)
	}
}

// catchUp decides several occurrences, from due on, that came due while nothing could run them. Those
// within the catch-up window will run; the others are missed.
func (g *generator) catchUp(ctx workflow.Context, due, now time.Time) {
	r := g.request(plan.StepCatchUp, due.Add(-time.Second))
	r.Now, r.Window = now, g.Definition.Recurrence.CatchUp()
	r.Outcome, r.Why = job.OutcomeMissed, job.WhyDown
	g.record(ctx, r)
}

// noteCancelled records that an execution was cancelled, or an attempt of it, and why. It is for those without any
// other entry. repeat is the number of the execution; 0 for an occurrence that has none, or an attempt.
func (g *generator) noteCancelled(ctx workflow.Context, e *execution.Execution, repeat int, why string) {
	d := &plan.Dropped{Outcome: job.OutcomeCancelled, Why: why, Repeat: repeat}
	d.Add(e.Due)
	if e.By != nil {
		n := noteOf(e)
		n.Due = e.Due
		d.Notes = []plan.Note{n}
	}
	g.note(ctx, d)
}

// note records occurrences that were not run, and says so.
func (g *generator) note(ctx workflow.Context, d *plan.Dropped) {
	workflow.SideEffect(ctx, func(workflow.Context) any { return plan.Plan{Dropped: d} })
	g.noteDropped(ctx, d)
}

func (g *generator) noteDropped(ctx workflow.Context, d *plan.Dropped) {
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"outcome": string(d.Outcome)}).
		Counter("almanac_dropped_occurrences").Inc(int64(d.Count))
	g.OutcomeIrregular(false, workflow.Now(ctx))
	workflow.GetLogger(ctx).Warn("occurrences were not run", "job", g.Key.ARMID(), "count", d.Count,
		"first", d.First, "last", d.Last, "outcome", d.Outcome, "why", d.Why)
	for due := range d.All() {
		g.Recent.Add(job.Mark{Due: due, Manual: d.Repeat > 0, Outcome: d.Outcome, Late: -1}, workflow.Now(ctx))
	}
	g.raiser.Dropped(ctx, d)
}

// replan plans from now on, after the job was enabled or its schedule changed. Nothing runs at once,
// except an enabled one-time job whose time has passed.
func (g *generator) replan(ctx workflow.Context, enabled bool) {
	g.Alerts.Forget()
	g.Releasing = nil
	if enabled && g.Definition.Recurrence == nil {
		g.record(ctx, g.request(plan.StepAfter, g.Decided))
		return
	}
	g.forget(ctx) // while another worker is asked, nothing is planned
	if before := g.Plan.Noted; before.After(g.Decided) {
		g.Decided = before
	}
	if len(g.Skips)+len(g.SkipWindows) > 0 {
		g.SkipsNoted = g.Decided // those that came due while nothing ran have no entry
	}
	g.record(ctx, g.request(plan.StepAnew, g.Decided))
}

// forget forgets what is planned, since the schedule is another one from now on, or begins again. What is decided stays
// so, whatever calendars the job has had or gets: a run that was due before its nominal time is not made again at that,
// and one that was made at it is not moved to a later day.
func (g *generator) forget(ctx workflow.Context) {
	after := execution.Later(g.Decided, workflow.Now(ctx).Truncate(time.Second).Add(-time.Second))
	decided := g.Decided
	g.asked = nil
	switch m := g.Plan.Memory; {
	case g.Plan.ByDays():
		decided = g.decidedBy(workflow.Now(ctx))
	case m != nil && m.Anew && g.Plan.Noted.Equal(after):
		return // nothing came due since
	case m != nil && m.Anew:
		decided = m.Until // nothing was planned since
	}
	g.Plan = g.Plan.Anew(decided, after)
}

// earlier returns the earlier of two times, of which zero stands for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
