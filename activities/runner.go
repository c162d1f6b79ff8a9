// Package activities performs the actions of jobs. Each attempt is one Temporal activity task.
//
// A [Runner] does what all kinds of action share: records, the time limit, and what may be repeated. A
// [Sender] performs one kind.
//
// An attempt goes through gates, in this order, before its request leaves. If a gate stays closed, nothing is sent.
//
//	gate      file              opens                                          otherwise
//	once      runner.go         no earlier attempt without a record may have   its outcome is reported, or
//	                            been sent                                      that it was lost
//	hold      hold.go           the process has a place for it                 it returns to the plan
//	spread    fence_spread.go   at its share of the time before it is due      –
//	host      host_limit.go     the host has less than its limit of            the server retries it later
//	                            unanswered requests
//	fence     fence.go          the server records that it may be sent from    the job was changed
//	                            now on, for the time of a lease
//	due       hold.go           at its due time                                the worker stops, or the
//	                                                                           job was changed
//	limiter   send_limiter.go   few sends begin at the moment                  it waits
//	place     hosts             it has its place at the host                   from host again: longer lease
//	lease     lease             it is not over when the first byte leaves      from host again: longer lease
//	release   release.go        no change of the job had it given up           the job was changed
//
// Then it is sent (send.go), what follows is decided and reported (report.go), and the activity's end is an [Ending].
package activities

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"almanac/activities/completions"
	"almanac/activities/hosts"
	"almanac/activities/journal"
	"almanac/activities/lease"
	"almanac/internal/clock"
	"almanac/internal/latency"
	"almanac/internal/telemetry"
	"almanac/job"
	"almanac/job/kind"
)

// A Runner performs actions. Its fields must be set before it is registered.
type Runner struct {
	Senders map[kind.Type]Sender // by [kind.Type.Kind]; other kinds fail permanently
	Log     *slog.Logger
	Timeout time.Duration // of one attempt; 0 means DefaultTimeout
	// how long a running attempt may go on after the worker stops; shorter than the worker's stop timeout
	Grace       time.Duration
	PerHost     int                  // maximum number of unanswered requests per host; 0: no limit
	MaxHold     time.Duration        // occurrences due within it when an execution ends are dispatched at once; 0: none
	Clock       clock.Clock          // decides when an execution is due
	Completions *completions.Limiter // nil: outcomes are reported at once
	Latency     *latency.Meter       // of the server; nil: it is always quick
	Observe     *telemetry.Attempts  // nil: attempts are not measured
	Journal     *journal.Journal     // keeps outcomes if this process is killed; nil: they are lost with it
	OnlyWorker  bool                 // whoever takes over an attempt has this Journal
	Queue       string               // task queue on which only this process performs [Runner.Release]; "": none does

	holds    holds
	pace     pace
	releases releases
	hosts    hosts.Limiter
	outcomes outcomes
	limiter  sendLimiter
}

// Run makes one attempt of an action when it is due, or reports the outcome of one whose worker was lost
// before it could. The records are passed to the next attempt as heartbeat details, and finally returned in
// the output or in the error's details. Error types:
//
//   - [ErrTypeFailed]: the attempt failed.
//   - [ErrTypeUnsent]: the server retries the attempt later.
//   - [ErrTypeLost]: final.
func (r *Runner) Run(ctx context.Context, in Input) (Output, error) {
	info := activity.GetInfo(ctx)
	r.Clock.Observe(info.StartedTime, r.Log)
	progress, err := r.readProgress(ctx)
	if err != nil {
		return Output{}, r.lost(ctx, &in, nil, int(info.Attempt)-1)
	}
	c := newLossClock(&info, progress.Attempts)
	c.putOff = progress.PutOff
	if progress.Ended != nil { // the worker that made the attempt was lost before it could report
		return r.report(ctx, progress.Attempts, progress.Ended, nil, c)
	}
	o, err := r.attempt(ctx, &in, progress, c)
	if err != nil {
		return Output{}, err
	}
	defer r.outcomes.reported(in.outcomeKey(progress.Attempts), o)
	if o.unsent != nil {
		out := Output{Unsent: o.unsent.Error(), Attempts: progress.Attempts, PutOff: c.putOff}
		if errors.Is(o.unsent, errHostFull) && len(progress.Attempts) == 0 {
			out.PutOff++
		}
		if errors.Is(o.unsent, errFull) {
			out.Hold = int(NoHold.Milliseconds())
		}
		return out, nil
	}
	begin := in.Execution.Begin()
	switch {
	case !progress.Next.IsZero():
		begin = progress.Next
	case in.SentBefore > 0 || in.Execution.ActionName == job.ErrorAction:
		begin = info.ScheduledTime
	}
	return r.conclude(o.observed.Context(ctx), &in, progress.Attempts, o, begin, c)
}

// takeUpLimit is how long after its due time a worker may take up an occurrence dispatched ahead that was
// not sent, for example after a worker crash or because its host was full. Later it is decided again, since
// the next occurrence, at least a minute after it, may be due as well.
const takeUpLimit = 30 * time.Second

// attempt makes the next attempt. If an earlier one without a record may have been sent, it returns
// that attempt's outcome instead, or an [ErrTypeLost] error if neither this process nor its journal has it.
func (r *Runner) attempt(ctx context.Context, in *Input, progress Progress, c *lossClock) (*outcome, error) {
	info := activity.GetInfo(ctx)
	key := in.outcomeKey(progress.Attempts)
	if progress.MaybeSent() {
		stop := r.keepAlive(ctx, progress, lease.New(time.Now(), time.Duration(progress.Lease)*time.Millisecond), c)
		o := r.outcomes.await(ctx, key)
		if o == nil {
			o = r.findOutcome(key)
		}
		stop()
		if o == nil {
			return nil, r.lost(ctx, in, progress.Attempts, 1)
		}
		return o, nil
	}
	ahead := len(progress.Attempts) == 0 && in.held(info.ScheduledTime)
	if ahead && r.Clock.Until(in.Execution.Begin()) < -takeUpLimit {
		return &outcome{unsent: errTakenUpLate}, nil
	}
	if ahead && r.full(r.Clock.Until(in.Execution.Begin())) {
		return &outcome{unsent: errFull}, nil
	}
	if ahead && info.Attempt > 1 {
		r.Completions.Yield()
	}
	// A server that crashed may dispatch a task a second time, as that of the next attempt (Temporal
	// 1.32). 2 s are for clock skew.
	if wait := r.Clock.Until(progress.Next); wait > 2*time.Second {
		return nil, unsentError("its retry interval is not over; nothing was sent", ErrTypeUnsent, progress.Attempts, wait)
	}
	if err := r.waitUntil(ctx, progress.Next); err != nil {
		return &outcome{unsent: err}, nil
	}
	finish := r.outcomes.begin(key)
	defer r.Observe.Wait(in.attempt(in.SentBefore + len(progress.Attempts) + 1))()
	o := r.holdAndSend(ctx, in, progress.Attempts, c)
	finish(o)
	if policy := info.RetryPolicy; o.hostFull && (policy == nil || info.Attempt != policy.MaximumAttempts) {
		// otherwise the workflow decides it again
		return nil, r.hostFullError(ctx, in, &progress)
	}
	return o, nil
}

// lost returns the error of an attempt that found up to n earlier ones without a record that may have
// been sent.
func (r *Runner) lost(ctx context.Context, in *Input, attempts []job.Attempt, n int) error {
	info := activity.GetInfo(ctx)
	since := info.ScheduledTime
	if in.held(since) {
		since = in.Execution.Begin()
	}
	for range max(1, min(n, in.MaxAttempts-in.SentBefore-len(attempts))) {
		attempts = withLost(attempts, since, info.StartedTime)
	}
	record, next := attempts[len(attempts)-1], following{text: nextAfterLast(in)}
	if in.SentBefore+len(attempts) < in.MaxAttempts {
		next = nextRetry(record.End.Add(in.Action.RetryPolicy.Pause(in.SentBefore + len(attempts))))
	}
	r.ended(ctx, in, &outcome{lost: true}, record, since, next)
	return unsentError(job.AttemptLost, ErrTypeLost, attempts, 0)
}

// holdAndSend waits until the execution is due, passes the fence shortly before, and performs the action once.
func (r *Runner) holdAndSend(ctx context.Context, in *Input, recorded []job.Attempt, c *lossClock) *outcome {
	info, due := activity.GetInfo(ctx), in.Execution.Begin()
	var h *heldAttempt
	if in.held(info.StartedTime) {
		h = r.holds.enter(in.Execution.Collection+"/"+in.Execution.Job, due, r.Clock.Until(due), fenceWindow(in.MaxAttempts))
	}
	sent := sync.OnceFunc(func() { r.holds.sent(h) })
	defer sent()
	ctx, one := r.releases.enter(ctx)
	defer one.leave()
	b := beginning{due: due, taken: info.StartedTime}
	err := r.awaitFence(ctx, in, h, c)
	for least := r.Latency.Patience(leaseTime, busyLease); err == nil; least = min(2*least, MaxLease) {
		// connecting may take longer than a lease
		if err = r.awaitHost(ctx, in, recorded, c); errors.Is(err, errHostFull) {
			return &outcome{unsent: err, hostFull: !c.fenced}
		}
		var l *lease.Lease
		if err == nil {
			asks := r.Clock.Now()
			l, err = r.fence(ctx, in, recorded, least, h, c)
			b.asked(asks, r.Clock.Now())
		}
		if err == nil && h != nil {
			err = r.waitUntil(ctx, due)
		}
		if err == nil {
			if o := r.sendLeased(ctx, in, recorded, l, c, one, sent); o != nil {
				if in.first(recorded) {
					o.beginning = b.of(o.began, l)
					o.beginning.PutOff = in.PutOff + c.putOff
				}
				c.unkept = !r.keepOutcome(ctx, in.outcomeKey(recorded), o)
				o.held = h
				stop := r.keepAlive(ctx, Progress{Attempts: recorded, Sent: len(recorded) + 1}, nil, c)
				h.yield(ctx, r.Latency.Patience(leastYield, mostYield))
				stop()
				return o
			}
		}
	}
	return &outcome{unsent: err}
}

// sendLeased performs the action once if that begins within the lease, and before the attempt is released. Otherwise
// nothing is sent, and it returns nil.
func (r *Runner) sendLeased(ctx context.Context, in *Input, recorded []job.Attempt, l *lease.Lease, c *lossClock, one *releasable, sent func()) *outcome {
	end := r.limiter.begin(sent)
	defer end()
	leased, cancel := context.WithTimeout(ctx, l.Remaining())
	defer cancel()
	// last, so that attempts waiting for this worker take no places of the host
	leave, err := r.hosts.Enter(leased, hostKey(&in.Action), r.PerHost)
	if err != nil {
		return nil
	}
	defer leave()
	if l.Over() || !one.begin() {
		return nil
	}
	ctx, observed := r.Observe.Begin(ctx, in.attempt(in.SentBefore+len(recorded)+1))
	o := &outcome{start: r.Clock.Now(), began: time.Now(), observed: observed}
	o.message, o.err = r.send(lease.With(ctx, l), *in, recorded, l, c)
	if l.Refused() {
		one.notSent()
		r.Observe.Drop(observed)
		return nil
	}
	ended := time.Now()
	// by the monotonic clock, so that setting the clock does not change the duration
	o.end = o.start.Add(ended.Sub(o.began))
	r.Observe.End(observed, string(o.answer()), o.failure(), ended)
	return o
}

// readProgress returns the progress recorded by the activity's earlier attempts.
func (r *Runner) readProgress(ctx context.Context) (p Progress, err error) {
	if activity.HasHeartbeatDetails(ctx) {
		err = activity.GetHeartbeatDetails(ctx, &p)
	}
	if err != nil {
		r.Log.WarnContext(ctx, "records of earlier attempts cannot be read", slog.Any("error", err))
	}
	return p, err
}
