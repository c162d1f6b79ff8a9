package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/job"
	"almanac/job/listing"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// occurrence is the due time of what is dispatched ahead in these histories.
var occurrence = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// An author writes the history of a run that dispatches the action of one occurrence, once or several
// times.
type author struct {
	t       *testing.T
	events  []*historypb.HistoryEvent
	pending []*workflow.PendingActivityInfo
}

func newAuthor(t *testing.T) *author {
	a := &author{t: t}
	a.write(-time.Hour, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				OriginalExecutionRunId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", Input: a.payloads(state.Input{}),
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

// write adds an event at a time relative to the due time, and returns its ID.
func (a *author) write(at time.Duration, e *historypb.HistoryEvent) int64 {
	e.EventId = int64(len(a.events) + 1)
	e.EventTime = timestamppb.New(occurrence.Add(at))
	a.events = append(a.events, e)
	return e.EventId
}

// dispatch adds the scheduling of an activity with at most maxAttempts attempts, 10 s before the due time
// or as soon as the previous activity ended. before attempts were made by other activities.
func (a *author) dispatch(maxAttempts, before int) (scheduled int64) {
	at := -10 * time.Second
	if before := a.events[len(a.events)-1].GetEventTime().AsTime().Sub(occurrence); before > at {
		at = before
	}
	in := activities.Input{
		Execution:   job.Execution{ID: "1", Due: occurrence, Repeat: 2, ActionName: job.MainAction},
		MaxAttempts: maxAttempts, SentBefore: before,
	}
	return a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: activityID(int64(len(a.events) + 1)), ActivityType: &common.ActivityType{Name: activities.TypeAction}, Input: a.payloads(in),
			},
		},
	})
}

// activityID returns the ID of the activity that an event scheduled.
func activityID(scheduled int64) string { return fmt.Sprintf("action-%d", scheduled) }

// begin adds the start of an activity's last attempt.
func (a *author) begin(at time.Duration, scheduled int64, attempt int32) {
	a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_STARTED,
		Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: scheduled, Attempt: attempt},
		},
	})
}

// succeed adds the completion of an activity with attempts of these outcomes, the last of which succeeded.
func (a *author) succeed(scheduled int64, outcomes ...job.Outcome) {
	last := a.events[len(a.events)-1].GetEventTime().AsTime()
	start := occurrence
	if last.After(start) {
		start = last
	}
	a.write(start.Sub(occurrence)+time.Second, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: scheduled, Result: a.payloads(activities.Output{Attempts: attempts(start, outcomes...)}),
			},
		},
	})
}

// unsent adds the end of an activity whose last attempt was not sent.
func (a *author) unsent(at time.Duration, scheduled int64, earlier ...job.Outcome) {
	a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: scheduled, Result: a.payloads(activities.Output{Unsent: "nothing was sent", Attempts: attempts(occurrence, earlier...)}),
			},
		},
	})
}

// fail adds the failure of an activity.
func (a *author) fail(at time.Duration, scheduled int64, err error) {
	failure := temporal.GetDefaultFailureConverter().ErrorToFailure(err)
	if failure.GetTimeoutFailureInfo() != nil {
		a.write(at, &historypb.HistoryEvent{
			EventType: enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
			Attributes: &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
				ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{ScheduledEventId: scheduled, Failure: failure},
			},
		})
		return
	}
	a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
			ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{ScheduledEventId: scheduled, Failure: failure},
		},
	})
}

// cancel adds the cancellation of an activity that no worker had.
func (a *author) cancel(at time.Duration, scheduled int64) {
	a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCanceledEventAttributes{
			ActivityTaskCanceledEventAttributes: &historypb.ActivityTaskCanceledEventAttributes{ScheduledEventId: scheduled},
		},
	})
}

// look adds a lookup of pending activities by the workflow, with its result.
func (a *author) look(at time.Duration, pending ...lookups.Pending) {
	a.answer(at, a.ask(at), pending...)
}

// ask adds the scheduling of a lookup of pending activities.
func (a *author) ask(at time.Duration) (scheduled int64) {
	return a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: "look", ActivityType: &common.ActivityType{Name: lookups.TypePending},
			},
		},
	})
}

// answer adds the result of a lookup.
func (a *author) answer(at time.Duration, scheduled int64, pending ...lookups.Pending) {
	a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: scheduled, Result: a.payloads(pending),
			},
		},
	})
}

// drop adds the record of the occurrence as dropped.
func (a *author) drop(at time.Duration, outcome job.Outcome) {
	a.write(at, &historypb.HistoryEvent{
		EventType: enums.EVENT_TYPE_MARKER_RECORDED,
		Attributes: &historypb.HistoryEvent_MarkerRecordedEventAttributes{
			MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{
				MarkerName: "SideEffect",
				Details: map[string]*common.Payloads{"data": a.payloads(plan.Plan{Dropped: &plan.Dropped{
					Outcome: outcome, Why: "the job was changed before it was sent", Count: 1, First: occurrence, Last: occurrence, Newest: []time.Time{occurrence},
				}})},
			},
		},
	})
}

// wait adds an activity that has not ended, with its last heartbeat.
func (a *author) wait(scheduled int64, p activities.Progress) {
	a.pending = append(a.pending, &workflow.PendingActivityInfo{
		ActivityId: activityID(scheduled), ActivityType: &common.ActivityType{Name: activities.TypeAction}, HeartbeatDetails: a.payloads(p),
	})
}

// attempts returns records of attempts. The first begins at start.
func attempts(start time.Time, outcomes ...job.Outcome) []job.Attempt {
	var all []job.Attempt
	for i, o := range outcomes {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond)
		all = append(all, job.Attempt{Number: i + 1, Start: at, End: at.Add(time.Millisecond), Outcome: o, Message: "it is told"})
	}
	return all
}

func TestHistoryOfWhatWasDispatchedAhead(t *testing.T) {
	t.Parallel()
	const held, early, late = -9 * time.Second, -5 * time.Second, 6 * time.Second
	failed := []job.Outcome{job.OutcomeFailed}
	report := func(outcomes ...job.Outcome) activities.Ending {
		return activities.Ending{Attempts: attempts(occurrence, outcomes...)}
	}
	refused := func(outcomes ...job.Outcome) error {
		return temporal.NewApplicationError("refused", activities.ErrTypeFailed, report(outcomes...))
	}
	lost := func(sent int, earlier ...job.Outcome) error {
		return temporal.NewHeartbeatTimeoutError(activities.Progress{Attempts: attempts(occurrence, earlier...), Sent: sent})
	}
	pending := func(scheduled int64, outcomes ...job.Outcome) lookups.Pending {
		return lookups.Pending{Activity: activityID(scheduled), Attempts: attempts(occurrence, outcomes...), Next: occurrence.Add(time.Hour)}
	}
	for _, tt := range []struct {
		name  string
		write func(*author)
		want  string
	}{
		{"withdrawn before it was due", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.unsent(early, one)
		}, ""},
		{"withdrawn and dispatched again", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.unsent(early, one)
			two := a.dispatch(5, 0)
			a.begin(early, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/1 Completed"},
		{"cancelled before a worker had it", func(a *author) { a.cancel(early, a.dispatch(5, 0)) }, ""},
		{"that failed between the question what was sent and its cancellation", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, lookups.Pending{Activity: activityID(one), Attempts: attempts(occurrence, failed...), Sent: true})
			a.cancel(late, one)
		}, "MainAction 2/2 Failed, lost\nMainAction 2/1 Failed"},
		{"that was dispatched after it was asked what was sent, and failed between the answer and its cancellation", func(a *author) {
			question := a.ask(held)
			one := a.dispatch(5, 0)
			a.answer(late, question, lookups.Pending{Activity: activityID(one), Sent: true})
			a.cancel(late, one)
		}, "MainAction 2/1 Failed, lost"},
		{"that was dispatched after it was asked what was sent, and was cancelled during the wait for its retry", func(a *author) {
			question := a.ask(held)
			one := a.dispatch(5, 0)
			a.answer(late, question, pending(one, failed...))
			a.cancel(late, one)
		}, "MainAction 2/1 Failed"},
		{"that was dispatched after it was asked what was sent, and that a later answer describes", func(a *author) {
			question := a.ask(held)
			one := a.dispatch(5, 0)
			a.answer(early, question, lookups.Pending{Activity: activityID(one), Sent: true})
			a.look(late, pending(one, failed...))
			a.cancel(late, one)
		}, "MainAction 2/1 Failed"},
		{"whose worker was killed when it was sent, and that was cancelled long after", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, lookups.Pending{Activity: activityID(one), Sent: true, Began: occurrence.Add(held)})
			a.cancel(10*late, one)
		}, "MainAction 2/1 Failed, lost, from its due time"},
		{"cancelled before it was sent, and recorded as dropped", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.unsent(late, one)
			a.drop(late, job.OutcomeCancelled)
		}, "MainAction 0/1 Cancelled"},
		{"a worker that stopped, and another one", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(held, one, 1)
			a.unsent(early, one)
			two := a.dispatch(1, 0)
			a.begin(early, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/1 Completed"},
		{"a worker that stopped before a retry, and another one", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(late, one, 2)
			a.unsent(late, one, failed...)
			two := a.dispatch(5, 1)
			a.begin(late, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/2 Completed\nMainAction 2/1 Failed"},
		{"lost before the fence", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.fail(late, one, temporal.NewHeartbeatTimeoutError())
		}, ""},
		{"lost before the fence, and dispatched again", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(held, one, 1)
			a.fail(late, one, temporal.NewHeartbeatTimeoutError())
			two := a.dispatch(1, 0)
			a.begin(late, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/1 Completed"},
		{"lost after the fence", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(held, one, 1)
			a.fail(late, one, lost(1))
		}, "MainAction 2/1 Failed, lost"},
		{"lost after the fence, and dispatched again", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.fail(late, one, lost(1))
			two := a.dispatch(5, 1)
			a.begin(late, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/2 Completed\nMainAction 2/1 Failed, lost"},
		{"took too long after the fence", func(a *author) {
			one := a.dispatch(1, 0)
			a.begin(held, one, 1)
			a.fail(late, one, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil, activities.Progress{Sent: 1}))
		}, "MainAction 2/1 Failed, lost"},
		{"each of three attempts lost", func(a *author) {
			for before := range 3 {
				one := a.dispatch(3, before)
				a.begin(time.Duration(before)*late, one, 1)
				a.fail(time.Duration(before+1)*late, one, lost(1))
			}
		}, "MainAction 2/3 Failed, lost\nMainAction 2/2 Failed, lost\nMainAction 2/1 Failed, lost"},
		{"a retry lost after its fence", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(20*time.Second, one, 2)
			a.fail(30*time.Second, one, lost(2, failed...))
			two := a.dispatch(5, 2)
			a.begin(30*time.Second, two, 2)
			a.succeed(two, job.OutcomeFailed, job.OutcomeCompleted)
		}, "MainAction 2/4 Completed\nMainAction 2/3 Failed\nMainAction 2/2 Failed, lost\nMainAction 2/1 Failed"},
		{"a retry lost before its fence", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(20*time.Second, one, 2)
			a.fail(30*time.Second, one, lost(1, failed...))
			two := a.dispatch(5, 1)
			a.begin(30*time.Second, two, 1)
			a.succeed(two, job.OutcomeCompleted)
		}, "MainAction 2/2 Completed\nMainAction 2/1 Failed"},
		{"lost before the fence, then the three attempts of a retry count of 2", func(a *author) {
			one := a.dispatch(3, 0)
			a.begin(held, one, 1)
			a.fail(late, one, temporal.NewHeartbeatTimeoutError())
			two := a.dispatch(3, 0)
			a.begin(late, two, 3)
			a.fail(2*late, two, refused(job.OutcomeFailed, job.OutcomeFailed, job.OutcomeFailed))
		}, "MainAction 2/3 Failed\nMainAction 2/2 Failed\nMainAction 2/1 Failed"},
		{"cancelled while it waited for a retry", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, pending(one, failed...))
			a.cancel(late, one)
		}, "MainAction 2/1 Failed"},
		{"cancelled after its retry had become due", func(a *author) {
			one := a.dispatch(5, 0)
			waits := pending(one, failed...)
			waits.Next = occurrence.Add(2*late - time.Second)
			a.look(late, waits)
			a.cancel(2*late, one)
		}, "MainAction 2/2 Cancelled\nMainAction 2/1 Failed"},
		{"cancelled in a retry that the server was asked about twice", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(early, pending(one))
			a.look(late, pending(one, failed...))
			a.look(2*late, pending(one, job.OutcomeFailed, job.OutcomeFailed))
			a.cancel(2*late, one)
		}, "MainAction 2/2 Failed\nMainAction 2/1 Failed"},
		{"cancelled while a second activity waited for a retry", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.fail(late, one, lost(1))
			two := a.dispatch(5, 1)
			a.look(2*late, pending(two, failed...))
			a.cancel(2*late, two)
		}, "MainAction 2/2 Failed\nMainAction 2/1 Failed, lost"},
		{"failed after it was cancelled", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, lookups.Pending{Activity: activityID(one), Cancelled: true, Sent: true})
			a.begin(held, one, 1)
			a.fail(2*late, one, refused(failed...))
		}, "MainAction 2/1 Failed"},
		{"refused its fence after it was cancelled, before its worker was lost", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(early, lookups.Pending{Activity: activityID(one), Cancelled: true})
			a.begin(held, one, 1)
			a.fail(late, one, lost(1))
		}, ""},
		{"completed after the server was asked", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, pending(one, failed...))
			a.begin(2*late, one, 2)
			a.succeed(one, job.OutcomeFailed, job.OutcomeCompleted)
		}, "MainAction 2/2 Completed\nMainAction 2/1 Failed"},
		{"a retry not sent after the server was asked", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, pending(one, failed...))
			a.begin(2*late, one, 2)
			a.unsent(2*late, one, failed...)
		}, "MainAction 2/1 Failed"},
		{"not ended yet", func(a *author) {
			a.wait(a.dispatch(5, 0), activities.Progress{Attempts: attempts(occurrence, failed...), Sent: 2})
		}, "MainAction 2/1 Failed"},
		{"not ended yet, asked about before", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, pending(one, failed...))
			a.wait(one, activities.Progress{Attempts: attempts(occurrence, job.OutcomeFailed, job.OutcomeFailed), Sent: 2})
		}, "MainAction 2/2 Failed\nMainAction 2/1 Failed"},
		{"completed, and not reported yet", func(a *author) {
			a.wait(a.dispatch(5, 0), activities.Progress{Attempts: attempts(occurrence, job.OutcomeCompleted), Sent: 1, Ended: &activities.Ending{}})
		}, "MainAction 2/1 Completed"},
		{"completed, and its worker was lost before the report", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, lookups.Pending{Activity: activityID(one), Cancelled: true, Sent: true})
			a.begin(held, one, 1)
			a.fail(2*late, one, temporal.NewHeartbeatTimeoutError(
				activities.Progress{Attempts: attempts(occurrence, job.OutcomeCompleted), Sent: 1, Ended: &activities.Ending{}}))
		}, "MainAction 2/1 Completed"},
		{"completed, and cancelled before another worker reported it", func(a *author) {
			one := a.dispatch(5, 0)
			a.look(late, lookups.Pending{Activity: activityID(one), Attempts: attempts(occurrence, job.OutcomeCompleted), Ended: &activities.Ending{}})
			a.cancel(2*late, one)
		}, "MainAction 2/1 Completed"},
		{"not sent yet", func(a *author) { a.wait(a.dispatch(5, 0), activities.Progress{Sent: 1, Lease: 1000}) }, ""},
		{"failed in a way that tells nothing", func(a *author) {
			one := a.dispatch(5, 0)
			a.begin(held, one, 1)
			a.fail(late, one, temporal.NewNonRetryableApplicationError("no such activity type", "Other", nil))
		}, "MainAction 2/1 Failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAuthor(t)
			tt.write(a)
			s := newReader(&archive{runs: []*historypb.History{{Events: a.events}}, pending: a.pending})
			whole := pages(t, s, listing.Page{Top: 100})
			var got []string
			for i, r := range whole {
				line := lines([]job.Record{r})
				if strings.Contains(r.Message, "may have been sent") || strings.Contains(r.Message, "whether it arrived") {
					line += ", lost"
					require.False(t, r.Start.Before(occurrence), "it was held until then")
				}
				if r.Start.Equal(occurrence) && r.End.Sub(r.Start) > late {
					line += ", from its due time"
				}
				got = append(got, line)
				require.NotEmpty(t, r.Message)
				require.False(t, r.End.Before(r.Start))
				require.True(t, i == 0 || !r.Start.After(whole[i-1].Start), "newest first")
			}
			require.Equal(t, tt.want, strings.Join(got, "\n"))
			if len(whole) > 0 {
				require.Equal(t, whole, pages(t, s, listing.Page{Top: 1}), "the positions of entries tell them apart")
			}
		})
	}
}

// A retry is held up by its host, which the server keeps as the last failure of the activity.
func TestAnAttemptThatWasPutOffSaysHowOften(t *testing.T) {
	t.Parallel()
	a := newAuthor(t)
	one := a.dispatch(5, 0)
	a.begin(20*time.Second, one, 3)
	full := temporal.NewApplicationErrorWithOptions("api.example.com: "+activities.HostFull, activities.ErrTypeUnsent,
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	a.events[len(a.events)-1].GetActivityTaskStartedEventAttributes().LastFailure =
		temporal.GetDefaultFailureConverter().ErrorToFailure(full)
	a.succeed(one, job.OutcomeCompleted)
	records := pages(t, newReader(&archive{runs: []*historypb.History{{Events: a.events}}}), listing.Page{Top: 100})
	require.Len(t, records, 1)
	require.Equal(t, 2, records[0].PutOff)
	split := records[0].Split()
	require.Equal(t, job.Split{Place: 20 * time.Second}, split, "all of it, since nothing says when a worker took it first")
}
