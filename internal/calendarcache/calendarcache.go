// Package calendarcache reads the calendars that jobs name, for who plans by them. It asks a calendar's workflow once in a
// few seconds, however many jobs are planned, and prepares each version once.
package calendarcache

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/recurrence/calendars"
	"almanac/workflows"
	"almanac/workflows/plan"
)

const (
	// maxAge is the age after which a calendar is asked for again. A job that is told of a newer one names its
	// generation, so it need not be as short as a reader of a changed calendar would like.
	maxAge = 5 * time.Second
	// maxBytes is the size limit of the calendars that are kept, as stored, and tableBytes what a table takes beside.
	maxBytes   = 16 << 20
	tableBytes = 512
)

// A Found is a calendar that a job names, ready for use. The scope of its key says whether it is one of the job
// collection or of the subscription.
type Found struct {
	job.KeptCalendar

	Table *calendars.Table
}

// A Least is a calendar of which an older generation is not good enough: somebody knows that it has this one.
type Least struct {
	Key        job.CalendarKey
	Generation int
}

// A Reader reads calendars. It is safe for concurrent use.
type Reader struct {
	ask func(ctx context.Context, workflowID, query string, result any) error
	now func() time.Time

	mu    sync.Mutex
	kept  map[string]*list.Element // of *entry, by ID of the workflow
	order list.List                // the one used last comes first
	size  int
}

// New returns a Reader that asks workflows.
func New(q *wfclient.Queries) *Reader { return &Reader{ask: q.Ask, now: time.Now} }

// An entry is what is known of a calendar. Who holds turn may ask its workflow, and changes the other members, which mu
// guards too.
type entry struct {
	id    string
	turn  chan struct{}
	asked time.Time // when the answer was asked for
	found *Found    // nil: there is no such calendar
	size  int
}

// Read returns the calendars with these names, in their order: each that of the job collection or, if there is none,
// that of its subscription. The error is of type [job.Error] and of kind [job.KindNotFound] if neither is there.
func (r *Reader) Read(ctx context.Context, scope job.CollectionKey, names []string, least ...Least) ([]Found, error) {
	all := make([]Found, 0, len(names))
	for _, name := range names {
		found, err := r.one(ctx, scope.Calendar(name), least)
		if scope.Name != "" && found == nil && err == nil {
			found, err = r.one(ctx, job.SubscriptionScope(scope.Subscription).Calendar(name), least)
		}
		if found == nil && err == nil {
			err = job.MissingCalendar(scope.Calendar(name))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *found)
	}
	return all, nil
}

// Uses returns what a plan needs of the calendars that a recurrence names; nil if it names none. The caller completes it.
func (r *Reader) Uses(
	ctx context.Context, scope job.CollectionKey, recurrence *job.Recurrence, least ...Least,
) (*plan.Calendars, error) {
	if !recurrence.ByCalendars() {
		return nil, nil //nolint:nilnil // as documented
	}
	uses := recurrence.Calendars
	found, err := r.Read(ctx, scope, recurrence.CalendarNames(), least...)
	if err != nil {
		return nil, err
	}
	c := new(plan.Calendars)
	for i := range found {
		policy, ok := uses[i].Policy()
		if !ok {
			return nil, fmt.Errorf("onMatch %q of the calendar %q is not known to this version", uses[i].OnMatch, uses[i].Name)
		}
		f := &found[i]
		c.Uses = append(c.Uses, calendars.Use{Name: f.Key.Name, OnMatch: policy, Table: f.Table})
		c.Of = append(c.Of, plan.CalendarVersion{
			Name: f.Key.Name, Version: f.Version, Generation: f.Generation, Shared: f.Key.Scope.Name == "",
		})
	}
	return c, nil
}

// Forget has a calendar asked for again when it is read next. The ID is that of its workflow.
func (r *Reader) Forget(workflowID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.kept[workflowID]; e != nil {
		r.drop(e)
	}
}

// one returns a calendar; nil if there is none.
func (r *Reader) one(ctx context.Context, k job.CalendarKey, least []Least) (*Found, error) {
	id, generation := k.WorkflowID(), 0
	for _, l := range least {
		if l.Key.WorkflowID() == id {
			generation = max(generation, l.Generation)
		}
	}
	e := r.entry(id)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fresh := !e.asked.IsZero() && r.now().Sub(e.asked) < maxAge
	if fresh && (generation == 0 || e.found != nil && e.found.Generation >= generation) {
		return e.found, nil
	}
	if err := r.refresh(ctx, e, k); err != nil {
		return nil, err
	}
	if generation > 0 && (e.found == nil || e.found.Generation < generation) {
		return nil, fmt.Errorf("the calendar %s is not yet of generation %d here", k.ARMID(), generation)
	}
	return e.found, nil
}

// entry returns what is known of a calendar.
func (r *Reader) entry(id string) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.kept[id]; found != nil {
		r.order.MoveToFront(found)
		return found.Value.(*entry) //nolint:forcetypeassert // it holds nothing else
	}
	e := &entry{id: id, turn: make(chan struct{}, 1), size: tableBytes}
	if r.kept == nil {
		r.kept = map[string]*list.Element{}
	}
	r.kept[id] = r.order.PushFront(e)
	r.resize(e, 0)
	return e
}

// refresh asks for a calendar, whose turn the caller has. A version that is known keeps its table.
func (r *Reader) refresh(ctx context.Context, e *entry, k job.CalendarKey) error {
	asked := r.now()
	var answer json.RawMessage
	err := r.ask(ctx, e.id, workflows.QueryStatus, &answer)
	if wfclient.IsGone(err) {
		e.asked, e.found = asked, nil
		return nil
	}
	if err != nil {
		return err
	}
	found := new(Found)
	if err := json.Unmarshal(answer, &found.KeptCalendar); err != nil {
		return fmt.Errorf("%s: %w", k.ARMID(), err)
	}
	if known := e.found; known != nil && known.Generation == found.Generation {
		found.Table = known.Table
	} else if found.Table, err = found.Calendar.Table(found.Version); err != nil {
		return fmt.Errorf("%s: %w", k.ARMID(), err)
	}
	e.asked, e.found = asked, found
	r.mu.Lock()
	defer r.mu.Unlock()
	was := e.size
	e.size = tableBytes + 2*len(answer)
	r.resize(e, was)
	return nil
}

// resize counts an entry whose size was another one, and makes room for it: the others that were used longest ago go.
// mu is locked.
func (r *Reader) resize(e *entry, was int) {
	if r.kept[e.id] == nil || r.kept[e.id].Value != e {
		return // it has gone meanwhile
	}
	for r.size += e.size - was; r.size > maxBytes && r.order.Len() > 1; {
		r.drop(r.order.Back())
	}
}

// drop forgets an entry. mu is locked.
func (r *Reader) drop(one *list.Element) {
	e := r.order.Remove(one).(*entry) //nolint:forcetypeassert // it holds nothing else
	delete(r.kept, e.id)
	r.size -= e.size
}

// For returns the calendars of a request for a job that has some.
func (r *Reader) For(ctx context.Context, q *plan.Request) (*plan.Calendars, error) {
	var least []Least
	for _, v := range q.By.Least {
		scope := q.By.Scope
		if v.Shared {
			scope = job.SubscriptionScope(scope.Subscription)
		}
		least = append(least, Least{Key: scope.Calendar(v.Name), Generation: v.Generation})
	}
	return r.Uses(ctx, q.By.Scope, q.Recurrence, least...)
}
