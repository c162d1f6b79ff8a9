package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/lease"
	"almanac/job"
)

// Before anything is sent, an attempt passes a fence: it records with the server, by a heartbeat, that
// its request may be sent from now on. A heartbeat is a conditional write to the workflow's state, and
// so is the cancellation of an activity, so the server orders the two. A fence after the cancellation
// is refused; a fence before it is visible to the workflow that cancelled.
//
// A passed fence is valid for a short lease. An attempt that has not begun to send by then, for example
// because its process was paused, passes another one. A lease is a duration that starts when the worker
// asks, so it does not require two clocks to agree.

// Progress is what an attempt records with the server by heartbeats. It survives a worker crash.
type Progress struct {
	Attempts []job.Attempt `json:"attempts,omitempty"` // this activity's completed attempts, oldest first
	// number of the attempt that passed the fence last, from 1; 0: none
	Sent int `json:"sent,omitempty"`
	// the next attempt does not begin before, by the clock for due times
	Next time.Time `json:"next,omitzero"`
	// see [Runner.Queue], of the process that passed the fence; "" if the lease is short
	Queue string `json:"queue,omitempty"`
	// the attempt may begin to send until so many milliseconds after this heartbeat; 0: not any more
	Lease int `json:"lease,omitempty"`
	// how often the first attempt was put off, since its host had no place
	PutOff int `json:"putOff,omitempty"`
	// the last of Attempts ends the activity, but its report has to wait
	Ended *Ending `json:"ended,omitempty"`
}

// MaybeSent reports whether an attempt without a record may have been sent.
func (p *Progress) MaybeSent() bool { return p.Sent > len(p.Attempts) }

const (
	// leaseTime is how long a lease lasts at least after the due time or, if that is past, after the fence. While the
	// server is slow the first one lasts longer, up to busyLease: an answer that arrives after the lease is asked for
	// again. A change waits for it if the worker is lost.
	leaseTime = time.Second
	busyLease = 8 * time.Second

	// MaxLease limits a lease, which doubles each time the server's answer arrives after it is over. No
	// lease is longer than the heartbeat timeout, since a lost attempt must not be sent.
	MaxLease = 30 * time.Second

	// fencePause is the time between two fences if the server does not answer.
	fencePause = 500 * time.Millisecond
)

// leaseLeft returns the rest of a lease in milliseconds; 0 if it is over, or nothing is sent. It does not end when the
// request is written: one that the host refuses without processing it may be written again.
func leaseLeft(l *lease.Lease) int {
	if l == nil || l.Over() {
		return 0
	}
	return int(l.Remaining().Milliseconds()) + 1
}

// fence passes the fence, asking until the server answers. An error says why nothing is sent. A held attempt that
// counts as lost asks no more. A lease that is longer than the heartbeat timeout needs a longer one.
func (r *Runner) fence(ctx context.Context, in *Input, recorded []job.Attempt, least time.Duration, h *heldAttempt, c *lossClock) (*lease.Lease, error) {
	for {
		if least > leaseTime && max(0, in.Execution.Begin().Sub(r.Clock.Now()))+least > c.timeout {
			r.lengthen(ctx, c)
		}
		var lost time.Time
		if h != nil && !c.fenced {
			lost = c.lost()
		}
		leave, err := r.enterFence(ctx, lost)
		if err != nil {
			return nil, err
		}
		start, length := time.Now(), max(0, in.Execution.Begin().Sub(r.Clock.Now()))+least
		if c.timeout > 0 { // after that the attempt counts as lost
			length = min(length, c.timeout)
		}
		l, progress := lease.New(start, length), Progress{Attempts: recorded, Sent: len(recorded) + 1, Lease: int(length.Milliseconds())}
		if h != nil {
			progress.Queue = r.Queue
		}
		passed := r.pace.begin()
		err = r.heartbeat(ctx, progress)
		passed(err)
		leave()
		if err == nil {
			c.heard, c.fenced = start, true
		}
		switch {
		case err == nil && !l.Over():
			return l, nil
		case err == nil:
			least = min(2*least, MaxLease)
			continue
		case isWithdrawn(err), ctx.Err() != nil:
			return nil, errWithdrawn
		}
		r.Log.WarnContext(ctx, "the server does not answer whether an attempt is still wanted; it is asked again",
			slog.String("collection", in.Execution.Collection), slog.String("job", in.Execution.Job), slog.String("execution", in.Execution.ID), slog.Any("error", err))
		if err := r.wait(ctx, time.Now().Add(fencePause)); err != nil {
			return nil, err
		}
	}
}

// Reasons why nothing was sent, as shown in the history.
var (
	errWithdrawn   = errors.New("the job was changed before it was sent; nothing was sent")
	errNoFence     = errors.New("the server did not answer in time whether it is still wanted; nothing was sent")
	errStopping    = errors.New("the worker stopped before it was sent; nothing was sent")
	errFull        = errors.New("the worker holds as many as it may, and it was not due soon; nothing was sent")
	errTakenUpLate = fmt.Errorf("it could not begin within %g s of its due time; nothing was sent", takeUpLimit.Seconds())
)

// heartbeat records an attempt's progress.
func (r *Runner) heartbeat(ctx context.Context, p Progress) error {
	info := activity.GetInfo(ctx)
	err := activity.GetClient(ctx).RecordActivityHeartbeatWithOptions(ctx, client.RecordActivityHeartbeatOptions{
		// encrypted for that workflow
		TaskToken: info.TaskToken, WorkflowID: info.WorkflowExecution.ID, Details: []any{p},
	})
	if ctx.Err() == nil {
		r.outcomes.unreachable(err != nil && !isWithdrawn(err))
	}
	return err
}

// isWithdrawn reports whether a heartbeat's error means that the activity is cancelled or gone.
func isWithdrawn(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing || temporal.IsCanceledError(err)
}

// aliveInterval is the shortest time between two heartbeats of an attempt that was sent.
const aliveInterval = time.Second

// keepAlive sends a heartbeat each half of the heartbeat timeout until it is stopped, or the activity is gone; if p has
// an outcome that is to be recorded, the first one after [completions.Limiter.RecordAfter]. It lengthens a short
// timeout first. If the activity is gone, the attempt is completed all the same, since the one that takes over can use
// its outcome. Cancellation is ignored, since the request was sent. When stop returns, no heartbeat is in flight that
// could replace a later record.
func (r *Runner) keepAlive(ctx context.Context, p Progress, l *lease.Lease, c *lossClock) (stop func()) {
	ctx = context.WithoutCancel(ctx)
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		leave := r.awaitBeat(&p, c, stopping)
		for wait := time.Duration(0); leave != nil; leave = pause(wait, stopping) {
			if r.lengthen(ctx, c) && !r.recordsByHeartbeat(&p, c) {
				wait = c.wait()
				continue
			}
			p.Lease = leaseLeft(l)
			start, err := time.Now(), r.heartbeat(ctx, p)
			leave()
			switch {
			case err == nil, temporal.IsCanceledError(err):
				c.heard = start
				wait = c.interval()
			case isWithdrawn(err):
				return
			default:
				wait = aliveInterval
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}

// recordsByHeartbeat reports whether p has an outcome that a heartbeat has to record: another worker may not have the
// journal, or the journal not the outcome.
func (r *Runner) recordsByHeartbeat(p *Progress, c *lossClock) bool {
	return p.Ended != nil && (!r.OnlyWorker || r.Journal == nil || c.unkept)
}

// awaitBeat waits until the first heartbeat of an attempt is to be sent: before it counts as lost or, if p has an
// outcome, when that is to be recorded. It returns nil if stopping was closed before; otherwise the caller calls leave
// when it has sent the heartbeat.
func (r *Runner) awaitBeat(p *Progress, c *lossClock, stopping <-chan struct{}) (leave func()) {
	alive := time.Now().Add(c.wait())
	if !r.recordsByHeartbeat(p, c) {
		return pause(time.Until(alive), stopping)
	}
	for begin := time.Now(); ; {
		record := begin.Add(r.Completions.RecordAfter()) // which grows while it waits
		if now := time.Now(); !now.Before(alive) {
			return func() {}
		} else if !now.Before(record) {
			return r.Completions.EnterRecord(stopping, alive)
		}
		if pause(time.Until(earlier(record, alive)), stopping) == nil {
			return nil
		}
	}
}

// pause waits, and returns nil if stopping was closed before, otherwise a function that does nothing.
func pause(wait time.Duration, stopping <-chan struct{}) func() {
	select {
	case <-stopping:
		return nil
	case <-time.After(wait):
		return func() {}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
