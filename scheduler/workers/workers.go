// Package workers reads which workers were there, from the workflow of the installation: from its event history, and
// from the server's record of the activities by which workers check in. No worker is needed to read it.
package workers

import (
	"context"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	checkins "almanac/activities/presence"
	"almanac/internal/wfclient"
	"almanac/job/presence"
	"almanac/scheduler/core"
	"almanac/workflows"
	"almanac/workflows/installation"
)

// A Reader reads which workers were there. It is safe for concurrent use.
type Reader struct{ core *core.Client }

// New returns a Reader.
func New(c *core.Client) *Reader { return &Reader{core: c} }

// Read returns which workers were there. The log is empty if none has ever checked in.
func (r *Reader) Read(ctx context.Context) (presence.Log, error) {
	found, err := r.core.Temporal.DescribeWorkflowExecution(ctx, workflows.InstallationID, "")
	if wfclient.IsNotFound(err) {
		return presence.Log{State: presence.State{Since: r.core.Now()}}, nil
	}
	if err != nil {
		return presence.Log{}, err
	}
	run := runReader{
		Reader: r, followed: map[int64]checkins.Input{}, ids: map[string]int64{}, goodbyes: map[string]*presence.Segment{},
	}
	if err := run.read(ctx, found.GetWorkflowExecutionInfo().GetExecution().GetRunId()); err != nil {
		return presence.Log{}, err
	}
	for _, a := range found.GetPendingActivities() {
		run.pending(a)
	}
	return run.log, nil
}

// A runReader reads the newest run of the workflow.
type runReader struct {
	*Reader
	log      presence.Log
	followed map[int64]checkins.Input     // by the event that scheduled the activity
	ids      map[string]int64             // likewise, by activity ID
	goodbyes map[string]*presence.Segment // by worker ID
}

func (r *runReader) read(ctx context.Context, runID string) error {
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: r.core.Namespace,
		Execution: &common.WorkflowExecution{WorkflowId: workflows.InstallationID, RunId: runID},
	}
	for {
		page, err := r.core.Temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, request)
		if err != nil {
			return err
		}
		for _, e := range page.GetHistory().GetEvents() {
			r.event(e)
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return nil
		}
	}
}

// event does with an event what the workflow does.
func (r *runReader) event(e *history.HistoryEvent) {
	switch e.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		in := installation.Input{State: presence.State{Since: e.GetEventTime().AsTime()}}
		r.decode(e.GetWorkflowExecutionStartedEventAttributes().GetInput(), &in)
		r.log.State = in.State
		if r.log.Since.IsZero() {
			r.log.Since = e.GetEventTime().AsTime()
		}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		a := e.GetWorkflowExecutionSignaledEventAttributes()
		if a.GetSignalName() == workflows.SignalGone {
			var span presence.Span
			r.decode(a.GetInput(), &span)
			span.End = presence.Stopped
			r.goodbyes[span.ID] = &span.Segment
		}
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		a := e.GetActivityTaskScheduledEventAttributes()
		if a.GetActivityType().GetName() == checkins.TypePresent {
			var in checkins.Input
			r.decode(a.GetInput(), &in)
			r.followed[e.GetEventId()], r.ids[a.GetActivityId()] = in, e.GetEventId()
		}
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		var s presence.Segment
		r.decode(a.GetResult(), &s)
		r.ended(e, a.GetScheduledEventId(), s, nil)
	case enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := e.GetActivityTaskTimedOutEventAttributes()
		r.ended(e, a.GetScheduledEventId(), presence.Segment{},
			wfclient.ErrorOf(r.core.Converter, workflows.InstallationID, a.GetFailure()))
	case enums.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		r.ended(e, a.GetScheduledEventId(), presence.Segment{},
			wfclient.ErrorOf(r.core.Converter, workflows.InstallationID, a.GetFailure()))
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		a := e.GetActivityTaskCanceledEventAttributes()
		r.ended(e, a.GetScheduledEventId(), presence.Segment{}, temporal.NewCanceledError())
	}
}

func (r *runReader) ended(e *history.HistoryEvent, scheduled int64, s presence.Segment, err error) {
	if in, ok := r.followed[scheduled]; ok {
		r.log.Add(in.SpanOf(s, err, r.goodbyes[in.Worker.ID]), e.GetEventTime().AsTime())
	}
}

// pending adds a worker that is there. Its last check-in is when the server had it: the worker's clock may differ, and so
// may the time since it sent it.
func (r *runReader) pending(a *workflow.PendingActivityInfo) {
	in, ok := r.followed[r.ids[a.GetActivityId()]]
	if !ok || a.GetHeartbeatDetails() == nil { // it has not checked in yet
		return
	}
	var s presence.Segment
	r.decode(a.GetHeartbeatDetails(), &s)
	span := in.SpanOf(s, nil, nil)
	if span.To = a.GetLastHeartbeatTime().AsTime(); span.To.Before(span.From) {
		span.From = span.To
	}
	r.log.Here = append(r.log.Here, span)
}

// decode decodes a payload. It leaves the value as it is if that cannot be read: a log with most of its facts is better
// than none.
func (r *runReader) decode(payloads *common.Payloads, value any) {
	if payloads == nil {
		return
	}
	if err := wfclient.ConverterFor(r.core.Converter, workflows.InstallationID).FromPayloads(payloads, value); err != nil {
		r.core.Log.Warn("a payload of the record of workers cannot be decoded", "error", err)
	}
}
