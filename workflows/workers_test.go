package workflows_test

import (
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

// A fate is what becomes of an attempt at the worker that has it.
type fate int

const (
	sent       fate = iota // when it is due
	elsewhere              // sent as well, but by another worker than the one that is asked to take things back
	released               // its worker stops while it is held
	killedHeld             // its worker is killed before it is sent
	killedSent             // its worker is killed once it is sent
)

// announceAhead is how long before the due time a worker announces an attempt
// that is not to be repeated.
const announceAhead = 250 * time.Millisecond

// A holding is an attempt that is held until it is due.
type holding struct {
	sending
	fate     fate
	recalled bool
}

// workersInterceptor has the world perform what the workflow asks workers for,
// in the workflow's own time. Unlike the test environment's own activities,
// these heed [workflow.ActivityOptions.WaitForCancellation] as a server does:
// what is under way goes on, and only what waits is cancelled.
type workersInterceptor struct {
	interceptor.WorkerInterceptorBase
	w *world
}

func (i *workersInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &workersInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, i.w}
}

type workersInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	w *world
}

func (i *workersInbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&workersOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: out}, i.w})
}

type workersOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	w *world
}

func (o *workersOutbound) ExecuteActivity(ctx workflow.Context, _ string, arguments ...any) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	return later(ctx, func(ctx workflow.Context) (any, error) {
		var in activities.Input
		if err := o.w.copy(&in, arguments...); err != nil {
			return nil, err
		}
		return o.w.perform(ctx, in, options)
	})
}

func (o *workersOutbound) ExecuteLocalActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	return later(ctx, func(ctx workflow.Context) (any, error) {
		if name == activities.TypeRecall {
			return o.w.recall(ctx, arguments[0].([]string))
		}
		return o.w.lookup(ctx)
	})
}

// later returns what do is going to return.
func later(ctx workflow.Context, do func(workflow.Context) (any, error)) workflow.Future {
	future, done := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { done.Set(do(ctx)) })
	return future
}

// copy reads what a worker would be sent.
func (w *world) copy(to any, values ...any) error {
	payloads, err := w.recorded.ToPayloads(values...)
	if err != nil {
		return err
	}
	return w.recorded.FromPayloads(payloads, to)
}

// perform stands for the activity that performs actions, with its retries. ctx
// ends when it is cancelled.
func (w *world) perform(ctx workflow.Context, in activities.Input, o workflow.ActivityOptions) (any, error) {
	if w.queued > 0 {
		if err := workflow.Sleep(ctx, w.queued); err != nil {
			if !workflow.Now(ctx).Before(in.Execution.Due) {
				w.cancelled = append(w.cancelled, in.Execution) // the history tells so
			}
			return nil, err
		}
	}
	for attempt := int32(1); ; attempt++ {
		out, err := w.attempt(ctx, sending{Input: in, options: o, attempt: attempt})
		if err == nil || ctx.Err() != nil || !repeatable(err, o.RetryPolicy) || attempt >= o.RetryPolicy.MaximumAttempts {
			return out, err
		}
		if err := workflow.Sleep(ctx, o.RetryPolicy.InitialInterval); err != nil {
			return nil, err
		}
	}
}

// repeatable reports whether the server would try again.
func repeatable(err error, policy *temporal.RetryPolicy) bool {
	switch err := err.(type) { //nolint:errorlint // it is not wrapped
	case *temporal.ApplicationError:
		return !err.NonRetryable()
	case *temporal.TimeoutError:
		return err.TimeoutType() != enums.TIMEOUT_TYPE_HEARTBEAT || !slices.Contains(policy.NonRetryableErrorTypes, "TemporalTimeout:Heartbeat")
	default:
		return false
	}
}

// attempt makes one attempt.
func (w *world) attempt(ctx workflow.Context, s sending) (any, error) {
	server, _ := workflow.NewDisconnectedContext(ctx) // ctx is for those who ask whether it was cancelled
	var becomes fate
	if w.fate != nil {
		becomes = w.fate(s)
	}
	start := workflow.Now(ctx)
	s.began = start.UTC()
	if becomes == killedHeld {
		return nil, lose(server, s, start, false)
	}
	if s.Execution.Due.After(start) {
		if goes, err := w.hold(ctx, server, s, becomes); !goes {
			return nil, err
		}
	}
	s.at = workflow.Now(ctx).UTC()
	w.note(ctx, s)
	if becomes == killedSent {
		return nil, lose(server, s, start, true)
	}
	if err := workflow.Sleep(server, w.duration()); err != nil {
		return nil, err
	}
	return w.outcome(s)
}

// hold holds an attempt until it is due, and reports whether it then goes on.
func (w *world) hold(ctx, server workflow.Context, s sending, becomes fate) (goes bool, _ error) {
	wait := s.Execution.Due.Sub(workflow.Now(ctx))
	if becomes == released {
		if err := workflow.Sleep(server, wait/2); err != nil {
			return false, err
		}
		return false, temporal.NewNonRetryableApplicationError("the worker stops", activities.ErrTypeReleased, nil)
	}
	h := &holding{sending: s, fate: becomes}
	w.held = append(w.held, h)
	_, err := workflow.AwaitWithTimeout(server, wait, func() bool { return h.recalled })
	w.held = slices.DeleteFunc(w.held, func(other *holding) bool { return other == h })
	if err != nil || !h.recalled {
		return err == nil, err
	}
	cancelled, err := workflow.AwaitWithTimeout(server, 30*time.Second, func() bool { return ctx.Err() != nil })
	if cancelled {
		err = temporal.NewNonRetryableApplicationError("it was recalled", activities.ErrTypeRecalled, nil)
	}
	return err == nil, err
}

// lose returns what the server makes of an attempt that began at start and
// whose worker was killed, when it does.
func lose(server workflow.Context, s sending, start time.Time, sending bool) error {
	until, err := start.Add(s.options.StartToCloseTimeout), temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil)
	if heard := s.options.HeartbeatTimeout; heard > 0 {
		until, err = start.Add(heard), temporal.NewHeartbeatTimeoutError()
		if sending && s.MaxAttempts == 1 {
			until = s.Execution.Due.Add(-announceAhead).Add(heard)
			err = temporal.NewHeartbeatTimeoutError([]job.Attempt(nil), true)
		}
	}
	if interrupted := workflow.Sleep(server, until.Sub(workflow.Now(server))); interrupted != nil {
		return interrupted
	}
	return err
}

// recall stands for the activity that takes back what is held.
func (w *world) recall(ctx workflow.Context, ids []string) (any, error) {
	w.recalls++
	if w.recallTakes > 0 {
		if err := workflow.Sleep(ctx, w.recallTakes); err != nil {
			return nil, err
		}
	}
	if w.recallFails {
		return nil, errFailed
	}
	recalled := []int{}
	for i, id := range ids {
		for _, h := range w.held {
			if h.Execution.ID == id && h.fate != elsewhere && !h.recalled {
				h.recalled = true
				recalled = append(recalled, i)
			}
		}
	}
	return recalled, nil
}

// lookup stands for the activity that looks up the attempts so far.
func (w *world) lookup(ctx workflow.Context) (any, error) {
	w.lookups++
	if w.lookupTakes > 0 {
		if err := workflow.Sleep(ctx, w.lookupTakes); err != nil {
			return nil, err
		}
	}
	return []activities.Pending{{ActivityID: "7", Attempts: make([]job.Attempt, 1)}}, nil
}
