package jobloop_test

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/activities/notify"
	"almanac/job"
	"almanac/workflows"
)

// A workerFate is what happens to an attempt at its worker.
type workerFate int

const (
	sent             workerFate = iota // sent at the due time
	released                           // graceful shutdown while held
	killedHeld                         // worker crash before the fence
	killedFenced                       // worker crash after the fence, before it is sent
	killedSent                         // worker crash once it is sent
	killedRecorded                     // worker crash once it failed and its record is kept for the next attempt
	killedUnreported                   // worker crash while the outcome, which is recorded, waits to be reported
	pausedFenced                       // worker paused after the fence, for longer than the lease
	late                               // passes the fence hostWait+100 ms after the due time
	// host full until hostWait after the due time; the attempt is made hostPause later.
	hostFull
)

const (
	fenceAhead = 250 * time.Millisecond // from the fence to the due time
	leaseAfter = time.Second            // from the due time to the end of the lease
	pause      = 2 * time.Second        // from the due time until a paused worker continues
	hostWait   = activities.HostWait    // from the due time until an attempt gives up on its full host
	hostPause  = 10 * time.Second       // until the server then makes it
)

// A pending is an activity as the server sees it.
type pending struct {
	activities.Progress
	id      string
	ctx     workflow.Context // done when the activity is cancelled
	until   time.Time        // end of its lease
	next    time.Time        // start of the next attempt, if it waits for a retry
	began   time.Time        // when a worker last started it
	since   time.Time        // when it was scheduled
	waiting bool             // waits for a worker or a retry, so that cancellation ends it at once

	attempt  int32 // its number, as the server counts
	begun    bool  // its worker has begun to send it
	released bool  // its worker has given it up
	silent   bool  // its worker is dead, or paused
}

func (p *pending) cancelled() bool { return p.ctx.Err() != nil }

// workersInterceptor makes a jobEnv perform the workflow's activities in workflow time. Unlike the
// test environment's activities, these honour [workflow.ActivityOptions.WaitForCancellation] as a
// server does: cancellation ends only activities that are waiting.
type workersInterceptor struct {
	interceptor.WorkerInterceptorBase
	w *jobEnv
}

func (i *workersInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &workersInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, i.w}
}

type workersInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	w *jobEnv
}

func (i *workersInbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&workersOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: out}, i.w})
}

type workersOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	w *jobEnv
}

func (o *workersOutbound) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	options, at := workflow.GetActivityOptions(ctx), workflow.Now(ctx)
	return later(ctx, func(ctx workflow.Context) (any, error) {
		if name == lookups.TypePending {
			return o.w.look(ctx)
		}
		if name == activities.TypeRelease {
			return o.w.release(ctx, options, arguments...)
		}
		if name == workflows.ActivityPlan {
			return o.w.planElsewhere(ctx, arguments...)
		}
		if name == lookups.TypeUpdate {
			return nil, o.w.confirm(ctx, arguments...)
		}
		if name == notify.TypeSend {
			if err := workflow.Sleep(ctx, o.w.sending); err != nil {
				return nil, err
			}
			return []notify.Report{{Done: true, Delivered: true, Time: workflow.Now(ctx), Message: "200 OK"}}, nil
		}
		payloads, err := o.w.recorded.ToPayloads(arguments...)
		if err != nil {
			return nil, err
		}
		o.w.scheduled[at] += proto.Size(payloads)
		var in activities.Input
		if err := o.w.copy(&in, arguments...); err != nil {
			return nil, err
		}
		return o.w.perform(ctx, in, options)
	})
}

// later returns a future of do's result.
func later(ctx workflow.Context, do func(workflow.Context) (any, error)) workflow.Future {
	future, done := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { done.Set(do(ctx)) })
	return future
}

// copy encodes and decodes values, as on their way to a worker.
func (w *jobEnv) copy(to any, values ...any) error {
	payloads, err := w.recorded.ToPayloads(values...)
	if err != nil {
		return err
	}
	return w.recorded.FromPayloads(payloads, to)
}

// perform is a fake of the action activity, with its retries. ctx is done when it is cancelled.
func (w *jobEnv) perform(ctx workflow.Context, in activities.Input, o workflow.ActivityOptions) (any, error) {
	p := &pending{id: o.ActivityID, ctx: ctx}
	w.pending = append(w.pending, p)
	out, err := w.retry(ctx, p, in, o)
	// not reached if the workflow ends before
	w.pending = slices.DeleteFunc(w.pending, func(other *pending) bool { return other == p })
	return out, err
}

// retry makes attempts of an activity until the last one.
func (w *jobEnv) retry(ctx workflow.Context, p *pending, in activities.Input, o workflow.ActivityOptions) (any, error) {
	if err := p.wait(ctx, w.queued); err != nil {
		return nil, err
	}
	policy := o.RetryPolicy
	p.since = workflow.Now(ctx)
	interval := policy.InitialInterval
	for attempt := int32(1); ; attempt++ {
		if err := p.wait(ctx, max(0, p.Next.Sub(workflow.Now(ctx)))); err != nil {
			// the worker that has it gives it up then
			return nil, err
		}
		s := sentAttempt{Input: in, options: o, number: len(p.Attempts) + 1, began: workflow.Now(ctx).UTC()}
		p.began = s.began
		p.attempt, p.begun, p.released, p.silent = attempt, false, false, false
		if p.Ended != nil {
			return activities.Output{Attempts: p.Attempts}, p.Ended.WithAttempts(p.Attempts).Err
		}
		out, err := p.ending(w.refuse(p, &s))
		if out == nil && err == nil {
			out, err = w.attempt(p, s)
		}
		wait, again := followedAfter(err, interval)
		if !again || p.cancelled() || attempt >= policy.MaximumAttempts {
			return out, err
		}
		p.next = workflow.Now(ctx).Add(wait)
		if err := p.wait(ctx, wait+w.retryQueued); err != nil {
			return nil, err
		}
		interval = min(time.Duration(float64(interval)*policy.BackoffCoefficient), policy.MaximumInterval)
	}
}

// followedAfter returns the server's delay before the next attempt, and whether it makes one.
func followedAfter(err error, interval time.Duration) (wait time.Duration, again bool) {
	switch err := err.(type) { //nolint:errorlint // it is not wrapped
	case *temporal.ApplicationError:
		return cmp.Or(err.NextRetryDelay(), interval), !err.NonRetryable()
	case *temporal.TimeoutError:
		return interval, true
	default:
		return 0, false
	}
}

// takeUpLimit is the worker's limit for taking up an occurrence dispatched ahead.
const takeUpLimit = 30 * time.Second

// refuse returns why a worker makes no attempt; see [activities.Runner.Run].
func (w *jobEnv) refuse(p *pending, s *sentAttempt) error {
	switch due := s.Execution.Begin(); {
	case p.MaybeSent():
		lost := append(slices.Clone(p.Attempts), job.Attempt{Number: s.number, Start: laterTime(due, p.since), End: s.began, Outcome: job.OutcomeFailed})
		return temporal.NewNonRetryableApplicationError("lost", activities.ErrTypeLost, nil, activities.Ending{Attempts: lost})
	case s.number == 1 && p.since.Before(due) && s.began.After(due.Add(takeUpLimit)):
		return temporal.NewNonRetryableApplicationError("nothing was sent", activities.ErrTypeUnsent, nil, activities.Ending{})
	}
	return nil
}

// wait waits while no worker has the activity.
func (p *pending) wait(ctx workflow.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	p.waiting = true
	err := workflow.Sleep(ctx, d)
	p.waiting = false
	return err
}

func (w *jobEnv) attempt(p *pending, s sentAttempt) (any, error) {
	server, _ := workflow.NewDisconnectedContext(p.ctx) // p.ctx only shows whether it was cancelled
	var fate workerFate
	if w.workerFate != nil {
		fate = w.workerFate(s)
	}
	switch fate {
	case killedHeld:
		return nil, w.lose(p, server, s)
	case hostFull:
		p.PutOff++
		return nil, waitForHost(server, &s, p.Attempts)
	}
	if goes, err := w.hold(p, server, s, fate); !goes {
		return p.ending(err)
	}
	p.begun = true
	s.at = workflow.Now(server).UTC()
	w.note(server, s)
	if fate == killedSent || fate == killedRecorded {
		if fate == killedRecorded {
			p.Attempts = append(p.Attempts, job.Attempt{Number: s.number, End: s.at, Outcome: job.OutcomeFailed})
			p.Next = s.at.Add(s.Action.RetryPolicy.Pause(1))
		}
		return nil, w.lose(p, server, s)
	}
	if err := workflow.Sleep(server, w.duration()); err != nil {
		return nil, err
	}
	out, err := w.outcome(s)
	p.Attempts = append(p.Attempts, job.Attempt{Number: s.number, Start: s.at, End: workflow.Now(server).UTC(), Outcome: outcomeOf(err), Message: w.message})
	out.Attempts = p.Attempts
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		report := activities.Ending{Attempts: p.Attempts}
		if w.nextHold != nil {
			report.Hold = w.nextHold(s)
		}
		last, wait := failed.NonRetryable() || s.attempt() >= s.MaxAttempts, s.Action.RetryPolicy.Pause(1)
		if next := workflow.Now(server).Add(wait); !last && next.Sub(laterTime(s.Execution.Begin(), p.since)) > job.RetriesWithin {
			last, report.Next = true, next
		}
		if fate == killedUnreported {
			p.Ended = &activities.Ending{Text: failed.Message(), Next: report.Next}
		}
		err = temporal.NewApplicationErrorWithOptions(failed.Message(), failed.Type(),
			temporal.ApplicationErrorOptions{NonRetryable: last, NextRetryDelay: wait, Details: []any{report}})
	} else if fate == killedUnreported {
		p.Ended = &activities.Ending{}
	}
	if p.Ended != nil {
		return nil, w.lose(p, server, s)
	}
	return out, err
}

func outcomeOf(err error) job.Outcome {
	if err != nil {
		return job.OutcomeFailed
	}
	return job.OutcomeCompleted
}

// ending returns the result of an activity whose attempt was not made; see [activities.Output].
func (p *pending) ending(err error) (any, error) {
	if end := activities.EndingOf(err, time.Time{}, time.Time{}); end.How == activities.Unsent {
		return activities.Output{Unsent: err.Error(), Attempts: end.Attempts, PutOff: p.PutOff}, nil
	}
	return nil, err
}

// hold holds an attempt until it is due and makes it pass the fence. It reports whether it is then sent.
func (w *jobEnv) hold(p *pending, server workflow.Context, s sentAttempt, fate workerFate) (goes bool, _ error) {
	due := s.Execution.Begin()
	wait := func(until time.Time) error { return workflow.Sleep(server, max(0, until.Sub(workflow.Now(server)))) }
	unsent := temporal.NewNonRetryableApplicationError("nothing was sent", activities.ErrTypeUnsent, nil, activities.Ending{Attempts: p.Attempts})
	if fate == released && due.After(workflow.Now(server)) {
		return false, errors.Join(wait(laterTime(w.downUntil, due.Add(workflow.Now(server).Sub(due)/2))), unsent)
	}
	fence := due.Add(-w.fencedAhead())
	if fate == late {
		fence = due.Add(hostWait + 100*time.Millisecond)
	}
	if err := wait(fence); err != nil {
		return false, err
	}
	if p.cancelled() {
		return false, unsent
	}
	p.Sent, p.until = s.number, laterTime(due, workflow.Now(server)).Add(leaseAfter)
	p.silent = fate == killedFenced || fate == pausedFenced
	if fate == killedFenced {
		return false, w.lose(p, server, s)
	}
	if fate == pausedFenced {
		due = due.Add(pause)
	}
	if _, err := workflow.AwaitWithTimeout(server, max(0, due.Sub(workflow.Now(server))), func() bool { return p.released }); err != nil {
		return false, err
	}
	if p.released || fate == pausedFenced && p.cancelled() {
		return false, unsent
	}
	return true, nil
}

// fencedAhead returns the time from the fence to the due time.
func (w *jobEnv) fencedAhead() time.Duration { return cmp.Or(w.fences, fenceAhead) }

// release is a fake of the activity by which a worker releases an attempt. It takes place half-way.
func (w *jobEnv) release(ctx workflow.Context, o workflow.ActivityOptions, arguments ...any) (any, error) {
	var in activities.ReleaseInput
	if err := w.copy(&in, arguments...); err != nil {
		return nil, err
	}
	w.releases++
	lost := func() (any, error) {
		_ = workflow.Sleep(ctx, o.ScheduleToStartTimeout)
		return nil, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	}
	i := slices.IndexFunc(w.pending, func(p *pending) bool { return p.id == in.Activity })
	if i < 0 || w.pending[i].silent {
		return lost()
	}
	p := w.pending[i]
	_ = workflow.Sleep(ctx, w.releasing/2)
	if p.attempt != in.Attempt || p.begun || p.silent || !slices.Contains(w.pending, p) {
		return false, nil
	}
	p.released = true
	if _ = workflow.Sleep(ctx, w.releasing/2); w.releasing > o.StartToCloseTimeout {
		return nil, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil)
	}
	return true, nil
}

// waitForHost waits for the full host and returns the error by which the server retries the attempt later.
func waitForHost(server workflow.Context, s *sentAttempt, attempts []job.Attempt) error {
	if err := workflow.Sleep(server, max(0, s.Execution.Begin().Add(hostWait).Sub(workflow.Now(server)))); err != nil {
		return err
	}
	return temporal.NewApplicationErrorWithOptions("the host is full; nothing was sent", activities.ErrTypeUnsent, temporal.ApplicationErrorOptions{
		NextRetryDelay: hostPause, Details: []any{activities.Ending{Attempts: attempts}},
	})
}

func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lose returns the server's result for an attempt whose worker crashed now, after the heartbeat
// timeout: since now or, if it passed no fence, since the attempt began.
func (w *jobEnv) lose(p *pending, server workflow.Context, s sentAttempt) error {
	heard := s.began
	switch {
	case p.Ended != nil:
		heard = workflow.Now(server)
	case p.MaybeSent():
		heard = laterTime(s.began, s.Execution.Begin().Add(-w.fencedAhead()))
	}
	if err := workflow.Sleep(server, laterTime(w.downUntil, heard.Add(s.options.HeartbeatTimeout)).Sub(workflow.Now(server))); err != nil {
		return err
	}
	return temporal.NewHeartbeatTimeoutError(p.Progress)
}

// look is a fake of the activity that looks up the progress of others.
func (w *jobEnv) look(ctx workflow.Context) (any, error) {
	w.looks++
	if w.lookTakes > 0 {
		if err := workflow.Sleep(ctx, w.lookTakes); err != nil {
			return nil, err
		}
	}
	if w.lookFails > 0 {
		w.lookFails--
		return nil, errFailed
	}
	out := []lookups.Pending{}
	for _, p := range w.pending {
		if p.waiting && p.cancelled() {
			continue
		}
		queue := ""
		if p.MaybeSent() && w.fencedAhead() > time.Second {
			queue = "worker"
		}
		out = append(out, lookups.Pending{
			Activity: p.id, Attempt: p.attempt, Queue: queue, Attempts: p.Attempts, Cancelled: p.cancelled(), Sent: p.MaybeSent(), Until: p.until, Next: p.next,
			Held: !p.waiting && !p.cancelled(), Began: p.began, Ended: p.Ended,
		})
	}
	if w.lookAges > 0 {
		return out, workflow.Sleep(ctx, w.lookAges)
	}
	return out, nil
}
