package jobloop

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/redact"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/plan"
)

// A job with calendars or blackouts is planned by a local activity, which reads them; a replay takes what it answered. If a calendar
// cannot be read, the activity Plan tries again, with any worker, until it can. What is planned runs as planned
// meanwhile, and nothing else does.

// asking are the options of the local activity. A calendar that is not in its worker's cache is asked for.
var asking = workflow.LocalActivityOptions{
	ScheduleToCloseTimeout: 8 * time.Second, StartToCloseTimeout: 6 * time.Second,
	RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "plan by calendars",
}

// readTimeout is how long the calendars of a job may take to answer before they count as unreadable for now.
const readTimeout = 4 * time.Second

// A calendarQuestion asks for a plan by calendars, or one of the others.
type calendarQuestion struct {
	plan.Request

	Skip     *plan.SkipQuestion     `json:"skip,omitempty"`
	Backfill *plan.BackfillQuestion `json:"backfill,omitempty"`
}

// A calendarAnswer is one of these, as was asked.
type calendarAnswer struct {
	Plan     *plan.Plan           `json:"plan,omitempty"`
	Skip     *plan.SkipAnswer     `json:"skip,omitempty"`
	Backfill *plan.BackfillAnswer `json:"backfill,omitempty"`
	Unread   string               `json:"unread,omitempty"` // why a calendar cannot be read; nothing else is set
}

// A CalendarReader returns the calendars of a request for a job that has some. Its plan is completed by them.
type CalendarReader func(ctx context.Context, r *plan.Request) (*plan.Calendars, error)

// Ask is the local activity that answers by the calendars that this worker reads.
func (p *Planner) Ask(ctx context.Context, q calendarQuestion) (answer calendarAnswer, err error) {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	c, err := p.calendars(limited, &q.Request)
	if err != nil {
		return calendarAnswer{Unread: unread(err)}, nil
	}
	switch {
	case q.Skip != nil:
		answer.Skip = new(plan.SkipAnswer)
		*answer.Skip, err = q.Request.Skip(*q.Skip, c)
	case q.Backfill != nil:
		answer.Backfill = new(plan.BackfillAnswer)
		*answer.Backfill, err = q.Request.Backfill(*q.Backfill, c)
	default:
		answer.Plan = new(plan.Plan)
		*answer.Plan, err = q.AnswerBy(*c)
	}
	return answer, err
}

// calendars reads those of a request, if it has some.
func (p *Planner) calendars(ctx context.Context, r *plan.Request) (*plan.Calendars, error) {
	if !r.Recurrence.ByCalendars() {
		return new(plan.Calendars), nil
	}
	return p.read(ctx, r)
}

// maxUnread is how much is kept of why a calendar cannot be read, in bytes.
const maxUnread = 200

// unread returns why a calendar cannot be read.
func unread(err error) string { return redact.CutJSON(redact.Cut(err.Error(), maxUnread), maxUnread) }

// planBy is [Planner.Plan] for a job with calendars.
func (p *Planner) planBy(ctx context.Context, r *plan.Request) (plan.Plan, error) {
	c, err := p.calendars(ctx, r)
	if err == nil {
		return r.AnswerBy(*c)
	}
	info := activity.GetInfo(ctx)
	text := "a calendar of the job cannot be read: " + err.Error()
	return plan.Plan{}, temporal.NewApplicationErrorWithOptions(text, "", temporal.ApplicationErrorOptions{
		NextRetryDelay: p.again(info.StartedTime.Sub(info.ScheduledTime)), Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// askCalendars asks by calendars. Others may run meanwhile.
func (g *generator) askCalendars(ctx workflow.Context, q *calendarQuestion) (answer calendarAnswer) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithLocalActivityOptions(ctx, asking)
	if err := workflow.ExecuteLocalActivity(ctx, workflows.ActivityAsk, *q).Get(ctx, &answer); err != nil {
		return calendarAnswer{Unread: unread(err)}
	}
	return answer
}

// complete adds to a request what it has for a job with calendars or blackouts.
func (g *generator) complete(ctx workflow.Context, r *plan.Request) {
	if !g.ByDays() || r.By != nil {
		return
	}
	at := g.decidedBy(workflow.Now(ctx))
	r.By = &plan.ByCalendars{
		Scope: g.Key.Collection, Of: g.Plan.Calendars, Rules: g.Plan.Rules,
		Made: g.Plan.Made, Memory: g.Plan.Memory, Noted: g.Plan.Noted, NotedLate: g.Plan.NotedLate,
		At: at, Then: g.Plan.MemoryAt(at, g.Plan.EarlyAt(at)),
	}
	for _, due := range g.Plan.Due {
		if due.After(at) {
			break
		}
		n := plan.Note{Due: due, Nominal: due}
		if noted := g.Plan.Note(due); noted != nil {
			n = *noted
		}
		r.By.Kept = append(r.By.Kept, n)
	}
}

// decidedBy returns the time up to which it is known now what is decided: what comes after the plan is not.
func (g *generator) decidedBy(now time.Time) time.Time {
	at := execution.Later(g.Decided, now.Truncate(time.Second))
	if g.Plan.Done {
		return at
	}
	known := g.Decided
	if n := len(g.Plan.Due); n > 0 {
		known = execution.Later(known, g.Plan.Due[n-1])
	}
	return earlier(at, known)
}

// recordBy is record for a job with calendars or blackouts. The caller has the turn, so that no request changes the job
// meanwhile; executions may end.
func (g *generator) recordBy(ctx workflow.Context, r *plan.Request) {
	for {
		g.complete(ctx, r)
		g.awaitPlanning(ctx)
		answer := g.askCalendars(ctx, &calendarQuestion{Request: *r})
		switch {
		case g.stopped:
			return
		case answer.Plan == nil:
			g.unreadable(ctx, r, answer.Unread)
			return
		case answer.Plan.Behind != "":
			g.askAnother(ctx, r, answer.Plan.Behind)
			return
		case g.overtaken(r):
			r = g.renewedBy(ctx, r)
			continue
		}
		g.noteBefore(ctx, r, answer.Plan)
		g.forReaders(ctx, answer.Plan)
		g.take(ctx, r, *answer.Plan)
		return
	}
}

// plansPerTask is how many plans by calendars one workflow task records at most. A task records the plans beside all else
// (see [activitiesPerTask]), and a plan takes up to 0.4 MB with all that it notes.
const plansPerTask = 4

// awaitPlanning waits for a later workflow task if this one may have recorded as many plans as it may.
func (g *generator) awaitPlanning(ctx workflow.Context) {
	if g.planned == plansPerTask {
		if workflow.Sleep(ctx, time.Millisecond) != nil {
			return // the job is deleted
		}
		g.planned = 0
	}
	g.planned++
}

// renewedBy is renewed for a job with calendars or blackouts.
func (g *generator) renewedBy(ctx workflow.Context, r *plan.Request) *plan.Request {
	now := g.renewed(r)
	g.complete(ctx, now)
	if r.By != nil && now.By != nil {
		now.By.Least = r.By.Least
	}
	return now
}

// noteBefore records what the plan before drops up to the time at which another one follows that was made by other
// calendars: to that one it is decided.
func (g *generator) noteBefore(ctx workflow.Context, r *plan.Request, next *plan.Plan) {
	if r.By == nil || !g.Plan.ByDays() || r.Step == plan.StepFirst || r.Step == plan.StepAnew || next.Made.Equal(g.Plan.Made) {
		return
	}
	g.noteOffUntil(ctx, r.By.At)
	next.Noted = execution.Later(next.Noted, g.Plan.Noted)
}

// forReaders records what readers of the history look for in a plan.
func (g *generator) forReaders(ctx workflow.Context, p *plan.Plan) {
	if p.Dropped == nil && p.Moved == nil {
		return
	}
	shown := plan.Plan{Dropped: p.Dropped, Moved: p.Moved, Zone: p.Zone}
	workflow.SideEffect(ctx, func(workflow.Context) any { return shown })
}

// unreadable notes that a calendar could not be read, and has it tried again.
func (g *generator) unreadable(ctx workflow.Context, r *plan.Request, why string) {
	if g.Unread == "" {
		g.raiser.Unplanned(ctx, why)
	}
	g.Unread = why
	g.TimetableChanged(workflow.Now(ctx))
	g.askAnother(ctx, r, "")
}

// noteOff records what calendars drop, at its nominal time. Many of one day have an entry together when the last of them
// has passed; with all, those that have passed.
func (g *generator) noteOff(ctx workflow.Context, all bool) {
	if !g.Plan.ByDays() {
		return
	}
	now := workflow.Now(ctx).Truncate(time.Second)
	if all {
		g.noteOffUntil(ctx, now)
		return
	}
	g.notePassed(ctx, now)
	if len(g.Plan.Off) == 0 && !g.Plan.Covered.After(now) {
		g.Plan.Noted = execution.Later(g.Plan.Noted, g.Plan.Covered)
	}
}

// notePassed records what calendars drop of which the last has passed at a time.
func (g *generator) notePassed(ctx workflow.Context, now time.Time) {
	for len(g.Plan.Off) > 0 && !g.Plan.Off[0].Last.After(now) {
		d := g.Plan.Off[0]
		g.Plan.Off = g.Plan.Off[1:]
		g.noteByCalendar(ctx, &d)
	}
}

// noteOffUntil records all that calendars drop up to a time.
func (g *generator) noteOffUntil(ctx workflow.Context, until time.Time) {
	g.notePassed(ctx, until)
	if len(g.Plan.Off) > 0 && !g.Plan.Off[0].First.After(until) {
		passed, rest := g.Plan.Off[0].Split(until)
		g.Plan.Off = slices.Clone(g.Plan.Off)
		g.Plan.Off[0] = *rest
		g.noteByCalendar(ctx, passed)
	}
	g.Plan.Noted = execution.Later(g.Plan.Noted, earlier(until, g.Plan.Covered))
}

// noteByCalendar records occurrences that calendars drop. Nobody is alerted: that is what they are for.
func (g *generator) noteByCalendar(ctx workflow.Context, d *plan.Dropped) {
	g.Plan.Noted = execution.Later(g.Plan.Noted, d.Last)
	if d.First.Before(g.Plan.Made) {
		g.Plan.NotedLate = execution.Later(g.Plan.NotedLate, d.Last)
	}
	workflow.SideEffect(ctx, func(workflow.Context) any { return plan.Plan{Dropped: d} })
	g.IrregularUntil(workflow.Now(ctx))
	for due := range d.All() {
		g.Recent.Add(job.Mark{Due: due, Outcome: d.Outcome, Late: -1}, workflow.Now(ctx))
	}
}

// dropLate records the occurrences that calendars made due later, and that are past by a rule without calendars, by
// which the job goes on: they do not run.
func (g *generator) dropLate(ctx workflow.Context) {
	now := workflow.Now(ctx).Truncate(time.Second)
	var late []plan.Note
	for _, n := range g.Plan.Notes {
		if n.Due.After(now) && !n.Nominal.After(now) {
			n.Due = n.Nominal
			late = append(late, n)
		}
	}
	if len(late) == 0 {
		return
	}
	slices.SortFunc(late, func(a, b plan.Note) int { return a.Due.Compare(b.Due) })
	d := &plan.Dropped{Outcome: job.OutcomeCancelled, Why: job.WhyJobChanged}
	for _, n := range late {
		d.Add(n.Due)
	}
	d.Notes = late[max(0, len(late)-len(d.Newest)):]
	g.note(ctx, d)
}

// uncovered reports whether the plan does not say yet what calendars drop from some time on, although it has occurrences
// later, or the rule has.
func (g *generator) uncovered() bool {
	n := len(g.Plan.Due)
	return g.Plan.ByDays() && len(g.Plan.Off) == 0 && (g.Plan.Idle || n > 0 && g.Plan.Covered.Before(g.Plan.Due[n-1]))
}

// coverAfter is how long it takes until a plan is made again that said of nothing further what calendars drop.
const coverAfter = time.Minute

// A coverage is up to when a plan says what calendars drop, and when another one was asked for what follows.
type coverage struct {
	made, noted, late, asked time.Time
}

// coverAgain returns when a plan may be asked for what calendars drop from now on: at once, unless one was that brought
// nothing further.
func (g *generator) coverAgain() time.Time {
	c := g.coverage
	if c.made.Equal(g.Plan.Made) && c.noted.Equal(g.Plan.Noted) && c.late.Equal(g.Plan.NotedLate) {
		return c.asked.Add(coverAfter)
	}
	return time.Time{}
}

// cover reports whether a plan is to be asked now for what calendars drop.
func (g *generator) cover(now time.Time) bool {
	if !g.uncovered() || g.Plan.Covered.After(now) || g.coverAgain().After(now) {
		return false
	}
	g.coverage = coverage{made: g.Plan.Made, noted: g.Plan.Noted, late: g.Plan.NotedLate, asked: now}
	return true
}

// nextOff returns when the next occurrence is to be recorded that calendars drop; zero if none is.
func (g *generator) nextOff() time.Time {
	switch {
	case len(g.Plan.Off) > 0:
		return g.Plan.Off[0].Last
	case g.uncovered() && g.asked == nil:
		return execution.Later(g.Plan.Covered, g.coverAgain())
	}
	return time.Time{}
}

// applyCalendar plans again by a calendar that has changed, if the job uses it. Nothing is run for it, and what was due
// stays as it is.
func (j *loop) applyCalendar(ctx workflow.Context, c workflows.CalendarChange) {
	if !j.concernedBy(&c) || j.Definition.State.Final() || !j.Active() && j.Held == nil {
		return // it is planned when it is enabled
	}
	if held := j.executions.Held(workflow.Now(ctx)); held != nil && !held.Manual {
		j.withdrawHeld(ctx, held)
	}
	if j.Active() {
		j.generator.noteOff(ctx, true)
	}
	r := j.generator.request(plan.StepAfter, j.Decided)
	j.generator.complete(ctx, r)
	r.By.Least = []plan.CalendarVersion{{Name: c.Key.Name, Generation: c.Generation, Shared: c.Key.Scope.Name == ""}}
	j.generator.record(ctx, r)
	j.TimetableChanged(workflow.Now(ctx))
}

// concernedBy reports whether the job has not been planned by a calendar that has changed, and uses it.
func (j *loop) concernedBy(c *workflows.CalendarChange) bool {
	name := job.NormalizeName(c.Key.Name)
	same := func(other string) bool { return job.NormalizeName(other) == name }
	if !slices.ContainsFunc(j.Definition.Recurrence.CalendarNames(), same) {
		return false
	}
	shared := c.Key.Scope.Name == ""
	scope := j.Key.Collection
	if shared {
		scope = job.SubscriptionScope(scope.Subscription)
	}
	if scope.Calendar(c.Key.Name).WorkflowID() != c.Key.WorkflowID() {
		return false
	}
	for _, v := range j.Plan.Calendars {
		if same(v.Name) && (v.Shared == shared && v.Generation >= c.Generation || shared && !v.Shared) {
			return false // the one of the collection is meant
		}
	}
	return true
}

// occurrence returns what the id of an occurrence has of it.
func (j *loop) occurrence(due time.Time) string { return j.Plan.Zone.Occurrence(j.Plan.Identity(due)) }

// byCalendars returns what calendars say of an occurrence, for its execution; nil: nothing.
func (j *loop) byCalendars(due time.Time) *job.ByCalendars { return j.Plan.Note(due).ByCalendars() }

// noteAgain notes what calendars say of an occurrence that returns to the plan, which may have been made since.
func (j *loop) noteAgain(e *execution.Execution) {
	if e.By == nil && e.Identity == nil || j.Plan.Note(e.Planned()) != nil {
		return
	}
	j.Plan.Notes = append([]plan.Note{noteOf(e)}, j.Plan.Notes...)
}

// noteOf returns what calendars say of an execution.
func noteOf(e *execution.Execution) plan.Note {
	n := plan.Note{Due: e.Planned(), Nominal: e.Planned(), Identity: e.Identity, Held: e.Held}
	if by := e.By; by != nil {
		n.Nominal, n.Beyond, n.Blackout = e.Nominal(), by.BeyondHorizon, by.Blackout
		if len(by.Calendars) > 0 {
			n.Calendar = &by.Calendars[0]
		}
	}
	return n
}
