package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/activities"
	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// occurrence is when what is dispatched ahead, in these histories, is due.
var occurrence = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// An author writes the history of a run that dispatches one occurrence's
// action, maybe again and again.
type author struct {
	t      *testing.T
	events []*history.HistoryEvent
}

func newAuthor(t *testing.T) *author {
	a := &author{t: t}
	a.write(-time.Hour, &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{
				OriginalExecutionRunId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", Input: a.payloads(workflows.JobInput{}),
			},
		},
	})
	return a
}

func (a *author) payloads(values ...any) *common.Payloads {
	a.t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(values...)
	require.NoError(a.t, err)
	return p
}

// write adds an event that happened so long after the due time, and returns its id.
func (a *author) write(at time.Duration, e *history.HistoryEvent) int64 {
	e.EventId = int64(len(a.events) + 1)
	e.EventTime = timestamppb.New(occurrence.Add(at))
	a.events = append(a.events, e)
	return e.EventId
}

// dispatch writes that an activity was scheduled, 10 s ahead of the due time or
// as soon as the one before it ended. It has so many attempts, of which those
// before were other activities'.
func (a *author) dispatch(maxAttempts, before int) (scheduled int64) {
	at := -10 * time.Second
	if before := a.events[len(a.events)-1].GetEventTime().AsTime().Sub(occurrence); before > at {
		at = before
	}
	in := activities.Input{
		Execution:   job.Execution{ID: "1", Due: occurrence, Repeat: 2, ActionName: job.MainAction},
		MaxAttempts: maxAttempts, Before: before, Lead: 10_000,
	}
	return a.write(at, &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &history.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &history.ActivityTaskScheduledEventAttributes{
				ActivityId: string(rune('a' + len(a.events))), ActivityType: &common.ActivityType{Name: activities.TypeAction}, Input: a.payloads(in),
			},
		},
	})
}

// begin writes that a worker had that attempt of an activity last.
func (a *author) begin(at time.Duration, scheduled int64, attempt int32) {
	a.write(at, &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_STARTED,
		Attributes: &history.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &history.ActivityTaskStartedEventAttributes{ScheduledEventId: scheduled, Attempt: attempt},
		},
	})
}

// succeed writes that an activity ended with the attempts that are told, the
// last of which succeeded.
func (a *author) succeed(scheduled int64, outcomes ...job.Outcome) {
	last := a.events[len(a.events)-1].GetEventTime().AsTime()
	start := occurrence
	if last.After(start) {
		start = last
	}
	a.write(start.Sub(occurrence)+time.Second, &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &history.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &history.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: scheduled, Result: a.payloads(activities.Output{Attempts: attempts(start, outcomes...)}),
			},
		},
	})
}

// fail writes that an activity ended with an error.
func (a *author) fail(at time.Duration, scheduled int64, err error) {
	failure := temporal.GetDefaultFailureConverter().ErrorToFailure(err)
	if failure.GetTimeoutFailureInfo() != nil {
		a.write(at, &history.HistoryEvent{
			EventType: enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
			Attributes: &history.HistoryEvent_ActivityTaskTimedOutEventAttributes{
				ActivityTaskTimedOutEventAttributes: &history.ActivityTaskTimedOutEventAttributes{ScheduledEventId: scheduled, Failure: failure},
			},
		})
		return
	}
	a.write(at, &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		Attributes: &history.HistoryEvent_ActivityTaskFailedEventAttributes{
			ActivityTaskFailedEventAttributes: &history.ActivityTaskFailedEventAttributes{ScheduledEventId: scheduled, Failure: failure},
		},
	})
}

// cancel writes that an activity was cancelled before a worker had it.
func (a *author) cancel(at time.Duration, scheduled int64) {
	a.write(at, &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
		Attributes: &history.HistoryEvent_ActivityTaskCanceledEventAttributes{
			ActivityTaskCanceledEventAttributes: &history.ActivityTaskCanceledEventAttributes{ScheduledEventId: scheduled},
		},
	})
}

// attempts are records of attempts, the first of which began at start.
func attempts(start time.Time, outcomes ...job.Outcome) []job.Attempt {
	var all []job.Attempt
	for i, o := range outcomes {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond)
		all = append(all, job.Attempt{Number: i + 1, Start: at, End: at.Add(time.Millisecond), Outcome: o, Message: "it is told"})
	}
	return all
}

func TestHistoryTellsWhatWasDispatchedAhead(t *testing.T) {
	t.Parallel()
	recalled := temporal.NewNonRetryableApplicationError("taken back", activities.ErrTypeRecalled, nil)
	released := temporal.NewNonRetryableApplicationError("it stops", activities.ErrTypeReleased, nil)
	lost, announced := temporal.NewHeartbeatTimeoutError(), temporal.NewHeartbeatTimeoutError([]job.Attempt(nil), true)
	const early, late = -5 * time.Second, 6 * time.Second
	for _, tt := range []struct {
		name  string
		write func(*author)
		want  string
	}{
		{"what was taken back has not happened", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(-9*time.Second, one, 1)
			a.fail(early, one, recalled)
		}, ""},
		{"what was taken back and dispatched again happened once", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(-9*time.Second, one, 1)
			a.fail(early, one, recalled)
			two := a.dispatch(5, 0)
			a.begin(early, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/1 Completed"},
		{"what was cancelled ahead before a worker had it has not happened", func(a *author) { a.cancel(early, a.dispatch(5, 0)) }, ""},
		{"what was cancelled late before a worker had it was withdrawn", func(a *author) { a.cancel(late, a.dispatch(5, 0)) }, "MainAction 2/1 Cancelled"},
		{"what a worker released another one sent", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(-9*time.Second, one, 1)
			a.fail(early, one, released)
			two := a.dispatch(1, 0)
			a.begin(early, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/1 Completed"},
		{"what a killed worker may have sent is an attempt", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(-9*time.Second, one, 1)
			a.fail(late, one, lost)
			two := a.dispatch(5, 1)
			a.begin(late, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/2 Completed\nMainAction 2/1 Failed"},
		{"and so is each of several", func(a *author) {
			for before := range 3 {
				one := a.dispatch(3, before)
				a.begin(time.Duration(before)*late, one, 1)
				a.fail(time.Duration(before+1)*late, one, lost)
			}
		}, "MainAction 2/3 Failed\nMainAction 2/2 Failed\nMainAction 2/1 Failed"},
		{"a worker that was killed in a retry", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(20*time.Second, one, 2)
			a.fail(30*time.Second, one, temporal.NewHeartbeatTimeoutError(attempts(occurrence, job.OutcomeFailed), true))
			two := a.dispatch(5, 2)
			a.begin(30*time.Second, two, 2)
			a.succeed(two, job.OutcomeFailed, job.OutcomeCompleted)
		}, "MainAction 2/4 Completed\nMainAction 2/3 Failed\nMainAction 2/2 Failed\nMainAction 2/1 Failed"},
		{"a single attempt that was not announced has not happened", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(-9*time.Second, one, 1)
			a.fail(late, one, lost)
			two := a.dispatch(1, 0)
			a.begin(late, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/1 Completed"},
		{"a single attempt that was announced may have", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(-9*time.Second, one, 1)
			a.fail(late, one, announced)
		}, "MainAction 2/1 Failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAuthor(t)
			tt.write(a)
			s := scheduler.New(scheduler.Options{Client: &archive{runs: []*history.History{{Events: a.events}}}})
			whole := pages(t, s, job.Page{Top: 100})
			require.Equal(t, tt.want, lines(whole))
			for i, r := range whole {
				require.NotEmpty(t, r.Message)
				require.False(t, r.End.Before(r.Start))
				require.True(t, i == 0 || !r.Start.After(whole[i-1].Start), "newest first")
				if strings.Contains(r.Message, "worker stopped") {
					require.Contains(t, r.Message, "may have been sent")
					require.False(t, r.Start.Before(occurrence), "it was held until then")
				}
			}
			if len(whole) > 0 {
				require.Equal(t, whole, pages(t, s, job.Page{Top: 1}), "the positions of entries tell them apart")
			}
		})
	}
}
