package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"almanac/internal/calls"
	"almanac/job"
	"almanac/workflows"
)

// collections are the collections that answered lately. A collection refuses a
// registration by a generation that is not its own any more, so what is remembered may
// be old. The zero value remembers none.
type collections struct {
	mu    sync.Mutex
	known map[string]answered // by workflow id
}

// An answered is a collection as it was when it answered.
type answered struct {
	job.Collection
	at time.Time
}

const (
	// answeredLately is for how long a collection that answered need not be asked
	// before it is sent an update. A question finds a worker if the one that answered
	// last was killed meanwhile; an update would wait for that one.
	answeredLately = 2 * time.Second

	// maxCollections bounds how many are remembered.
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

// rememberedCollection returns a collection as it was when it answered last.
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

// A registration is a job whose name is asked for.
type registration struct {
	ctx        context.Context // the caller's
	job        workflows.RegisterJob
	collection *job.Collection // as it is remembered
	done       chan struct{}   // closed when the members below are set
	result     workflows.RegisterResult
	err        error
}

// registrations wait for their collection, which answers one request after another:
// those that come meanwhile are joined to the next. The zero value has none.
type registrations struct {
	mu      sync.Mutex
	waiting map[string][]*registration // by workflow id of the collection; there is an entry as long as a request is on its way
}

// maxJoined bounds how many registrations are joined to one request.
const maxJoined = 100

// add has a registration wait. It reports whether no request of the collection is on
// its way, so that the caller is to send one.
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

// take returns what the next request consists of; nothing if none is to be sent.
func (r *registrations) take(id string) []*registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.DeleteFunc(r.waiting[id], func(one *registration) bool { return one.ctx.Err() != nil }) // nobody would start it
	n := min(len(all), maxJoined)
	if n == 0 {
		delete(r.waiting, id)
		return nil
	}
	r.waiting[id] = all[n:]
	return all[:n:n]
}

// registerJob registers a job in a collection as it is remembered. Its errors are those
// of [Service.update], or of type [job.Error].
func (s *Service) registerJob(ctx context.Context, c *job.Collection, applicant workflows.RegisterJob) (workflows.RegisterResult, error) {
	one := &registration{ctx: ctx, job: applicant, collection: c, done: make(chan struct{})}
	id := c.Key.WorkflowID()
	if s.registrations.add(id, one) {
		go func() {
			for joined := s.registrations.take(id); joined != nil; joined = s.registrations.take(id) {
				s.register(context.WithoutCancel(joined[0].ctx), id, joined) // it does not end with one of those that wait for it
			}
		}()
	}
	select {
	case <-one.done:
	case <-ctx.Done():
		return workflows.RegisterResult{}, ctx.Err()
	}
	switch {
	case calls.IsGone(one.err):
		return workflows.RegisterResult{}, missingCollection(c.Key)
	case one.err == nil && one.result.Refused != "":
		return workflows.RegisterResult{}, job.Conflictf("%s", one.result.Refused)
	}
	return one.result, one.err
}

// register sends a request for some registrations, and tells each what became of it.
func (s *Service) register(ctx context.Context, id string, joined []*registration) {
	c := joined[0].collection
	request := workflows.RegisterRequest{Jobs: make([]workflows.RegisterJob, len(joined))}
	for i, one := range joined {
		request.Jobs[i] = one.job
		if one.collection.Generation > c.Generation {
			c = one.collection
		}
	}
	request.Rules, request.Generation = c.Properties.Rules(s.limits), c.Generation
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
