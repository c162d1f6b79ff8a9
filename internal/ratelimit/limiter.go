// Package ratelimit limits what each caller of a server may ask of it, so that no caller makes others wait: how many
// requests a second, how many at once, and how many failed logins.
//
// A caller is a text: an address, or the name of a principal. Callers that have been idle are forgotten, so memory is
// bounded.
package ratelimit

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

const (
	// burstSeconds is how many seconds' worth of requests a caller may send at once after it was idle.
	burstSeconds = 2
	// maxWait is the time limit for a request that waits until fewer of its caller are in flight.
	maxWait = 10 * time.Second
	// waitingPerFlight is how many requests of a caller may wait for each that may be in flight.
	waitingPerFlight = 8
)

// Limits are those of each caller. 0 is no limit.
type Limits struct {
	Rate     int // requests a second, with a burst of two seconds' worth
	InFlight int // requests that are processed at once; 8 times as many may wait up to 10 s
}

// A Limiter limits the requests of callers. A nil Limiter admits all.
type Limiter struct {
	limits  Limits
	callers *table[caller]
}

// A caller is the state of one caller.
type caller struct {
	bucket *rate.Limiter
	flight chan struct{} // has an element for each request that is processed
	inside int           // requests that are processed or wait; guarded by the table
}

// NewLimiter returns a limiter; nil if there are no limits.
func NewLimiter(l Limits) *Limiter {
	if l.Rate <= 0 && l.InFlight <= 0 {
		return nil
	}
	limiter := &Limiter{limits: l}
	limiter.callers = newTable(
		func() *caller {
			c := &caller{bucket: rate.NewLimiter(rate.Inf, 0)}
			if l.Rate > 0 {
				c.bucket = rate.NewLimiter(rate.Limit(l.Rate), burstSeconds*l.Rate)
			}
			if l.InFlight > 0 {
				c.flight = make(chan struct{}, l.InFlight)
			}
			return c
		},
		func(c *caller, now time.Time) bool { return c.inside == 0 && isFull(c.bucket, now) })
	return limiter
}

// Admit returns when a request of a caller may be processed. Call done when it was. The error is a [*Refusal], or that
// of ctx if it ends while the request waits.
func (l *Limiter) Admit(ctx context.Context, name string) (done func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	now := time.Now()
	var refusal *Refusal
	c := l.callers.use(name, now, func(c *caller) {
		if refusal = l.refuse(c, now); refusal == nil {
			c.inside++
		}
	})
	if refusal != nil {
		return nil, refusal
	}
	leave := func() { l.callers.change(func() { c.inside-- }) }
	if c.flight == nil {
		return leave, nil
	}
	if err := enter(ctx, c.flight); err != nil {
		leave()
		if ctx.Err() == nil {
			err = l.crowded()
		}
		return nil, err
	}
	return func() { <-c.flight; leave() }, nil
}

// refuse returns why a request is refused at once; nil if it is not.
func (l *Limiter) refuse(c *caller, now time.Time) *Refusal {
	if l.limits.InFlight > 0 && c.inside >= l.limits.InFlight*(1+waitingPerFlight) {
		return l.crowded()
	}
	if wait := take(c.bucket, now); wait > 0 {
		return &Refusal{Reason: fmt.Sprintf("sends more than %d requests a second", l.limits.Rate), RetryAfter: wait}
	}
	return nil
}

func (l *Limiter) crowded() *Refusal {
	return &Refusal{Reason: fmt.Sprintf("has more than %d requests in progress, and too many that wait", l.limits.InFlight), RetryAfter: time.Second}
}

// enter adds an element to flight, and waits until there is room. The error is that of ctx, or of maxWait.
func enter(ctx context.Context, flight chan struct{}) error {
	select {
	case flight <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case flight <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Refusal says why a request is refused, and when to try again.
type Refusal struct {
	Reason     string // what the caller does too much of, such as "sends more than 1000 requests a second"
	RetryAfter time.Duration
}

func (r *Refusal) Error() string { return "the caller " + r.Reason }

// Seconds returns RetryAfter as the header Retry-After has it: in whole seconds, rounded up, and at least 1.
func (r *Refusal) Seconds() int { return max(1, int((r.RetryAfter+time.Second-1)/time.Second)) }

// take takes a token from a bucket. If there is none, it returns when there will be, and takes nothing.
func take(bucket *rate.Limiter, now time.Time) time.Duration {
	reservation := bucket.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// isFull reports whether a bucket is as one that was never used.
func isFull(bucket *rate.Limiter, now time.Time) bool {
	return bucket.Limit() == rate.Inf || bucket.TokensAt(now) >= float64(bucket.Burst())
}
