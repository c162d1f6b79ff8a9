package calls

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// A query that is not answered within firstTimeout may have been handed to a worker
// that was killed, or is paused, so another attempt is made beside the first, which a
// worker that is merely busy may still answer. The time since the first doubles with
// each, but they are no more than mostTimeout apart. Each but the first is given up when
// the next one is made, or after firstTimeout if that is later. There are none after
// queryTime: a workflow whose task was handed to such a worker answers nothing until that
// task times out, after 10 s, and workers that are just started may have much to catch up
// on. If the server itself says that no worker asks for work, that is given idleTime.
const (
	firstTimeout = 300 * time.Millisecond
	mostTimeout  = 3 * time.Second
	queryTime    = 25 * time.Second
	idleTime     = 6 * time.Second

	resetTimeout = time.Second

	// maxAnother bounds how many attempts beside first ones there are at a time. They help
	// where a worker does not answer, and then end within milliseconds. If it is the server that
	// is slow, they last, and each is more work for it: without a bound, queries of a
	// server that was too busy to answer kept it so for minutes.
	maxAnother = 16
)

// Queries asks open workflows of a namespace. It is safe for concurrent use.
type Queries struct {
	client    client.Client
	namespace string
	usual     usual
	unstuck   lately
	another   chan struct{} // holds an element for each attempt beside a first one
}

// NewQueries returns what asks workflows in the client's namespace.
func NewQueries(c client.Client, namespace string) *Queries {
	return &Queries{client: c, namespace: namespace, another: make(chan struct{}, maxAnother)}
}

// Ask asks an open workflow and puts the answer into result. The error is a
// [serviceerror.NotFound] if no open workflow has that id.
func (q *Queries) Ask(ctx context.Context, workflowID, name string, result any) error {
	return q.ask(ctx, firstTimeout, workflowID, name, result)
}

// AskBeforeChange is [Queries.Ask] for a workflow that is about to be changed. It waits
// less for the worker that last had the workflow: once another one has answered, the
// change goes to any as well, and otherwise it would wait for that worker until the
// sticky timeout is over. Reads are many at once and hurry less, for whichever worker
// gets the workflow next has to read its whole history.
func (q *Queries) AskBeforeChange(ctx context.Context, workflowID, name string, result any) error {
	return q.ask(ctx, q.usual.timeout(), workflowID, name, result)
}

func (q *Queries) ask(ctx context.Context, timeout time.Duration, workflowID, name string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	answers := make(chan answer)
	// Of a workflow whose delay is over soon, the server keeps a question with a late deadline
	// until then, and refuses it otherwise: so all but the first have an early one.
	begin := func(another bool, limit time.Duration) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if another {
			select {
			case q.another <- struct{}{}:
				defer func() { <-q.another }()
			case <-ctx.Done():
				return
			}
			q.unstick(ctx, workflowID)
		}
		a := q.attempt(ctx, workflowID, name)
		if ctx.Err() != nil { // nobody waits for it any more
			return
		}
		select {
		case answers <- a:
		case <-ctx.Done():
		}
	}
	start, last := time.Now(), error(nil)
	go begin(false, queryTime)
	next := time.NewTimer(timeout)
	defer next.Stop()
	for {
		select {
		case a := <-answers:
			if a.err == nil {
				q.usual.took(min(a.took, firstTimeout))
				return a.value.Get(result)
			}
			if !IsTimeout(a.err) || isIdle(a.err) && time.Since(start) > idleTime {
				return a.err
			}
			last = a.err
			next.Reset(timeout / 4) // it may have come back at once
		case <-next.C:
			go begin(true, max(timeout, firstTimeout))
			next.Reset(timeout)
			timeout = min(2*timeout, mostTimeout)
		case <-ctx.Done():
			return cmp.Or(last, ctx.Err())
		}
	}
}

// An answer is what an attempt of a query came to.
type answer struct {
	value converter.EncodedValue
	took  time.Duration
	err   error
}

// attempt asks a workflow once. A run that hands over leaves the question to the next one,
// and a worker that misread the history is asked again.
func (q *Queries) attempt(ctx context.Context, workflowID, name string) answer {
	misreadings := 0
	for {
		asked := time.Now()
		found, err := q.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: workflowID, QueryType: name, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
		})
		switch {
		case err == nil && found.QueryRejected == nil:
			return answer{value: found.QueryResult, took: time.Since(asked)}
		case err == nil && found.QueryRejected.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
			return answer{err: serviceerror.NewNotFound("the workflow is closed")}
		case err != nil && (!isMisread(err) || misreadings == mostMisreadings):
			return answer{err: err}
		case err != nil:
			misreadings++
		}
		if err := Sleep(ctx, pause); err != nil {
			return answer{err: err}
		}
	}
}

// usual knows how long queries take that are answered: a mean in which the latest counts
// one part in usualOf. The zero value takes them to be quick.
type usual struct {
	mu   sync.Mutex
	mean time.Duration
}

// Before a change, a query may take usualTimes as long as usual, but at least
// leastTimeout, until another attempt is made.
const (
	usualTimes   = 5
	usualOf      = 8
	leastTimeout = 60 * time.Millisecond
)

// took notes how long a query took that was answered.
func (u *usual) took(d time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mean += (d - u.mean) / usualOf
}

// timeout returns after how long another attempt is made of a query before a change.
func (u *usual) timeout() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return min(max(leastTimeout, usualTimes*u.mean), firstTimeout)
}

// mostMisreadings is how often a query that a worker answered by a wrong replay is
// asked again.
const mostMisreadings = 5

// isMisread reports whether a worker says that a workflow's code does not match its
// history. A worker that has a workflow not in its cache any more, and reads its history
// while that grows, takes what came last for new (github.com/temporalio/sdk-go/issues/755).
// It reads it anew for the next query.
func isMisread(err error) bool {
	failed, ok := errors.AsType[*serviceerror.QueryFailed](err)
	return ok && strings.Contains(failed.Message, "TMPRL1100")
}

// unstick has the server ask any worker about a workflow, and not the one that
// has it in its cache, or had when it died. Where that does not work, the next
// attempt tells.
func (q *Queries) unstick(ctx context.Context, workflowID string) {
	if !q.unstuck.due(workflowID, time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	_, _ = q.client.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{
		Namespace: q.namespace, Execution: &common.WorkflowExecution{WorkflowId: workflowID},
	})
}

// A workflow is unstuck once in unstickPause. Another worker has to read its whole
// history: where the machine is merely busy, many questions about one workflow must
// not make it busier.
const (
	unstickPause = 10 * time.Second
	maxLately    = 1000
)

// lately knows what was done in the last unstickPause. The zero value knows nothing.
type lately struct {
	mu   sync.Mutex
	done map[string]time.Time
}

// due reports whether something was not done lately, and takes it for done.
func (l *lately) due(what string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.done[what]) < unstickPause {
		return false
	}
	if l.done == nil || len(l.done) == maxLately {
		l.done = map[string]time.Time{}
	}
	l.done[what] = now
	return true
}
