package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/bulk"
	"almanac/internal/audit"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
	changes "almanac/workflows/bulk"
)

// bulkPrefix begins the IDs of operations on selected jobs. Those of whole collections have none.
const bulkPrefix = "bulk."

// BeginBulk is [Service.Bulk] as an operation, which goes on though the caller has gone. The same request is the same
// operation: it is begun once, and once more only if it failed.
func (s *Service) BeginBulk(
	ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string,
) (job.Operation, error) {
	c, err := s.core.Collection(ctx, k)
	if err != nil {
		return job.Operation{}, err
	}
	in := bulk.Input{Collection: c.Key, Action: action, Jobs: slices.Clone(jobs), Request: request, Actor: audit.ActorOf(ctx)}
	for i := range in.Jobs { // it is the same of all
		in.Promise, in.Jobs[i].Promise = in.Jobs[i].Promise, nil
	}
	_, err = s.core.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: k.BulkWorkflowID(request), TaskQueue: workflows.TaskQueue, WorkflowExecutionTimeout: changes.Timeout,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            string(action) + " many jobs of " + c.Key.Name,
		Memo:                     map[string]any{workflows.MemoID: c.Key.ARMID()},
		Priority:                 temporal.Priority{FairnessKey: fairnessKey(k)},
	}, workflows.TypeBulk, in)
	if _, done := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); done {
		err = nil
	}
	return job.Operation{ID: bulkPrefix + request}, s.core.Error(ctx, err, nil)
}

// Operation returns the state of an operation on a collection or on selected jobs of it.
func (s *Service) Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error) {
	request, selected := strings.CutPrefix(id, bulkPrefix)
	if !selected {
		return s.Operations.Operation(ctx, k, id)
	}
	o, _, err := s.bulkOperation(ctx, k, request)
	return o, err
}

// BulkResults returns what became of the jobs of an operation, in their order, once it has ended.
func (s *Service) BulkResults(
	ctx context.Context, k job.CollectionKey, id string,
) (o job.Operation, results []job.BulkResult, err error) {
	request, selected := strings.CutPrefix(id, bulkPrefix)
	if !selected {
		return o, nil, missingOperation(k, id)
	}
	o, run, err := s.bulkOperation(ctx, k, request)
	if err != nil || !o.Done || o.Failed != nil {
		return o, nil, err
	}
	var outcomes []bulk.Outcome
	var in bulk.Input
	if err = run.Get(ctx, &outcomes); err == nil {
		err = s.inputOf(ctx, run, &in)
	}
	for i := range min(len(outcomes), len(in.Jobs)) {
		one := &outcomes[i]
		results = append(results, job.BulkResult{
			Key: in.Collection.Job(in.Jobs[i].Name), Status: one.Status, Execution: one.Execution, Err: one.Err(),
		})
	}
	return o, results, s.core.Error(ctx, err, missingOperation(k, id))
}

func missingOperation(k job.CollectionKey, id string) *job.Error {
	return job.NotFound("jobcollections/"+k.Name+"/operations/"+id, k.ResourceGroup)
}

// bulkOperation returns the state of an operation on selected jobs, and its run.
func (s *Service) bulkOperation(
	ctx context.Context, k job.CollectionKey, request string,
) (o job.Operation, run client.WorkflowRun, err error) {
	if err := k.Validate(); err != nil {
		return o, nil, err
	}
	workflowID := k.BulkWorkflowID(request)
	found, err := s.core.Temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return o, nil, s.core.Error(ctx, err, missingOperation(k, bulkPrefix+request))
	}
	status := found.GetWorkflowExecutionInfo().GetStatus()
	o = job.Operation{ID: bulkPrefix + request, Done: status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING}
	run = s.core.Temporal.GetWorkflow(ctx, workflowID, found.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	if o.Done && status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		s.core.Log.WarnContext(
			ctx, "an operation on many jobs failed", slog.String("collection", k.ARMID()), slog.Any("error", run.Get(ctx, nil)),
		)
		o.Failed = &job.Error{Kind: job.KindUnavailable, Code: "ServiceUnavailable",
			Message: "Not all jobs could be changed in time. Repeat the request: what was done is not done again."}
	}
	return o, run, nil
}

// inputOf decodes the input of a run.
func (s *Service) inputOf(ctx context.Context, run client.WorkflowRun, in any) error {
	events := s.core.Temporal.GetWorkflowHistory(
		ctx, run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT,
	)
	first, err := events.Next()
	if err != nil {
		return err
	}
	payloads := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	return wfclient.ConverterFor(s.core.Converter, run.GetID()).FromPayloads(payloads, in)
}
