package activities_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

var execution = job.Execution{
	ID:         "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	Due:        time.Date(2015, 9, 10, 2, 0, 0, 500, time.FixedZone("", 2*60*60)),
	Repeat:     7,
	ActionName: job.MainAction,
	Job:        "nightly",
	Collection: "reports",
}

// A sendFunc is a sender for one test.
type sendFunc func(ctx context.Context) (string, error)

func (f sendFunc) Send(ctx context.Context, _ job.Execution, _ *job.Action) (string, error) {
	return f(ctx)
}

func fails(text string) sendFunc {
	return func(context.Context) (string, error) { return "", errors.New(text) }
}

func runner(s activities.Sender) *activities.Runner {
	return &activities.Runner{
		Senders: map[job.ActionType]activities.Sender{job.ActionHTTP: s, job.ActionHTTPS: s},
		Log:     slog.New(slog.DiscardHandler),
	}
}

func input(maxAttempts int) activities.Input {
	return activities.Input{Execution: execution, Action: job.Action{Type: "http"}, MaxAttempts: maxAttempts}
}

// task is one activity task: what a worker gets from Temporal, and what it
// hands over to the next attempt.
type task struct {
	attempt int32           // 0 means 1
	earlier []job.Attempt   // heartbeat details
	stop    chan struct{}   // closed when the worker stops
	ctx     context.Context // the activity's context ends with it; nil means never
	patient time.Duration   // HeartbeatTimeout of the activity
	server  *server         // what is told of it at once; nil means that nobody is

	handedOver []job.Attempt
}

// run executes the task in a test environment and returns the records of its attempts.
func (k *task) run(t testing.TB, r *activities.Runner, in activities.Input) ([]job.Attempt, error) {
	t.Helper()
	out, err := k.execute(t, r, in)
	if err != nil {
		return activities.Attempts(err), err
	}
	return out.Attempts, nil
}

// lead executes the task and returns the lead that it teaches.
func (k *task) lead(t testing.TB, r *activities.Runner, in activities.Input) int {
	t.Helper()
	out, err := k.execute(t, r, in)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		require.NoError(t, failed.Details(new([]job.Attempt), &out.Lead))
	}
	return out.Lead
}

func (k *task) execute(t testing.TB, r *activities.Runner, in activities.Input) (out activities.Output, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard{})
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{
		Interceptors:              []interceptor.WorkerInterceptor{&taskInterceptor{task: k}},
		BackgroundActivityContext: k.ctx,
	})
	env.RegisterActivityWithOptions(r.Run, activity.RegisterOptions{Name: activities.TypeAction})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		if err := details.Get(&k.handedOver); err != nil {
			t.Error(err)
		}
	})
	if k.earlier != nil {
		env.SetHeartbeatDetails(k.earlier)
	}
	if k.stop != nil {
		env.SetWorkerStopChannel(k.stop)
	}
	value, err := env.ExecuteActivity(activities.TypeAction, in)
	if err != nil {
		return out, err
	}
	require.NoError(t, value.Get(&out))
	return out, nil
}

// taskInterceptor does what the environment does not: it sets the attempt's
// number and heartbeat timeout, has a client and, like a server, misses
// heartbeats whose context has ended.
type taskInterceptor struct {
	interceptor.WorkerInterceptorBase
	task *task
}

func (i *taskInterceptor) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &taskInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, i.task}
}

type taskInbound struct {
	interceptor.ActivityInboundInterceptorBase
	task *task
}

func (i *taskInbound) Init(out interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(newTaskOutbound(out, i.task, out.GetClient))
}

// A taskOutbound's C is a type of the SDK that cannot be named: a client.
type taskOutbound[C any] struct {
	interceptor.ActivityOutboundInterceptorBase
	task *task
}

func newTaskOutbound[C any](next interceptor.ActivityOutboundInterceptor, k *task, _ func(context.Context) C) *taskOutbound[C] {
	return &taskOutbound[C]{interceptor.ActivityOutboundInterceptorBase{Next: next}, k}
}

func (o *taskOutbound[C]) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	info.Attempt = max(o.task.attempt, 1)
	info.HeartbeatTimeout = o.task.patient
	return info
}

func (o *taskOutbound[C]) GetClient(context.Context) C { return any(o.task.server).(C) }

func (o *taskOutbound[C]) RecordHeartbeat(ctx context.Context, details ...any) {
	if ctx.Err() == nil {
		o.Next.RecordHeartbeat(ctx, details...)
	}
}

type discard struct{}

func (discard) Debug(string, ...any) {}
func (discard) Info(string, ...any)  {}
func (discard) Warn(string, ...any)  {}
func (discard) Error(string, ...any) {}

func applicationError(t *testing.T, err error) *temporal.ApplicationError {
	t.Helper()
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "want an application error, got %v", err)
	require.Equal(t, activities.ErrTypeFailed, failed.Type())
	return failed
}

// history is the outcomes and messages of attempts, a line each.
func history(attempts []job.Attempt) string {
	var b strings.Builder
	for _, a := range attempts {
		fmt.Fprintf(&b, "%d %s %s\n", a.Number, a.Outcome, a.Message)
	}
	return b.String()
}

func requireInOrder(t *testing.T, attempts []job.Attempt) {
	t.Helper()
	for i, a := range attempts {
		require.Equal(t, i+1, a.Number)
		require.False(t, a.End.Before(a.Start), "attempt %d ends before it starts", a.Number)
		if i > 0 {
			require.False(t, a.Start.Before(attempts[i-1].End), "attempt %d starts before the one before it ends", a.Number)
		}
	}
}

const lost = "The worker stopped before it recorded the outcome; the request may have been sent."

func TestSuccessReturnsEveryAttempt(t *testing.T) {
	t.Parallel()
	earlier := []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed, Message: "refused"}}
	k := task{attempt: 2, earlier: earlier}
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) { return "fine", nil })), input(5))
	require.NoError(t, err)
	require.Equal(t, "1 Failed refused\n2 Completed fine\n", history(attempts))
	requireInOrder(t, attempts)
	require.Equal(t, time.UTC, attempts[1].Start.Location())
}

func TestFailureBeforeTheLastAttemptHandsItsRecordOver(t *testing.T) {
	t.Parallel()
	var k task
	_, err := k.run(t, runner(fails("refused")), input(2))
	failed := applicationError(t, err)
	require.False(t, failed.NonRetryable())
	require.False(t, failed.HasDetails(), "records travel in the heartbeat")
	require.Equal(t, "refused", failed.Message())
	require.Equal(t, "1 Failed refused\n", history(k.handedOver))
}

func TestLastFailureCarriesEveryRecord(t *testing.T) {
	t.Parallel()
	k := task{attempt: 2, earlier: []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed, Message: "refused"}}}
	attempts, err := k.run(t, runner(fails("reset")), input(2))
	applicationError(t, err)
	require.Equal(t, "1 Failed refused\n2 Failed reset\n", history(attempts))
	require.Empty(t, k.handedOver)
}

func TestTheHistoryShowsTheMessageAndTheErrorStaysShort(t *testing.T) {
	t.Parallel()
	var k task
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) {
		return "the whole answer", errors.New(strings.Repeat("ä", 1000))
	})), input(1))
	require.Equal(t, "1 Failed the whole answer\n", history(attempts))
	require.LessOrEqual(t, len(applicationError(t, err).Message()), 500)
}

func TestPermanentFailureIsNotRetried(t *testing.T) {
	t.Parallel()
	var k task
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) {
		return "", fmt.Errorf("sending: %w", &activities.PermanentError{Err: errors.New("no such queue")})
	})), input(5))
	require.True(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed sending: no such queue\n", history(attempts))
}

func TestReceiverMayPutOffTheNextAttempt(t *testing.T) {
	t.Parallel()
	const byPolicy = time.Duration(0)
	for _, tt := range []struct {
		name     string
		after    time.Duration
		interval job.Duration
		attempt  int32
		want     time.Duration
	}{
		{"longer than the policy", 2 * time.Minute, "PT1M", 1, 2 * time.Minute},
		{"shorter than the policy", 30 * time.Second, "PT1M", 1, byPolicy},
		{"longer than the interval of no policy", 31 * time.Second, "", 1, 31 * time.Second},
		{"shorter than the interval of no policy", 29 * time.Second, "", 1, byPolicy},
		{"not at all", 0, "PT1M", 1, byPolicy},
		{"an hour at most", 24 * time.Hour, "PT1M", 1, time.Hour},
		{"an hour, and the policy waits longer", 24 * time.Hour, "PT2H", 1, byPolicy},
		{"after the last attempt", 2 * time.Minute, "PT1M", 3, byPolicy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := input(3)
			if tt.interval != "" {
				in.Action.RetryPolicy = &job.RetryPolicy{RetryInterval: tt.interval, RetryCount: 2}
			}
			k := task{attempt: tt.attempt}
			_, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) {
				return "", fmt.Errorf("sending: %w", &activities.RetryAfterError{Err: errors.New("busy"), After: tt.after})
			})), in)
			failed := applicationError(t, err)
			require.Equal(t, tt.want, failed.NextRetryDelay())
			require.False(t, failed.NonRetryable())
			require.Equal(t, "sending: busy", failed.Message())
		})
	}
}

func TestActionsOfOtherKindsFailForGood(t *testing.T) {
	t.Parallel()
	for written, shown := range map[job.ActionType]string{"storagequeue": "StorageQueue", "Fax": "Fax"} {
		t.Run(string(written), func(t *testing.T) {
			t.Parallel()
			in := input(5)
			in.Action.Type = written
			var k task
			attempts, err := k.run(t, runner(fails("must not be called")), in)
			require.True(t, applicationError(t, err).NonRetryable())
			require.Equal(t, `1 Failed this worker does not perform actions of type "`+shown+"\"; the job is kept as it is\n", history(attempts))
		})
	}
}

func TestAttemptsOfDeadWorkersAreRecorded(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 1, 5, 9, 0, 1, 0, time.UTC)
	k := task{attempt: 4, earlier: []job.Attempt{{Number: 1, Start: end.Add(-time.Second), End: end, Outcome: job.OutcomeFailed, Message: "refused"}}}
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) { return "fine", nil })), input(5))
	require.NoError(t, err)
	require.Equal(t, "1 Failed refused\n2 Failed "+lost+"\n3 Failed "+lost+"\n4 Completed fine\n", history(attempts))
	requireInOrder(t, attempts)
	require.Equal(t, end, attempts[1].Start)
	require.False(t, attempts[1].End.After(attempts[3].Start))
	require.WithinDuration(t, attempts[3].Start, attempts[1].End, time.Minute, "they were lost by the time this one was ready")
}

func TestFirstAttemptLostStartsWhenItWasScheduled(t *testing.T) {
	t.Parallel()
	k := task{attempt: 2}
	attempts, err := k.run(t, runner(fails("refused")), input(2))
	require.Error(t, err)
	require.Equal(t, "1 Failed "+lost+"\n2 Failed refused\n", history(attempts))
	requireInOrder(t, attempts)
	require.WithinRange(t, attempts[0].Start, attempts[0].End.Add(-time.Hour), attempts[0].End)
}

func TestLostAttemptNeverEndsBeforeItStarts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	attempts := activities.FillLost(nil, 2, now.Add(time.Second), now)
	require.Len(t, attempts, 2)
	requireInOrder(t, attempts)
}

func TestAttemptsGoOnCountingAfterAReset(t *testing.T) {
	t.Parallel()
	k := task{attempt: 1, earlier: []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed}, {Number: 2, Outcome: job.OutcomeFailed}}}
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) { return "fine", nil })), input(5))
	require.NoError(t, err)
	require.Equal(t, "1 Failed \n2 Failed \n3 Completed fine\n", history(attempts))
}

func TestMessagesOfOldAttemptsAreShortened(t *testing.T) {
	t.Parallel()
	const messageSize = 7000
	var k task
	for n := range 40 {
		k.earlier = append(k.earlier, job.Attempt{Number: n + 1, Outcome: job.OutcomeFailed, Message: strings.Repeat("x", messageSize)})
	}
	k.attempt = 41
	attempts, err := k.run(t, runner(fails("refused")), input(41))
	require.Error(t, err)
	require.Len(t, attempts, 41, "every attempt keeps its record")
	whole := 0
	for _, a := range attempts {
		if len(a.Message) == messageSize {
			whole++
		} else {
			require.LessOrEqual(t, len(a.Message), 100)
		}
	}
	require.Equal(t, 24, whole, "the newest 25, of which the last one is short")
}

func TestPanicInASenderIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	r := runner(sendFunc(func(context.Context) (string, error) { panic("sig=topsecret") }))
	r.Log = slog.New(slog.NewTextHandler(&log, nil))
	var k task
	attempts, err := k.run(t, r, input(1))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Contains(t, attempts[0].Message, "internal error")
	require.Contains(t, log.String(), "sender panicked")
	require.NotContains(t, log.String()+err.Error()+history(attempts), "topsecret")
}

func untilTheEnd(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestAttemptHasLimitedTime(t *testing.T) {
	t.Parallel()
	r := runner(sendFunc(untilTheEnd))
	r.Timeout = 20 * time.Millisecond
	var k task
	attempts, err := k.run(t, r, input(1))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed timed out: not complete after 0.02 s\n", history(attempts))
}

func TestStoppingWorkerEndsTheAttemptAndHandsItOver(t *testing.T) {
	t.Parallel()
	k := task{stop: make(chan struct{})}
	_, err := k.run(t, runner(sendFunc(func(ctx context.Context) (string, error) {
		close(k.stop)
		return untilTheEnd(ctx)
	})), input(2))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed the worker was stopped; the request may have been sent\n", history(k.handedOver))
}

func TestWorkerThatIsDoneWaitingEndsTheAttempt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	k := task{stop: make(chan struct{}), ctx: ctx}
	r := runner(sendFunc(func(ctx context.Context) (string, error) {
		close(k.stop)
		cancel()
		return untilTheEnd(ctx)
	}))
	r.Grace = time.Hour // longer than the worker waits, which is a mistake
	_, err := k.run(t, r, input(2))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed the worker was stopped; the request may have been sent\n", history(k.handedOver))
}

func TestCancelledActivityEndsTheAttemptForGood(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	k := task{ctx: ctx}
	attempts, err := k.run(t, runner(sendFunc(func(ctx context.Context) (string, error) {
		cancel()
		return untilTheEnd(ctx)
	})), input(2))
	require.True(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed the execution was cancelled; the request may have been sent\n", history(attempts))
}

func TestStoppingWorkerLetsAnAttemptEndWithinTheGrace(t *testing.T) {
	t.Parallel()
	k := task{stop: make(chan struct{})}
	r := runner(sendFunc(func(ctx context.Context) (string, error) {
		close(k.stop)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(50 * time.Millisecond): // the attempt is under way when the worker stops
			return "fine", nil
		}
	}))
	r.Grace = time.Minute
	attempts, err := k.run(t, r, input(2))
	require.NoError(t, err)
	require.Equal(t, "1 Completed fine\n", history(attempts))
}

// Temporal's own retries, with heartbeat details from attempt to attempt.
func TestRetriesLeaveOneRecordEach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		failures int
		want     string
	}{
		{"success at last", 2, "1 Failed failure 1\n2 Failed failure 2\n3 Completed fine\n"},
		{"no success", 3, "1 Failed failure 1\n2 Failed failure 2\n3 Failed failure 3\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(discard{})
			env := suite.NewTestWorkflowEnvironment()
			calls := 0
			env.RegisterActivityWithOptions(runner(sendFunc(func(context.Context) (string, error) {
				if calls++; calls <= tt.failures {
					return "", fmt.Errorf("failure %d", calls)
				}
				return "fine", nil
			})).Run, activity.RegisterOptions{Name: activities.TypeAction})
			env.ExecuteWorkflow(func(ctx workflow.Context) ([]job.Attempt, error) {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: 2 * activities.DefaultTimeout,
					RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 30 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 3},
				})
				var out activities.Output
				if err := workflow.ExecuteActivity(ctx, activities.TypeAction, input(3)).Get(ctx, &out); err != nil {
					return activities.Attempts(err), nil
				}
				return out.Attempts, nil
			})
			require.NoError(t, env.GetWorkflowError())
			var attempts []job.Attempt
			require.NoError(t, env.GetWorkflowResult(&attempts))
			require.Equal(t, tt.want, history(attempts))
			requireInOrder(t, attempts)
		})
	}
}

func TestAttemptsReadsWhatATimeoutLeft(t *testing.T) {
	t.Parallel()
	records := []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed, Message: "refused"}}
	require.Equal(t, records, activities.Attempts(fmt.Errorf("activity: %w", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil, records))))
	require.Nil(t, activities.Attempts(errors.New("something else")))
	require.Nil(t, activities.Attempts(temporal.NewApplicationError("text as details", "Other", "not records")))
}
