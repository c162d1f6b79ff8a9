package scheduler

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
	"almanac/workflows"
)

// DeleteCollection deletes a collection and its jobs. If that takes longer than 5 s, it returns an
// operation, which continues on the server; otherwise nil.
func (s *Service) DeleteCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return s.operate(ctx, k, workflows.UpdateDelete)
}

// EnableCollection enables a collection: its enabled jobs run again. It returns an operation as
// [Service.DeleteCollection] does.
func (s *Service) EnableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return s.operate(ctx, k, workflows.UpdateEnable)
}

// DisableCollection disables a collection: its jobs stop running and keep their state. It returns an
// operation as [Service.DeleteCollection] does.
func (s *Service) DisableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return s.operate(ctx, k, workflows.UpdateDisable)
}

// operationPatience is how long a caller waits for an operation on a collection. After that it gets the
// operation's ID instead of the outcome.
const operationPatience = 5 * time.Second

// operate enables, disables or deletes a collection. It returns an operation if that takes longer than
// operationPatience: the operation is the update of the collection's workflow, whose outcome Temporal
// keeps.
func (s *Service) operate(ctx context.Context, k job.CollectionKey, name string) (*job.Operation, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	missing := missingCollection(k)
	accept, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	o := client.UpdateWorkflowOptions{
		WorkflowID: k.WorkflowID(), UpdateID: uuid.NewString(), UpdateName: name, WaitForStage: client.WorkflowUpdateStageAccepted,
	}
	var handle client.WorkflowUpdateHandle
	err := wfclient.Patiently(accept, repeatable(name, func(ctx context.Context) (err error) {
		handle, err = wfclient.Update(ctx, s.client, o)
		return err
	}))
	if err != nil || handle == nil {
		return nil, s.jobError(ctx, err, missing)
	}
	wait, cancel := context.WithTimeout(ctx, operationPatience)
	defer cancel()
	if err := handle.Get(wait, nil); !wfclient.IsTimeout(err) || ctx.Err() != nil {
		return nil, s.jobError(ctx, err, missing)
	}
	return &job.Operation{ID: handle.RunID() + "." + handle.UpdateID()}, nil
}

// Operation returns the state of an operation on a collection, from any instance of the API: Temporal
// keeps the outcome with the run of the collection's workflow.
func (s *Service) Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error) {
	missing := job.NotFound("jobcollections/"+k.Name+"/operations/"+id, k.ResourceGroup)
	run, updateID, _ := strings.Cut(id, ".")
	if uuid.Validate(run) != nil || uuid.Validate(updateID) != nil || k.Validate() != nil {
		return job.Operation{}, missing
	}
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	found, err := s.client.WorkflowService().PollWorkflowExecutionUpdate(ctx, &workflowservice.PollWorkflowExecutionUpdateRequest{
		Namespace: s.namespace,
		UpdateRef: &update.UpdateRef{
			WorkflowExecution: &common.WorkflowExecution{WorkflowId: k.WorkflowID(), RunId: run}, UpdateId: updateID,
		},
	})
	if err != nil {
		return job.Operation{}, s.jobError(ctx, err, missing)
	}
	o := job.Operation{ID: id, Done: found.GetOutcome() != nil}
	if failure := found.GetOutcome().GetFailure(); failure != nil {
		cause := wfclient.ErrorOf(s.converter, k.WorkflowID(), failure)
		s.log.WarnContext(ctx, "an operation on a job collection failed", slog.String("collection", k.ARMID()), slog.Any("error", cause))
		o.Failed, _ = errors.AsType[*job.Error](s.jobError(ctx, cause, missingCollection(k)))
	}
	return o, nil
}
