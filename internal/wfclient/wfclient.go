// Package wfclient queries and updates workflows. It hides from its callers that a run may continue as new
// meanwhile, or that a worker may crash before it answers.
package wfclient

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Retries come after pause; Update and Patiently double it each time, up to maxPause.
const (
	pause    = 10 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// Update sends an update to the open workflow with that ID. It returns when the update has reached the
// stage o.WaitForStage. The error is a [serviceerror.NotFound] if no workflow with that ID is open. If ctx
// ends first, the error tree holds the server's reason for not accepting the update, if there was one.
func Update(ctx context.Context, c client.Client, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	o.UpdateID = cmp.Or(o.UpdateID, uuid.NewString())
	for pause := pause; ; pause = min(2*pause, maxPause) {
		handle, err := c.UpdateWorkflow(ctx, o)
		if IsNotFound(err) {
			// or the run that the server found ended before it accepted the update, and the next run is open
			open, unknown := isOpen(ctx, c, o.WorkflowID)
			if !open {
				return nil, cmp.Or(unknown, err)
			}
			err = nil // NotFound would be wrong
		} else if _, failed := errors.AsType[*serviceerror.WorkflowNotReady](err); !failed {
			return handle, err
		} // WorkflowNotReady: the server rejected a workflow task because of a concurrent change, and the update with it
		if late := Sleep(ctx, pause); late != nil {
			return nil, errors.Join(late, err)
		}
	}
}

// isOpen reports whether a workflow with that ID is open. The result is unknown if the error is not nil.
func isOpen(ctx context.Context, c client.Client, workflowID string) (bool, error) {
	found, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	if IsNotFound(err) {
		return false, nil
	}
	return found.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

// IsNotFound reports whether err means that no workflow with the ID is open.
func IsNotFound(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing
}

// ErrTypeGone is the type of the application error with which a workflow that is about to close refuses
// updates.
const ErrTypeGone = "Gone"

// IsGone reports whether err means that no workflow with the ID is open, or that it is about to close.
func IsGone(err error) bool { return IsNotFound(err) || IsRefused(err, ErrTypeGone) }

// IsRefused reports whether a workflow refused an update or a query with that error type. Of the failure of a query
// that a worker answers together with a workflow task, the server hands on only the text (Temporal 1.32).
func IsRefused(err error, errType string) bool {
	if failed, ok := errors.AsType[*serviceerror.QueryFailed](err); ok {
		return failed.Failure.GetApplicationFailureInfo().GetType() == errType ||
			failed.Failure == nil && strings.HasSuffix(failed.Error(), "(type: "+errType+", retryable: false)")
	}
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && refused.Type() == errType
}

// Patiently calls do again until it gets an answer or ctx ends: do may have a shorter deadline than ctx,
// and so may the server. do must be safe to repeat.
func Patiently(ctx context.Context, do func(context.Context) error) error {
	for pause := pause; ; pause = min(2*pause, maxPause) {
		err := do(ctx)
		if !isLate(err) || ctx.Err() != nil || Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// Repeatable returns an update that may be sent again. If a later attempt to delete finds the workflow gone, the delete
// succeeded and only the earlier answer was lost.
func Repeatable(deletes bool, do func(context.Context) error) func(context.Context) error {
	tried := false
	return func(ctx context.Context) error {
		err := do(ctx)
		if tried && deletes && IsGone(err) {
			return nil
		}
		tried = true
		return err
	}
}

// IsTimeout reports whether err means that no answer came in time, or that no worker has polled recently.
func IsTimeout(err error) bool { return isIdle(err) || isLate(err) }

// isLate reports whether err means that no answer came in time.
func isLate(err error) bool {
	_, deadline := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, update := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return deadline || update || errors.Is(err, context.DeadlineExceeded)
}

// isIdle reports whether err is the server's statement that no worker has polled recently.
func isIdle(err error) bool {
	_, idle := errors.AsType[*serviceerror.FailedPrecondition](err)
	return idle
}

// Sleep waits for d. It returns the context's error if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrorOf returns the error for a failure in a workflow's event history or in an update's outcome.
func ErrorOf(c converter.DataConverter, workflowID string, f *failure.Failure) error {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: ConverterFor(c, workflowID),
	}).FailureToError(f)
}

// ConverterFor returns the converter for the payloads of a workflow and its activities, which are encrypted
// for that workflow. It is needed for responses of the client's WorkflowService; the SDK's other calls use
// it on their own.
func ConverterFor(c converter.DataConverter, workflowID string) converter.DataConverter {
	return converter.WithDataConverterSerializationContext(c, converter.WorkflowSerializationContext{WorkflowID: workflowID})
}
