// Package operations deletes, enables and disables whole job collections.
package operations

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// Operations change whole collections and say how such changes stand. They are safe for concurrent use.
type Operations struct{ core *core.Client }

// New returns Operations.
func New(c *core.Client) *Operations { return &Operations{core: c} }

// Deadlines of calls to Temporal, longer than the 10 s for which a crashed worker keeps a workflow task.
const (
	acceptTimeout = 30 * time.Second // until an operation is accepted
	pollTimeout   = 14 * time.Second
)

// DeleteCollection deletes a collection and its jobs. If that takes longer than 5 s, it returns an operation, which
// continues on the server; otherwise nil. It fails with [workflows.ErrTypeStale] if generation is not 0 and the
// collection has another one.
func (ops *Operations) DeleteCollection(
	ctx context.Context, k job.CollectionKey, generation int,
) (*job.Operation, error) {
	if generation == 0 {
		return ops.operate(ctx, k, workflows.UpdateDelete)
	}
	return ops.operate(ctx, k, workflows.UpdateDelete, generation)
}

// EnableCollection enables a collection: its enabled jobs run again. It returns an operation as
// [Operations.DeleteCollection] does.
func (ops *Operations) EnableCollection(
	ctx context.Context, k job.CollectionKey, p job.Promise,
) (*job.Operation, error) {
	return ops.operate(ctx, k, workflows.UpdateEnable, workflows.StateRequest{Promise: p})
}

// DisableCollection disables a collection: its jobs stop running and keep their state. It returns an
// operation as [Operations.DeleteCollection] does.
func (ops *Operations) DisableCollection(
	ctx context.Context, k job.CollectionKey, p job.Promise,
) (*job.Operation, error) {
	return ops.operate(ctx, k, workflows.UpdateDisable, workflows.StateRequest{Promise: p})
}

// operationPatience is how long a caller waits for an operation on a collection. After that it gets the
// operation's ID instead of the outcome.
const operationPatience = 5 * time.Second

// operate enables, disables or deletes a collection. It returns an operation if that takes longer than
// operationPatience: the operation is the update of the collection's workflow, whose outcome Temporal
// keeps.
func (ops *Operations) operate(
	ctx context.Context, k job.CollectionKey, name string, args ...any,
) (*job.Operation, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	if err := ops.core.Reach(ctx); err != nil {
		return nil, err
	}
	accept, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	update := client.UpdateWorkflowOptions{
		WorkflowID: k.WorkflowID(), UpdateID: uuid.NewString(), UpdateName: name, Args: args,
		WaitForStage: client.WorkflowUpdateStageAccepted,
	}
	var handle client.WorkflowUpdateHandle
	begin := func(ctx context.Context) (err error) {
		handle, err = wfclient.Update(ctx, ops.core.Temporal, update)
		return err
	}
	err := wfclient.Patiently(accept, wfclient.Repeatable(name == workflows.UpdateDelete, begin))
	if err != nil || handle == nil {
		return nil, ops.core.Error(ctx, err, core.MissingCollection(k))
	}
	wait, cancel := context.WithTimeout(ctx, operationPatience)
	defer cancel()
	if err := handle.Get(wait, nil); !wfclient.IsTimeout(err) || ctx.Err() != nil {
		return nil, ops.core.Error(ctx, err, core.MissingCollection(k))
	}
	return &job.Operation{ID: handle.RunID() + "." + handle.UpdateID()}, nil
}

// Operation returns the state of an operation on a collection, from any instance of the API: Temporal
// keeps the outcome with the run of the collection's workflow.
func (ops *Operations) Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error) {
	none := job.NotFound("jobcollections/"+k.Name+"/operations/"+id, k.ResourceGroup)
	run, updateID, _ := strings.Cut(id, ".")
	if uuid.Validate(run) != nil || uuid.Validate(updateID) != nil || k.Validate() != nil {
		return job.Operation{}, none
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	request := &workflowservice.PollWorkflowExecutionUpdateRequest{
		Namespace: ops.core.Namespace,
		UpdateRef: &update.UpdateRef{
			WorkflowExecution: &common.WorkflowExecution{WorkflowId: k.WorkflowID(), RunId: run}, UpdateId: updateID,
		},
	}
	answer, err := ops.core.Temporal.WorkflowService().PollWorkflowExecutionUpdate(ctx, request)
	if err != nil {
		return job.Operation{}, ops.core.Error(ctx, err, none)
	}
	found := job.Operation{ID: id, Done: answer.GetOutcome() != nil}
	if failure := answer.GetOutcome().GetFailure(); failure != nil {
		cause := wfclient.ErrorOf(ops.core.Converter, k.WorkflowID(), failure)
		ops.core.Log.WarnContext(
			ctx, "an operation on a job collection failed", slog.String("collection", k.ARMID()), slog.Any("error", cause),
		)
		found.Failed, _ = errors.AsType[*job.Error](ops.core.Error(ctx, cause, core.MissingCollection(k)))
	}
	return found, nil
}
