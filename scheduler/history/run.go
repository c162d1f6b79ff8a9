package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// eventsPerPage is the number of events per call, which is the server's maximum.
const eventsPerPage = 256

// A runReader reads one run of a job's workflow, newest event first.
//
// The attempts of an execution are in the event that ends its activity; the execution itself is in the
// older event that scheduled the activity. Between the two lie events of other executions, if several ran
// at once. So the runReader holds records back until no activity is open, and then sorts them.
type runReader struct {
	*Reader
	workflowID string
	runID      string
	began      time.Time // by its first event; zero if it is not known
	pageSize   int32     // events to request at once

	ended    map[int64]activityEnd      // by ID of the event that scheduled the activity
	started  map[int64]time.Time        // likewise
	putOff   map[int64]int              // likewise: how often its host had no place
	expected map[string]lookups.Pending // by activity ID: activities that have not ended, and cancelled ones
	// by activity ID: read since none was open, without a lookup that describes it
	undescribed map[string]action
	open        int
	batch       []entry
}

func (r *Reader) run(workflowID, runID string, pageSize int32) *runReader {
	return &runReader{
		Reader: r, workflowID: workflowID, runID: runID, pageSize: pageSize,
		ended: map[int64]activityEnd{}, started: map[int64]time.Time{}, putOff: map[int64]int{},
		expected:    map[string]lookups.Pending{},
		undescribed: map[string]action{},
	}
}

// An action is an activity that runs an action.
type action struct {
	event int64 // that scheduled it
	id    string
	input activities.Input
	end   *activityEnd // nil: it has not ended
}

// An activityEnd is how an activity ended.
type activityEnd struct {
	at     time.Time
	result *common.Payloads // set if it completed
	err    error            // nil if it completed
}

// An earlier says where a job's history continues before a run.
type earlier struct {
	previous string // the run ID of the previous run; empty if there is none
	began    time.Time
	failed   string // the run ID of the newest earlier run with a failure
}

// expectPending notes what is known of the activities that a description lists as pending.
func (r *runReader) expectPending(listed []*workflow.PendingActivityInfo) {
	for _, a := range listed {
		if a.GetActivityType().GetName() != activities.TypeAction {
			continue
		}
		if p := decode[activities.Progress](r, a.GetHeartbeatDetails()); len(p.Attempts) > 0 {
			r.expect(lookups.Pending{Activity: a.GetActivityId(), Attempts: p.Attempts, Ended: p.Ended})
		}
	}
}

// expect notes what is known of an activity that has not ended or was cancelled.
func (r *runReader) expect(p lookups.Pending) {
	// The workflow asked before it scheduled the activity, and was answered after.
	if a, read := r.undescribed[p.Activity]; read {
		delete(r.undescribed, p.Activity)
		r.batch = slices.DeleteFunc(r.batch, func(e entry) bool { return e.event == a.event })
		r.add(&a, &p)
		return
	}
	if _, known := r.expected[p.Activity]; known {
		return // from a later event, which counts
	}
	r.expected[p.Activity] = p
	r.open++
}

// read passes the run's records to enough, in batches sorted newest first. It returns nil as soon as enough
// returns true, and otherwise where the history continues.
func (r *runReader) read(ctx context.Context, enough func([]entry) bool) (*earlier, error) {
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace:       r.core.Namespace,
		Execution:       &common.WorkflowExecution{WorkflowId: r.workflowID, RunId: r.runID},
		MaximumPageSize: r.pageSize,
	}
	for {
		page, err := r.core.Temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetHistory().GetEvents() {
			if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
				if enough(r.flush()) {
					return nil, nil
				}
				return r.earlier(e), nil
			}
			r.event(e)
			if r.open > 0 {
				continue
			}
			clear(r.undescribed)
			if len(r.batch) > 0 && enough(r.flush()) {
				return nil, nil
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return &earlier{}, nil
		}
	}
}

// earlier returns where the history continues before a run, from the event that started it.
func (r *runReader) earlier(e *history.HistoryEvent) *earlier {
	started := e.GetWorkflowExecutionStartedEventAttributes()
	input := decode[state.Input](r, started.GetInput())
	return &earlier{
		previous: started.GetContinuedExecutionRunId(), began: e.GetEventTime().AsTime(), failed: input.FailedRun,
	}
}

// skip returns where the history continues if every record of the run starts at or after before, and nil otherwise. It
// reads the first event alone, if at all. The zero time means that no run is skipped.
func (r *runReader) skip(ctx context.Context, before time.Time) (*earlier, error) {
	isLater := func(began time.Time) bool { return began.Add(-Skew).After(before) }
	if before.IsZero() || !r.began.IsZero() && !isLater(r.began) {
		return nil, nil
	}
	e, err := r.first(ctx)
	if err == nil && e != nil && isLater(e.GetEventTime().AsTime()) {
		return r.earlier(e), nil
	}
	return nil, err
}

// flush returns the records held back, newest first.
func (r *runReader) flush() []entry {
	batch := r.batch
	r.batch = nil
	slices.SortStableFunc(batch, func(a, b entry) int { return b.Start.Compare(a.Start) })
	return batch
}

func (r *runReader) event(e *history.HistoryEvent) {
	at := e.GetEventTime().AsTime()
	switch e.GetEventType() {
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		r.end(a.GetScheduledEventId(), activityEnd{at: at, result: a.GetResult()})
	case enums.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		r.end(a.GetScheduledEventId(), activityEnd{at: at, err: r.failure(a.GetFailure())})
	case enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := e.GetActivityTaskTimedOutEventAttributes()
		r.end(a.GetScheduledEventId(), activityEnd{at: at, err: r.failure(a.GetFailure())})
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		r.end(
			e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), activityEnd{at: at, err: temporal.NewCanceledError()},
		)
	case enums.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := e.GetActivityTaskStartedEventAttributes()
		r.started[a.GetScheduledEventId()] = at
		if activities.PutOff(r.failure(a.GetLastFailure())) {
			r.putOff[a.GetScheduledEventId()] = int(a.GetAttempt()) - 1
		}
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		r.scheduled(e)
	case enums.EVENT_TYPE_MARKER_RECORDED:
		r.marker(e)
	}
}

func (r *runReader) failure(f *failure.Failure) error {
	return wfclient.ErrorOf(r.core.Converter, r.workflowID, f)
}

func (r *runReader) end(scheduled int64, e activityEnd) {
	r.ended[scheduled] = e
	r.open++
}

// scheduled adds the records of the execution whose activity the event scheduled. For an activity of type
// Pending it notes the result, which describes older activities.
func (r *runReader) scheduled(e *history.HistoryEvent) {
	a := e.GetActivityTaskScheduledEventAttributes()
	end, ended := r.ended[e.GetEventId()]
	if ended {
		r.open--
	}
	switch a.GetActivityType().GetName() {
	case lookups.TypePending:
		for _, p := range decode[[]lookups.Pending](r, end.result) {
			if len(p.Attempts) > 0 || p.Sent || p.Cancelled {
				r.expect(p)
			}
		}
	case activities.TypeAction:
		act := action{event: e.GetEventId(), id: a.GetActivityId(), input: decode[activities.Input](r, a.GetInput())}
		if ended {
			act.end = &end
		}
		known, expected := r.expected[act.id]
		if !expected {
			r.undescribed[act.id] = act
			r.add(&act, nil)
			return
		}
		delete(r.expected, act.id)
		r.open--
		r.add(&act, &known)
	}
}

// add adds the records of an activity. known is the last that a lookup said of it; nil if none did.
func (r *runReader) add(a *action, known *lookups.Pending) {
	var attempts []job.Attempt
	if known != nil {
		attempts = known.Attempts
	}
	// A cancelled activity without a fence sent nothing, whatever it recorded.
	if a.end != nil && (known == nil || !known.Cancelled || known.Sent) {
		if known != nil {
			attempts = append(attempts, forgotten(a.end, known, a.input.Execution.Due)...)
		}
		if recorded := r.records(a.end, &a.input, r.started[a.event]); len(recorded) >= len(attempts) {
			attempts = recorded
		}
	}
	for i, attempt := range attempts {
		attempt.Number += a.input.SentBefore
		record := job.Record{Execution: a.input.Execution, Attempt: attempt}
		if i == 0 && len(attempts) == 1 { // the server says it of the last attempt
			record.PutOff = max(record.PutOff, r.putOff[a.event])
		}
		r.batch = append(r.batch, entry{record, position{r.runID, a.event, attempt.Number}})
	}
}

// forgotten returns the record of the attempt that the server dropped, or may have dropped, when it
// cancelled an activity: one that failed or was lost after the last lookup before the cancellation.
func forgotten(end *activityEnd, last *lookups.Pending, due time.Time) []job.Attempt {
	lost := job.Attempt{Number: len(last.Attempts) + 1, Start: end.at, End: end.at}
	unrecorded := last.Unrecorded(due, end.at)
	switch {
	case !temporal.IsCanceledError(end.err) || last.Ended != nil:
		return nil
	case unrecorded == lookups.FencePassed:
		after := []time.Time{due, last.Began}
		if n := len(last.Attempts); n > 0 {
			after = append(after, last.Attempts[n-1].End)
		}
		start := slices.MaxFunc(after, time.Time.Compare)
		if start.Before(end.at) {
			lost.Start = start
		}
		lost.Outcome = job.OutcomeFailed
		lost.Message = job.AttemptUnrecorded
	case unrecorded == lookups.MayBeSent:
		lost.Outcome = job.OutcomeCancelled
		lost.Message = job.AttemptPerhapsSent
	default:
		return nil
	}
	return []job.Attempt{lost}
}

// records returns the attempts recorded in the end of an activity.
func (r *runReader) records(e *activityEnd, input *activities.Input, started time.Time) []job.Attempt {
	if e.err == nil {
		return decode[activities.Output](r, e.result).Attempts
	}
	begun := slices.MaxFunc([]time.Time{started, input.Execution.Due}, time.Time.Compare)
	end := activities.EndingOf(e.err, begun, e.at)
	if len(end.Attempts) > 0 || end.How == activities.Unsent || end.How == activities.Cancelled {
		return end.Attempts
	}
	return []job.Attempt{{Number: 1, Start: started, End: e.at, Outcome: job.OutcomeFailed, Message: e.err.Error()}}
}

// marker adds the occurrences that a side effect recorded as dropped.
func (r *runReader) marker(e *history.HistoryEvent) {
	a := e.GetMarkerRecordedEventAttributes()
	if a.GetMarkerName() != "SideEffect" {
		return
	}
	recorded := decode[json.RawMessage](r, a.GetDetails()["data"])
	var p plan.Plan
	if !bytes.HasPrefix(recorded, []byte("{")) || json.Unmarshal(recorded, &p) != nil { // it recorded something else
		return
	}
	if d := p.Dropped; d != nil {
		for i, record := range dropped(d, e.GetEventTime().AsTime()) {
			r.batch = append(r.batch, entry{record, position{r.runID, e.GetEventId(), i}})
		}
	}
}

// dropped returns the records of occurrences that were dropped, newest first. at is the time of that
// decision; the records start at it, 100 ns apart.
func dropped(d *plan.Dropped, at time.Time) []job.Record {
	var records []job.Record
	add := func(due time.Time, rest *job.Rest, message string) {
		by := d.Note(due).ByCalendars()
		if d.Calendar != nil || d.Blackout != nil {
			by = &job.ByCalendars{Blackout: d.Blackout}
		}
		if d.Calendar != nil {
			by.Calendars = []job.CalendarDay{*d.Calendar}
		}
		at = at.Add(-100 * time.Nanosecond) // the resolution of IDs in the history
		records = append(records, job.Record{
			Execution: job.Execution{Due: due, Repeat: d.Repeat, ActionName: job.MainAction, By: by},
			Attempt:   job.Attempt{Number: 1, Start: at, End: at, Outcome: d.Outcome, Message: message},
			WhyNot:    d.Why, Rest: rest,
		})
	}
	for _, due := range slices.Backward(d.Newest) {
		add(due, nil, d.Outcome.NotRun(d.Why)+".")
	}
	if rest := d.Count - len(d.Newest); rest > 0 {
		add(d.First, &job.Rest{Count: rest, Before: d.Newest[0]}, fmt.Sprintf("%d occurrences, the first of which was due at %s and the last before %s, were not run: %s.",
			rest, d.First.Format(time.RFC3339), d.Newest[0].Format(time.RFC3339), d.Why))
	}
	return records
}

// decode reads a payload. It returns the zero value if the payload cannot be read: a history with most
// entries is better than none.
func decode[T any](r *runReader, payloads *common.Payloads) T {
	var value T
	if payloads == nil {
		return value
	}
	if err := wfclient.ConverterFor(r.core.Converter, r.workflowID).FromPayloads(payloads, &value); err != nil {
		r.core.Log.Warn("a payload of a job's history cannot be decoded", "error", err)
	}
	return value
}
