package activities

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// A CompletionLimiter limits how many activities of a herd are completed at once. Each completion creates
// a workflow task, and tasks are dispatched in order: if a thousand activities were completed at once, a
// call that reads or changes a job would wait for a thousand tasks.
//
// A completion keeps one of completionPlaces until this process receives the workflow's task, but at most
// completionTime after the server's answer, since another process may receive it.
type CompletionLimiter struct {
	places chan struct{}

	mu   sync.Mutex
	open []*openCompletion // completions that have a place
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

type openCompletion struct {
	workflowID, token string
	limit             *time.Timer
}

// NewCompletionLimiter returns a CompletionLimiter. The caller must call [CompletionLimiter.Sent] and [CompletionLimiter.Received].
func NewCompletionLimiter() *CompletionLimiter {
	return &CompletionLimiter{places: make(chan struct{}, completionPlaces)}
}

// enter waits for a place. It returns at once if the completion is urgent: the activity is cancelled, its
// time limit is near, or the worker stops.
func (r *CompletionLimiter) enter(ctx context.Context) {
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
	one := &openCompletion{workflowID: info.WorkflowExecution.ID, token: string(info.TaskToken)}
	r.mu.Lock()
	defer r.mu.Unlock()
	one.limit = time.AfterFunc(completionLimit, func() { r.leave(one) })
	r.open = append(r.open, one)
}

func (r *CompletionLimiter) leave(one *openCompletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.open, one); i >= 0 {
		one.limit.Stop()
		r.open = slices.Delete(r.open, i, i+1)
		<-r.places
	}
}

// Sent records that the server has answered the completion of an activity task.
func (r *CompletionLimiter) Sent(token []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.open {
		if one.token == string(token) {
			one.limit.Reset(completionTime)
		}
	}
}

// Received records that this process received a task of a workflow.
func (r *CompletionLimiter) Received(workflowID string) {
	r.mu.Lock()
	var done []*openCompletion
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
