package wfclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/singleflight"
)

// A read that has no answer after checkAfter checks whether the server answers at all, and again and again after it did. A server that
// answers nothing within checkTimeout cannot be waited for: what is asked of it is refused, and callers ask again. A change waits for its
// own time limit, since a busy server may still make it.
const (
	checkAfter   = 500 * time.Millisecond
	checkTimeout = 5 * time.Second
	checkPause   = 100 * time.Millisecond
)

// A Server is asked whether it answers, by all who have to know with one call. Ask makes a call that needs neither a worker nor the
// server's database. The nil Server always answers.
type Server struct {
	Ask func(context.Context) error

	calls singleflight.Group
}

// A SilentError says that the server did not answer a call that takes it no time. It wraps nothing: it is not the time limit of what was asked.
type SilentError struct{ Err error }

func (e *SilentError) Error() string {
	return fmt.Sprintf("temporal answered nothing within %g s: %s", checkTimeout.Seconds(), e.Err)
}

// While calls read, whose context it ends with a [SilentError] as soon as the server is found to answer nothing. It returns that instead of
// the error of read.
func (s *Server) While(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.watch(ctx, cancel)
	err := read(ctx)
	if silent, ok := errors.AsType[*SilentError](context.Cause(ctx)); ok && err != nil {
		return silent
	}
	return err
}

// watch checks again and again until ctx ends, or the server does not answer.
func (s *Server) watch(ctx context.Context, found context.CancelCauseFunc) {
	for s != nil && Sleep(ctx, checkAfter) == nil {
		if err := s.check(ctx); err != nil {
			found(err)
			return
		}
	}
}

// check returns a [SilentError] if the server did not answer, and nil if it did, even by refusing the call. A caller that gives up leaves the
// call to the others.
func (s *Server) check(ctx context.Context) error {
	if s == nil {
		return nil
	}
	answered := s.calls.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		for { // a server that is being replaced refuses connections for a moment
			err := s.Ask(ctx)
			if _, down := errors.AsType[*serviceerror.Unavailable](err); !down && !isLate(err) {
				return nil, nil //nolint:nilnil // there is no value
			}
			if Sleep(ctx, checkPause) != nil {
				return nil, &SilentError{err}
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
