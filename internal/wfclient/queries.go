package wfclient

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

// A query that is not answered within firstTimeout may have been given to a worker that crashed or is
// paused. So another attempt is made beside the first one, which a busy worker may still answer. Attempts
// are made 0.3, 0.6, 1.2, 2.4 s and so on after the first, at most maxTimeout apart. The first attempt
// lasts until queryTimeout, or ChangeTimeout before a change; each of the others until the next one is made, and at
// least firstTimeout.
//
// Both are so long because a workflow whose workflow task was given to a crashed worker answers
// nothing until that task times out, after 10 s, and because workers that have just started may have much
// to catch up on. If the server itself says that no worker polls, the query gives up after idleTimeout.
const (
	firstTimeout = 300 * time.Millisecond
	maxTimeout   = 3 * time.Second
	queryTimeout = 25 * time.Second
	idleTimeout  = 6 * time.Second

	resetTimeout = time.Second

	// maxExtraAttempts is the limit of attempts beside first ones, over all queries. If a worker does not
	// answer, they help and end within milliseconds. If the server is slow, they last, and each makes it
	// slower: without a limit, queries kept a busy server too busy to answer for minutes.
	maxExtraAttempts = 16
)

// ChangeTimeout is the time limit of a whole change. It may wait for a lease to expire, for another worker to take over
// the workflow task, or, after everything was down, behind the tasks of all jobs that have to catch up. A query before
// a change has as long, since a change that gives up has to be looked into. It is below the time limit of a request,
// [almanac/api.DefaultTimeout].
const ChangeTimeout = 50 * time.Second

// Queries queries open workflows of a namespace. It is safe for concurrent use.
type Queries struct {
	// Server is asked while [Queries.Ask] has no answer; nil asks nothing. If the server does not answer it either, the
	// query ends with its error.
	Server *Server

	client    client.Client
	namespace string
	durations meanDuration
	resets    recentResets
	flights   flights
	extra     chan struct{} // a semaphore for attempts beside first ones
}

// NewQueries returns the Queries of the client's namespace.
func NewQueries(c client.Client, namespace string) *Queries {
	return &Queries{client: c, namespace: namespace, extra: make(chan struct{}, maxExtraAttempts)}
}

// Ask queries an open workflow and stores the answer in result. The error is a [serviceerror.NotFound] if
// no workflow with that ID is open.
func (q *Queries) Ask(ctx context.Context, workflowID, name string, result any) error {
	return q.shared(ctx, "read", workflowID, name, result, func(ctx context.Context) (value converter.EncodedValue, err error) {
		err = q.Server.While(ctx, func(ctx context.Context) error {
			value, err = q.ask(ctx, queryTimeout, firstTimeout, workflowID, name)
			return err
		})
		return value, err
	})
}

// AskBeforeChange is [Queries.Ask] for a workflow that is about to be changed. It makes the second attempt sooner, 60
// to 300 ms after the first: once another worker has answered, the change goes to that one too, instead of waiting for
// the first worker until the sticky timeout. Ask is more patient, because reads are many at once and the next worker
// has to read the workflow's whole history. It gives up early with a [SilentError] if the server cannot be reached.
func (q *Queries) AskBeforeChange(ctx context.Context, workflowID, name string, result any) error {
	return q.shared(ctx, "change", workflowID, name, result, func(ctx context.Context) (value converter.EncodedValue, err error) {
		err = q.Server.WhileReachable(ctx, func(ctx context.Context) error {
			value, err = q.ask(ctx, ChangeTimeout, q.durations.earlyTimeout(), workflowID, name)
			return err
		})
		return value, err
	})
}

// shared asks once for all callers at the same time with that purpose.
func (q *Queries) shared(
	ctx context.Context, purpose, workflowID, name string, result any, ask func(context.Context) (converter.EncodedValue, error),
) error {
	value, err := q.flights.share(ctx, purpose+" "+name+" "+workflowID, ask)
	if err != nil {
		return err
	}
	return value.Get(result)
}

// ask queries for limit at most, and makes the second attempt after timeout.
func (q *Queries) ask(ctx context.Context, limit, timeout time.Duration, workflowID, name string) (converter.EncodedValue, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answers := make(chan answer)
	// If a workflow's start delay ends before a query's deadline, the server holds the query until then;
	// otherwise it refuses it. So all attempts but the first have an early deadline.
	begin := func(another bool, limit time.Duration) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if another {
			select {
			case q.extra <- struct{}{}:
				defer func() { <-q.extra }()
			case <-ctx.Done():
				return
			}
			q.resetSticky(ctx, workflowID)
		}
		a := q.attempt(ctx, workflowID, name)
		if ctx.Err() != nil { // the caller has its answer, or has given up
			return
		}
		select {
		case answers <- a:
		case <-ctx.Done():
		}
	}
	start, last := time.Now(), error(nil)
	go begin(false, limit)
	next := time.NewTimer(timeout)
	defer next.Stop()
	for {
		select {
		case a := <-answers:
			if a.err == nil {
				q.durations.add(min(a.took, firstTimeout))
				return a.value, nil
			}
			if !IsTimeout(a.err) || isIdle(a.err) && time.Since(start) > idleTimeout {
				return nil, a.err
			}
			last = a.err
			next.Reset(timeout / 4) // the attempt may have failed at once
		case <-next.C:
			go begin(true, max(timeout, firstTimeout))
			next.Reset(timeout)
			timeout = min(2*timeout, maxTimeout)
		case <-ctx.Done():
			return nil, cmp.Or(last, ctx.Err())
		}
	}
}

// An answer is the result of one attempt.
type answer struct {
	value converter.EncodedValue
	took  time.Duration
	err   error
}

// attempt queries a workflow once. It repeats the query if the run continued as new, and up to
// maxMisreadings times, with growing pauses, if the worker misread the history.
func (q *Queries) attempt(ctx context.Context, workflowID, name string) answer {
	misreadings := 0
	for pause := pause; ; pause = min(2*pause, maxMisreadPause) {
		asked := time.Now()
		found, err := q.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: workflowID, QueryType: name, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
		})
		switch {
		case err == nil && found.QueryRejected == nil:
			return answer{value: found.QueryResult, took: time.Since(asked)}
		case err == nil && found.QueryRejected.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
			return answer{err: serviceerror.NewNotFound("the workflow is closed")}
		case err != nil && (!isMisread(err) || misreadings == maxMisreadings):
			return answer{err: err}
		case err != nil:
			misreadings++
		}
		if err := Sleep(ctx, pause); err != nil {
			return answer{err: err}
		}
	}
}

// A meanDuration is the mean duration of answered queries, in which the latest has the weight 1/meanWeight.
// The zero value stands for quick queries.
type meanDuration struct {
	mu   sync.Mutex
	mean time.Duration
}

// Before a change, the second attempt is made after earlyFactor times the mean duration of a query, at least
// minEarlyTimeout and at most firstTimeout.
const (
	earlyFactor     = 5
	meanWeight      = 8
	minEarlyTimeout = 60 * time.Millisecond
)

// add adds the duration of an answered query.
func (m *meanDuration) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mean += (d - m.mean) / meanWeight
}

// earlyTimeout returns the time after which the second attempt of a query before a change is made.
func (m *meanDuration) earlyTimeout() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return min(max(minEarlyTimeout, earlyFactor*m.mean), firstTimeout)
}

// maxMisreadings is the limit of repetitions of a query that failed because of a wrong replay. The pauses between them
// grow to maxMisreadPause, since a history that grows all the time may be misread again; together they are shorter than
// firstTimeout.
const (
	maxMisreadings  = 5
	maxMisreadPause = 80 * time.Millisecond
)

// isMisread reports whether a worker found a workflow's code not to match its history. That happens without
// a fault in the code: a worker without the workflow in its cache that reads the history while it grows
// takes the latest events for new ones (github.com/temporalio/sdk-go/issues/755). The next query makes it
// read the history anew.
func isMisread(err error) bool {
	failed, ok := errors.AsType[*serviceerror.QueryFailed](err)
	return ok && strings.Contains(failed.Message, "TMPRL1100")
}

// resetSticky resets the workflow's sticky task queue, so that the next query goes to any worker and not to
// the last one, which may have crashed. It reports no error: the next attempt does.
func (q *Queries) resetSticky(ctx context.Context, workflowID string) {
	if !q.resets.due(workflowID, time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	_, _ = q.client.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{
		Namespace: q.namespace, Execution: &common.WorkflowExecution{WorkflowId: workflowID},
	})
}

// A workflow's sticky queue is reset once in resetPause. The next worker has to read its whole history,
// so on a busy machine many queries of one workflow must not add to the load.
const (
	resetPause = 10 * time.Second
	maxResets  = 1000
)

// recentResets records the workflows whose sticky queue was reset in the last resetPause. The zero value is
// empty.
type recentResets struct {
	mu sync.Mutex
	at map[string]time.Time // by workflow ID
}

// due reports whether a workflow was not reset in the last resetPause, and records that it is reset now.
func (r *recentResets) due(workflowID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.at[workflowID]) < resetPause {
		return false
	}
	if r.at == nil || len(r.at) == maxResets {
		r.at = map[string]time.Time{}
	}
	r.at[workflowID] = now
	return true
}
