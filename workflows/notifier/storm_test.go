package notifier_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"almanac/activities/notify"
	"almanac/internal/codec"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/notifier"
)

// The server's default limits.
const (
	serverPayload = 2 << 20
	serverMessage = 4 << 20
	serverPending = 2000
)

// A meter measures the activities that a workflow starts: their bytes in each round of its loop, of which a workflow
// task has at most two, and their number.
type meter struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	interceptor.WorkflowOutboundInterceptorBase
	round, mostBytes     int
	pending, mostPending int
	started              int
}

func (m *meter) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	m.WorkflowInboundInterceptorBase.Next = next
	return m
}

func (m *meter) Init(out interceptor.WorkflowOutboundInterceptor) error {
	m.WorkflowOutboundInterceptorBase.Next = out
	return m.WorkflowInboundInterceptorBase.Next.Init(m)
}

func (m *meter) Await(ctx workflow.Context, condition func() bool) error {
	m.round = 0
	return m.WorkflowOutboundInterceptorBase.Next.Await(ctx, condition)
}

func (m *meter) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(arguments...)
	if err != nil {
		panic(err) //nolint:forbidigo // a test
	}
	m.round += proto.Size(payloads)
	m.mostBytes = max(m.mostBytes, m.round)
	m.started++
	m.pending++
	m.mostPending = max(m.mostPending, m.pending)
	f := m.WorkflowOutboundInterceptorBase.Next.ExecuteActivity(ctx, name, arguments...)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = f.Get(ctx, nil)
		m.pending--
	})
	return f
}

// measured returns a world whose activities take some time, and their meter.
func measured(t *testing.T, takes time.Duration) (*world, *meter) {
	t.Helper()
	w, m := newWorld(t), &meter{}
	w.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: workflowtest.Deadlock, Interceptors: []interceptor.WorkerInterceptor{m}})
	w.env.OnActivity(notify.TypeSend, mock.Anything, mock.Anything).After(takes).Return(w.send)
	return w, m
}

// largest returns an alert of a job with the longest names and texts, and notifications of its own that are as long as
// a job may be.
func largest(i int) notification.Raised {
	wide := func(n int) string { return strings.Repeat("😀", n-6) + fmt.Sprintf("%06d", i) }
	k := job.CollectionKey{Subscription: wide(255), ResourceGroup: wide(255), Name: wide(100)}.Job(wide(255))
	a := notification.Alert{Event: job.EventFailed, Job: k, Time: workflowtest.NewYear, Error: strings.Repeat("<", 1000), Failures: 1000, Execution: "e", Due: workflowtest.NewYear, LastSuccess: workflowtest.NewYear}
	a.Identify("run", "e")
	a.Describe("")
	n := hook(strings.Repeat("<", 58) + fmt.Sprintf("%06d", i))
	n.Target.Request.URI = fmt.Sprintf("https://example.com/%d", i)
	n.Target.Request.Headers = job.Members{{Name: "X", Value: strings.Repeat("<", 3900)}}
	return notification.Raised{Alert: a, Own: []job.Notification{n}}
}

// signals divides alerts into signals as large as they may be.
func signals(raised []notification.Raised) (all [][]notification.Raised) {
	size := 0
	for _, r := range raised {
		if one := notification.SizeOf(r); len(all) == 0 || size+one > 256<<10 {
			all, size = append(all, nil), one
		} else {
			size += one
		}
		all[len(all)-1] = append(all[len(all)-1], r)
	}
	return all
}

// handedOver returns the input of the next run, which must be within the server's limit, encrypted by one key.
func handedOver(t *testing.T, w *world) (next notifier.Input) {
	t.Helper()
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &again)
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	encrypted, err := keys.Codec(next.WorkflowID()).Encode(again.Input.GetPayloads())
	require.NoError(t, err)
	require.Less(t, proto.Size(again.Input), serverPayload)
	require.Less(t, proto.Size(&commonpb.Payloads{Payloads: encrypted}), serverPayload)
	return next
}

func sum(numbers []int) (n int) {
	for _, one := range numbers {
		n += one
	}
	return n
}

func lost(all []notification.Delivery) (alerts int) {
	for _, d := range all {
		if strings.HasPrefix(d.Message, "lost") {
			alerts += d.Alerts
		}
	}
	return alerts
}

func TestTheAlertsOf720JobsWithThreeTargetsEachInOneMinuteAreDelivered(t *testing.T) {
	t.Parallel()
	const jobs = 720
	var raised []notification.Raised
	for i := range jobs {
		raised = append(raised, failed(fmt.Sprint("job", i), nil, hook(fmt.Sprint("a", i)), hook(fmt.Sprint("b", i)), hook(fmt.Sprint("c", i))))
	}
	sent := 0
	for shard, part := range notification.Split(raised) {
		require.Equal(t, shard == 0, len(part) == 0)
		if shard == 0 {
			continue
		}
		w, m := measured(t, 10*time.Second)
		for i, r := range part {
			w.raise(time.Duration(i)*time.Minute/time.Duration(len(part)), r)
		}
		require.NoError(t, w.run(time.Hour))
		require.Less(t, m.mostPending, 200)
		require.Less(t, 2*m.mostBytes, serverMessage)
		require.Zero(t, lost(w.all))
		sent += len(w.sent)
	}
	require.Equal(t, 3*jobs, sent)
}

func TestAStormOfDistinctTargetsIsFewActivities(t *testing.T) {
	t.Parallel()
	w, m := measured(t, time.Second)
	const jobs = 10_000 / notification.Shards * 3 / 2 // a shard with more than its share
	var raised []notification.Raised
	for i := range jobs {
		raised = append(raised, failed(fmt.Sprint("job", i), nil, hook(fmt.Sprint("t", i))))
	}
	for i, some := range signals(raised) {
		w.raise(time.Second+time.Duration(i)*250*time.Millisecond, some...)
	}
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, jobs, sum(w.totals))
	require.Less(t, m.started, jobs/20)
	require.Zero(t, lost(w.all))
}

func TestAStormOfTheLargestAlertsIsWithinTheLimitsOfTheServerAndEachIsSentOrCounted(t *testing.T) {
	t.Parallel()
	const jobs = 500
	var raised []notification.Raised
	for i := range jobs {
		raised = append(raised, largest(i))
	}
	require.Greater(t, notification.SizeOf(raised[0].Own), 23<<10)
	w, m := measured(t, 10*time.Second)
	w.answer = func(in *notify.Item) error {
		if in.Attempt < 3 {
			return errors.New("timed out")
		}
		return nil
	}
	for i, some := range signals(raised) {
		w.raise(time.Second+time.Duration(i)*250*time.Millisecond, some...)
	}
	// while deliveries are made
	w.env.RegisterDelayedCallback(func() { w.env.SetCurrentHistoryLength(9_000) }, 15*time.Second)
	w.env.ExecuteWorkflow(workflows.TypeNotifications, notifier.Input{Shard: notification.Shard{Collection: collection, Number: 1}})
	next := handedOver(t, w)
	require.NotEmpty(t, next.Channels)
	require.Less(t, 2*m.mostBytes, serverMessage)
	require.Less(t, m.mostPending, serverPending/10)

	following, m := measured(t, 10*time.Second)
	following.env.RegisterDelayedCallback(func() {
		value, err := following.env.QueryWorkflow(workflows.QueryDeliveries)
		require.NoError(t, err)
		require.NoError(t, value.Get(&following.all))
		following.env.SignalWorkflow(workflows.SignalEnd, nil)
	}, time.Hour)
	following.env.ExecuteWorkflow(workflows.TypeNotifications, next)
	require.NoError(t, following.env.GetWorkflowError())
	require.Less(t, 2*m.mostBytes, serverMessage)
	delivered := map[string]bool{}
	for _, id := range following.ids {
		delivered[id] = true
	}
	handed := (len(next.Seen)) / 8
	require.Equal(t, handed, len(delivered)+lost(following.all), "each is delivered, or counted as lost where an operator sees it")
	require.Positive(t, lost(following.all))
	require.Contains(t, append(w.counted.Counted(), following.counted.Counted()...), "almanac_alerts_lost  ")
}

func TestWhateverARunHoldsTheInputOfTheNextIsWithinTheLimitOfTheServer(t *testing.T) {
	t.Parallel()
	w, _ := measured(t, 10*time.Second)
	in := notifier.Input{Shard: notification.Shard{Collection: collection, Number: 1}, Seen: make([]byte, 8*21_000)}
	for i := range 200 {
		r := largest(i)
		c := &notifier.Channel{Name: r.Own[0].Name, Target: r.Own[0].Target, Next: workflowtest.NewYear.Add(time.Hour)}
		c.Waiting.Add(&r.Alert)
		in.Channels = append(in.Channels, c)
	}
	w.env.SetContinueAsNewSuggested(true)
	w.env.ExecuteWorkflow(workflows.TypeNotifications, in)
	next := handedOver(t, w)
	require.NotEmpty(t, next.Channels)
	require.Equal(t, 200, len(next.Channels)+lost(next.Deliveries))
}

func TestADigestOfTheLargestAlertsIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops")}
	var raised []notification.Raised
	for i := range 100 {
		r := largest(i)
		raised = append(raised, notification.Raised{Alert: r.Alert, Inherit: []string{"ops"}})
	}
	listed := 0
	w.answer = func(in *notify.Item) error {
		require.Less(t, notification.SizeOf(in.Message.Alerts), notification.MaxListedBytes+10<<10)
		listed = len(in.Message.Alerts)
		return nil
	}
	for _, some := range signals(raised) {
		w.raise(time.Second, some...)
	}
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, 100, sum(w.totals))
	require.Positive(t, listed)
}

func TestATargetThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.OnActivity(notify.TypeSend, mock.Anything, mock.MatchedBy(func(in notify.SendInput) bool { return in.Items[0].Name == "hangs" })).
		After(notify.SendTimeout).Return(w.send)
	w.env.OnActivity(notify.TypeSend, mock.Anything, mock.Anything).Return(w.send)
	w.answer = func(in *notify.Item) error {
		if in.Name == "hangs" {
			return errors.New("timed out")
		}
		return nil
	}
	for i := range 4 {
		w.raise(time.Duration(1+2*i)*time.Second, failed(fmt.Sprint("job", i), nil, hook("hangs"), hook("works")))
	}
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, []string{"00:00:01 works: Job 'job0' failed: down", "00:00:03 works: Job 'job1' failed: down", "00:00:05 works: Job 'job2' failed: down", "00:00:07 works: Job 'job3' failed: down"}, only(w.sent, "works"))
}

func only(sent []string, name string) (some []string) {
	for _, s := range sent {
		if strings.Contains(s, name) {
			some = append(some, s)
		}
	}
	return some
}

func TestARecoveryThatPagerDutyDidNotAcceptIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		another bool // an alert comes before the pause is over
		want    []string
	}{
		{"after a pause, which gets longer", false, []string{"00:00:01 1", "01:00:00 1", "01:00:30 1", "01:01:00 1", "01:11:00 1", "01:11:30 1", "01:12:00 1", "01:32:00 1"}},
		{"with the next message", true, []string{"00:00:01 1", "01:00:00 1", "01:00:30 1", "01:01:00 1", "01:05:00 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rules = []job.Notification{duty()}
			var works atomic.Bool
			var got []string
			resolved := 0
			w.answer = func(in *notify.Item) error {
				got = append(got, fmt.Sprintf("%s %d", clock(w.env.Now()), len(in.Message.Alerts)))
				for _, a := range in.Message.Alerts {
					resolved += len(a.Resolves)
				}
				if !works.Load() && w.env.Now().Sub(workflowtest.NewYear) > time.Minute {
					resolved = 0
					return errors.New("the host answered 500")
				}
				return nil
			}
			w.raise(time.Second, of("a", job.EventFailed, 1))
			w.raise(time.Hour, of("a", job.EventRecovered, 2))
			if tt.another {
				w.env.RegisterDelayedCallback(func() { works.Store(true) }, time.Hour+2*time.Minute)
				w.raise(time.Hour+5*time.Minute, of("b", job.EventFailed, 3))
			} else {
				w.env.RegisterDelayedCallback(func() { works.Store(true) }, time.Hour+20*time.Minute)
			}
			require.NoError(t, w.run(24*time.Hour))
			for i := range got { // half a second apart
				got[i] = strings.Replace(got[i], ":01 ", ":00 ", 1)
			}
			require.Len(t, got, len(tt.want), "%v", got)
			require.Equal(t, 1, resolved)
			require.Equal(t, notification.Delivered, w.all[0].Outcome)
		})
	}
}

func TestANoticeThatAJobDroppedAlertsIsListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notice := failed("a", nil)
	notice.Lost = 7
	w.raise(time.Second, notice)
	w.raise(time.Minute, notice)
	require.NoError(t, w.run(time.Hour))
	require.Empty(t, w.sent)
	require.Len(t, w.all, 1)
	require.Equal(t, []any{7, notification.Failed, "lost: job 'a' raised more alerts than it keeps while it cannot hand them over"}, []any{w.all[0].Alerts, w.all[0].Outcome, w.all[0].Message})
}

func TestAStormIsRecognizedIfItIsHandedOverAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules = []job.Notification{hook("ops")}
	const jobs = 10_000
	for again := range 2 {
		for i := range jobs / 250 {
			var some []notification.Raised
			for k := range 250 {
				some = append(some, failed(fmt.Sprint("job", 250*i+k), []string{"ops"}))
			}
			w.raise(time.Duration(again)*10*time.Minute+time.Second+time.Duration(i)*250*time.Millisecond, some...)
		}
	}
	require.NoError(t, w.run(time.Hour))
	require.Equal(t, jobs, sum(w.totals))
}
