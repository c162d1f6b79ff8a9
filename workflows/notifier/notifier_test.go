package notifier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/notifier"
)

var (
	collection = workflowtest.Key.Collection
	clock      = workflowtest.Clock
)

// A world runs the workflow in skipped time, with targets that answer as they are told.
type world struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	counted *workflowtest.Counters
	answer  func(in *notify.Item) error
	rules   []job.Notification // of the collection
	silent  atomic.Bool        // the collection does not answer
	gone    error              // of a signal to the collection

	mu     sync.Mutex
	sent   []string // messages as they left: time, target, subject
	ids    []string // of the messages
	totals []int    // alerts in the messages
	all    []notification.Delivery
}

func newWorld(t *testing.T) *world {
	t.Helper()
	counted := &workflowtest.Counters{}
	w := &world{t: t, env: workflowtest.NewCountedEnvironment(counted), counted: counted, answer: func(*notify.Item) error { return nil }}
	w.env.SetStartTime(workflowtest.NewYear)
	w.env.SetTestTimeout(time.Minute)
	w.env.RegisterWorkflowWithOptions(notifier.Workflow, workflow.RegisterOptions{Name: workflows.TypeNotifications})
	w.env.RegisterWorkflowWithOptions(tester, workflow.RegisterOptions{Name: "tester"})
	w.env.OnSignalExternalWorkflow(mock.Anything, collection.WorkflowID(), "", workflows.SignalNotifying, mock.Anything).
		Return(func(string, string, string, string, any) error { return w.gone }).Maybe()
	w.env.RegisterActivityWithOptions(w.send, activity.RegisterOptions{Name: notify.TypeSend})
	w.env.RegisterActivityWithOptions(w.targets, activity.RegisterOptions{Name: notify.TypeTargets})
	return w
}

// send makes the attempts of an activity. An answer that is a [temporal.TimeoutError] loses all of them.
func (w *world) send(_ context.Context, in notify.SendInput) ([]notify.Report, error) {
	reports := make([]notify.Report, len(in.Items))
	for i := range in.Items {
		item := &in.Items[i]
		w.mu.Lock()
		w.sent = append(w.sent, fmt.Sprintf("%s %s: %s", clock(w.env.Now()), item.Name, item.Message.Subject()))
		w.ids = append(w.ids, item.Message.ID)
		w.totals = append(w.totals, item.Message.Total())
		w.mu.Unlock()
		r := notify.Report{Done: true, Delivered: true, Time: w.env.Now(), Message: "200 OK", Posted: item.Message.PostCount(&item.Target)}
		err := w.answer(item)
		if _, lost := errors.AsType[*temporal.TimeoutError](err); lost {
			return nil, err
		}
		if err != nil {
			r.Delivered, r.Posted, r.Message = false, 0, err.Error()
		}
		reports[i] = r
	}
	return reports, nil
}

func (w *world) targets(_ context.Context, id, query string) ([]job.Notification, error) {
	require.Equal(w.t, collection.WorkflowID(), id)
	require.Equal(w.t, workflows.QueryNotifications, query)
	if w.silent.Load() {
		return nil, errors.New("no answer")
	}
	return w.rules, nil
}

// raise hands over alerts that were raised just then.
func (w *world) raise(after time.Duration, raised ...notification.Raised) {
	raised = slices.Clone(raised)
	for i := range raised {
		raised[i].Alert.Time = raised[i].Alert.Time.Add(after)
	}
	w.env.RegisterDelayedCallback(func() { w.env.SignalWorkflow(workflows.SignalRaise, raised) }, after)
}

// run runs the workflow until a time after which it would do nothing, and returns its error.
func (w *world) run(until time.Duration) error {
	w.env.RegisterDelayedCallback(func() {
		value, err := w.env.QueryWorkflow(workflows.QueryDeliveries)
		require.NoError(w.t, err)
		require.NoError(w.t, value.Get(&w.all))
		w.env.SignalWorkflow(workflows.SignalEnd, nil)
	}, until)
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	require.True(w.t, w.env.IsWorkflowCompleted())
	return w.env.GetWorkflowError()
}

// hook returns a notification with a target of its own.
func hook(name string) job.Notification {
	return job.Notification{Name: name, On: []job.Event{job.EventFailed}, Target: job.Target{
		Type: kind.HTTPS, Content: kind.Content{Request: &kind.Request{URI: "https://example.com/" + name, Method: "POST"}},
		RetryPolicy: &job.RetryPolicy{RetryCount: 2, RetryInterval: "PT30S"},
	}}
}

// failed returns an alert of a job that failed, by the collection's notifications of some keys, or by own ones.
func failed(name string, inherit []string, own ...job.Notification) notification.Raised {
	a := notification.Alert{Event: job.EventFailed, Job: collection.Job(name), Time: workflowtest.NewYear, Error: "down"}
	a.Identify("run", name)
	a.Describe("")
	return notification.Raised{Alert: a, Own: own, Inherit: inherit}
}

func TestAnAlertLeavesWithinASecondUnlessThereAreMany(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   []time.Duration // of alerts
		want []string
	}{
		{"one now and then", []time.Duration{time.Second, 10 * time.Second, 50 * time.Second, 5 * time.Minute},
			[]string{"00:00:01 1", "00:00:10 1", "00:00:50 1", "00:05:00 1"}},
		{"after five within a minute, a digest of what follows", []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 30 * time.Second, 40 * time.Second, 70 * time.Second, 99 * time.Second},
			[]string{"00:00:01 1", "00:00:02 1", "00:00:03 1", "00:00:04 1", "00:00:30 1", "00:01:30 2", "00:02:30 1"}},
		{"the five of a minute are those since the first", []time.Duration{time.Second, 50 * time.Second, 60 * time.Second, 62 * time.Second, 63 * time.Second, 64 * time.Second, 65 * time.Second},
			[]string{"00:00:01 1", "00:00:50 1", "00:01:00 1", "00:01:02 1", "00:01:03 1", "00:01:04 1", "00:01:05 1"}},
		{"after several at once, a digest of what follows", []time.Duration{time.Second, time.Second + time.Millisecond, 5 * time.Second, 6 * time.Second, 2 * time.Minute},
			[]string{"00:00:01 2", "00:01:01 2", "00:02:01 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rules = []job.Notification{hook("ops"), hook("other")}
			for i, at := range tt.at {
				w.raise(at, failed(fmt.Sprint("job", i), []string{"ops"}))
			}
			require.NoError(t, w.run(time.Hour))
			var got []string
			for i, sent := range w.sent {
				got = append(got, fmt.Sprint(sent[:len("00:00:00")], " ", w.all[len(w.all)-1-i].Alerts))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestADeliveryIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops"), hook("other")}
	w.raise(time.Second, failed("a", []string{"ops"}))
	w.raise(5*time.Minute, failed("b", []string{"ops"}))
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, []string{"00:00:01 ops: Job 'a' failed: down", "00:05:00 ops: Job 'b' failed: down"}, w.sent)
	require.Len(t, w.all, 2)
	require.Equal(t, notification.Delivery{
		ID: w.ids[1], Name: "ops", Target: "POST https://example.com/…", Time: w.all[0].Time, Alerts: 1, Outcome: notification.Delivered, Message: "200 OK", Attempts: 1,
	}, w.all[0])
}

func TestAStormOfAThousandJobsIsTwoMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops")}
	for i := range 100 {
		var some []notification.Raised
		for k := range 10 {
			some = append(some, failed(fmt.Sprint("job", 10*i+k), []string{"ops"}))
		}
		w.raise(time.Second+time.Duration(i)*50*time.Millisecond, some...)
	}
	require.NoError(t, w.run(time.Hour))
	require.Len(t, w.sent, 2, "%v", w.sent)
	total := 0
	for _, d := range w.all {
		total += d.Alerts
	}
	require.Equal(t, 1000, total)
}

func TestAnAlertThatIsRaisedTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, at := range []time.Duration{time.Second, 2 * time.Second, 10 * time.Minute} {
		w.raise(at, failed("a", nil, hook("own")))
	}
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, []string{"00:00:01 own: Job 'a' failed: down"}, w.sent)
}

func TestEqualTargetsOfSeveralJobsShareADigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.raise(time.Second, failed("a", nil, hook("same")), failed("b", nil, hook("same")), failed("c", nil, hook("own")))
	require.NoError(t, w.run(time.Hour))
	require.ElementsMatch(t, []string{"00:00:01 same: 2 events in job collection 'Reports': 2 failed", "00:00:01 own: Job 'c' failed: down"}, w.sent)
}

func TestATargetThatFailsIsTriedAgainWithTheSameIDAndDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops"), hook("broken")}
	w.answer = func(in *notify.Item) error {
		if in.Name == "broken" {
			return errors.New("the host answered 500")
		}
		return nil
	}
	w.raise(time.Second, failed("a", []string{"ops", "broken"}))
	w.raise(3*time.Second, failed("b", []string{"ops", "broken"}))
	require.NoError(t, w.run(time.Hour))
	require.ElementsMatch(t, []string{
		"00:00:01 ops: Job 'a' failed: down", "00:00:03 ops: Job 'b' failed: down",
		"00:00:01 broken: Job 'a' failed: down", "00:00:31 broken: Job 'a' failed: down", "00:01:01 broken: Job 'a' failed: down",
		"00:01:01 broken: Job 'b' failed: down", "00:01:31 broken: Job 'b' failed: down", "00:02:01 broken: Job 'b' failed: down",
	}, w.sent)
	different := map[string]bool{}
	for _, id := range w.ids {
		different[id] = true
	}
	require.Len(t, different, 2, "an alert has one id, for all attempts and targets")
	require.Equal(t, notification.Failed, w.all[0].Outcome)
	require.Equal(t, 3, w.all[0].Attempts)
	require.Equal(t, "the host answered 500", w.all[0].Message)
}

func TestAnAlertOfANotificationThatIsGoneIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops")}
	w.raise(time.Second, failed("a", []string{"removed"}))
	require.NoError(t, w.run(time.Hour))
	require.Empty(t, w.sent)
}

func TestAlertsWaitForACollectionThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops")}
	w.silent.Store(true)
	w.raise(time.Second, failed("a", []string{"ops"}), failed("b", nil, hook("own")))
	w.raise(10*time.Minute, failed("c", []string{"ops"}))
	w.env.RegisterDelayedCallback(func() { w.silent.Store(false) }, 59*time.Minute+30*time.Second)
	require.NoError(t, w.run(2*time.Hour))
	require.Len(t, w.sent, 2)
	require.Equal(t, "00:00:01 own: Job 'b' failed: down", w.sent[0], "other targets do not wait for it")
	require.Regexp(t, `^0(0:59|1:00):.*ops: 2 events`, w.sent[1])
	require.Empty(t, w.counted.Counted())
}

func TestAStormOfACollectionThatDoesNotAnswerIsCountedInItsDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops"), hook("other")}
	w.silent.Store(true)
	const jobs = 10_000
	for i := range jobs / 250 {
		var some []notification.Raised
		for k := range 250 {
			some = append(some, failed(fmt.Sprint("job", 250*i+k), []string{"ops"}))
		}
		w.raise(time.Second+time.Duration(i)*250*time.Millisecond, some...)
	}
	w.env.RegisterDelayedCallback(func() { w.silent.Store(false) }, 5*time.Minute)
	require.NoError(t, w.run(time.Hour))
	total := 0
	for _, n := range w.totals {
		total += n
	}
	require.Equal(t, jobs, total)
	require.LessOrEqual(t, len(w.sent), 2)
}

func TestAMessageOfWhichNoWorkerKnowsTheOutcomeIsShownAndCountedAsFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = func(*notify.Item) error { return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil) }
	w.raise(time.Second, failed("a", nil, hook("ops")))
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, notification.Failed, w.all[0].Outcome)
	require.Equal(t, "no worker recorded the outcome; the message may have been sent", w.all[0].Message)
	require.Equal(t, []string{"almanac_notifications Https failed"}, w.counted.Counted())
}

func TestTheNextRunSendsWhatWaitedAndWhatWasBeingSent(t *testing.T) {
	t.Parallel()
	target := hook("ops")
	alert := func(name string) notification.Message {
		r := failed(name, nil)
		m := notification.Message{Collection: collection}
		m.Add(&r.Alert)
		return m
	}
	sending := alert("a")
	sending.ID = "m1"
	w := newWorld(t)
	w.env.RegisterDelayedCallback(func() { w.env.SignalWorkflow(workflows.SignalEnd, nil) }, time.Hour)
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}, Channels: []*notifier.Channel{{
		Name: "ops", Target: target.Target, Sending: &sending, Waiting: alert("b"), Next: workflowtest.NewYear.Add(20 * time.Second),
	}}})
	require.NoError(t, w.env.GetWorkflowError())
	require.Equal(t, []string{"00:00:00 ops: Job 'a' failed: down", "00:00:20 ops: Job 'b' failed: down"}, w.sent)
	require.Equal(t, "m1", w.ids[0])
}

func TestARunThatIsLongHandsOverWhatItHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.raise(time.Second, failed("a", nil, hook("ops")))
	w.raise(2*time.Second, failed("b", nil, hook("ops")))
	w.env.RegisterDelayedCallback(func() { w.env.SetContinueAsNewSuggested(true) }, 2*time.Second)
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &again)
	var next notifier.Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Len(t, next.Seen, 2*8)
	require.Len(t, next.Channels, 1)
	require.Nil(t, next.Channels[0].Sending)
	require.Equal(t, 1, next.Channels[0].Waiting.Total(), "b waits for the minute to be over")
	require.Len(t, next.Deliveries, 1)
}

func TestARunToWhichAlertsArriveWithoutAPauseHandsOverAllOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops")}
	raised := 0
	for i := range 300 { // so that some always arrive while the workflow gathers those before
		w.env.RegisterDelayedCallback(func() {
			raised++
			w.env.SignalWorkflow(workflows.SignalRaise, []notification.Raised{failed(fmt.Sprint("job", raised), []string{"ops"})})
		}, time.Duration(i)*300*time.Millisecond)
	}
	w.env.RegisterDelayedCallback(func() { w.env.SetContinueAsNewSuggested(true) }, time.Minute)
	w.env.RegisterDelayedCallback(func() { t.Error("the run did not end"); w.env.CancelWorkflow() }, time.Hour)
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &again)
	var handedOver notifier.Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &handedOver))
	require.Len(t, handedOver.Seen, 8*raised, "what arrived last is not left behind")

	following := newWorld(t)
	following.rules = w.rules
	following.env.RegisterDelayedCallback(func() { following.env.SignalWorkflow(workflows.SignalEnd, nil) }, time.Hour)
	following.env.ExecuteWorkflow(workflows.TypeNotifications, handedOver)
	require.NoError(t, following.env.GetWorkflowError())
	total := 0
	for _, n := range append(w.totals, following.totals...) {
		total += n
	}
	require.Equal(t, raised, total, "each alert is sent once")
}

func TestNothingIsSentForACollectionThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gone = &temporal.UnknownExternalWorkflowExecutionError{}
	w.raise(0, failed("a", nil, hook("ops")))
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	require.NoError(t, w.env.GetWorkflowError())
	require.Empty(t, w.sent)
}

func TestItEndsWhenNothingWasRaisedForSixtyDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.raise(time.Second, failed("a", nil, hook("ops")))
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	require.NoError(t, w.env.GetWorkflowError())
	require.Equal(t, 60*24*time.Hour, w.env.Now().Sub(workflowtest.NewYear).Truncate(time.Hour))
}

// duty returns a notification to PagerDuty.
func duty() job.Notification {
	n := hook("duty")
	n.Target = job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{RoutingKey: "0123456789abcdef0123456789abcdef"}}, RetryPolicy: n.Target.RetryPolicy}
	return n
}

// of returns an alert of an event, by the collection's notification to PagerDuty.
func of(name string, e job.Event, n int) notification.Raised {
	r := failed(name, []string{"duty"})
	r.Alert.Event = e
	r.Alert.Identify("run", fmt.Sprint(name, n))
	return r
}

func TestAStormOpensFewIncidentsOfPagerDutyWhichAreResolvedDaysLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{duty()}
	posts := 0
	w.answer = func(in *notify.Item) error {
		posts += in.Message.PostCount(&in.Target)
		return nil
	}
	var storm, calm []notification.Raised
	for i := range 1000 {
		storm = append(storm, of(fmt.Sprint("job", i), job.EventFailed, i))
		calm = append(calm, of(fmt.Sprint("job", 999-i), job.EventRecovered, i))
	}
	w.raise(time.Second, storm...)
	days := 10 * 24 * time.Hour
	w.env.RegisterDelayedCallback(func() {
		// the incidents are known of the same integration, whatever its retry policy is
		n := duty()
		n.Target.RetryPolicy = nil
		w.rules = []job.Notification{n}
	}, days/2)
	w.raise(days, calm...)
	require.NoError(t, w.run(2*days))
	require.Equal(t, []int{1000, 20}, w.totals)
	require.Equal(t, 20+1+20, posts)
	require.Equal(t, 1020, w.all[0].Alerts+w.all[1].Alerts)
}

func TestARecoveryWithoutAnIncidentSendsNothingToPagerDuty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{duty()}
	w.raise(time.Second, of("a", job.EventRecovered, 1))
	w.raise(time.Hour, of("a", job.EventFailed, 2))
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	require.NoError(t, w.env.GetWorkflowError())
	require.Equal(t, []int{1}, w.totals)
	require.Equal(t, 60*24*time.Hour, w.env.Now().Sub(workflowtest.NewYear).Truncate(24*time.Hour), "an open incident keeps it no longer than an alert")
}

func TestTheNextRunKnowsWhichIncidentsOfPagerDutyAreOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{duty()}
	w.raise(time.Second, of("a", job.EventFailed, 1))
	w.raise(time.Hour, of("b", job.EventFailed, 2))
	w.env.RegisterDelayedCallback(func() { w.env.SetContinueAsNewSuggested(true) }, time.Hour+time.Minute)
	w.raise(2*time.Hour, of("c", job.EventFailed, 2))
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection}})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &again)
	var next notifier.Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Len(t, next.Channels, 1)
	require.Len(t, next.Channels[0].Open, 2)
}

// tester is a workflow that tests notifications.
func tester(ctx workflow.Context) ([]notification.Delivery, error) {
	return notifier.Test(ctx, collection, "Nightly", []job.Notification{hook("ops"), hook("broken")})
}

func TestATestIsSentOnceToEachTargetAndItsResultIsTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = func(in *notify.Item) error {
		if in.Name == "broken" {
			return errors.New("the host answered 500")
		}
		return nil
	}
	w.env.ExecuteWorkflow("tester")
	var got []notification.Delivery
	require.NoError(t, w.env.GetWorkflowResult(&got))
	const text = "This is a test of the notifications of job 'Nightly' in job collection 'Reports'"
	require.ElementsMatch(t, []string{"00:00:00 ops: " + text, "00:00:00 broken: " + text}, w.sent)
	require.Equal(t, []notification.DeliveryResult{notification.Delivered, notification.Failed}, []notification.DeliveryResult{got[0].Outcome, got[1].Outcome})
	require.Equal(t, "the host answered 500", got[1].Message)
}

func TestAlertsThatWereLongOnTheirWayWaitForMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := failed("a", nil, hook("a"))
	old.Alert.Time = old.Alert.Time.Add(-10 * time.Second)
	w.raise(time.Second, old)
	w.raise(4*time.Second, failed("b", nil, hook("b")))
	w.raise(time.Minute, failed("c", nil, hook("c")))
	require.NoError(t, w.run(time.Hour))
	var times []string
	for _, sent := range w.sent {
		times = append(times, sent[:8])
	}
	require.Equal(t, []string{"00:00:06", "00:00:06", "00:01:00"}, times)
}
