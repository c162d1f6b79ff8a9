package wfclient_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/wfclient"
)

func TestEachAsksInParallelButNotAllAtOnce(t *testing.T) {
	t.Parallel()
	const n = 100
	for _, tt := range []struct {
		name  string
		takes time.Duration
		most  int32         // calls at once
		whole time.Duration // duration of all calls
	}{
		{"those that answer soon", 100 * time.Millisecond, wfclient.MaxParallel, 700 * time.Millisecond},
		{"those that do not, which make room for others", 10 * time.Second, n, 11800 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked [n]atomic.Int32
				var now, most atomic.Int32
				start := time.Now()
				wfclient.Each(n, func(i int) {
					asked[i].Add(1)
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(tt.takes)
					now.Add(-1)
				})
				for i := range asked {
					require.EqualValues(t, 1, asked[i].Load())
				}
				require.Equal(t, tt.most, most.Load())
				require.Equal(t, tt.whole, time.Since(start))
			})
		})
	}
}
