//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"almanac/faults/laws"
)

// A changer changes jobs, and writes down what was answered when.
type changer struct {
	caller   *caller
	receiver *receiver
	subjects []*subject

	mu     sync.Mutex
	random *rand.Rand
	log    []*laws.Change
	reads  []laws.Read
	lists  []laws.List
	added  []*subject // created during the run, for a fault; nothing else changes them
	fan    sync.Mutex // held during a fault's fan-out
	open   sync.WaitGroup
	slots  chan struct{} // bounds the changes that are made at the same time
}

func newChanger(c *caller, r *receiver, subjects []*subject, random *rand.Rand) *changer {
	return &changer{caller: c, receiver: r, subjects: subjects, random: random, slots: make(chan struct{}, 64)}
}

// roll returns a random number below n.
func (c *changer) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// between returns a random time from a to b.
func (c *changer) between(a, b time.Duration) time.Duration {
	return a + time.Duration(c.roll(int((b-a)/time.Millisecond)+1))*time.Millisecond
}

// maxTries bounds how often a change is repeated until its outcome is certain.
const maxTries = 300

// make makes a change: it is repeated until its outcome is certain, unless it is
// a run on demand.
func (c *changer) make(ctx context.Context, kind string, j laws.Job, d *laws.Definition, body string) laws.Outcome {
	if kind == laws.RunNow {
		return c.try(ctx, kind, j, d, body, 1)
	}
	return c.try(ctx, kind, j, d, body, maxTries)
}

// try makes a change, and repeats it until its outcome is certain or there were
// as many tries.
func (c *changer) try(ctx context.Context, kind string, j laws.Job, d *laws.Definition, body string, tries int) laws.Outcome {
	change := &laws.Change{Job: j, Kind: kind, Definition: d}
	method, path := request(kind, j)
	logged := false
	for try := range tries {
		t, _, header := c.caller.call(ctx, try+len(j.Name), method, path, body)
		if t.Status == http.StatusAccepted {
			t = c.follow(ctx, t, header)
		}
		c.mu.Lock()
		change.Tries = append(change.Tries, t)
		if !logged {
			c.log = append(c.log, change)
			logged = true
		}
		c.mu.Unlock()
		certain := t.Status != 0 && t.Status < 500 && t.Status != http.StatusTooManyRequests
		if certain || try == tries-1 || pause(ctx, time.Second) != nil {
			break
		}
	}
	outcome, _ := change.Outcome()
	return outcome
}

// request returns the method and the path of the request that makes a change.
func request(kind string, j laws.Job) (method, path string) {
	switch kind {
	case laws.Create:
		return http.MethodPut, jobPath(j)
	case laws.Delete:
		return http.MethodDelete, jobPath(j)
	case laws.RunNow:
		return http.MethodPost, jobPath(j) + "/run"
	case laws.DisableCollection:
		return http.MethodPost, collectionPath(j.Collection) + "/disable"
	case laws.EnableCollection:
		return http.MethodPost, collectionPath(j.Collection) + "/enable"
	}
	return http.MethodPatch, jobPath(j)
}

// follow waits until an operation that was accepted has ended.
func (c *changer) follow(ctx context.Context, t laws.Try, header http.Header) laws.Try {
	_, path, _ := strings.Cut(strings.TrimPrefix(header.Get("Location"), "http://"), "/")
	for range maxTries {
		if pause(ctx, 200*time.Millisecond) != nil {
			break
		}
		next, _, _ := c.caller.call(ctx, 0, http.MethodGet, "/"+path, "")
		next.Issued = t.Issued
		if next.Status == http.StatusOK {
			return next
		}
		if next.Status == http.StatusNotFound {
			next.Status = 0
			return next
		}
	}
	t.Status, t.Error, t.Answered = 0, "the operation did not end", time.Now().UTC()
	return t
}

// create creates all jobs.
func (c *changer) create(ctx context.Context) error {
	for i := range collections {
		name := fmt.Sprintf("faults%d", i)
		t, _, _ := c.caller.call(ctx, 0, http.MethodPut, collectionPath(name), `{"properties":{"sku":{"name":"P20Premium"}}}`)
		if t.Status/100 != 2 {
			return fmt.Errorf("create the collection %s: %d %s", name, t.Status, t.Error)
		}
	}
	queue := make(chan *subject)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for s := range queue {
				d := s.definition
				c.make(ctx, laws.Create, s.at, &d, c.receiver.definitionBody(s.at, d))
			}
		})
	}
	for _, s := range c.subjects {
		queue <- s
	}
	close(queue)
	group.Wait()
	return ctx.Err()
}

// run makes changes at random until ctx ends: half of them at any time, the
// others close to a due time of their job. What has begun is finished, unless
// base ends.
func (c *changer) run(ctx, base context.Context, perMinute float64) {
	if perMinute <= 0 {
		return
	}
	every := time.Duration(float64(time.Minute) / perMinute)
	for pause(ctx, c.between(0, 2*every)) == nil {
		c.one(ctx, base, nil, c.roll(2) == 0)
	}
}

// burst makes changes of some jobs that are due soon, within a while.
func (c *changer) burst(ctx context.Context, n int, within time.Duration) {
	now := time.Now()
	for range n * 20 {
		s := c.subjects[c.roll(len(c.subjects))]
		if !s.mu.TryLock() {
			continue
		}
		due, ok := s.next(now)
		s.mu.Unlock()
		if !ok || due.Sub(now) > within+20*time.Second {
			continue
		}
		c.one(ctx, ctx, s, false)
		if n--; n == 0 {
			return
		}
	}
}

// one starts one change of a job, or of a random one. aimed places it from 10 s
// before to 2 s after the job's due time, otherwise within 5 s.
func (c *changer) one(ctx, base context.Context, s *subject, aimed bool) {
	select {
	case c.slots <- struct{}{}:
	default:
		return // there are enough
	}
	for s == nil || !s.mu.TryLock() {
		if ctx.Err() != nil {
			<-c.slots
			return
		}
		s = c.subjects[c.roll(len(c.subjects))]
		if s.mu.TryLock() {
			break
		}
		s = nil
	}
	wait := c.between(0, 5*time.Second)
	if due, ok := s.next(time.Now().Add(10 * time.Second)); aimed && ok && time.Until(due) < 2*time.Minute {
		wait = time.Until(due) + c.between(-10*time.Second, 2*time.Second)
	}
	c.open.Go(func() {
		defer func() { <-c.slots }()
		defer s.mu.Unlock()
		if pause(ctx, wait) == nil {
			c.change(base, s)
		}
	})
}

// change makes one of all kinds of change, and takes back what stops the job.
func (c *changer) change(ctx context.Context, s *subject) {
	switch n := c.roll(100); {
	case n < 30:
		c.changeAction(ctx, s)
	case n < 44:
		c.changeRecurrence(ctx, s)
	case n < 66:
		c.disable(ctx, s)
	case n < 82:
		c.recreate(ctx, s)
	default:
		c.make(ctx, laws.RunNow, s.at, nil, "")
	}
}

func (c *changer) changeAction(ctx context.Context, s *subject) {
	d := s.definition
	d.Version++
	if c.make(ctx, laws.ChangeAction, s.at, &d, encode(properties{Action: c.receiver.action(s.at, d)})) != laws.Refused {
		s.definition = d
	}
}

// changeRecurrence moves the job to another second of the minute. Half of the
// changes give the action a new version as well.
func (c *changer) changeRecurrence(ctx context.Context, s *subject) {
	if s.definition.Once {
		return
	}
	d := s.definition
	d.Start = time.Now().UTC().Add(-10 * time.Minute).Truncate(time.Minute).Add(time.Duration(c.roll(60)) * time.Second)
	if d.Start.Second() == s.definition.Start.Second() {
		d.Start = d.Start.Add(time.Second)
	}
	p := properties{StartTime: d.Start.Format(time.RFC3339)}
	if c.roll(2) == 0 {
		d.Version++
		p.Action = c.receiver.action(s.at, d)
	}
	if c.make(ctx, laws.ChangeRecurrence, s.at, &d, encode(p)) != laws.Refused {
		s.definition = d
	}
}

func (c *changer) disable(ctx context.Context, s *subject) {
	if c.make(ctx, laws.Disable, s.at, nil, encode(properties{State: "disabled"})) == laws.Refused {
		return
	}
	_ = pause(ctx, c.between(0, 40*time.Second))
	if c.roll(3) == 0 {
		c.make(ctx, laws.RunNow, s.at, nil, "")
		_ = pause(ctx, c.between(0, 10*time.Second))
	}
	c.make(ctx, laws.Enable, s.at, nil, encode(properties{State: "enabled"}))
}

// recreate deletes a job and creates the next life of it.
func (c *changer) recreate(ctx context.Context, s *subject) {
	before := readJob(ctx, c.caller, s.at)
	c.mu.Lock()
	c.reads = append(c.reads, before)
	c.mu.Unlock()
	if c.make(ctx, laws.Delete, s.at, nil, "") != laws.Applied {
		return
	}
	_ = pause(ctx, c.between(0, 5*time.Second))
	c.mu.Lock()
	d := newDefinition(time.Now().UTC(), time.Minute, c.random)
	c.mu.Unlock()
	s.at.Life++
	s.definition = d
	c.make(ctx, laws.Create, s.at, &d, c.receiver.definitionBody(s.at, d))
}

// toggle disables and enables the last collection now and then until ctx ends.
func (c *changer) toggle(ctx, base context.Context) {
	j := laws.Job{Collection: fmt.Sprintf("faults%d", collections-1)}
	for pause(ctx, c.between(60*time.Second, 120*time.Second)) == nil {
		c.make(base, laws.DisableCollection, j, nil, "")
		_ = pause(base, c.between(5*time.Second, 30*time.Second))
		c.make(base, laws.EnableCollection, j, nil, "")
	}
}

// list reads the list of a collection's jobs now and then until ctx ends.
func (c *changer) list(ctx context.Context) {
	for i := 0; pause(ctx, 15*time.Second) == nil; i++ {
		name := fmt.Sprintf("faults%d", i%collections)
		issued := time.Now().UTC()
		found, err := readList(ctx, c.caller, name, false)
		if err != nil {
			continue // nothing answers now
		}
		l := laws.List{Collection: name, Issued: issued, Answered: time.Now().UTC()}
		for _, one := range found {
			l.Names = append(l.Names, one.name())
		}
		c.mu.Lock()
		c.lists = append(c.lists, l)
		c.mu.Unlock()
	}
}

// freeze disables all collections, so that nothing moves while the end is read.
func (c *changer) freeze(ctx context.Context) error {
	for i := range collections {
		if c.make(ctx, laws.DisableCollection, laws.Job{Collection: fmt.Sprintf("faults%d", i)}, nil, "") != laws.Applied {
			return fmt.Errorf("the collection faults%d could not be disabled", i)
		}
	}
	return nil
}

// changesLog returns a copy of all changes, in the order in which they were issued.
func (c *changer) changesLog() []laws.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]laws.Change, len(c.log))
	for i, one := range c.log {
		all[i] = *one
		all[i].Tries = append([]laws.Try(nil), one.Tries...)
	}
	return all
}
