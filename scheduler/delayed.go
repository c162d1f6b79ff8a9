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

	"almanac/internal/calls"
	"almanac/workflows"
)

// A new job that is not due soon is started with a delay: until that is over no worker
// hears of its workflow, which spares a workflow task, a timer and a place in a worker's
// memory. A query finds nobody who could answer, but what would be answered follows from
// the input.

// leastDelay is the shortest delay that is worth it.
const leastDelay = 10 * time.Second

// startDelay returns how long after its start a job's workflow need not begin. It is
// reckoned from when the job was registered, by the server's clock, so it matters nothing
// how wrong this machine's is. The start comes at most StartWithin later, and the job
// begins that much later.
func startDelay(in *workflows.JobInput, registered time.Time) time.Duration {
	begin := in.Begin()
	if begin.IsZero() || registered.IsZero() || begin.Sub(registered) < leastDelay {
		return 0
	}
	return begin.Sub(registered)
}

// ask asks a workflow for its status. It returns what a job was started with whose
// workflow has not begun. Its errors are those of the query.
func (s *Service) ask(ctx context.Context, query query, id string, status any) (*workflows.JobInput, error) {
	for again := true; ; again = false {
		err := query(ctx, id, workflows.QueryStatus, status)
		if _, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err); !notReady {
			return nil, err
		}
		in, errRead := s.delayed(ctx, id)
		switch {
		case errRead != nil:
			return nil, errRead
		case in != nil:
			return in, remarshal(in.Snapshot(), status)
		case !again: // its tasks fail
			return nil, err
		}
	}
}

// delayed returns what a job was started with whose workflow has not begun; nil if it
// has, or has ended.
func (s *Service) delayed(ctx context.Context, id string) (*workflows.JobInput, error) {
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	found, err := s.client.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: s.namespace, Execution: &common.WorkflowExecution{WorkflowId: id}, MaximumPageSize: eventsPerPage,
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
	var in workflows.JobInput
	if err := calls.ConverterFor(s.converter, id).FromPayloads(started.GetInput(), &in); err != nil {
		return nil, err
	}
	return &in, nil
}

func beginsOrEnds(e *history.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED || e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
}

// begin has the workflow of a job begin that was started with a delay.
//
// An update would do so by itself. But the server (1.32) keeps the task that it makes for
// that in memory, and takes it for the end of the delay if that comes meanwhile: if it
// crashed then, the job would never begin. The task for a signal is written to its
// database; of signals, only those that might start a workflow make one in a delay. This
// one starts none, for there is one of that id.
func (s *Service) begin(ctx context.Context, id string, in *workflows.JobInput) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	err := calls.Patiently(ctx, func(ctx context.Context) error {
		_, err := s.client.SignalWithStartWorkflow(ctx, id, workflows.SignalBegin, nil, client.StartWorkflowOptions{
			ID: id, TaskQueue: workflows.TaskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		}, workflows.TypeJob, in)
		return err
	})
	if _, ended := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ended {
		return nil // what is asked of it next will say so
	}
	return err
}

// remarshal puts a value where a query would put the answer.
func remarshal(value, result any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}
