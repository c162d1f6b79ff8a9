package jobloop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/time/rate"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// A plan depends on the time zone database of the worker that made it; its release is recorded with the plan. A worker
// with a newer release plans again: when the job needs further occurrences, or when a worker of that release asks for
// it by [workflows.SignalZones]. A worker with an older one plans nothing. Planned occurrences run as planned, and an
// activity asks other workers.

// planning are the options of the activity that plans with another worker. A worker that is too old refuses, and the
// server gives the activity to another one, which may be the same, until one plans. A [Planner] says when; the retry
// policy holds for workers that stopped.
var planning = workflow.ActivityOptions{
	Summary:             "plan with newer time zones",
	StartToCloseTimeout: 20 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Minute},
}

// askAnother asks another worker, whose time zones are not older than those of the plan, since those of this one are. A
// request that is overtaken by another one is dropped.
//
// Without a release it is a calendar that could not be read: it is tried again, which any worker may do.
func (g *generator) askAnother(ctx workflow.Context, r *plan.Request, behind string) {
	g.Behind = behind
	g.asked = r
	if behind != "" {
		workflow.GetLogger(ctx).Warn("the time zones of this worker are older than those of the job's plan; another worker is asked to plan",
			"job", g.Key.ARMID(), "release", behind, "plan", r.Zone.Release)
	} else {
		workflow.GetLogger(ctx).Warn("a calendar cannot be read; what is planned runs, and planning is tried again",
			"job", g.Key.ARMID(), "error", g.Unread)
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var answer plan.Plan
			err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, planning), workflows.ActivityPlan, r).Get(ctx, &answer)
			if g.asked != r || err != nil || g.stopped { // it fails only when the workflow is cancelled
				return
			}
			// If nothing was planned or decided meanwhile, the answer is still the right one.
			if !g.overtaken(r) {
				g.noteBefore(ctx, r, &answer)
				workflow.SideEffect(ctx, func(workflow.Context) any { return answer }) // for readers of the history
				g.take(ctx, r, answer)
				g.wake = true
				return
			}
			r = g.renewedBy(ctx, r)
			g.asked = r
		}
	})
}

// overtaken reports whether something was planned or decided since a request was made.
func (g *generator) overtaken(r *plan.Request) bool {
	return r.Zone != g.Plan.Zone || !slices.EqualFunc(r.Times, g.remembered(), time.Time.Equal)
}

// renewed returns a request for the state of the job that has changed since.
func (g *generator) renewed(r *plan.Request) *plan.Request {
	now := *r
	now.By = nil // see complete
	now.Zone, now.Skips, now.Times = g.Plan.Zone, g.Skips, g.remembered()
	now.SkipWindows, now.SkipsNoted = g.SkipWindows, g.SkipsNoted
	now.Blackouts, now.Spread = g.AllBlackouts(), g.SpreadByDays()
	now.Next, _ = g.Next()
	now.Early, now.Passed = g.Plan.EarlyAt(g.Decided), g.Plan.PassedAt(g.Decided)
	if r.Step == plan.StepAfter || r.Step == plan.StepSkipped {
		now.From = g.Decided
	}
	return &now
}

// undecidable reports whether what is due cannot be decided until another worker has planned.
func (g *generator) undecidable() bool {
	return g.asked != nil && g.asked.Step != plan.StepAfter && g.asked.Step != plan.StepSkipped
}

// remembered returns the times in the job's state that stand for local times; see [generator.move].
func (g *generator) remembered() []time.Time {
	times := append([]time.Time{g.Decided}, g.Skips...)
	for _, w := range g.SkipWindows {
		times = append(times, w.From, w.Until)
	}
	if !g.SkipsNoted.IsZero() {
		times = append(times, g.SkipsNoted)
	}
	return append(times, g.executions.Times()...)
}

// move notes that the plan was made by other rules of the time zone than the one before: what is remembered by its time
// has another one. An execution that is held keeps its due time; if it returns to the plan, it has the new one.
func (g *generator) move(ctx workflow.Context, m *plan.Moved) {
	times := m.Times
	next := func() (t time.Time) {
		t, times = times[0], times[1:]
		return t
	}
	g.Decided = next()
	for i := range g.Skips {
		g.Skips[i] = next()
	}
	g.SkipWindows = slices.Clone(g.SkipWindows)
	for i := range g.SkipWindows {
		g.SkipWindows[i] = job.SkipWindow{From: next(), Until: next()}
	}
	if !g.SkipsNoted.IsZero() {
		g.SkipsNoted = next()
	}
	g.executions.Move(times)
	if !m.Start.IsZero() {
		g.Definition.StartTime = job.NewTime(m.Start)
	}
	if !m.End.IsZero() {
		r := *g.Definition.Recurrence
		r.EndTime = job.NewTime(m.End)
		g.Definition.Recurrence = &r
	}
	g.moved = true // a reader of the changes finds it in this run
	g.TimetableChanged(workflow.Now(ctx))
	workflow.GetLogger(ctx).Info("the job was planned again with other time zones",
		"job", g.Key.ARMID(), "release", g.Plan.Zone.Release, "before", m.Release, "was", m.Was, "is", m.Is)
}

// refusals is how many requests a second a worker whose time zones are too old is given again. All jobs of a zone may
// wait, and for as long as no worker has the release.
const refusals = 10

// A Planner plans with the time zones of its worker for jobs whose workflow tasks other workers had.
type Planner struct {
	refused *rate.Limiter
	read    CalendarReader
}

// NewPlanner returns the planner of a worker, which reads calendars so.
func NewPlanner(read CalendarReader) *Planner {
	return &Planner{refused: rate.NewLimiter(refusals, refusals), read: read}
}

// Plan is the activity that answers a request with the time zones of this worker. It fails if these are too old, and is
// tried again, which another worker may get: of few requests each soon, since of ten workers only one may have the
// release yet, of many each after its turn, and each more seldom the longer it waits.
func (p *Planner) Plan(ctx context.Context, r plan.Request) (plan.Plan, error) {
	answer, err := plan.Plan{}, error(nil)
	if r.By == nil {
		answer, err = r.Answer()
	} else {
		answer, err = p.planBy(ctx, &r)
	}
	if err == nil && answer.Behind != "" {
		info := activity.GetInfo(ctx)
		waited := info.StartedTime.Sub(info.ScheduledTime)
		text := fmt.Sprintf("the time zones of this worker are those of %s, and those of %s or later are needed", answer.Behind, max(r.Zone.Release, r.Least))
		err = temporal.NewApplicationErrorWithOptions(text, "", temporal.ApplicationErrorOptions{
			NextRetryDelay: p.again(waited),
			Category:       temporal.ApplicationErrorCategoryBenign,
		})
	}
	return answer, err
}

// again returns when a request that has waited for so long is tried again, if few are: after a second at first, after
// 2.5 s when it has waited for half a minute, at most after five minutes; and its turn.
func (p *Planner) again(waited time.Duration) time.Duration {
	return p.refused.Reserve().Delay() + min(time.Second+waited/20, planning.RetryPolicy.MaximumInterval)
}
