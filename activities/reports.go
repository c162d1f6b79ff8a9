package activities

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// Reports has the outcomes of a herd reported a few at a time. A report gives its workflow
// a task, and a worker is handed tasks in the order in which they were scheduled: if a
// thousand outcomes were reported at once, a call that reads or changes a job would wait
// until a thousand tasks are done.
//
// A report has one of reportPlaces until this process is handed its workflow's task, but
// no longer than reportTime after the server has answered it, for the task may go to
// another process.
type Reports struct {
	places chan struct{}

	mu   sync.Mutex
	open []*openReport // those that have a place
}

const (
	reportPlaces = 16
	reportTime   = 100 * time.Millisecond

	// reportLimit is how long a report has its place at most: longer than the server may
	// take to answer it.
	reportLimit = 90 * time.Second
)

type openReport struct {
	workflowID, token string
	limit             *time.Timer
}

// NewReports returns Reports whose user calls [Reports.Sent] and [Reports.Received].
func NewReports() *Reports { return &Reports{places: make(chan struct{}, reportPlaces)} }

// enter waits for a place. It returns without one where somebody waits for the report: the
// activity is cancelled, or the worker stops.
func (r *Reports) enter(ctx context.Context) {
	if r == nil {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-activity.GetWorkerStopChannel(ctx):
		return
	case r.places <- struct{}{}:
	}
	info := activity.GetInfo(ctx)
	one := &openReport{workflowID: info.WorkflowExecution.ID, token: string(info.TaskToken)}
	r.mu.Lock()
	defer r.mu.Unlock()
	one.limit = time.AfterFunc(reportLimit, func() { r.leave(one) })
	r.open = append(r.open, one)
}

// leave frees the place of a report, if it still has one.
func (r *Reports) leave(one *openReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.open, one); i >= 0 {
		one.limit.Stop()
		r.open = slices.Delete(r.open, i, i+1)
		<-r.places
	}
}

// Sent notes that the server has answered what an activity's task was completed with.
func (r *Reports) Sent(token []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.open {
		if one.token == string(token) {
			one.limit.Reset(reportTime)
		}
	}
}

// Received notes that this process was handed a task of a workflow.
func (r *Reports) Received(workflowID string) {
	r.mu.Lock()
	var done []*openReport
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
