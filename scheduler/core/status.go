package core

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// A new job that is not due soon is started with Temporal's start delay. Until the delay is over, no worker
// gets its workflow, which saves a workflow task, a timer and a place in a worker's cache. A query cannot
// be answered in that time, so the status is computed from the workflow's input.

// Status stores the status of a job or collection in status. If it is a job that has not begun, the status is
// computed from the input of its workflow. The errors are those of [wfclient.Queries.Ask].
func (c *Client) Status(ctx context.Context, id string, status any) error {
	_, err := c.status(ctx, c.Ask, id, status)
	return err
}

// StatusBy is [Client.Status], and reports whether a worker has answered.
func (c *Client) StatusBy(ctx context.Context, id string, status any) (answered bool, err error) {
	delayed, err := c.status(ctx, c.Ask, id, status)
	return err == nil && delayed == nil, err
}

// JobToChange returns a job, without its secrets, and begins its workflow if that was started with a delay. A
// change calls it before its update; [Client.begin] says why.
func (c *Client) JobToChange(ctx context.Context, k job.Key) (job.Job, error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	var j job.Job
	delayed, err := c.status(ctx, c.AskBeforeChange, k.WorkflowID(), &j)
	if err == nil && delayed != nil {
		err = c.begin(ctx, k.WorkflowID(), delayed)
	}
	return j.At(c.Now()), c.ReadError(ctx, err, k)
}

// A query is [wfclient.Queries.Ask] or [wfclient.Queries.AskBeforeChange].
type query func(ctx context.Context, workflowID, name string, result any) error

// status is [Client.Status] by that query. It returns the input of a job that has not begun, otherwise nil.
func (c *Client) status(ctx context.Context, query query, id string, status any) (*state.Input, error) {
	for again := true; ; again = false {
		err := query(ctx, id, workflows.QueryStatus, status)
		if _, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err); !notReady {
			return nil, err
		}
		in, errRead := c.delayedInput(ctx, id)
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
func (c *Client) delayedInput(ctx context.Context, id string) (*state.Input, error) {
	ctx, cancel := context.WithTimeout(ctx, HistoryTimeout)
	defer cancel()
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: c.Namespace, Execution: &common.WorkflowExecution{WorkflowId: id},
		MaximumPageSize: 256, // the server's maximum
	}
	found, err := c.Temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, request)
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
	if err := wfclient.ConverterFor(c.Converter, id).FromPayloads(started.GetInput(), &in); err != nil {
		return nil, err
	}
	return &in, nil
}

func beginsOrEnds(e *history.HistoryEvent) bool {
	return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED ||
		e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
}

// begin ends the start delay of a job's workflow.
//
// An update would end it too. But the server (1.32) keeps the workflow task for that update in memory only,
// and takes it for the end of the delay if the delay ends meanwhile: if the server crashed then, the job
// would never begin. The workflow task for a signal is written to the database. During a delay only
// SignalWithStart makes such a task; it starts nothing here, because the workflow exists.
func (c *Client) begin(ctx context.Context, id string, in *state.Input) error {
	ctx, cancel := context.WithTimeout(ctx, wfclient.ChangeTimeout)
	defer cancel()
	o := client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.TaskQueue,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}
	err := wfclient.Patiently(ctx, func(ctx context.Context) error {
		_, err := c.Temporal.SignalWithStartWorkflow(ctx, id, workflows.SignalBegin, nil, o, workflows.TypeJob, in)
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
