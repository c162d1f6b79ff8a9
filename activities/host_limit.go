package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"almanac/job"
)

// DefaultPerHost is the default limit of unanswered requests per host and worker: a tenth of the
// worker's activity slots.
const DefaultPerHost = 2000

// HostWait is the longest that an attempt waits in its worker for its host, from its due time on.
const HostWait = fullWait + fullInterval

// An attempt whose host has reached its limit of unanswered requests waits in the worker until fullWait
// after its due time. Then the server retries it after a pause equal to its lateness, within leastPause
// and mostPause, plus or minus half. It takes no activity slot meanwhile, and has passed no fence.
const (
	fullWait     = time.Second
	fullInterval = 250 * time.Millisecond // between two checks
	leastPause   = 10 * time.Second
	mostPause    = time.Minute
)

// HostFull is why an attempt is put off whose host has reached its limit.
const HostFull = "the host has not answered as many requests as a worker makes to one host at once; nothing was sent"

// ErrHostFull is why [Runner.SendOnce] sends nothing.
var ErrHostFull = errHostFull

var errHostFull = errors.New(HostFull)

// hostKey returns the key under which an action's requests are counted, which has the kind of receiver, since a storage
// account and a namespace may have the same name. Actions whose kind this worker does not know have one of their own.
func hostKey(a *job.Action) string {
	if sent := a.Sent(); sent != nil {
		return sent.HostKey()
	}
	return "unknown"
}

// awaitHost waits until the host is below its limit. It returns errHostFull if that takes longer than fullWait after the
// due time, or the error of wait. An attempt that would count as lost before that sends a heartbeat.
func (r *Runner) awaitHost(ctx context.Context, in *Input, recorded []job.Attempt, c *lossClock) error {
	key := hostKey(&in.Action)
	for r.hosts.Full(key, r.PerHost) {
		near := c.until(2*fullInterval) < 0
		if r.Clock.Until(in.Execution.Begin()) < -fullWait || near && !r.beat(ctx, recorded, c) {
			r.hosts.Warn(r.Log, key, in.Action.Host(), r.PerHost)
			return errHostFull
		}
		if err := r.wait(ctx, time.Now().Add(fullInterval)); err != nil {
			return err
		}
	}
	return nil
}

// beat sends a heartbeat of an attempt that has passed no fence, and reports whether the server recorded it.
func (r *Runner) beat(ctx context.Context, recorded []job.Attempt, c *lossClock) bool {
	start := time.Now()
	if r.heartbeat(ctx, Progress{Attempts: recorded, PutOff: c.putOff}) != nil {
		return false
	}
	c.heard = start
	return true
}

// hostFullError returns the error by which the server retries an attempt whose host had reached its limit. That a first
// attempt was put off is recorded by a heartbeat: whoever makes it says what it waited for.
func (r *Runner) hostFullError(ctx context.Context, in *Input, progress *Progress) error {
	if in.first(progress.Attempts) {
		err := r.heartbeat(ctx, Progress{PutOff: progress.PutOff + 1})
		if err != nil {
			r.Log.DebugContext(ctx, "it is not recorded that an attempt was put off", slog.Any("error", err))
		}
	}
	begin := in.Execution.Begin()
	if progress.Next.After(begin) {
		begin = progress.Next
	}
	pause := min(max(-r.Clock.Until(begin), leastPause), mostPause)
	pause = time.Duration(float64(pause) * (0.5 + rand.Float64()))
	return unsentError(fmt.Sprintf("%s: %s", in.Action.Host(), errHostFull), ErrTypeUnsent, progress.Attempts, pause)
}

// PutOff reports whether a failure is that of an attempt which was put off, since its host had reached its limit.
func PutOff(err error) bool {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failed.Type() == ErrTypeUnsent && SaysPutOff(failed.Message())
}

// SaysPutOff is [PutOff] for the message of a failure.
func SaysPutOff(message string) bool { return strings.HasSuffix(message, HostFull) }
