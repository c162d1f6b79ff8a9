package history

import (
	"context"
	"slices"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows/jobloop/state"
)

// Execution returns the entries of the execution with that number ([job.Execution.Repeat]) of a job, newest first: in
// the workflow that was described, and its earlier runs. Of a run that cannot have one it reads the first event only,
// which says how many executions there had been.
func (r *Reader) Execution(
	ctx context.Context, described *workflowservice.DescribeWorkflowExecutionResponse, repeat int,
) ([]job.Record, error) {
	info := described.GetWorkflowExecutionInfo()
	var records []job.Record
	collect := func(batch []entry) bool {
		for _, e := range batch {
			if e.Repeat == repeat {
				records = append(records, e.Record)
			}
		}
		return false
	}
	run := r.run(info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId(), eventsPerPage)
	run.expectPending(described.GetPendingActivities())
	for run.runID != "" {
		started, err := run.first(ctx)
		if wfclient.IsNotFound(err) {
			break // the retention of closed runs is over
		}
		if err != nil {
			return nil, err
		}
		in := decode[state.Input](run, started.GetWorkflowExecutionStartedEventAttributes().GetInput())
		began := repeat > in.Numbered
		if began || waits(&in, repeat) {
			if _, err := run.read(ctx, collect); err != nil && !wfclient.IsNotFound(err) {
				return nil, err
			}
		}
		if began {
			break
		}
		run = r.run(run.workflowID, run.earlier(started).previous, eventsPerPage)
	}
	return records, nil
}

// waits reports whether an execution was handed over to a run.
func waits(in *state.Input, repeat int) bool {
	return slices.ContainsFunc(in.Waiting, func(w state.Waiting) bool { return w.Repeat == repeat }) ||
		slices.ContainsFunc(in.Deferred, func(m state.ManualRun) bool { return m.Repeat == repeat })
}

// first returns the event that started the run.
func (r *runReader) first(ctx context.Context) (*history.HistoryEvent, error) {
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: r.core.Namespace, Execution: &common.WorkflowExecution{WorkflowId: r.workflowID, RunId: r.runID},
		MaximumPageSize: 1,
	}
	page, err := r.core.Temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, request)
	if err != nil {
		return nil, err
	}
	for _, e := range page.GetHistory().GetEvents() {
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
			return e, nil
		}
	}
	return nil, nil
}
