package jobloop

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/plan"
)

// handleSkip skips occurrences to come: they are not run. With a generation other than 0, it refuses if the job has
// another one.
func (j *loop) handleSkip(ctx workflow.Context, r job.SkipRequest, generation int) (job.Job, error) {
	return j.changeSkips(ctx, plan.SkipQuestion{SkipRequest: r}, generation)
}

// handleUnskip has occurrences run that were skipped and are to come.
func (j *loop) handleUnskip(ctx workflow.Context, r job.SkipRequest, generation int) (job.Job, error) {
	return j.changeSkips(ctx, plan.SkipQuestion{SkipRequest: r, Undo: true}, generation)
}

func (j *loop) changeSkips(ctx workflow.Context, q plan.SkipQuestion, generation int) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		if err := j.unchangedSince(generation); err != nil {
			return err
		}
		return j.skip(ctx, q)
	}))
	return j.snapshot(), err
}

func (j *loop) skip(ctx workflow.Context, q plan.SkipQuestion) error {
	if err := j.mayChange(); err != nil {
		return err
	}
	if !j.Active() {
		return refuseSkip("The job or its job collection is not enabled, so that no occurrence is next.")
	}
	now := workflow.Now(ctx).Truncate(time.Second)
	j.generator.noteSkipped(ctx)
	j.forgetSkips(now)
	held, answer := j.askSkip(ctx, &q, now)
	switch {
	case answer.Behind != "" || answer.Replan:
		return refuseSkip("The job is planned by newer time zones than this worker has. Try again later, or update the workers.")
	case answer.Unread != "":
		return refuseSkip("A calendar of the job cannot be read. Try again later.")
	case answer.Refused:
		return j.refuseNoSuchRun(&q, answer.Nearest)
	case !answer.Changed: // it is so already
		return nil
	case len(answer.Skips)+len(answer.Windows) > job.MaxSkips && q.Undo:
		return refuseSkip(fmt.Sprintf("Of %d times that are skipped more than %d would be left. Have a whole time run that is skipped, with from and until.",
			len(j.Skips)+len(j.SkipWindows), job.MaxSkips))
	case len(answer.Skips)+len(answer.Windows) > job.MaxSkips:
		return refuseSkip(fmt.Sprintf("%d occurrences that are to come are skipped already. Disable the job until it is to run again.",
			len(j.Skips)+len(j.SkipWindows)))
	case held != nil && j.concerns(&q, &answer, held) && !j.withdrawHeld(ctx, held):
		return refuseSkip(fmt.Sprintf("The occurrence that is due at %s may have been sent: what comes before it, or it, can be changed until %.0f s before it is due.",
			job.NewTime(held.Due), withdrawMargin.Seconds()))
	}
	j.Skips, j.SkipWindows = answer.Skips, answer.Windows
	j.Plan.Skipped = slices.DeleteFunc(slices.Clone(j.Plan.Skipped), func(due time.Time) bool { // another worker may plan later
		return !job.Skipped(j.Plan.Nominal(due), j.Skips, j.SkipWindows)
	})
	j.generator.record(ctx, j.generator.request(plan.StepAfter, j.Decided))
	j.TimetableChanged(workflow.Now(ctx))
	j.finishIfOver(ctx)
	return nil
}

// askSkip returns the answer to a question about what is skipped, and the execution that is held, if it is of an
// occurrence. If the time zones of this worker are newer than those of the plan, it plans first.
func (j *loop) askSkip(ctx workflow.Context, q *plan.SkipQuestion, now time.Time) (held *execution.Execution, answer plan.SkipAnswer) {
	for range 2 {
		if held = j.executions.Held(workflow.Now(ctx)); held != nil && held.Manual {
			held = nil
		}
		q.After = j.Decided
		if held != nil {
			q.After = held.Undo.Decided
		}
		if q.Undo {
			q.After = execution.Later(q.After, now)
		}
		if answer = j.generator.askSkip(ctx, *q); !answer.Replan {
			break
		}
		j.generator.record(ctx, j.generator.request(plan.StepAfter, j.Decided))
	}
	return held, answer
}

// concerns reports whether a held occurrence has to return to the plan for a change of what is skipped: it is skipped,
// or one before it is not skipped any more.
func (j *loop) concerns(q *plan.SkipQuestion, a *plan.SkipAnswer, held *execution.Execution) bool {
	if q.Undo {
		return len(a.Occurrences) > 0 && a.Occurrences[0].Before(held.Planned())
	}
	return job.Skipped(held.Nominal(), a.Skips, a.Windows)
}

// refuseNoSuchRun refuses a request about no occurrence that could be skipped, or run after all.
func (j *loop) refuseNoSuchRun(q *plan.SkipQuestion, nearest time.Time) error {
	asked := "next"
	switch {
	case !q.Due.IsZero():
		asked = "due at " + job.NewTime(q.Due).String()
	case !q.Until.IsZero():
		asked = fmt.Sprintf("due from %s until %s", job.NewTime(q.From), job.NewTime(q.Until))
	}
	switch {
	case q.Undo && nearest.IsZero():
		return refuseSkip("No occurrence to come is skipped.")
	case q.Undo:
		return refuseSkip(fmt.Sprintf("No skipped occurrence is %s. The nearest one that is to come is due at %s.", asked, job.NewTime(nearest)))
	case nearest.IsZero():
		return refuseSkip("The job has no occurrence left.")
	}
	return refuseSkip(fmt.Sprintf("No occurrence that can be skipped is %s. The nearest one is due at %s.", asked, job.NewTime(nearest)))
}

// askSkip asks the timetable what a request does to what is skipped.
func (g *generator) askSkip(ctx workflow.Context, q plan.SkipQuestion) (answer plan.SkipAnswer) {
	r := g.request(plan.StepAfter, g.Decided)
	if g.ByDays() {
		g.complete(ctx, r)
		asked := g.askCalendars(ctx, &calendarQuestion{Request: *r, Skip: &q})
		if asked.Skip == nil {
			return plan.SkipAnswer{Unread: asked.Unread}
		}
		return *asked.Skip
	}
	value := workflow.SideEffect(ctx, func(workflow.Context) any {
		answer, err := r.Skip(q, nil)
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

// maxSweeps limits the sweeps of noteSkipped in one workflow task, of which each takes up to 20,000 occurrences.
const maxSweeps = 10

// noteSkipped records the skipped occurrences that have come due. Until then a request can have them run after all.
// Where more have than a plan lists, as after an outage, they are recorded together.
func (g *generator) noteSkipped(ctx workflow.Context) {
	now := workflow.Now(ctx).Truncate(time.Second)
	for range maxSweeps {
		n := len(g.Plan.Skipped)
		switch {
		case n == 0 || g.Plan.Skipped[0].After(now):
			return
		case g.Plan.MoreSkipped && !g.Plan.Skipped[n-1].After(now):
			if g.asked != nil { // another worker, whose answer comes first
				return
			}
			r := g.request(plan.StepSkipped, g.Decided)
			r.Until = now
			g.record(ctx, r)
		default:
			g.noteListed(ctx, now)
		}
	}
}

// noteListed records the listed skipped occurrences that have come due.
func (g *generator) noteListed(ctx workflow.Context, now time.Time) {
	d := &plan.Dropped{Outcome: job.OutcomeCancelled, Why: job.WhySkipped}
	for _, due := range g.Plan.Skipped {
		if due.After(now) {
			continue
		}
		d.Add(due)
		if n := g.Plan.Note(due); n.ByCalendars() != nil {
			d.Notes = append(d.Notes, *n)
		}
	}
	g.Plan.Skipped, g.SkipsNoted = g.Plan.Skipped[d.Count:], d.Last
	g.note(ctx, d)
}

// nextSkipped returns when the next skipped occurrence is due that has no entry; zero if none is, or if another worker
// is asked, whose answer comes first.
func (g *generator) nextSkipped(now time.Time) time.Time {
	n := len(g.Plan.Skipped)
	if n == 0 || g.asked != nil && g.Plan.MoreSkipped && !g.Plan.Skipped[n-1].After(now) {
		return time.Time{}
	}
	return g.Plan.Skipped[0]
}

// leaveOutSkipped takes skipped occurrences out of a plan that was made before they were.
func (g *generator) leaveOutSkipped() {
	if len(g.Skips)+len(g.SkipWindows) == 0 {
		return
	}
	g.Plan.Due = slices.DeleteFunc(slices.Clone(g.Plan.Due), func(due time.Time) bool {
		skipped := job.Skipped(g.Plan.Nominal(due), g.Skips, g.SkipWindows)
		if skipped && !slices.ContainsFunc(g.Plan.Skipped, due.Equal) {
			g.Plan.Skipped = append(g.Plan.Skipped, due)
			slices.SortFunc(g.Plan.Skipped, time.Time.Compare)
		}
		return skipped
	})
}

// forgetSkips forgets occurrences that were skipped and that no plan can have any more. Those that are to come do not
// count as decided: a new schedule can have occurrences before them.
func (j *loop) forgetSkips(now time.Time) {
	if j.executions.Occurrences() == 0 {
		next, left := j.Next()
		for _, due := range j.Skips { // by calendars it may be due later than it is known by
			if !j.Plan.ByDays() && due.After(j.Decided) && !due.After(now) && left && due.Before(next) {
				j.Decided = due
			}
		}
	}
	decided := j.executions.UndoneFrom(j.Decided)
	over := func(w job.SkipWindow) bool {
		last := w.Until.Add(-time.Second)
		return !last.After(decided) && !last.After(now) && !j.Plan.Moves(w, earlier(decided, now))
	}
	j.Skips = slices.DeleteFunc(j.Skips, func(due time.Time) bool {
		return over(job.SkipWindow{From: due, Until: due.Add(time.Second)})
	})
	j.SkipWindows = slices.DeleteFunc(j.SkipWindows, over)
}

func refuseSkip(why string) error { return workflows.Refuse(workflows.ErrTypeConflict, why) }
