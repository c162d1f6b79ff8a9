// Package scheduler keeps jobs and job collections as Temporal workflows:
// creating is a workflow start, changing an update, reading a query, and the
// history of a job is read from the event histories of its workflow's runs.
//
// Nothing is stored anywhere else, so any number of Services may work on the
// same namespace.
package scheduler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
)

// Options configure a [Service].
type Options struct {
	Client    client.Client
	Namespace string                  // the client's
	Converter converter.DataConverter // the client's; nil means the SDK's default
	Limits    *job.Limits             // nil means job.DefaultLimits
	Log       *slog.Logger
	Now       func() time.Time // nil means time.Now
}

// A Service creates, changes, reads and deletes jobs and collections. Its
// errors are of type [job.Error]. It is safe for concurrent use.
type Service struct {
	client    client.Client
	namespace string
	converter converter.DataConverter
	limits    *job.Limits
	log       *slog.Logger
	now       func() time.Time
}

// New returns a service.
func New(o Options) *Service {
	s := &Service{
		client: o.Client, namespace: cmp.Or(o.Namespace, client.DefaultNamespace),
		converter: o.Converter, limits: o.Limits, log: o.Log, now: o.Now,
	}
	if s.converter == nil {
		s.converter = converter.GetDefaultDataConverter()
	}
	if s.limits == nil {
		limits := job.DefaultLimits()
		s.limits = &limits
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Deadlines keep a call from hanging when no worker answers. Deleting a
// collection waits until all its jobs are gone.
const (
	updateTimeout = 10 * time.Second
	deleteTimeout = 25 * time.Second
	queryTimeout  = 2 * time.Second
	queryTries    = 3
)

// errLost says that somebody else created or deleted the workflow meanwhile.
var errLost = errors.New("the workflow was created or deleted meanwhile")

// start starts a workflow; it returns errLost if one of that id runs already.
func (s *Service) start(ctx context.Context, o client.StartWorkflowOptions, workflow string, input any) error {
	o.TaskQueue = workflows.TaskQueue
	o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	ctx, cancel := context.WithTimeout(ctx, min(updateTimeout, workflows.StartWithin))
	defer cancel()
	_, err := s.client.ExecuteWorkflow(ctx, o, workflow, input)
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return errLost
	}
	return err
}

// update sends an update to a workflow and waits for the answer.
func (s *Service) update(ctx context.Context, timeout time.Duration, id, name string, result any, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	handle, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, result)
}

// query asks an open workflow. A query that was handed to a worker that died
// is not answered, so it is asked again.
func (s *Service) query(ctx context.Context, id, name string, result any) error {
	var err error
	for range queryTries {
		var answer *client.QueryWorkflowWithOptionsResponse
		attempt, cancel := context.WithTimeout(ctx, queryTimeout)
		answer, err = s.client.QueryWorkflowWithOptions(attempt, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: id, QueryType: name, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
		})
		cancel()
		switch {
		case err == nil && answer.QueryRejected != nil:
			return serviceerror.NewNotFound("the workflow is closed")
		case err == nil:
			return answer.QueryResult.Get(result)
		case !isTimeout(err) || ctx.Err() != nil:
			return err
		}
	}
	return err
}

func isTimeout(err error) bool {
	_, deadline := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return deadline || errors.Is(err, context.DeadlineExceeded)
}

// isGone reports whether the workflow that was asked does not exist any more.
func isGone(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing || isRefused(err, workflows.ErrTypeGone)
}

// isRefused reports whether a workflow refused an update with that error type.
func isRefused(err error, errType string) bool {
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && refused.Type() == errType
}

// fail turns a Temporal error into one that the caller may be shown; missing
// is what to answer if the workflow does not exist, nil where none was asked.
func (s *Service) fail(ctx context.Context, err error, missing *job.Error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*job.Error](err); done {
		return err
	}
	switch {
	case isGone(err) && missing != nil:
		return missing
	case isRefused(err, workflows.ErrTypeConflict):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return job.Conflictf("%s", refused.Message())
	case isRefused(err, workflows.ErrTypeInvalid):
		refused, _ := errors.AsType[*temporal.ApplicationError](err)
		return &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: refused.Message()}
	case isUnavailable(err):
		s.log.WarnContext(ctx, "temporal did not answer", slog.Any("error", err))
		return &job.Error{
			Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
			Message: "Temporal, or a worker of Almanac, did not answer in time. It is not certain whether anything was changed: look, and try again.",
		}
	}
	return &job.Error{Kind: job.KindInternal, Code: "InternalServerError", Message: "internal error", Err: err}
}

func isUnavailable(err error) bool {
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, exhausted := errors.AsType[*serviceerror.ResourceExhausted](err)
	_, cancelled := errors.AsType[*serviceerror.Canceled](err)
	_, namespace := errors.AsType[*serviceerror.NamespaceNotFound](err) // not there yet, or not any more
	_, update := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return unavailable || exhausted || cancelled || namespace || update || isTimeout(err) || errors.Is(err, context.Canceled)
}
