// Package calls asks and changes workflows so that the caller does not notice
// what may happen in between: a run that hands over to the next one, or a
// worker that dies with the question.
package calls

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// An attempt of a query that is not answered within firstTimeout may have been
// handed to a worker that was killed, or is paused, so another one is made, for
// which a busy worker has twice the time, up to mostTimeout. None is made after
// queryTime: a workflow whose task was handed to such a worker answers nothing
// until that task times out, after 10 s, and workers that are just started may
// have much to catch up on. If the server itself says that no worker asks for
// work, that is given idleTime.
const (
	firstTimeout = 300 * time.Millisecond
	mostTimeout  = 3 * time.Second
	queryTime    = 25 * time.Second
	idleTime     = 6 * time.Second

	resetTimeout = time.Second
	pause        = 10 * time.Millisecond
)

// Query asks an open workflow in the client's namespace and puts the answer into
// result. The error is a [serviceerror.NotFound] if no open workflow has that id.
func Query(ctx context.Context, c client.Client, namespace, workflowID, name string, result any) error {
	timeout, start, misreadings := firstTimeout, time.Now(), 0
	for {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		answer, err := c.QueryWorkflowWithOptions(attempt, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: workflowID, QueryType: name, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
		})
		silent := attempt.Err() != nil // whatever the server calls it
		cancel()
		limit := queryTime
		if isIdle(err) && !silent {
			limit = idleTime
		}
		switch {
		case err == nil && answer.QueryRejected.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
			if err := Sleep(ctx, pause); err != nil { // the next run takes the question
				return err
			}
		case err == nil && answer.QueryRejected != nil:
			return serviceerror.NewNotFound("the workflow is closed")
		case err == nil:
			return answer.QueryResult.Get(result)
		case isMisread(err) && misreadings < mostMisreadings:
			misreadings++
			if err := Sleep(ctx, pause); err != nil {
				return err
			}
		case !silent && !IsTimeout(err), ctx.Err() != nil, time.Since(start) > limit:
			return err
		default:
			unstick(ctx, c, namespace, workflowID)
			if err := Sleep(ctx, timeout/4); err != nil { // it may have come back at once
				return err
			}
			timeout = min(2*timeout, mostTimeout)
		}
	}
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
func unstick(ctx context.Context, c client.Client, namespace, workflowID string) {
	if !unstuck.due(namespace+"/"+workflowID, time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	_, _ = c.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{
		Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: workflowID},
	})
}

// unstuck knows which workflows were unstuck lately. Another worker has to read
// a workflow's whole history: where the machine is merely busy, many questions
// about one workflow must not make it busier.
var unstuck lately

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

// Update sends an update to the open workflow of that id. It returns when the
// update has come as far as o.WaitForStage says. The error is a
// [serviceerror.NotFound] if no open workflow has that id.
func Update(ctx context.Context, c client.Client, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	o.UpdateID = cmp.Or(o.UpdateID, uuid.NewString())
	for {
		handle, err := c.UpdateWorkflow(ctx, o)
		switch _, failed := errors.AsType[*serviceerror.WorkflowNotReady](err); {
		case failed:
			// The server refused what the workflow was about to do since
			// something else happened meanwhile, and the update with it.
		case IsNotFound(err) && isOpen(ctx, c, o.WorkflowID):
			// The run that was found first ended before it took the update.
		default:
			return handle, err
		}
		if err := Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func isOpen(ctx context.Context, c client.Client, workflowID string) bool {
	found, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	return err == nil && found.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// IsNotFound reports whether no open workflow has the id that was asked.
func IsNotFound(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing
}

// ErrTypeGone is the type of the application error that a workflow refuses
// updates with because it is about to end.
const ErrTypeGone = "Gone"

// IsGone reports whether there is no open workflow of the id that was asked,
// or one that is about to end.
func IsGone(err error) bool { return IsNotFound(err) || IsRefused(err, ErrTypeGone) }

// IsRefused reports whether a workflow refused an update, or a query, with that
// error type.
func IsRefused(err error, errType string) bool {
	if failed, ok := errors.AsType[*serviceerror.QueryFailed](err); ok {
		return failed.Failure.GetApplicationFailureInfo().GetType() == errType
	}
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && refused.Type() == errType
}

// IsTimeout reports whether there was no answer in time. That no worker asked
// for work lately, as the server may put it, is the same.
func IsTimeout(err error) bool {
	_, deadline := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, update := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return isIdle(err) || deadline || update || errors.Is(err, context.DeadlineExceeded)
}

// isIdle reports whether the server says that no worker asked for work lately.
func isIdle(err error) bool {
	_, idle := errors.AsType[*serviceerror.FailedPrecondition](err)
	return idle
}

// Sleep waits, or returns the context's error if it ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
