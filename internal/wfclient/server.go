package wfclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/singleflight"
)

// A read that has no answer after checkAfter checks whether the server answers at all, and again and again after it
// did. A server that answers nothing within checkTimeout cannot be waited for: what is asked of it is refused, and
// callers ask again.
//
// The read before a change waits for its own time limit, since a busy server may still make the change, unless the
// server refuses all connections for reachTimeout. That is longer than it takes to replace it.
const (
	checkAfter   = 500 * time.Millisecond
	checkTimeout = 5 * time.Second
	checkPause   = 100 * time.Millisecond
	reachTimeout = 10 * time.Second
)

// A Server is asked whether it answers, by all who have to know with one call. Ask makes a call that needs neither a
// worker nor the server's database. The nil Server always answers.
type Server struct {
	Ask func(context.Context) error

	calls singleflight.Group
}

// A SilentError says that the server did not answer a call that takes it no time. It wraps nothing: it is not the time
// limit of what was asked.
type SilentError struct {
	After time.Duration
	Err   error
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("temporal answered nothing within %g s: %s", e.After.Seconds(), e.Err)
}

// While calls read, whose context it ends with a [SilentError] as soon as the server is found to answer nothing. It
// returns that instead of the error of read.
func (s *Server) While(ctx context.Context, read func(context.Context) error) error {
	return s.while(ctx, (*Server).answers, read)
}

// WhileReachable is [Server.While] for a server that may be too busy to answer: it is given up if it refuses all
// connections.
func (s *Server) WhileReachable(ctx context.Context, read func(context.Context) error) error {
	return s.while(ctx, (*Server).Reach, read)
}

func (s *Server) while(ctx context.Context, check func(*Server, context.Context) error, read func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for s != nil && Sleep(ctx, checkAfter) == nil {
			if err := check(s, ctx); err != nil {
				cancel(err)
				return
			}
		}
	}()
	err := read(ctx)
	if silent, ok := errors.AsType[*SilentError](context.Cause(ctx)); ok && err != nil {
		return silent
	}
	return err
}

// answers returns a [SilentError] if the server does not answer, and nil if it does, even by refusing the call.
func (s *Server) answers(ctx context.Context) error {
	return s.check(ctx, "answers", checkTimeout, true)
}

// Reach returns a [SilentError] if the server refuses all connections, for as long as it takes to replace it.
func (s *Server) Reach(ctx context.Context) error { return s.check(ctx, "reach", reachTimeout, false) }

// check asks until the server answers, within a limit. If late is false, a server that answers later is there, too. A
// caller that gives up leaves the call to the others with that purpose.
func (s *Server) check(ctx context.Context, purpose string, limit time.Duration, late bool) error {
	if s == nil {
		return nil
	}
	answered := s.calls.DoChan(purpose, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		for { // a server that is being replaced refuses connections for a moment
			err := s.Ask(ctx)
			if _, down := errors.AsType[*serviceerror.Unavailable](err); !down && (!late || !isLate(err)) {
				return nil, nil //nolint:nilnil // there is no value
			}
			if Sleep(ctx, checkPause) != nil {
				return nil, &SilentError{limit, err}
			}
		}
	})
	select {
	case a := <-answered:
		return a.Err
	case <-ctx.Done():
		return nil
	}
}
