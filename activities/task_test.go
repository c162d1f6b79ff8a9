package activities_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"almanac/activities"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

var execution = sendertest.Execution

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
		Senders: map[kind.Type]activities.Sender{kind.HTTP: s, kind.HTTPS: s},
		Log:     slog.New(slog.DiscardHandler),
	}
}

// A timedRunner is a runner that records when it sends.
type timedRunner struct {
	*activities.Runner
	mu   sync.Mutex
	sent []time.Time
}

// newTimedRunner returns a runner whose requests take that long.
func newTimedRunner(takes time.Duration) *timedRunner {
	c := &timedRunner{}
	c.Runner = runner(sendFunc(func(ctx context.Context) (string, error) {
		c.mu.Lock()
		c.sent = append(c.sent, time.Now())
		c.mu.Unlock()
		select {
		case <-time.After(takes):
			return "fine", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}))
	return c
}

func input(maxAttempts int) activities.Input {
	return activities.Input{Execution: execution, Action: job.Action{Type: "http"}, MaxAttempts: maxAttempts}
}

// due returns an input whose execution is due after the given time.
func due(after time.Duration, maxAttempts int) activities.Input {
	in := input(maxAttempts)
	in.Execution.Due = time.Now().Add(after).Round(0) // as after JSON, without a monotonic reading
	return in
}

// refused returns the records of one earlier attempt.
func refused() []job.Attempt {
	return []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed, Message: "refused"}}
}

// A server answers heartbeats one at a time.
type server struct {
	client.Client
	answer  func(n int) error // to heartbeat n, from 1; nil: the attempt is still wanted
	forward bool              // pass heartbeats to the test environment, for the next attempt

	old bool // it cannot change the options of activities

	mu    sync.Mutex
	heard []beat
	loss  []timeoutChange
}

// A timeoutChange is a change of the heartbeat timeout.
type timeoutChange struct{ at, timeout time.Duration }

type beat struct {
	at time.Time
	activities.Progress
}

func (s *server) RecordActivityHeartbeatWithOptions(ctx context.Context, o client.RecordActivityHeartbeatOptions) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.WorkflowID != activity.GetInfo(ctx).WorkflowExecution.ID {
		return errors.New("the next attempt could not decrypt it")
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(o.Details...)
	if err != nil {
		return err
	}
	b := beat{at: time.Now()}
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, &b.Progress); err != nil {
		return err
	}
	if s.forward {
		activity.RecordHeartbeat(ctx, o.Details...)
	}
	s.mu.Lock()
	s.heard = append(s.heard, b)
	n := len(s.heard)
	s.mu.Unlock()
	if s.answer == nil {
		return nil
	}
	err = s.answer(n)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// WorkflowService returns the calls of the server for which the SDK has no method.
func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return &service{server: s} }

type service struct {
	workflowservice.WorkflowServiceClient
	server *server
}

func (s *service) UpdateActivityOptions(ctx context.Context, r *workflowservice.UpdateActivityOptionsRequest, _ ...grpc.CallOption) (*workflowservice.UpdateActivityOptionsResponse, error) {
	info := activity.GetInfo(ctx)
	switch {
	case s.server.old:
		return nil, serviceerror.NewUnimplemented("unknown method")
	case r.GetExecution().GetWorkflowId() != info.WorkflowExecution.ID || r.GetId() != info.ActivityID || !slices.Equal(r.GetUpdateMask().GetPaths(), []string{"heartbeat_timeout"}):
		return nil, serviceerror.NewInvalidArgument("it is about something else")
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.loss = append(s.server.loss, timeoutChange{time.Since(info.StartedTime), r.GetActivityOptions().GetHeartbeatTimeout().AsDuration()})
	return &workflowservice.UpdateActivityOptionsResponse{}, nil
}

func (s *server) beats() []beat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

// fences returns the heartbeats that passed a fence, or tried to.
func (s *server) fences() []beat {
	return slices.DeleteFunc(s.beats(), func(b beat) bool { return b.Lease == 0 })
}

// handedOver returns the records in the last heartbeat.
func (s *server) handedOver() []job.Attempt {
	all := s.beats()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Attempts
}

// A server's answers.
var (
	errCancelled   = temporal.NewCanceledError()
	errMissing     = serviceerror.NewNotFound("no such activity")
	errUnavailable = serviceerror.NewUnavailable("it starts")
)

func always(err error) func(int) error { return func(int) error { return err } }

// until returns an answer of err up to the given time, and of nil afterwards.
func until(at time.Time, err error) func(int) error {
	return func(int) error {
		if time.Now().Before(at) {
			return err
		}
		return nil
	}
}

// task is an activity task as a worker gets it from Temporal.
type task struct {
	attempt   int32           // 0 means 1
	attempts  int32           // the server's maximum; 0 means no limit
	earlier   []job.Attempt   // records in the heartbeat details
	next      time.Time       // in the heartbeat details: the attempt does not begin before
	sent      bool            // in the heartbeat details: another attempt passed its fence and left no record
	details   any             // replaces these heartbeat details unless nil
	stop      chan struct{}   // closed when the worker stops
	ctx       context.Context // the activity's context ends with it; nil means never
	heartbeat time.Duration   // the activity's HeartbeatTimeout
	started   time.Time       // by the server's clock; zero means now
	scheduled time.Time       // likewise; zero means when it started
	workflow  string          // ID of its workflow; "" means any
	server    *server         // nil means one to which every attempt is welcome
	real      bool            // its attempt, times and timeouts are those of the environment
}

// run executes the task in a test environment and returns the records of its attempts.
func (k *task) run(t testing.TB, r *activities.Runner, in activities.Input) ([]job.Attempt, error) {
	t.Helper()
	out, err := k.execute(t, r, in)
	if err != nil {
		return activities.EndingOf(err, time.Time{}, time.Time{}).Attempts, err
	}
	return out.Attempts, nil
}

func (k *task) execute(t testing.TB, r *activities.Runner, in activities.Input) (out activities.Output, err error) {
	t.Helper()
	if k.server == nil {
		k.server = &server{}
	}
	if k.started.IsZero() {
		k.started = time.Now().Round(0)
	}
	if k.scheduled.IsZero() {
		k.scheduled = k.started
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard{})
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{
		Interceptors:              []interceptor.WorkerInterceptor{&taskInterceptor{task: k}},
		BackgroundActivityContext: k.ctx,
	})
	env.RegisterActivityWithOptions(r.Run, activity.RegisterOptions{Name: activities.TypeAction})
	if k.earlier != nil || k.sent {
		p := activities.Progress{Attempts: k.earlier, Sent: len(k.earlier), Next: k.next}
		if k.sent {
			p.Sent++
		}
		env.SetHeartbeatDetails(p)
	}
	if k.details != nil {
		env.SetHeartbeatDetails(k.details)
	}
	if k.stop != nil {
		env.SetWorkerStopChannel(k.stop)
	}
	value, err := env.ExecuteActivity(activities.TypeAction, in)
	if err != nil {
		return out, err
	}
	require.NoError(t, value.Get(&out))
	return out, out.Ending().Err
}

// taskInterceptor adds what the environment lacks: the attempt's number, times and heartbeat timeout,
// and a client.
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

// A taskOutbound's C is the type of the client, which the SDK does not export.
type taskOutbound[C any] struct {
	interceptor.ActivityOutboundInterceptorBase
	task *task
}

func newTaskOutbound[C any](next interceptor.ActivityOutboundInterceptor, k *task, _ func(context.Context) C) *taskOutbound[C] {
	return &taskOutbound[C]{interceptor.ActivityOutboundInterceptorBase{Next: next}, k}
}

func (o *taskOutbound[C]) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	if o.task.real {
		return info
	}
	info.Attempt = max(o.task.attempt, 1)
	info.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: o.task.attempts}
	info.HeartbeatTimeout = o.task.heartbeat
	info.ScheduledTime, info.StartedTime = o.task.scheduled, o.task.started
	info.WorkflowExecution.ID = cmp.Or(o.task.workflow, info.WorkflowExecution.ID)
	return info
}

func (o *taskOutbound[C]) GetClient(context.Context) C { return any(o.task.server).(C) }

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

// requireUnsent requires the error of an attempt that was not sent, with the earlier records.
func requireUnsent(t *testing.T, err error, earlier []job.Attempt) {
	t.Helper()
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "want an application error, got %v", err)
	require.Equal(t, activities.ErrTypeUnsent, failed.Type())
	_, shown := errors.AsType[*temporal.ActivityError](err)
	require.False(t, shown, "Temporal shows a failure")
	require.True(t, failed.NonRetryable(), "the workflow decides what follows")
	require.Contains(t, failed.Message(), "nothing was sent")
	require.Equal(t, activities.Ending{How: activities.Unsent, Attempts: earlier, Err: err},
		activities.EndingOf(err, time.Time{}, time.Time{}))
}

// requireMadeLater requires the error by which the server retries an attempt later, after 0.5 to 1.5
// times the pause. It returns the error's text.
func requireMadeLater(t *testing.T, err error, pause time.Duration) string {
	t.Helper()
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "want an application error, got %v", err)
	require.Equal(t, activities.ErrTypeUnsent, failed.Type())
	require.False(t, failed.NonRetryable())
	require.WithinRange(t, time.Time{}.Add(failed.NextRetryDelay()), time.Time{}.Add(pause/2), time.Time{}.Add((pause+time.Second)*3/2))
	return failed.Message()
}

// requireLost requires an [activities.ErrTypeLost] error.
func requireLost(t *testing.T, err error) {
	t.Helper()
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "want an application error, got %v", err)
	require.Equal(t, activities.ErrTypeLost, failed.Type())
	require.True(t, failed.NonRetryable(), "the workflow decides what follows")
}

// history returns the outcomes and messages of attempts, a line each.
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
