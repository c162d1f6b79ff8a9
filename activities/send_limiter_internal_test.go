package activities

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSendsBeginAFewAtATime(t *testing.T) {
	t.Parallel()
	atOnce := placesPerCPU * runtime.GOMAXPROCS(0)
	for _, tt := range []struct {
		name  string
		takes time.Duration // duration of a send
		want  time.Duration // start of the last one
	}{
		{"as soon as those before them are done", time.Millisecond, 2 * time.Millisecond},
		{"and wait for none that takes its time", time.Hour, 2 * placeTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p sendLimiter
				var mu sync.Mutex
				var group sync.WaitGroup
				start, last, begun := time.Now(), time.Duration(0), 0
				for range 3 * atOnce {
					group.Go(func() {
						end := p.begin(func() { mu.Lock(); begun++; mu.Unlock() })
						mu.Lock()
						last = max(last, time.Since(start))
						mu.Unlock()
						time.Sleep(tt.takes)
						end()
					})
				}
				synctest.Wait()
				mu.Lock()
				require.Zero(t, last, "some begin at once")
				mu.Unlock()
				group.Wait()
				require.Equal(t, tt.want, last)
				require.Equal(t, 3*atOnce, begun, "each is told once")
				require.Empty(t, p.places)
			})
		})
	}
}
