package activities

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// Reports limits how many outcomes of a herd are reported at once. Each report creates a workflow task,
// and tasks are dispatched in order: if a thousand outcomes were reported at once, a call that reads or
// changes a job would wait for a thousand tasks.
//
// A report keeps one of reportPlaces until this process receives the workflow's task, but at most
// reportTime after the server's answer, since another process may receive it.
type Reports struct {
	places chan struct{}

	mu   sync.Mutex
	open []*openReport // reports that have a place
}

const (
	reportPlaces = 16
	reportTime   = 100 * time.Millisecond

	// reportLimit is the longest that a report keeps its place: longer than the server may take to answer.
	reportLimit = 90 * time.Second
)

type openReport struct {
	workflowID, token string
	limit             *time.Timer
}

// NewReports returns Reports. The caller must call [Reports.Sent] and [Reports.Received].
func NewReports() *Reports { return &Reports{places: make(chan struct{}, reportPlaces)} }

// enter waits for a place. It returns at once if the report is urgent: the activity is cancelled or the
// worker stops.
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

func (r *Reports) leave(one *openReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.open, one); i >= 0 {
		one.limit.Stop()
		r.open = slices.Delete(r.open, i, i+1)
		<-r.places
	}
}

// Sent records that the server has answered the completion of an activity task.
func (r *Reports) Sent(token []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.open {
		if one.token == string(token) {
			one.limit.Reset(reportTime)
		}
	}
}

// Received records that this process received a task of a workflow.
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
