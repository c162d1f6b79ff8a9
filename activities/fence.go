package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// Before anything is sent, an attempt passes a fence: it records with the
// server, by a heartbeat, that its request may leave from now on, and the server
// answers whether the activity is still wanted. A heartbeat is a conditional
// write to the workflow's state, and so is the cancellation of an activity: the
// server puts them in order. A fence that comes after the cancellation is
// refused; one that comes before it can be seen by whoever cancelled.
//
// The answer is good for a short lease. An attempt that has not begun to send by
// then, because its process was paused, say, asks again. A lease is a length of
// time and starts when the worker asks, so it depends on no two clocks that agree.

// Progress is what an attempt records with the server by heartbeats, and what is
// left of it when its worker crashes.
type Progress struct {
	Attempts []job.Attempt `json:"attempts,omitempty"` // the records of this activity's attempts, oldest first
	Sent     int           `json:"sent,omitempty"`     // the attempt of this activity that passed the fence last, 1 for the first; 0: none
	Next     time.Time     `json:"next,omitzero"`      // before when the next attempt does not begin, by the clock that due times are judged by
	Lease    int           `json:"lease,omitempty"`    // how long after this heartbeat that attempt may begin to send, in milliseconds; 0: it has begun
}

// MaybeSent reports whether the request of an attempt that left no record may
// have left.
func (p *Progress) MaybeSent() bool { return p.Sent > len(p.Attempts) }

const (
	// leaseTime is the shortest lease: what a fence is good for after the due
	// time, or after it was asked for if that comes later.
	leaseTime = time.Second

	// maxLease bounds a lease, which doubles each time the server's answer arrives
	// after the lease is over. No lease is longer than the heartbeat timeout: an
	// attempt that counts as lost must not be sent any more.
	maxLease = 30 * time.Second

	// fencePause is the time between two fences if the server does not answer.
	fencePause = 500 * time.Millisecond
)

// A lease says until when an attempt may begin to send.
type lease struct {
	start   time.Time // when the worker asked
	length  time.Duration
	used    atomic.Bool // sending began
	refused atomic.Bool // sending was to begin after the lease was over, and did not
}

// over reports whether the lease is over. It looks at two clocks, for one of them
// stops while the machine is suspended, and the other one may be set.
func (l *lease) over() bool {
	now := time.Now()
	return max(now.Sub(l.start), now.Round(0).Sub(l.start.Round(0))) >= l.length
}

// left returns for how long sending may begin, in milliseconds; 0 if it has begun, or
// nothing is sent.
func (l *lease) left() int {
	if l == nil || l.used.Load() || l.over() {
		return 0
	}
	return int((l.length - time.Since(l.start)).Milliseconds()) + 1
}

type leaseKey struct{}

func withLease(ctx context.Context, l *lease) context.Context {
	return context.WithValue(ctx, leaseKey{}, l)
}

// withoutLease returns a context for what may be sent in preparation, such as a
// request for a token.
func withoutLease(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaseKey{}, (*lease)(nil))
}

// mayBegin reports whether the first byte of a request may leave now. A sender
// asks when it has a connection, just before it writes; if the answer is no, it
// writes nothing, and its error does not matter.
func mayBegin(ctx context.Context) bool {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	if l == nil || l.used.Load() { // what has begun may go on at any time
		return true
	}
	refused := l.over()
	l.refused.Store(refused)
	return !refused
}

// begun notes that the first byte of a request has left, or is about to.
func begun(ctx context.Context) {
	if l, _ := ctx.Value(leaseKey{}).(*lease); l != nil {
		l.used.Store(true)
	}
}

// fence asks the server whether the attempt is still wanted, until it answers,
// and records that it is about to be sent. An error says why nothing is sent.
func (r *Runner) fence(ctx context.Context, in *Input, earlier []job.Attempt, least time.Duration) (*lease, error) {
	held := in.held(activity.GetInfo(ctx).StartedTime) && least == leaseTime
	for {
		if held && r.Clock.Now().Sub(in.Execution.Due) > HeldLossTimeout {
			return nil, errors.New("the server did not answer in time whether it is still wanted; nothing was sent")
		}
		l := &lease{start: time.Now(), length: max(0, in.Execution.Due.Sub(r.Clock.Now())) + least}
		if limit := activity.GetInfo(ctx).HeartbeatTimeout; limit > 0 { // after that it counts as lost
			l.length = min(l.length, limit)
		}
		err := r.heartbeat(ctx, Progress{Attempts: earlier, Sent: len(earlier) + 1, Lease: int(l.length.Milliseconds())})
		switch {
		case err == nil && !l.over():
			return l, nil
		case err == nil:
			least = min(2*least, maxLease)
			continue
		case isWithdrawn(err):
			return nil, errWithdrawn
		}
		r.Log.WarnContext(ctx, "the server does not answer whether an attempt is still wanted; it is asked again",
			slog.String("collection", in.Execution.Collection), slog.String("job", in.Execution.Job), slog.Any("error", err))
		if err := r.wait(ctx, time.Now().Add(fencePause)); err != nil {
			return nil, err
		}
	}
}

// Why nothing was sent, in words for the history.
var (
	errWithdrawn   = errors.New("the job was changed before it was sent; nothing was sent")
	errStopping    = errors.New("the worker stopped before it was sent; nothing was sent")
	errTakenUpLate = fmt.Errorf("it could not begin within %g s of its due time; nothing was sent", takeUpLimit.Seconds())
)

// heartbeat records how far the attempt is.
func (r *Runner) heartbeat(ctx context.Context, p Progress) error {
	info := activity.GetInfo(ctx)
	err := activity.GetClient(ctx).RecordActivityHeartbeatWithOptions(ctx, client.RecordActivityHeartbeatOptions{
		TaskToken: info.TaskToken, WorkflowID: info.WorkflowExecution.ID, Details: []any{p}, // encrypted for that workflow
	})
	if ctx.Err() == nil {
		r.outcomes.unreachable(err != nil && !isWithdrawn(err))
	}
	return err
}

// isWithdrawn reports whether a heartbeat's answer is that the activity is
// cancelled, or not there any more.
func isWithdrawn(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing || temporal.IsCanceledError(err)
}

// aliveInterval is the shortest time between two heartbeats of an attempt that
// waits for its receiver.
const aliveInterval = time.Second

// keepAlive sends a heartbeat whenever half of the heartbeat timeout is over, until
// it is stopped or the server has given the attempt up: even then the attempt is
// completed, and its outcome is of use to the one that takes over. A cancellation
// changes nothing, for the request was sent. When stop returns, no heartbeat can
// replace what is recorded later.
func (r *Runner) keepAlive(ctx context.Context, p Progress, l *lease) (stop func()) {
	ctx = context.WithoutCancel(ctx)
	stopping, stopped := make(chan struct{}), make(chan struct{})
	interval := max(aliveInterval, activity.GetInfo(ctx).HeartbeatTimeout/2)
	go func() {
		defer close(stopped)
		for wait := interval; ; {
			select {
			case <-stopping:
				return
			case <-time.After(wait):
			}
			p.Lease = l.left()
			err := r.heartbeat(ctx, p)
			switch {
			case err == nil, temporal.IsCanceledError(err):
				wait = interval
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
