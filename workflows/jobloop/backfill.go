package jobloop

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// A backfill runs the occurrences of a time, a few at once. Its executions are beside the plan as manual runs are: no
// occurrence waits for them, and they count for no recurrence.count. It waits while the job or its collection is
// disabled, and while the run is to continue as new. What a change withdraws before it was sent is run again later.

// backfill returns the backfill that has not ended; nil if there is none.
func (j *loop) backfill() *plan.Backfill {
	if n := len(j.Backfills); n > 0 && !j.Backfills[n-1].State.Final() {
		return &j.Backfills[n-1]
	}
	return nil
}

func (j *loop) findBackfill(name string) *plan.Backfill {
	i := slices.IndexFunc(j.Backfills, func(b plan.Backfill) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &j.Backfills[i]
}

// handleBackfill begins a backfill.
func (j *loop) handleBackfill(ctx workflow.Context, r job.BackfillRequest) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error { return j.beginBackfill(ctx, &r) }))
	return j.snapshot(), err
}

func (j *loop) mayBackfill(ctx workflow.Context, r job.BackfillRequest) error {
	if wrong := r.Check(workflow.Now(ctx).Add(time.Minute)); wrong != "" {
		return workflows.Refuse(workflows.ErrTypeInvalid, wrong)
	}
	return j.mayChange()
}

func (j *loop) beginBackfill(ctx workflow.Context, r *job.BackfillRequest) error {
	if err := j.mayChange(); err != nil {
		return err
	}
	if b := j.backfill(); b != nil {
		return workflows.Refusef(workflows.ErrTypeConflict,
			"The backfill '%s' of the job has not ended: %d of its %d occurrences are left. End it, or wait.", b.Name, b.Left(), b.Total)
	}
	if j.findBackfill(r.Name) != nil {
		return workflows.Refusef(workflows.ErrTypeConflict, "The job has had a backfill '%s'. Choose another name.", r.Name)
	}
	answer := j.generator.askBackfill(ctx, &plan.BackfillQuestion{After: r.From.Add(-time.Second), Until: r.Until, Count: true})
	switch {
	case answer.Unread != "":
		return workflows.Refuse(workflows.ErrTypeConflict, "A calendar of the job cannot be read. Try again later.")
	case answer.Total == 0:
		return workflows.Refusef(workflows.ErrTypeConflict, "The job has no occurrence from %s until %s.", job.NewTime(r.From), job.NewTime(r.Until))
	case answer.Total > job.MaxBackfill:
		return workflows.Refusef(workflows.ErrTypeConflict, "The job has more than %d occurrences in that time, which is the maximum of a backfill.", job.MaxBackfill)
	case r.Most > 0 && answer.Total > r.Most:
		return workflows.Refusef(workflows.ErrTypeConflict,
			"The job has %d occurrences in that time. An operator may run %d; more take a contributor.", answer.Total, r.Most)
	}
	b := plan.Backfill{}
	b.Plan(answer)
	b.BackfillRequest, b.State, b.Total = *r, job.BackfillRunning, answer.Total
	b.At, b.By = workflow.Now(ctx).UTC(), execution.CallerOf(audit.ActorOf(ctx))
	j.Backfills = append(j.Backfills, b)
	j.Backfills = slices.Delete(j.Backfills, 0, max(0, len(j.Backfills)-job.KeptBackfills-1))
	return nil
}

// askBackfill asks the timetable for occurrences of a backfill.
func (g *generator) askBackfill(ctx workflow.Context, q *plan.BackfillQuestion) (answer plan.BackfillAnswer) {
	r := g.request(plan.StepAfter, g.Decided)
	if g.ByDays() {
		g.complete(ctx, r)
		asked := g.askCalendars(ctx, &calendarQuestion{Request: *r, Backfill: q})
		if asked.Backfill == nil {
			return plan.BackfillAnswer{Unread: asked.Unread}
		}
		return *asked.Backfill
	}
	value := workflow.SideEffect(ctx, func(workflow.Context) any {
		answer, err := r.Backfill(*q, nil)
		if err != nil {
			panic("the recurrence of " + g.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // as in record
		}
		return answer
	})
	if err := value.Get(&answer); err != nil {
		panic("a recorded answer of " + g.Key.WorkflowID() + " cannot be read: " + err.Error()) //nolint:forbidigo // likewise
	}
	return answer
}

// handleChangeBackfill pauses, resumes or ends a backfill.
func (j *loop) handleChangeBackfill(ctx workflow.Context, c workflows.BackfillChange) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		b := j.findBackfill(c.Name)
		switch {
		case b == nil:
			return workflows.Refusef(workflows.ErrTypeConflict, "The job has no backfill '%s'.", c.Name)
		case b.State.Final() && c.Action != job.BackfillEnd:
			return workflows.Refusef(workflows.ErrTypeConflict, "The backfill '%s' is %s.", c.Name, b.State)
		case b.State.Final():
		case c.Action == job.BackfillPause:
			b.State = job.BackfillPaused
		case c.Action == job.BackfillResume:
			b.State = job.BackfillRunning
		default:
			j.endBackfill(ctx, fmt.Sprintf("%s ended it.", execution.CallerOf(audit.ActorOf(ctx))))
		}
		return nil
	}))
	return j.snapshot(), err
}

// endBackfill begins nothing more of the backfill. What has begun runs to its end.
func (j *loop) endBackfill(ctx workflow.Context, why string) {
	if b := j.backfill(); b != nil {
		b.State, b.Why, b.EndedAt = job.BackfillEnded, why, workflow.Now(ctx).UTC()
		b.Ahead = nil
	}
}

// mayRunBackfill reports whether something of the backfill may begin, but for its pace.
func (j *loop) mayRunBackfill(ctx workflow.Context, b *plan.Backfill) bool {
	return b != nil && b.State == job.BackfillRunning && j.Definition.State != job.StateDisabled && !j.CollectionDisabled &&
		!j.busy() && !j.disabling && !j.deleted && !j.long(ctx) &&
		j.executions.OfBackfill(b.Name) < max(1, b.AtOnce) && j.manualRuns() < maxManualRuns
}

// backfillRetry is when a backfill of a job goes on of which a calendar cannot be read.
const backfillRetry = time.Minute

// runBackfill begins as many executions of the backfill as may run now.
func (j *loop) runBackfill(ctx workflow.Context) {
	if j.backfill() != nil && !j.mine && j.ByDays() {
		j.inTurn(ctx, j.runBackfill)
		return
	}
	for {
		b := j.backfill()
		if !j.mayRunBackfill(ctx, b) {
			return
		}
		if b.Begun >= b.Total {
			j.finishBackfill(ctx, b)
			return
		}
		if workflow.Now(ctx).Before(b.Next) {
			return
		}
		if c := j.generator.closed(ctx); c != nil {
			b.Next = c.Until
			return
		}
		if len(b.Ahead) == 0 {
			answer := j.generator.askBackfill(ctx, &plan.BackfillQuestion{After: b.Planned, Until: b.Until, Zone: b.Zone})
			if answer.Unread != "" {
				b.Next = workflow.Now(ctx).Add(backfillRetry)
				return
			}
			if len(answer.Ahead) == 0 { // newer time zones may have fewer
				b.Total = b.Begun
				j.finishBackfill(ctx, b)
				return
			}
			b.Plan(answer)
		}
		next := b.Ahead[0]
		b.Ahead = slices.Clone(b.Ahead[1:])
		b.Begun++
		if b.Every > 0 {
			b.Next = workflow.Now(ctx).Add(b.Every)
		}
		j.beginBackfilled(ctx, b, next)
	}
}

// finishBackfill notes that all of it has ended.
func (j *loop) finishBackfill(ctx workflow.Context, b *plan.Backfill) {
	if j.executions.OfBackfill(b.Name) == 0 {
		b.State, b.EndedAt = job.BackfillDone, workflow.Now(ctx).UTC()
	}
}

func (j *loop) beginBackfilled(ctx workflow.Context, b *plan.Backfill, one plan.Backfilled) {
	j.Numbered++
	e := &execution.Execution{Waiting: state.Waiting{Manual: true}}
	e.Repeat, e.Caller, e.Backfill, e.By, e.As = j.Numbered, b.By, b.Name, one.By, one.As
	j.beginExecution(ctx, e, fmt.Sprintf("backfill %s %s", b.Name, one.As), one.Due)
}

// backfillAgain returns an execution of which nothing was sent to its backfill. It reports whether it will be run.
func (j *loop) backfillAgain(e *execution.Execution) bool {
	b := j.backfill()
	if b == nil || e.Backfill != b.Name || e.MayHaveBeenSent {
		return false
	}
	at, _ := slices.BinarySearchFunc(b.Ahead, e.Due, func(one plan.Backfilled, due time.Time) int { return one.Due.Compare(due) })
	b.Ahead = slices.Insert(slices.Clone(b.Ahead), at, plan.Backfilled{Due: e.Due, As: e.As, By: e.By})
	b.Begun--
	return true
}

// backfillEnded counts an execution of a backfill that has ended.
func (j *loop) backfillEnded(e *execution.Execution, failed bool) {
	b := j.findBackfill(e.Backfill)
	switch {
	case e.Backfill == "" || b == nil:
	case failed:
		b.Failed++
	default:
		b.Succeeded++
	}
}

// backfillAt returns when the next execution of the backfill may begin; zero if that does not depend on the time.
func (j *loop) backfillAt(ctx workflow.Context) time.Time {
	b := j.backfill()
	if !j.mayRunBackfill(ctx, b) || b.Begun >= b.Total { // the last ones only have to end
		return time.Time{}
	}
	return b.Next
}
