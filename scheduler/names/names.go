// Package names registers the names of new jobs in their collections, many at once.
package names

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/quota"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// The collections that answered recently are cached, so that a new job needs no query of its collection. Nothing is
// decided by what is cached: a collection checks registrations by its own properties, and answers with what the jobs
// start with.
const (
	// A collection that answered within collectionFresh is sent an update without a query first. The query
	// moves the workflow to another worker if its last one crashed; an update would wait for that one.
	collectionFresh = 2 * time.Second

	// maxCollections is the limit of cached collections.
	maxCollections = 1000

	// growingFor is how long after a job was created in a collection the next job is taken for a new one, too.
	growingFor = 10 * time.Second

	// maxStarted is the limit of workflows of a collection that were started and are not confirmed yet. Those beyond
	// it are looked up by the collection.
	maxStarted = 2 * maxRegistrations
)

// ErrTaken means that a name is registered already, and was to be registered only if it is not.
var ErrTaken = errors.New("the name is registered already")

// A Registrar registers the names of new jobs. It is safe for concurrent use.
type Registrar struct {
	core        *core.Client
	tiers       quota.Tiers
	collections core.Cache[job.Collection]
	growing     core.Cache[struct{}] // collections in which a job was created lately
	queue       queue
}

// New returns a Registrar.
func New(c *core.Client, tiers quota.Tiers) *Registrar { return &Registrar{core: c, tiers: tiers} }

// Recent returns a collection from the cache, or reads it.
func (r *Registrar) Recent(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	if c, ok := r.collections.Get(k.WorkflowID(), collectionFresh); ok {
		return c, nil
	}
	c, err := r.core.Collection(ctx, k)
	if err == nil {
		r.collections.Put(k.WorkflowID(), c, 1, maxCollections)
	}
	return c, err
}

// Growing reports whether the next job of a collection that is put is most likely a new one: the last one was, a
// short time ago.
func (r *Registrar) Growing(k job.CollectionKey) bool {
	_, growing := r.growing.Get(k.WorkflowID(), growingFor)
	return growing
}

// Started records that the workflow of a registration was started. The next registration reports it to the collection,
// which then does not have to look it up.
func (r *Registrar) Started(k job.CollectionKey, one workflows.Registration) {
	id := k.WorkflowID()
	r.growing.Put(id, struct{}{}, 1, maxCollections)
	r.queue.start(id, one)
}

// A request is one to register the name of a new job.
type request struct {
	ctx        context.Context // the caller's
	job        workflows.RegisterJob
	done       chan struct{} // closed when the members below are set
	result     workflows.RegisterResult
	collection workflows.CollectionState
	err        error
}

// A queue holds the registrations that wait for their collection. A collection gets one update
// at a time; registrations that come meanwhile share the next one. The zero value is empty.
type queue struct {
	mu sync.Mutex
	// By the collection's workflow ID. An entry of waiting exists as long as an update is running, started has
	// workflows that were started and that the collection does not know of.
	waiting map[string][]*request
	started map[string][]workflows.Registration
}

// maxRegistrations is the limit of registrations in one update.
const maxRegistrations = 100

// add enqueues a registration. send reports whether no update of the collection is running, so that the
// caller has to send one.
func (q *queue) add(id string, one *request) (send bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	others, busy := q.waiting[id]
	if q.waiting == nil {
		q.waiting = map[string][]*request{}
	}
	q.waiting[id] = append(others, one)
	return !busy
}

// start adds a workflow that was started.
func (q *queue) start(id string, one workflows.Registration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.started == nil || q.started[id] == nil && len(q.started) >= maxCollections {
		q.started = map[string][]workflows.Registration{}
	}
	if len(q.started[id]) < maxStarted {
		q.started[id] = append(q.started[id], one)
	}
}

// takeStarted removes and returns the workflows that were started.
func (q *queue) takeStarted(id string) []workflows.Registration {
	q.mu.Lock()
	defer q.mu.Unlock()
	started := q.started[id]
	delete(q.started, id)
	return started
}

// nextBatch removes and returns the registrations of the next update; nil if none is needed.
func (q *queue) nextBatch(id string) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	abandoned := func(one *request) bool { return one.ctx.Err() != nil }
	all := slices.DeleteFunc(q.waiting[id], abandoned)
	n := min(len(all), maxRegistrations)
	if n == 0 {
		delete(q.waiting, id)
		return nil
	}
	q.waiting[id] = all[n:]
	return all[:n:n]
}

// Register registers a job in a collection that [Registrar.Recent] returned. The job starts with the state of the
// collection in the answer. Errors are those of [core.Client.Update], [ErrTaken], or of type [job.Error].
func (r *Registrar) Register(
	ctx context.Context, c *job.Collection, j workflows.RegisterJob,
) (workflows.Registration, workflows.CollectionState, error) {
	one := &request{ctx: ctx, job: j, done: make(chan struct{})}
	id := c.Key.WorkflowID()
	if r.queue.add(id, one) {
		go func() {
			for batch := r.queue.nextBatch(id); batch != nil; batch = r.queue.nextBatch(id) {
				// it must outlive the caller of any one registration
				r.register(context.WithoutCancel(batch[0].ctx), c, batch)
			}
		}()
	}
	select {
	case <-one.done:
	case <-ctx.Done():
		return workflows.Registration{}, workflows.CollectionState{}, ctx.Err()
	}
	switch {
	case wfclient.IsGone(one.err):
		one.err = core.MissingCollection(c.Key)
	case one.err == nil && one.result.Taken:
		r.growing.Forget(id)
		one.err = ErrTaken
	case one.err == nil && one.result.Refused != "":
		one.err = job.Conflictf("%s", one.result.Refused)
	}
	return one.result.Registration, one.collection, one.err
}

// register sends one update for a batch of registrations in a collection and distributes the results.
func (r *Registrar) register(ctx context.Context, c *job.Collection, batch []*request) {
	id := c.Key.WorkflowID()
	request := workflows.RegisterRequest{
		Jobs: make([]workflows.RegisterJob, len(batch)), Tiers: r.tiers, Started: r.queue.takeStarted(id),
	}
	for i, one := range batch {
		request.Jobs[i] = one.job
	}
	var answer workflows.RegisterAnswer
	ctx, cancel := context.WithTimeout(ctx, core.TryTimeout)
	defer cancel()
	err := r.core.Update(ctx, id, workflows.UpdateRegister, &answer, request)
	if err == nil && len(answer.Jobs) != len(batch) {
		err = fmt.Errorf("the collection answered for %d of %d jobs", len(answer.Jobs), len(batch))
	}
	if err == nil {
		r.collections.Put(id, *c, 1, maxCollections)
	} else {
		r.collections.Forget(id)
	}
	for i, one := range batch {
		if one.err = err; err == nil {
			one.result, one.collection = answer.Jobs[i], answer.Collection
		}
		close(one.done)
	}
}
