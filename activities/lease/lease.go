// Package lease bounds when the request of an attempt may begin to leave: within a length
// of time that starts when the worker asks the server whether the attempt is still wanted
// (the fence, see package activities). It depends on no two clocks that agree.
//
// A sender asks [MayBegin] just before it writes the first byte, and reports it by [Begun].
package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A Lease says until when an attempt may begin to send. A nil *Lease is that of an attempt
// which sends nothing.
type Lease struct {
	start   time.Time
	length  time.Duration
	used    atomic.Bool  // sending began
	began   atomic.Int64 // how long after start, in nanoseconds
	refused atomic.Bool  // sending was to begin after the lease was over, and did not
}

// New returns a lease that started at an instant, read from [time.Now].
func New(start time.Time, length time.Duration) *Lease { return &Lease{start: start, length: length} }

// Over reports whether the lease is over by the monotonic clock, which stops while the machine is
// suspended, or by the wall clock, which may be set.
func (l *Lease) Over() bool { return l.Remaining() <= 0 }

// Remaining returns how long it is until the lease is over.
func (l *Lease) Remaining() time.Duration {
	now := time.Now()
	return l.length - max(now.Sub(l.start), now.Round(0).Sub(l.start.Round(0)))
}

// Used reports whether sending has begun.
func (l *Lease) Used() bool { return l.used.Load() }

// Began returns when sending began; zero if it has not.
func (l *Lease) Began() time.Time {
	if !l.Used() {
		return time.Time{}
	}
	return l.start.Add(time.Duration(l.began.Load()))
}

// Refused reports whether sending was to begin after the lease was over, and did not.
func (l *Lease) Refused() bool { return l.refused.Load() && !l.used.Load() }

type key struct{}

// With returns a context for a request under a lease.
func With(ctx context.Context, l *Lease) context.Context { return context.WithValue(ctx, key{}, l) }

// Without returns a context for what may be sent in preparation, such as a request for a
// token.
func Without(ctx context.Context) context.Context { return With(ctx, nil) }

func of(ctx context.Context) *Lease {
	l, _ := ctx.Value(key{}).(*Lease)
	return l
}

// MayBegin reports whether the first byte of a request may leave now. If not, the sender
// writes nothing and returns any error, such as [ErrOver], which is not shown. A request
// that has begun may go on at any time, and one without a lease may begin.
func MayBegin(ctx context.Context) bool {
	l := of(ctx)
	if l == nil || l.used.Load() {
		return true
	}
	over := l.Over()
	l.refused.Store(over)
	return !over
}

// MayRepeat reports whether a request that has begun may be written again, since the receiver has said that it did not
// process it.
func MayRepeat(ctx context.Context) bool {
	l := of(ctx)
	return l == nil || !l.Over()
}

// Begun notes that the first byte of a request has left, or is about to.
func Begun(ctx context.Context) {
	if l := of(ctx); l != nil && !l.used.Load() {
		l.began.Store(int64(time.Since(l.start)))
		l.used.Store(true)
	}
}

// ErrRefused ends a request that the receiver did not process, and that may not be written again.
var ErrRefused = errors.New("the host refused the request without processing it, and the time within which it might be sent again was over")

// ErrOver ends a request whose lease is over before it is written.
var ErrOver = errors.New("the time within which the request might be sent was over")
