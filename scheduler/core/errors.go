package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"almanac/internal/fields"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

// MissingJob returns the error of a job that does not exist.
func MissingJob(k job.Key) *job.Error {
	return job.NotFound("jobcollections/"+k.Collection.Name+"/jobs/"+k.Name, k.Collection.ResourceGroup)
}

// MissingCollection returns the error of a job collection that does not exist.
func MissingCollection(k job.CollectionKey) *job.Error {
	return job.NotFound("jobcollections/"+k.Name, k.ResourceGroup)
}

// IsMissing reports whether the workflow that was read or changed does not exist.
func IsMissing(err error) bool { return wfclient.IsGone(err) || job.KindOf(err) == job.KindNotFound }

// BadToken returns the error of a $skiptoken that no list returned.
func BadToken() error {
	return &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid",
		Fields: []*job.FieldError{{
			Path: "$skiptoken", Code: fields.Invalid, Allowed: "the value from a nextLink of this list",
			Hint: "start again without it",
		}},
	}
}

// Error turns a Temporal error into a [job.Error]. missing is returned if the workflow does not exist;
// it is nil if the call named none.
func (c *Client) Error(ctx context.Context, err error, missing *job.Error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*job.Error](err); done {
		return err
	}
	if wfclient.IsGone(err) && missing != nil {
		return missing
	}
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		switch refused.Type() {
		case workflows.ErrTypeConflict, workflows.ErrTypeFull:
			return job.Conflictf("%s", refused.Message())
		case workflows.ErrTypeInvalid:
			return &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: refused.Message()}
		case workflows.ErrTypeTooMany:
			var wait time.Duration
			_ = refused.Details(&wait) // the message says when, too
			return &job.Error{Kind: job.KindTooMany, Code: "TooManyRequests", Message: refused.Message(), RetryAfter: wait}
		case workflows.ErrTypeSilent:
			return &job.Error{Kind: job.KindConflict, Code: "JobsDidNotAnswer", Message: refused.Message()}
		}
	}
	if isUnavailable(err) {
		c.Log.WarnContext(ctx, "temporal did not answer", slog.Any("error", err))
		shown := &job.Error{
			Kind: job.KindUnavailable, Code: "ServiceUnavailable", Unanswered: true, Err: err,
			Message: "Temporal, or a worker of Almanac, did not answer in time.",
		}
		if _, silent := errors.AsType[*wfclient.SilentError](err); silent {
			shown.Message, shown.Unchanged = "Temporal does not answer.", true // only reads are given up for it
		}
		if isNoTemporal(err) {
			shown.Message = "What answers at the address of Temporal is not Temporal, or it does not let Almanac through."
		}
		return shown
	}
	return &job.Error{Kind: job.KindInternal, Code: "InternalServerError", Message: "internal error", Err: err}
}

// IsUnchanged reports whether a change ended with err before anything was sent that changes something.
func IsUnchanged(err error) bool {
	shown, ok := errors.AsType[*job.Error](err)
	return ok && shown.Unchanged
}

// MayHaveChanged returns the error of a later attempt at a change: what an earlier attempt sent may have been applied.
func MayHaveChanged(err error) error {
	if !IsUnchanged(err) {
		return err
	}
	shown, _ := errors.AsType[*job.Error](err)
	unknown := *shown
	unknown.Unchanged = false
	return &unknown
}

func isUnavailable(err error) bool {
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, exhausted := errors.AsType[*serviceerror.ResourceExhausted](err)
	_, cancelled := errors.AsType[*serviceerror.Canceled](err)
	_, namespace := errors.AsType[*serviceerror.NamespaceNotFound](err) // not created yet, or deleted
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)   // the workflow task fails and is retried
	// Set by the server: the workflow closed before it answered.
	ended := wfclient.IsRefused(err, "AcceptedUpdateCompletedWorkflow")
	_, silent := errors.AsType[*wfclient.SilentError](err)
	return ended || silent || isNoTemporal(err) || unavailable || exhausted || cancelled || namespace || notReady ||
		wfclient.IsTimeout(err) || errors.Is(err, context.Canceled)
}

// isNoTemporal reports whether something answered by HTTP as no gRPC server does: a proxy, or another service.
func isNoTemporal(err error) bool {
	_, temporals := errors.AsType[serviceerror.ServiceError](err)
	return temporals && strings.Contains(err.Error(), "unexpected HTTP status code received from server")
}

// Why returns the reason, for people, why a workflow could not be read.
func Why(err error) string {
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
	switch {
	case failed:
		return "no worker can read its history; the log of the workers says why"
	case notReady:
		return "its workflow task fails repeatedly; the log of the workers says why"
	case isUnavailable(err):
		return "it did not answer in time"
	}
	return "its stored state could not be read; the log of the API says why"
}

// ReadError is [Client.Error] for reading a job. If the fault is the job's own, as far as Temporal
// shows, the error says so.
func (c *Client) ReadError(ctx context.Context, err error, k job.Key) error {
	shown := c.Error(ctx, err, MissingJob(k))
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
	_, temporals := errors.AsType[serviceerror.ServiceError](err)
	switch kind := job.KindOf(shown); {
	case err == nil, ctx.Err() != nil, kind != job.KindUnavailable && kind != job.KindInternal:
		return shown
	case kind == job.KindInternal && temporals && !failed: // a fault of Temporal's
		return shown
	case kind == job.KindUnavailable && !notReady && !wfclient.IsTimeout(err): // Temporal takes no requests at all
		return shown
	}
	why := Why(err)
	if wfclient.IsTimeout(err) {
		attempt := c.workflowTaskAttempt(ctx, k.WorkflowID())
		if attempt < 2 {
			return shown // possibly no worker answers at all
		}
		why = fmt.Sprintf(
			"its workflow task has failed or timed out, and is at attempt %d; the log of the workers says why", attempt,
		)
	}
	c.Log.WarnContext(ctx, "a job could not be read", slog.String("job", k.ARMID()), slog.Any("error", err))
	return &job.Error{
		Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
		Message: fmt.Sprintf("The job '%s' could not be read: %s. It can still be deleted.", k.Name, why),
	}
}

// workflowTaskAttempt returns the attempt number of a workflow's pending workflow task; 0 if there is none
// or it is not known.
func (c *Client) workflowTaskAttempt(ctx context.Context, id string) int {
	ctx, cancel := context.WithTimeout(ctx, DescribeTimeout)
	defer cancel()
	found, err := c.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return 0
	}
	return int(found.GetPendingWorkflowTask().GetAttempt())
}
