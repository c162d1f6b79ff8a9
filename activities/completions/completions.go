// Package completions limits how many activities of a herd a process completes at once.
package completions

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/internal/latency"
)

// A Limiter limits how many activities of a herd are completed at once. Each completion creates
// a workflow task, and tasks are dispatched in order: if a thousand activities were completed at once, a
// call that reads or changes a job would wait for a thousand tasks.
//
// A completion keeps a place until this process receives the workflow's task, but at most twice as long as tasks wait on
// average after the server's answer, since another process may receive it. The number of places follows how long the
// answers take: it grows by one after as many quick answers as there are places, and shrinks by a quarter after a slow one.
//
// Those whose activities' time limits end first get the next places. An urgent one may also get one of urgentPlaces:
// one whose activity is cancelled, whose time limit is near, or whose worker stops.
type Limiter struct {
	meter *latency.Meter // nil: records of outcomes do not wait for a slow server

	mu      sync.Mutex
	places  float64
	shrunk  time.Time     // when places shrank; answers to earlier completions shrink it no more
	open    []*completion // completions that have a place
	waiting queue
	numbers int
	yields  time.Time     // when completions began to yield last
	freed   time.Time     // when a place became free last
	pace    time.Duration // average time between two places that became free while others waited
	waits   latency.Longest
	records chan struct{} // places of records of outcomes that wait
	tasks   time.Duration // average time that a workflow task waited for this process
	tasked  time.Time     // when this process received one last
}

const (
	leastPlaces  = 16
	mostPlaces   = 64
	urgentPlaces = 16
	recordPlaces = 8

	// quickAnswer and slowAnswer are how long the answer to a completion takes if more or fewer of them were better.
	quickAnswer = 100 * time.Millisecond
	slowAnswer  = 400 * time.Millisecond

	// leastTaskTime and mostTaskTime limit how long after the server's answer a completion keeps its place at most; an
	// urgent one keeps it for leastTaskTime. Each task counts as much as the part 1/taskWeight of the average wait, and
	// none counts when this process has received none for staleTasks.
	leastTaskTime = 100 * time.Millisecond
	mostTaskTime  = 5 * time.Second
	taskWeight    = 16
	staleTasks    = 5 * time.Second

	// completionLimit is the longest that a completion keeps its place: longer than the server may take to answer.
	completionLimit = 90 * time.Second

	// urgentTime is how long before the time limit of its activity an outcome is urgent: the SDK discards one that is
	// reported later, and the server makes another attempt.
	urgentTime = 20 * time.Second

	// yieldPlaces are the places while completions yield, for yieldTime, and not again until yieldPause after it began.
	yieldPlaces = 2
	yieldTime   = 3 * time.Second
	yieldPause  = 30 * time.Second

	paced = 64 // about how many places the pace is an average of

	// leastRecord and mostRecord limit how long an outcome waits until a heartbeat records it.
	leastRecord = 3 * time.Second
	mostRecord  = 30 * time.Second
)

// A completion is an outcome that waits for a place, or that has one.
type completion struct {
	workflowID, token string
	number            int           // in the order in which they came
	until             time.Time     // time limit of the activity
	urgent            bool          // a place of urgentPlaces will do
	granted           chan struct{} // closed when it has a place
	came, begin       time.Time     // when it came, and when it got a place
	limit             *time.Timer
}

// New returns a Limiter. The caller must call [Limiter.Sent] and [Limiter.Received].
func New(meter *latency.Meter) *Limiter {
	return &Limiter{meter: meter, places: leastPlaces, records: make(chan struct{}, recordPlaces)}
}

// Enter waits for a place, at most until the time limit of the activity.
func (r *Limiter) Enter(ctx context.Context) {
	if r == nil {
		return
	}
	info := activity.GetInfo(ctx)
	limit, _ := ctx.Deadline()
	r.enter(info.WorkflowExecution.ID, info.TaskToken, limit, ctx.Done(), activity.GetWorkerStopChannel(ctx))
}

// enter waits for a place until limit; zero: without a limit, which no activity of a job is.
func (r *Limiter) enter(workflowID string, token []byte, limit time.Time, cancelled, stopping <-chan struct{}) {
	one := &completion{workflowID: workflowID, token: string(token), until: limit, granted: make(chan struct{})}
	var soon, over <-chan time.Time
	if !limit.IsZero() {
		soon, over = time.After(time.Until(limit.Add(-urgentTime))), time.After(time.Until(limit))
	}
	r.wait(one)
	for {
		select {
		case <-one.granted:
			return
		case <-over:
			r.giveUp(one)
			return
		case <-soon:
			soon = nil
		case <-cancelled:
			cancelled = nil
		case <-stopping:
			stopping = nil
		}
		r.hurry(one)
	}
}

func (r *Limiter) wait(one *completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbers++
	one.number, one.came = r.numbers, time.Now()
	heap.Push(&r.waiting, one)
	r.grant()
}

// hurry makes a completion urgent.
func (r *Limiter) hurry(one *completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, one); i >= 0 && !one.urgent {
		one.urgent = true
		heap.Fix(&r.waiting, i)
		r.grant()
	}
}

func (r *Limiter) giveUp(one *completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, one); i >= 0 {
		heap.Remove(&r.waiting, i)
	}
}

// grant gives the free places to those that wait. r.mu is held.
func (r *Limiter) grant() {
	for len(r.waiting) > 0 {
		free := int(r.places) - len(r.open)
		if time.Since(r.yields) < yieldTime {
			free = yieldPlaces - len(r.open)
		}
		if r.waiting[0].urgent {
			free += urgentPlaces
		}
		if free <= 0 {
			return
		}
		one := heap.Pop(&r.waiting).(*completion)
		one.begin = time.Now()
		r.waits.Note(one.begin.Sub(one.came), one.begin)
		one.limit = time.AfterFunc(completionLimit, func() { r.leave(one) })
		r.open = append(r.open, one)
		close(one.granted)
	}
}

// Yield makes completions yield to requests that are late because the worker that held them was lost. They are taken
// over all at once, just when this worker reports its own part of the herd.
func (r *Limiter) Yield() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.yields) < yieldPause {
		return
	}
	r.yields = time.Now()
	time.AfterFunc(yieldTime, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.grant()
	})
}

func (r *Limiter) leave(one *completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.open, one); i >= 0 {
		one.limit.Stop()
		r.open = slices.Delete(r.open, i, i+1)
		r.notePace(time.Now())
		r.grant()
	}
}

// notePace measures how often a place becomes free. r.mu is held.
func (r *Limiter) notePace(now time.Time) {
	if len(r.waiting) > 0 && !r.freed.IsZero() {
		r.pace += (now.Sub(r.freed) - r.pace) / paced
	}
	if r.freed = now; len(r.waiting) == 0 {
		r.freed = time.Time{}
	}
}

// Sent records that the server has answered the completion of an activity task.
func (r *Limiter) Sent(token []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, one := range r.open {
		if one.token == string(token) {
			r.adapt(one, now)
			one.limit.Reset(r.taskTime(one, now))
		}
	}
}

// adapt changes the number of places by the answer to a completion. r.mu is held.
func (r *Limiter) adapt(one *completion, now time.Time) {
	switch took := now.Sub(one.begin); {
	case took < quickAnswer && len(r.waiting) > 0:
		r.places = min(r.places+1/r.places, mostPlaces)
		r.grant()
	case took > slowAnswer && !one.begin.Before(r.shrunk):
		r.places, r.shrunk = max(r.places*3/4, leastPlaces), now
	}
}

// taskTime returns how long a completion keeps its place from now on. r.mu is held.
func (r *Limiter) taskTime(one *completion, now time.Time) time.Duration {
	if one.urgent || now.Sub(r.tasked) > staleTasks {
		return leastTaskTime
	}
	return max(leastTaskTime, 2*r.tasks)
}

// Waited records how long a workflow task had waited for this process. One that waited for a worker to come back counts
// no more than what taskTime takes.
func (r *Limiter) Waited(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks += (min(max(0, d), mostTaskTime/2) - r.tasks) / taskWeight
	r.tasked = time.Now()
}

// Received records that this process received a task of a workflow.
func (r *Limiter) Received(workflowID string) {
	r.mu.Lock()
	var done []*completion
	for _, one := range r.open {
		if one.workflowID == workflowID {
			done = append(done, one)
		}
	}
	r.mu.Unlock()
	for _, one := range done {
		r.leave(one)
	}
}

// LongestWait returns how long an outcome waited for its place lately.
func (r *Limiter) LongestWait() time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits.Lately(time.Now())
}

// RecordAfter returns how long an outcome waits until a heartbeat records it. That makes more work for a server that
// has too much, so it is longer than those that wait now are expected to, if possible, and longer while the server is
// slow.
func (r *Limiter) RecordAfter() time.Duration {
	if r == nil {
		return leastRecord
	}
	r.mu.Lock()
	expected := time.Duration(len(r.waiting)) * r.pace
	r.mu.Unlock()
	return max(min(expected, mostRecord), r.meter.Patience(leastRecord, mostRecord))
}

// EnterRecord waits for one of the places of records, at most until latest. The caller calls leave when the record is
// made. It returns nil if done was closed before.
func (r *Limiter) EnterRecord(done <-chan struct{}, latest time.Time) (leave func()) {
	if r == nil {
		return func() {}
	}
	select {
	case r.records <- struct{}{}:
		return func() { <-r.records }
	case <-time.After(time.Until(latest)):
		return func() {}
	case <-done:
		return nil
	}
}

// A queue is a heap of completions that wait: urgent ones first, then those whose limits end first.
type queue []*completion

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.urgent != b.urgent:
		return a.urgent
	case !a.until.Equal(b.until):
		return a.until.Before(b.until)
	default:
		return a.number < b.number
	}
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*completion)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	*q = (*q)[:last]
	return one
}
