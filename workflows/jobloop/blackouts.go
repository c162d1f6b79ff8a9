package jobloop

import (
	"fmt"
	"reflect"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/recurrence/calendars"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// A job with blackouts is planned as one with calendars is: package plan applies both. What a plan cannot have is done
// here: an occurrence that is late into a blackout, runs that were held by a pause, backfills and manual runs. Whether it
// is a blackout now depends on time zones, so it is recorded.

// closing is the blackout in which a job is.
type closing struct {
	job.BlackoutUse
	OnMatch calendars.BlackoutPolicy `json:"onMatch"`
	Until   time.Time                `json:"until,omitzero"` // zero: it is in none
}

// closed returns the blackout in which the job is now; nil for none.
func (g *generator) closed(ctx workflow.Context) *closing {
	now := workflow.Now(ctx)
	if len(g.Definition.Blackouts)+len(g.Blackouts) == 0 {
		return nil
	}
	var found closing
	err := workflow.SideEffect(ctx, func(workflow.Context) any {
		c, err := closingAt(g.Definition.Under(g.Blackouts), now)
		if err != nil {
			panic("the blackouts of " + g.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // as in record
		}
		return c
	}).Get(&found)
	if err != nil || found.Until.IsZero() {
		return nil
	}
	return &found
}

func closingAt(d *job.Definition, at time.Time) (closing, error) {
	c, err := d.Closing(at)
	if c == nil || err != nil {
		return closing{}, err
	}
	return closing{job.BlackoutUse{Name: c.Name, Shared: c.Shared}, c.OnMatch, c.Until}, nil
}

// refuseClosed refuses a manual run in a blackout.
func refuseClosed(c *closing) error {
	if c == nil {
		return nil
	}
	return workflows.Refusef(workflows.ErrTypeConflict,
		"It is in %s, which is over at %s: nothing starts until then. To run it now, send force=true.", c, job.NewTime(c.Until))
}

// mayRunNow refuses a manual run that is not forced in a blackout. A validator asks it, which is not replayed.
func (j *loop) mayRunNow(ctx workflow.Context, r workflows.RunRequest) error {
	if r.Force || len(j.Definition.Blackouts)+len(j.Blackouts) == 0 {
		return nil
	}
	c, err := closingAt(j.Definition.Under(j.Blackouts), workflow.Now(ctx)) //workflowcheck:ignore // see above
	if err != nil || c.Until.IsZero() {
		return nil //nolint:nilerr // the handler has another worker read them
	}
	return refuseClosed(&c)
}

// inheritBlackouts applies the blackouts of the collection. What is held for another start returns to the plan.
func (j *loop) inheritBlackouts(ctx workflow.Context, shared []job.Blackout) {
	same := reflect.DeepEqual(shared, j.Blackouts) //workflowcheck:ignore // of types without maps it is deterministic
	if same || len(shared) == 0 && len(j.Blackouts) == 0 {
		return
	}
	j.beforeReplan(ctx)
	j.Blackouts = shared
	j.blackoutsChanged(ctx)
}

// beforeReplan prepares a job for other blackouts: what waits for its due time returns to the plan, and what the old ones
// dropped has its entry.
func (j *loop) beforeReplan(ctx workflow.Context) {
	if held := j.executions.Held(workflow.Now(ctx)); held != nil && !held.Manual {
		j.withdrawHeld(ctx, held)
	}
	if j.Active() {
		j.generator.noteOff(ctx, true)
	}
}

// blackoutsChanged plans again. What was due stays as it is, and what a blackout held that is over now runs.
func (j *loop) blackoutsChanged(ctx workflow.Context) {
	j.generator.closedUntil = time.Time{}
	j.TimetableChanged(workflow.Now(ctx))
	if j.Definition.State.Final() || !j.Active() && j.Held == nil {
		return // it is planned when it is enabled
	}
	j.generator.record(ctx, j.generator.request(plan.StepAfter, j.Decided))
}

// intoBlackout decides about an occurrence that is late if a blackout has begun meanwhile, and reports whether it does
// not run now. It is then as if it were due in the blackout; one that was held by a pause waits.
func (j *loop) intoBlackout(ctx workflow.Context, due time.Time) bool {
	now := workflow.Now(ctx)
	late := now.Sub(due.Add(j.delayOf(due))) >= time.Second
	if len(j.Definition.Blackouts)+len(j.Blackouts) == 0 || !late && !j.Recovery.Of(due) {
		return false
	}
	asked := j.generator.asked
	if now.Before(j.generator.closedUntil) && j.Recovery.Of(due) || asked != nil && asked.By != nil && asked.By.Again {
		return true
	}
	c := j.generator.closed(ctx)
	switch {
	case c == nil:
		return false
	case j.Recovery.Of(due):
		j.generator.closedUntil = c.Until
	case c.OnMatch == calendars.SkipInBlackout:
		r := j.generator.request(plan.StepDrop, due.Add(-time.Second))
		r.Until, r.Outcome, r.Closed = now, job.OutcomeSkipped, &c.BlackoutUse
		r.Why = fmt.Sprintf("it was late, and %s had begun, until %s", c, job.NewTime(c.Until))
		j.generator.record(ctx, r)
	default:
		j.generator.holdLate(ctx, due, c)
	}
	return true
}

// holdLate makes the newest of the occurrences that are late into a blackout due when that is over.
func (g *generator) holdLate(ctx workflow.Context, due time.Time, c *closing) {
	now := workflow.Now(ctx).Truncate(time.Second)
	if len(g.Plan.Due) < 2 || !g.Plan.Due[1].After(now) {
		r := g.request(plan.StepLate, due.Add(-time.Second))
		r.Until, r.Keep, r.Outcome, r.Closed = now, 1, job.OutcomeSkipped, &c.BlackoutUse
		r.Why = fmt.Sprintf("it was late, and %s held it, of which the latest alone runs when it is over", c)
		g.record(ctx, r)
		if g.undecidable() || len(g.Plan.Due) == 0 || g.Plan.More {
			return
		}
	}
	r := g.request(plan.StepAfter, g.Decided)
	g.complete(ctx, r)
	for _, n := range r.By.Kept {
		byCalendars := n.Due
		if n.Held != nil {
			byCalendars = n.Held.Due
		}
		r.By.Then.Held = append(r.By.Then.Held, calendars.Held{Identity: g.Plan.Identity(n.Due), Due: byCalendars, By: c.OnMatch})
	}
	r.By.Kept, r.By.Again = nil, true
	g.record(ctx, r)
}

// waitsForBlackout returns when the next occurrence may run that waits for a blackout to end; zero if it does not.
func (j *loop) waitsForBlackout(due time.Time) time.Time {
	if j.Recovery.Of(due) {
		return j.generator.closedUntil
	}
	return time.Time{}
}
