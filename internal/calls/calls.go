// Package calls asks and changes workflows so that the caller does not notice
// what may happen in between: a run that hands over to the next one, or a
// worker that dies with the question.
package calls

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// What has to be tried again is, after pause; that doubles up to mostPause where a
// workflow goes on to fail.
const (
	pause     = 10 * time.Millisecond
	mostPause = 500 * time.Millisecond
)

// Update sends an update to the open workflow of that id. It returns when the
// update has come as far as o.WaitForStage says. The error is a
// [serviceerror.NotFound] if no open workflow has that id. One that ends with the context
// says in its tree why the update was not taken, if the server said so.
func Update(ctx context.Context, c client.Client, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	o.UpdateID = cmp.Or(o.UpdateID, uuid.NewString())
	for pause := pause; ; pause = min(2*pause, mostPause) {
		handle, err := c.UpdateWorkflow(ctx, o)
		if IsNotFound(err) { // it may be that only the run that was found first ended before it took the update
			open, unknown := isOpen(ctx, c, o.WorkflowID)
			if !open {
				return nil, cmp.Or(unknown, err)
			}
			err = nil // which would say that there is none
		} else if _, failed := errors.AsType[*serviceerror.WorkflowNotReady](err); !failed {
			return handle, err
		} // otherwise the server refused what the workflow was about to do since something else happened meanwhile, and the update with it
		if late := Sleep(ctx, pause); late != nil {
			return nil, errors.Join(late, err)
		}
	}
}

// isOpen reports whether there is an open workflow of that id. Without an answer, that is
// not known.
func isOpen(ctx context.Context, c client.Client, workflowID string) (bool, error) {
	found, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	if IsNotFound(err) {
		return false, nil
	}
	return found.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, err
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

// Patiently does what may be done more than once. It does so again as long as there is
// no answer in time and ctx is not over: do may have a shorter deadline, and so may the
// server for what it does itself.
func Patiently(ctx context.Context, do func(context.Context) error) error {
	for pause := pause; ; pause = min(2*pause, mostPause) {
		err := do(ctx)
		if !isLate(err) || ctx.Err() != nil || Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// IsTimeout reports whether there was no answer in time. That no worker asked
// for work lately, as the server may put it, is the same.
func IsTimeout(err error) bool { return isIdle(err) || isLate(err) }

// isLate reports whether there was no answer in time.
func isLate(err error) bool {
	_, deadline := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, update := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return deadline || update || errors.Is(err, context.DeadlineExceeded)
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

// ConverterFor returns the converter for the payloads of a workflow and of its activities,
// which are encrypted for that workflow. The SDK does so by itself, but not where responses
// of its WorkflowService are read.
func ConverterFor(c converter.DataConverter, workflowID string) converter.DataConverter {
	return converter.WithDataConverterSerializationContext(c, converter.WorkflowSerializationContext{WorkflowID: workflowID})
}
