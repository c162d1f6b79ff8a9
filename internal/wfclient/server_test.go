package wfclient_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"almanac/internal/wfclient"
)

func TestAQueryOfAServerThatAnswersNothingEndsWithinSeconds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask  func(context.Context) error
		ends time.Duration
	}{
		"that cannot be reached": {func(context.Context) error { return serviceerror.NewUnavailable("connection refused") }, 5500 * time.Millisecond},
		"that is frozen": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, 5500 * time.Millisecond},
		"that was stopped meanwhile": {answersUntil(10 * time.Second), 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := wfclient.NewQueries(&server{t: t, id: "id", answers: []answer{{silent: true}}}, "here")
				q.Server = &wfclient.Server{Ask: tt.ask}
				start := time.Now()
				err := q.Ask(t.Context(), "id", "status", new(string))
				_, silent := errors.AsType[*wfclient.SilentError](err)
				require.True(t, silent, "%v", err)
				require.False(t, wfclient.IsTimeout(err), "it is asked again by nobody")
				require.InDelta(t, tt.ends.Seconds(), time.Since(start).Seconds(), 0.5)
			})
		})
	}
}

// answersUntil returns a call that a server answers for so long, and then refuses.
func answersUntil(d time.Duration) func(context.Context) error {
	var start atomic.Pointer[time.Time]
	return func(context.Context) error {
		now := time.Now()
		start.CompareAndSwap(nil, &now)
		if now.Sub(*start.Load()) < d-500*time.Millisecond {
			return serviceerror.NewPermissionDenied("an answer, too", "")
		}
		return serviceerror.NewUnavailable("connection refused")
	}
}

func TestAQueryBridgesAMomentInWhichTheServerCannotBeReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := wfclient.NewQueries(&server{t: t, id: "id", answers: []answer{{value: "hello", takes: 4 * time.Second}, {silent: true}}}, "here")
		until := time.Now().Add(3 * time.Second)
		q.Server = &wfclient.Server{Ask: func(context.Context) error {
			if time.Now().Before(until) {
				return serviceerror.NewUnavailable("connection refused")
			}
			return nil
		}}
		var value string
		require.NoError(t, q.Ask(t.Context(), "id", "status", &value))
		require.Equal(t, "hello", value)
	})
}

func TestAQueryBeforeAChangeEndsWithinSecondsIfTheServerCannotBeReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := wfclient.NewQueries(&server{t: t, id: "id", answers: []answer{{silent: true}}}, "here")
		q.Server = &wfclient.Server{Ask: func(context.Context) error { return serviceerror.NewUnavailable("connection refused") }}
		start := time.Now()
		err := q.AskBeforeChange(t.Context(), "id", "status", new(string))
		silent, ok := errors.AsType[*wfclient.SilentError](err)
		require.True(t, ok, "%v", err)
		require.EqualError(t, silent, "temporal answered nothing within 10 s: connection refused")
		require.InDelta(t, 10.5, time.Since(start).Seconds(), 0.5)
	})
}

func TestAQueryBeforeAChangeWaitsForAServerThatIsTooBusyToAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := wfclient.NewQueries(&server{t: t, id: "id", answers: []answer{{value: "hello", takes: 20 * time.Second}, {silent: true}}}, "here")
		q.Server = &wfclient.Server{Ask: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		var value string
		require.NoError(t, q.AskBeforeChange(t.Context(), "id", "status", &value))
		require.Equal(t, "hello", value)
		time.Sleep(time.Minute) // until the server has been asked
	})
}

func TestAQueryWaitsForAWorkerWhileTheServerAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, id: "id", answers: []answer{{value: "hello", takes: 20 * time.Second}, {silent: true}}}
		q := wfclient.NewQueries(s, "here")
		q.Server = &wfclient.Server{Ask: func(context.Context) error { return nil }}
		var value string
		require.NoError(t, q.Ask(t.Context(), "id", "status", &value))
		require.Equal(t, "hello", value)
	})
}

func TestManyQueriesAskOnceWhetherTheServerAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		q := wfclient.NewQueries(&crowded{}, "here")
		q.Server = &wfclient.Server{Ask: func(ctx context.Context) error {
			calls.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}}
		var failed atomic.Int32
		wfclient.Each(100, func(int) {
			if q.Ask(t.Context(), "id", "status", new(string)) != nil {
				failed.Add(1)
			}
		})
		synctest.Wait()
		require.EqualValues(t, 100, failed.Load())
		require.Less(t, calls.Load(), int32(10))
	})
}
