package overview

import (
	"container/heap"
	"context"
	"strings"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/timetable"
	"almanac/workflows"
)

// planAge is how long the plan of a job that this process did not change is used without asking the server whether the
// job changed.
const planAge = time.Minute

// A planned is what is remembered of a job to tell when it is due.
type planned struct {
	active    bool                 // it is enabled, and so was its collection
	next      time.Time            // its next occurrence, as of when it was read; zero for none
	left      int                  // how many occurrences it has from next on at most; 0 for no limit
	timetable *timetable.Timetable // nil if it runs once
	err       error                // its definition cannot be planned here

	// If its occurrences follow from a time zone, the worker that planned them may have had other rules of it.
	planned []time.Time // by it: those from next on, oldest first
	resume  time.Time   // the time after which the timetable goes on with the local times that follow these
}

// after returns the first occurrence after at.
func (p *planned) after(at time.Time) (time.Time, bool) {
	for _, due := range p.planned {
		if due.After(at) {
			return due, true
		}
	}
	if p.resume.After(at) {
		at = p.resume
	}
	return p.timetable.After(at)
}

// Upcoming returns a page of the occurrences that come due after now and up to until, in the order of their due times,
// and the continuation, which is empty on the last page. Jobs and collections that could not be read come first.
//
// The names of the jobs and the states of collections are read for every page. A job's own definition and state are
// those that it had at most planAge ago; a change by this process shows at once. Only jobs whose plan is older, or not
// known, are asked about, and only those of them that changed are queried.
func (v *Overview) Upcoming(ctx context.Context, s listing.Scope, until time.Time, p listing.Page) ([]listing.Occurrence, string, error) {
	t, err := parseToken(p.After)
	if err != nil {
		return nil, "", err
	}
	if t.From.IsZero() {
		t.From, t.Until = v.o.Now(), until
	}
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	found, err := v.readCollections(ctx, s, p, true)
	if err != nil {
		return nil, "", err
	}
	unreadable := &unreadSet{v: v}
	var due queue
	all := 0
	readable := unreadable.addCollections(ctx, found)
	for _, c := range readable {
		all += len(c.jobs)
	}
	known := v.readOutlines(ctx, s, all, listedFor)
	for _, c := range readable {
		if !c.enabled {
			continue
		}
		due = append(due, v.planCollection(ctx, c, known, t.From, unreadable)...)
	}
	if ctx.Err() != nil {
		return nil, "", notInTime(len(due), all)
	}
	page, next := v.upcomingPage(due, unreadable.after(t.Unread), t, p.Top)
	return page, next, nil
}

// upcomingPage merges the occurrences of jobs after the token.
func (v *Overview) upcomingPage(due queue, unread []unread, t token, top int) (page []listing.Occurrence, next string) {
	for _, u := range unread {
		if len(page) == top {
			return page, t.String()
		}
		page, t.Unread = append(page, listing.Occurrence{Key: u.key, Unread: u.why}), u.id
	}
	for i := range due {
		due[i].start(t)
	}
	heap.Init(&due)
	for len(due) > 0 && !due[0].at.IsZero() && !due[0].at.After(t.Until) {
		first := due[0]
		if len(page) == top {
			return page, t.String()
		}
		page = append(page, listing.Occurrence{Key: first.key, Due: first.at})
		t.At, t.ID, t.Unread = first.at, first.id, ""
		first.advance()
		heap.Fix(&due, 0)
	}
	return page, ""
}

// planCollection returns the jobs of a collection that have an occurrence to come.
func (v *Overview) planCollection(ctx context.Context, s collection, known outlines, from time.Time, unreadable *unreadSet) []*cursor {
	plans := make([]*cursor, len(s.jobs))
	var ask []int
	for i, k := range s.jobs {
		id := k.WorkflowID()
		plans[i] = &cursor{key: k, id: id}
		p, ok := v.outlineOf(known, id).plan(from)
		if !ok {
			p, ok = v.plans.Get(id, planAge)
		}
		if !ok || p.active && p.next.IsZero() { // its collection, which was not enabled, may be now
			ask = append(ask, i)
			continue
		}
		plans[i].planned = p
	}
	wfclient.Each(len(ask), func(n int) {
		if ctx.Err() != nil {
			return
		}
		d := plans[ask[n]]
		p, err := v.plan(ctx, d.id)
		if err == nil {
			d.planned = p
		}
		unreadable.add(ctx, d.id, d.key, err)
	})
	var active []*cursor
	for _, d := range plans {
		if d.active && !d.next.IsZero() {
			active = append(active, d)
		}
	}
	return active
}

// plan reads a job, and remembers its plan.
func (v *Overview) plan(ctx context.Context, id string) (planned, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	changes := v.changes.Load()
	var j job.Job
	if err := v.o.Ask(ctx, id, workflows.QueryStatus, &j); err != nil {
		return planned{}, err
	}
	p := planOf(j.At(v.o.Now()))
	if p.err == nil && v.changes.Load() == changes { // otherwise it may have been read before it was changed
		v.plans.Put(id, p, 1, maxKnown)
	}
	return p, p.err
}

// plan returns the plan of a job after a time from its outline, or false if that does not suffice.
func (o *outline) plan(from time.Time) (planned, bool) {
	switch {
	case o == nil || o.Recurrence != nil && o.Recurrence.Count > 0: // how many are left is not in it
		return planned{}, false
	case o.Disabled:
		return planned{}, true
	case o.Inactive: // its collection, which was not enabled, may be now
		return planned{}, false
	}
	next, ok := o.timetable.After(from)
	p := planned{active: ok, next: next}
	if o.Recurrence != nil {
		p.timetable = o.timetable
	}
	return p, true
}

// planOf returns the plan of a job.
func planOf(j job.Job) planned {
	p := planned{active: j.Definition.State == job.StateEnabled}
	next := j.Status.NextExecutionTime
	if next == nil || !p.active {
		return p
	}
	p.next = next.Time
	if j.Definition.Recurrence == nil {
		return p
	}
	if count := j.Definition.Recurrence.Count; count > 0 {
		p.left = max(1, count-j.Status.ExecutionCount) // a manual run counts as executed, too
	}
	all, err := timetable.Of(&j.Definition, j.Created)
	if p.err = err; err != nil {
		return p
	}
	p.timetable = all.Without(j.Skips)
	for _, due := range j.Planned {
		_, offset := due.Zone()
		p.planned, p.resume = append(p.planned, due.UTC()), all.Resume(due, offset)
	}
	return p
}

// A cursor is a position in the occurrences of a job.
type cursor struct {
	planned
	key job.Key
	id  string
	at  time.Time // zero after the last one
}

// start goes to the first occurrence after the token.
func (d *cursor) start(t token) {
	after := t.From
	if !t.At.IsZero() {
		after = t.At
		if d.id > t.ID { // the order of those that are due at the same time
			after = after.Add(-time.Second)
		}
	}
	d.at = d.next
	switch {
	case d.next.After(after):
	case d.timetable == nil:
		d.at = time.Time{}
	case d.left == 0:
		d.at = after
		d.advance()
	default: // an occurrence that came due meanwhile has used up one of those left
		for !d.at.IsZero() && !d.at.After(after) {
			d.advance()
		}
	}
}

// advance goes to the next occurrence.
func (d *cursor) advance() {
	next, ok := time.Time{}, d.timetable != nil && d.left != 1
	if ok {
		next, ok = d.after(d.at)
	}
	if d.left > 1 {
		d.left--
	}
	if !ok {
		next = time.Time{}
	}
	d.at = next
}

// A queue is a heap of jobs by their next occurrence, those without one last.
type queue []*cursor

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.at.IsZero() || b.at.IsZero() {
		return !a.at.IsZero()
	}
	if c := a.at.Compare(b.at); c != 0 {
		return c < 0
	}
	return strings.Compare(a.id, b.id) < 0
}
func (q *queue) Push(x any) { *q = append(*q, x.(*cursor)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
