package wfclient_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/wfclient"
)

func TestThoseWhoAskWhileAQueryIsMadeShareTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, id: "id", answers: []answer{{value: "before", takes: 100 * time.Millisecond}, {value: "after", takes: 100 * time.Millisecond}}}
		q := wfclient.NewQueries(s, "here")
		ask := func(ctx context.Context) string {
			var value string
			if q.Ask(ctx, s.id, "status", &value) != nil {
				return "gave up"
			}
			return value
		}
		var group sync.WaitGroup
		group.Go(func() { require.Equal(t, "before", ask(t.Context())) })
		require.NoError(t, wfclient.Sleep(t.Context(), 10*time.Millisecond)) // in the time of the bubble
		for range 50 {
			group.Go(func() { require.Equal(t, "after", ask(t.Context()), "a change may have been answered before it asked") })
		}
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			defer cancel()
			require.Equal(t, "gave up", ask(ctx))
		})
		group.Wait()
		require.Len(t, s.queries, 2)
		require.Equal(t, "after", ask(t.Context()))
		require.Len(t, s.queries, 3)
	})
}

func TestAQueryThatNobodyWaitsForIsNotMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, id: "id", answers: []answer{{value: "hello", takes: 200 * time.Millisecond}}}
		q := wfclient.NewQueries(s, "here")
		var group sync.WaitGroup
		ask := func(patience time.Duration) {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_ = q.Ask(ctx, s.id, "status", new(string))
			})
			synctest.Wait()
		}
		ask(time.Minute)
		ask(10 * time.Millisecond)
		group.Wait()
		require.Len(t, s.queries, 1)
	})
}
