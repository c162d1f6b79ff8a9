package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

// collections caches collections that answered recently. An outdated entry does no harm: a collection
// refuses a registration with another generation than its own. The zero value is empty.
type collections struct {
	mu    sync.Mutex
	known map[string]answered // by workflow ID
}

// An answered is a collection and the time of its answer.
type answered struct {
	job.Collection
	at time.Time
}

const (
	// A collection that answered within answeredLately is sent an update without a query first. The query
	// moves the workflow to another worker if its last one crashed; an update would wait for that one.
	answeredLately = 2 * time.Second

	// maxCollections is the limit of cached collections.
	maxCollections = 1000
)

func (c *collections) get(id string) (job.Collection, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.known[id]
	return a.Collection, ok && time.Since(a.at) < answeredLately
}

func (c *collections) put(id string, answers job.Collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCollections {
		c.known = map[string]answered{}
	}
	c.known[id] = answered{answers, time.Now()}
}

func (c *collections) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
}

// rememberedCollection returns a collection from the cache, or queries it.
func (s *Service) rememberedCollection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	if c, ok := s.collections.get(k.WorkflowID()); ok {
		return c, nil
	}
	c, err := s.Collection(ctx, k)
	if err == nil {
		s.collections.put(k.WorkflowID(), c)
	}
	return c, err
}

// A registration is a request to register the name of a new job.
type registration struct {
	ctx        context.Context // the caller's
	job        workflows.RegisterJob
	collection *job.Collection // from the cache
	done       chan struct{}   // closed when the members below are set
	result     workflows.RegisterResult
	err        error
}

// registrations are the requests that wait for their collection. A collection gets one update at a time;
// requests that come meanwhile share the next one. The zero value has none.
type registrations struct {
	mu      sync.Mutex
	waiting map[string][]*registration // by the collection's workflow ID; an entry exists as long as an update is running
}

// maxJoined is the limit of registrations in one update.
const maxJoined = 100

// add enqueues a registration. send reports whether no update of the collection is running, so that the
// caller has to send one.
func (r *registrations) add(id string, one *registration) (send bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	others, busy := r.waiting[id]
	if r.waiting == nil {
		r.waiting = map[string][]*registration{}
	}
	r.waiting[id] = append(others, one)
	return !busy
}

// take removes and returns the registrations of the next update; nil if none is needed.
func (r *registrations) take(id string) []*registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.DeleteFunc(r.waiting[id], func(one *registration) bool { return one.ctx.Err() != nil }) // their callers have given up
	n := min(len(all), maxJoined)
	if n == 0 {
		delete(r.waiting, id)
		return nil
	}
	r.waiting[id] = all[n:]
	return all[:n:n]
}

// registerJob registers a job in a cached collection. Its errors are those of [Service.update], or of type
// [job.Error].
func (s *Service) registerJob(ctx context.Context, c *job.Collection, applicant workflows.RegisterJob) (workflows.RegisterResult, error) {
	one := &registration{ctx: ctx, job: applicant, collection: c, done: make(chan struct{})}
	id := c.Key.WorkflowID()
	if s.registrations.add(id, one) {
		go func() {
			for joined := s.registrations.take(id); joined != nil; joined = s.registrations.take(id) {
				s.register(context.WithoutCancel(joined[0].ctx), id, joined) // it must outlive the caller of any one registration
			}
		}()
	}
	select {
	case <-one.done:
	case <-ctx.Done():
		return workflows.RegisterResult{}, ctx.Err()
	}
	switch {
	case wfclient.IsGone(one.err):
		return workflows.RegisterResult{}, missingCollection(c.Key)
	case one.err == nil && one.result.Refused != "":
		return workflows.RegisterResult{}, job.Conflictf("%s", one.result.Refused)
	}
	return one.result, one.err
}

// register sends one update for several registrations and distributes the results.
func (s *Service) register(ctx context.Context, id string, joined []*registration) {
	c := joined[0].collection
	request := workflows.RegisterRequest{Jobs: make([]workflows.RegisterJob, len(joined))}
	for i, one := range joined {
		request.Jobs[i] = one.job
		if one.collection.Generation > c.Generation {
			c = one.collection
		}
	}
	request.Limits, request.Generation = c.Properties.CollectionLimits(s.limits), c.Generation
	var results []workflows.RegisterResult
	err := s.update(ctx, updateTimeout, id, workflows.UpdateRegister, &results, request)
	if err == nil && len(results) != len(joined) {
		err = fmt.Errorf("%d jobs were registered, and %d were asked for", len(results), len(joined))
	}
	if err == nil {
		s.collections.put(id, *c)
	} else {
		s.collections.forget(id)
	}
	for i, one := range joined {
		if one.err = err; err == nil {
			one.result = results[i]
		}
		close(one.done)
	}
}
