// Package completions limits how many activities of a herd a process completes at once.
package completions

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// A Limiter limits how many activities of a herd are completed at once. Each completion creates
// a workflow task, and tasks are dispatched in order: if a thousand activities were completed at once, a
// call that reads or changes a job would wait for a thousand tasks.
//
// A completion keeps one of completionPlaces until this process receives the workflow's task, but at most
// completionTime after the server's answer, since another process may receive it.
type Limiter struct {
	places chan struct{}

	mu   sync.Mutex
	open []*completion // completions that have a place
}

const (
	completionPlaces = 16
	completionTime   = 100 * time.Millisecond

	// completionLimit is the longest that a completion keeps its place: longer than the server may take to answer.
	completionLimit = 90 * time.Second

	// reportTime is how long before the time limit of its activity an outcome is reported even without a
	// place: the SDK discards one that is reported later, and the server makes another attempt.
	reportTime = 5 * time.Second
)

type completion struct {
	workflowID, token string
	limit             *time.Timer
}

// New returns a Limiter. The caller must call [Limiter.Sent] and [Limiter.Received].
func New() *Limiter {
	return &Limiter{places: make(chan struct{}, completionPlaces)}
}

// Enter waits for a place. It returns at once if the completion is urgent: the activity is cancelled, its
// time limit is near, or the worker stops.
func (r *Limiter) Enter(ctx context.Context) {
	if r == nil {
		return
	}
	if limit, limited := ctx.Deadline(); limited {
		timely, cancel := context.WithDeadline(ctx, limit.Add(-reportTime))
		defer cancel()
		ctx = timely
	}
	select {
	case <-ctx.Done():
		return
	case <-activity.GetWorkerStopChannel(ctx):
		return
	case r.places <- struct{}{}:
	}
	info := activity.GetInfo(ctx)
	one := &completion{workflowID: info.WorkflowExecution.ID, token: string(info.TaskToken)}
	r.mu.Lock()
	defer r.mu.Unlock()
	one.limit = time.AfterFunc(completionLimit, func() { r.leave(one) })
	r.open = append(r.open, one)
}

func (r *Limiter) leave(one *completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.open, one); i >= 0 {
		one.limit.Stop()
		r.open = slices.Delete(r.open, i, i+1)
		<-r.places
	}
}

// Sent records that the server has answered the completion of an activity task.
func (r *Limiter) Sent(token []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.open {
		if one.token == string(token) {
			one.limit.Reset(completionTime)
		}
	}
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
