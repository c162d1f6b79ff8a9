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

	"almanac/internal/calls"
	"almanac/workflows"
)

// A new job that has nothing to do for a while is started with a delay: until that is
// over no worker hears of its workflow, which spares a workflow task, a timer and a
// place in a worker's memory. An update has the workflow begin at once. A query finds
// nobody who could answer, but what would be answered follows from the input.

// beginAhead is how long before a new job has something to do its workflow begins. The
// delay counts from the start, which comes at most StartWithin after the
// registration, whose time it is reckoned from.
const beginAhead = time.Minute

// startDelay returns how long after its start a job's workflow need not begin. The job
// was registered at an instant by the server's clock, so it matters nothing how wrong
// this machine's is.
func startDelay(in *workflows.JobInput, registered time.Time) time.Duration {
	begin := in.Begin()
	if begin.IsZero() || registered.IsZero() {
		return 0
	}
	return max(0, begin.Sub(registered)-beginAhead)
}

// ask asks a workflow for its status. Its errors are those of [calls.Query].
func (s *Service) ask(ctx context.Context, id string, status any) error {
	for again := true; ; again = false {
		err := calls.Query(ctx, s.client, s.namespace, id, workflows.QueryStatus, status)
		if _, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err); !notReady {
			return err
		}
		in, errRead := s.delayed(ctx, id)
		switch {
		case errRead != nil:
			return errRead
		case in != nil:
			return remarshal(in.Snapshot(), status)
		case !again: // its tasks fail
			return err
		}
	}
}

// delayed returns what a job was started with whose workflow has not begun; nil if it
// has.
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
	if len(events) == 0 || len(found.GetNextPageToken()) > 0 || slices.ContainsFunc(events, begins) {
		return nil, nil
	}
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	if started.GetWorkflowType().GetName() != workflows.TypeJob {
		return nil, nil
	}
	var in workflows.JobInput
	if err := s.converter.FromPayloads(started.GetInput(), &in); err != nil {
		return nil, err
	}
	return &in, nil
}

func begins(e *history.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
}

// remarshal puts a value where a query would put the answer.
func remarshal(value, result any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}
