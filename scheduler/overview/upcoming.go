package overview

import (
	"container/heap"
	"context"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// planAge is how long the plan of a job that had to be asked is used, unless this process changes the job.
const planAge = time.Minute

// A plan says when a job is due.
type plan struct {
	next      time.Time            // its next occurrence, as of when it was read; zero for none
	left      int                  // how many occurrences it has from next on at most; 0 for no limit
	timetable *timetable.Timetable // nil if it runs once

	// If its occurrences follow from a time zone, the worker that planned them may have had other rules of it.
	planned []time.Time // by it: those from next on, oldest first
	resume  time.Time   // the time after which the timetable goes on with the local times that follow these
}

// after returns the first occurrence after at; zero if there is none.
func (p *plan) after(at time.Time) time.Time {
	for _, due := range p.planned {
		if due.After(at) {
			return due
		}
	}
	if p.resume.After(at) {
		at = p.resume
	}
	if due, ok := p.timetable.After(at); ok {
		return due
	}
	return time.Time{}
}

// Upcoming returns a page of the occurrences that come due after now and up to until, in the order of their due times,
// and the continuation, which is empty on the last page. Jobs and collections that could not be read come first.
//
// The names of the jobs and the states of collections are read for every page. A job that has to be asked has the
// definition and state of at most planAge ago; a change by this process shows at once.
func (v *Overview) Upcoming(
	ctx context.Context, s listing.Scope, until time.Time, p listing.Page,
) ([]listing.Occurrence, string, error) {
	of := listOf("upcoming", s)
	t, err := parseToken(of, p)
	if err != nil {
		return nil, "", err
	}
	if t.From.IsZero() {
		t.From, t.Until = v.o.Now(), until
	}
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	jobs, failed, err := v.jobs(ctx, s, p, true)
	if err != nil {
		return nil, "", err
	}
	all := v.cursors(ctx, jobs, v.refresh(ctx, s, len(jobs), listedFor), t, failed)
	if ctx.Err() != nil {
		return nil, "", notInTime(len(all), len(jobs))
	}
	heap.Init(&all)
	var merged []listing.Occurrence
	for len(merged) <= p.Top && len(all) > 0 && !all[0].at.After(t.Until) {
		first := all[0]
		merged = append(merged, listing.Occurrence{Key: first.key, Due: first.at})
		if first.advance(); first.at.IsZero() {
			heap.Pop(&all)
		} else {
			heap.Fix(&all, 0)
		}
	}
	page, next := paged(t, p.Top, failed, merged,
		func(f failure) listing.Occurrence { return listing.Occurrence{Key: f.key, Unread: f.why} },
		func(o *listing.Occurrence) place { return place{o.Due, o.Key.WorkflowID(), 0} })
	return page, core.Token(of, next), nil
}

// cursors returns the jobs that have an occurrence after the token.
func (v *Overview) cursors(
	ctx context.Context, jobs []job.Key, as asOf, t token, failed *failures,
) (all queue[*cursor]) {
	found := make([]*cursor, len(jobs))
	var ask []*cursor
	for i, k := range jobs {
		found[i] = &cursor{key: k, id: k.WorkflowID()}
		e := v.index.get(found[i].id, as)
		p, ok := e.outline.plan(t.From)
		if !ok && e.plan != nil && v.o.Now().Sub(e.planned) < planAge {
			p, ok = *e.plan, true
		}
		if found[i].plan = p; !ok {
			ask = append(ask, found[i])
		}
	}
	wfclient.Each(len(ask), func(i int) {
		if ctx.Err() == nil {
			p, err := v.ask(ctx, ask[i].id)
			ask[i].plan = p
			failed.add(ctx, ask[i].id, ask[i].key, err)
		}
	})
	for _, c := range found {
		if c.start(t); !c.at.IsZero() {
			all = append(all, c)
		}
	}
	return all
}

// ask asks a job for its plan, and remembers it.
func (v *Overview) ask(ctx context.Context, id string) (plan, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	begin := v.o.Now()
	var j job.Job
	if err := v.o.Ask(ctx, id, workflows.QueryStatus, &j); err != nil {
		return plan{}, err
	}
	p, err := v.planOf(ctx, j.At(v.o.Now()))
	waits := j.Definition.State == job.StateEnabled && p.next.IsZero() // perhaps for its collection to be enabled
	if err == nil && !waits {
		v.index.change(id, begin, func(e *entry) { e.plan, e.planned = &p, begin })
	}
	return p, err
}

// plan returns the plan of a job after a time from its outline, or false if that does not suffice.
func (o *outline) plan(from time.Time) (p plan, ok bool) {
	switch {
	case o == nil || o.ByDays(): // what they decided before is not in it
		return plan{}, false
	case o.Recurrence != nil && o.Recurrence.Count > 0: // nor is how many are left
		return plan{}, false
	case o.Disabled:
		return plan{}, true
	case o.Inactive: // its collection, which was not enabled, may be now
		return plan{}, false
	}
	p.timetable = o.timetable
	if p.next = p.after(from); o.Recurrence == nil {
		p.timetable = nil
	}
	return p, true
}

// planOf returns the plan of a job. The error means that its definition cannot be planned here.
func (v *Overview) planOf(ctx context.Context, j job.Job) (p plan, err error) {
	d, next := &j.Definition, j.Status.NextExecutionTime
	if next == nil || d.State != job.StateEnabled {
		return plan{}, nil
	}
	if p.next = next.Time; d.Recurrence == nil {
		return p, nil
	}
	if d.Recurrence.Count > 0 {
		p.left = max(1, d.Recurrence.Count-j.Status.ExecutionCount) // a manual run counts as executed, too
	}
	var uses []calendars.Use
	if d.Recurrence.ByCalendars() {
		if uses, err = v.o.Uses(ctx, j.Key.Collection, d.Recurrence); err != nil {
			return plan{}, err
		}
	}
	all, err := timetable.OfJob(&j, uses)
	if err != nil {
		return plan{}, err
	}
	p.timetable = all.Without(j.Skips, j.SkipWindows...)
	for _, due := range j.Planned {
		_, offset := due.Zone()
		p.planned, p.resume = append(p.planned, due.UTC()), all.Resume(due, offset)
	}
	return p, nil
}

// A cursor is a position in the occurrences of a job.
type cursor struct {
	plan
	key job.Key
	id  string
	at  time.Time // zero after the last one
}

// start goes to the first occurrence after the token.
func (c *cursor) start(t token) {
	after := t.From
	if !t.At.IsZero() {
		if after = t.At; c.id > t.ID { // the order of those that are due at the same time
			after = after.Add(-time.Second)
		}
	}
	c.at = c.next
	if c.timetable != nil && c.left == 0 && !c.at.IsZero() && !c.at.After(after) {
		c.at = c.after(after)
	}
	for !c.at.IsZero() && !c.at.After(after) { // one that came due meanwhile has used up one of those left
		c.advance()
	}
}

// advance goes to the next occurrence.
func (c *cursor) advance() {
	if c.timetable == nil || c.left == 1 {
		c.at = time.Time{}
		return
	}
	c.at, c.left = c.after(c.at), max(0, c.left-1)
}

// comes reports whether the occurrence of a cursor comes before that of another.
func (c *cursor) comes(other *cursor) bool { return before(c.at, other.at, c.id, other.id) }
