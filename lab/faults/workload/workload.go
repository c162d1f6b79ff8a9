// Package workload creates jobs of every policy, changes them at random and around their due times, and
// records what was answered when. It also makes the load that some faults need: bursts of changes and manual
// runs, and many jobs that are created or due at once.
package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"almanac/lab/client"
	"almanac/lab/receiver"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// A Workload creates and changes jobs. Its methods may be called concurrently.
type Workload struct {
	Jobs      []*Job // created at the beginning
	Promising []*Job // likewise; they are paused, skipped and backfilled
	Dated     []*Job // likewise; they have calendars

	Contending []*Job // they are created and deleted in the collection with a quota, which is half of their number

	// Terminate ends a workflow of Temporal from outside; nil: no calendar is lost
	Terminate func(ctx context.Context, workflowID string) error

	client   *client.Client
	receiver *receiver.Receiver

	mu      sync.Mutex
	random  *rand.Rand
	changes []*record.Change
	reads   []record.Read // of jobs, before they were deleted
	lists   []record.List
	added   []*Job // created during the run, for a fault; they are not changed at random

	toggling sync.Mutex     // locked while FanOut toggles a collection
	open     sync.WaitGroup // what has begun and is to be finished
	slots    chan struct{}  // bounds the random changes at the same time
}

// New returns a workload of jobs that are not created yet.
func New(c *client.Client, r *receiver.Receiver, jobs []*Job, random *rand.Rand) *Workload {
	return &Workload{client: c, receiver: r, Jobs: jobs, random: random, slots: make(chan struct{}, 64)}
}

// intN returns a random number from 0 to n-1.
func (w *Workload) intN(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// between returns a random time from a to b.
func (w *Workload) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.intN(int((b-a)/time.Millisecond)+1))*time.Millisecond
}

// maxTries bounds how often a change is repeated until its outcome is known.
const maxTries = 300

// change makes a change. Unless it is a manual run or a skip, it is repeated until its outcome is known. d is the
// definition after the change, nil if it stays the same.
func (w *Workload) change(
	ctx context.Context, kind string, j record.Job, d *record.Definition, body client.Object,
) record.Outcome {
	if kind == record.ManualRun || kind == record.Skip {
		return w.try(ctx, kind, j, d, body, 1)
	}
	return w.try(ctx, kind, j, d, body, maxTries)
}

// try makes a change, with a number of tries at most.
func (w *Workload) try(
	ctx context.Context, kind string, j record.Job, d *record.Definition, body client.Object, tries int,
) record.Outcome {
	method, path := changeRequest(kind, j)
	return w.repeat(ctx, &record.Change{Job: j, Kind: kind, Definition: d}, tries, func(n int) record.Try {
		return makeChange(ctx, w.client, n+len(j.Name), method, path, body)
	})
}

// repeat makes a change by tries, up to a number of them, until its outcome is known.
func (w *Workload) repeat(
	ctx context.Context, change *record.Change, tries int, try func(n int) record.Try,
) record.Outcome {
	for n := range tries {
		t := try(n)
		w.mu.Lock()
		change.Tries = append(change.Tries, t)
		if n == 0 {
			w.changes = append(w.changes, change)
		}
		w.mu.Unlock()
		known := !t.Unanswered() && t.Status != http.StatusTooManyRequests
		if known || n == tries-1 || wait.For(ctx, time.Second) != nil {
			break
		}
	}
	outcome, _ := change.Outcome()
	return outcome
}

// Create creates all collections and jobs.
func (w *Workload) Create(ctx context.Context) error {
	for _, name := range Collections() {
		quota := 0
		if name == record.QuotaCollection {
			quota = len(w.Contending) / 2
		}
		if err := w.client.CreateCollectionWith(ctx, name, quota); err != nil {
			return err
		}
	}
	if len(w.Dated) > 0 {
		w.createCalendars(ctx)
	}
	all := slices.Concat(w.Jobs, w.Promising, w.Dated)
	wait.Calls(len(all), 4, func(i int) { w.create(ctx, all[i], maxTries) })
	return ctx.Err()
}

// create creates a job, with a number of tries at most.
func (w *Workload) create(ctx context.Context, j *Job, tries int) record.Outcome {
	d := j.Definition
	return w.try(ctx, record.Create, j.ID, &d, definitionBody(w.receiver, j.ID, d), tries)
}

// Run starts to change jobs and to read lists, until ctx ends; [Workload.Wait] waits for the end. A change
// that has begun is finished, unless base ends. perMinute is the number of changes of jobs per minute, 0 for
// none.
func (w *Workload) Run(ctx, base context.Context, perMinute float64) {
	if perMinute > 0 {
		w.open.Go(func() { w.toggleLastCollection(ctx, base) })
	}
	w.open.Go(func() { w.readLists(ctx) })
	if perMinute > 0 {
		w.open.Go(func() { w.changeAtRandom(ctx, base, time.Duration(float64(time.Minute)/perMinute)) })
	}
	w.runQuotas(ctx, base)
	if len(w.Promising) > 0 {
		w.runPromises(ctx, base)
	}
	if len(w.Dated) > 0 {
		w.runCalendars(ctx, base)
	}
}

// Wait waits until everything that was begun is finished: the jobs and collections that were disabled are
// enabled again, those that were deleted are created again.
func (w *Workload) Wait() { w.open.Wait() }

// toggleLastCollection disables and enables the last collection now and then until ctx ends.
func (w *Workload) toggleLastCollection(ctx, base context.Context) {
	j := record.Job{Collection: collectionName(collections - 1)}
	for wait.For(ctx, w.between(60*time.Second, 120*time.Second)) == nil {
		w.change(base, record.DisableCollection, j, nil, nil)
		_ = wait.For(base, w.between(5*time.Second, 30*time.Second))
		w.change(base, record.EnableCollection, j, nil, nil)
	}
}

// readLists reads the list of one collection after the other until ctx ends.
func (w *Workload) readLists(ctx context.Context) {
	for i := 0; wait.For(ctx, 15*time.Second) == nil; i++ {
		name := record.QuotaCollection
		if n := i % (collections + 1); n < collections {
			name = collectionName(n)
		}
		l, err := readList(ctx, w.client, name)
		if err != nil {
			continue // no API answers
		}
		w.mu.Lock()
		w.lists = append(w.lists, l)
		w.mu.Unlock()
	}
}

// Freeze disables all collections, so that no job runs any more.
func (w *Workload) Freeze(ctx context.Context) error {
	for _, name := range Collections() {
		if w.change(ctx, record.DisableCollection, record.Job{Collection: name}, nil, nil) != record.Applied {
			return fmt.Errorf("the collection %s could not be disabled", name)
		}
	}
	return nil
}

// IDs returns the incarnations of all jobs, also of those created for faults. No change may be under way.
func (w *Workload) IDs() []record.Job {
	var ids []record.Job
	for _, j := range slices.Concat(w.Jobs, w.Promising, w.Dated, w.Contending, w.added) {
		ids = append(ids, j.ID)
	}
	return ids
}

// Changes returns the number of changes so far, without the first creates.
func (w *Workload) Changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes) - len(w.Jobs) - len(w.Promising) - len(w.Dated)
}

// AddTo adds the changes, the lists and the reads to a log.
func (w *Workload) AddTo(l *record.Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, change := range w.changes {
		c := *change
		c.Tries = slices.Clone(change.Tries)
		l.Changes = append(l.Changes, c)
	}
	l.Lists = append(l.Lists, w.lists...)
	l.Reads = slices.Concat(w.reads, l.Reads)
}
