package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// A new job that is not due soon is started with Temporal's start delay. Until the delay is over, no worker
// gets its workflow, which saves a workflow task, a timer and a place in a worker's cache. A query cannot
// be answered in that time, so the status is computed from the workflow's input.

// minStartDelay is the shortest delay worth using.
const minStartDelay = 10 * time.Second

// startDelay returns the start delay of a job's workflow, 0 for none. It is counted from the registration,
// by the server's clock, so this machine's clock does not matter. The start comes at most StartWithin after
// the registration, and the job begins that much later.
func startDelay(in *state.Input, registered time.Time) time.Duration {
	begin := in.Begin()
	if begin.IsZero() || begin.Sub(registered) < minStartDelay {
		return 0
	}
	return begin.Sub(registered)
}

// A query is [wfclient.Queries.Ask] or [wfclient.Queries.AskBeforeChange].
type query func(ctx context.Context, workflowID, name string, result any) error

// queryStatus queries a workflow's status. If the workflow is a job that has not begun, queryStatus
// computes the status from its input and returns the input too. The errors are those of the query.
func (s *Service) queryStatus(ctx context.Context, query query, id string, status any) (*state.Input, error) {
	for again := true; ; again = false {
		err := query(ctx, id, workflows.QueryStatus, status)
		if _, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err); !notReady {
			return nil, err
		}
		in, errRead := s.delayedInput(ctx, id)
		switch {
		case errRead != nil:
			return nil, errRead
		case in != nil:
			return in, remarshal(in.Snapshot(), status)
		case !again: // it has begun, but its workflow task fails
			return nil, err
		}
	}
}

// delayedInput returns the input of a job whose workflow has not begun. It returns nil if the workflow has begun
// or is closed.
func (s *Service) delayedInput(ctx context.Context, id string) (*state.Input, error) {
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	found, err := s.client.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: s.namespace, Execution: &common.WorkflowExecution{WorkflowId: id}, MaximumPageSize: 256, // the server's maximum
	})
	if err != nil {
		return nil, err
	}
	events := found.GetHistory().GetEvents()
	if len(events) == 0 || slices.ContainsFunc(events, beginsOrEnds) {
		return nil, nil
	}
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	if started.GetWorkflowType().GetName() != workflows.TypeJob {
		return nil, nil
	}
	var in state.Input
	if err := wfclient.ConverterFor(s.converter, id).FromPayloads(started.GetInput(), &in); err != nil {
		return nil, err
	}
	return &in, nil
}

func beginsOrEnds(e *history.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED || e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
}

// begin ends the start delay of a job's workflow.
//
// An update would end it too. But the server (1.32) keeps the workflow task for that update in memory only,
// and takes it for the end of the delay if the delay ends meanwhile: if the server crashed then, the job
// would never begin. The workflow task for a signal is written to the database. During a delay only
// SignalWithStart makes such a task; it starts nothing here, because the workflow exists.
func (s *Service) begin(ctx context.Context, id string, in *state.Input) error {
	ctx, cancel := context.WithTimeout(ctx, wfclient.ChangeTimeout)
	defer cancel()
	err := wfclient.Patiently(ctx, func(ctx context.Context) error {
		_, err := s.client.SignalWithStartWorkflow(ctx, id, workflows.SignalBegin, nil, client.StartWorkflowOptions{
			ID: id, TaskQueue: workflows.TaskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		}, workflows.TypeJob, in)
		return err
	})
	if _, ended := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ended {
		return nil // the next call reports it
	}
	return err
}

// remarshal stores value in result, as a query does.
func remarshal(value, result any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}
