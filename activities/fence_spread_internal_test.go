package activities

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheWindowOfAHerdGrowsWithIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		together    int
		each        time.Duration
		most        time.Duration
		first, last time.Duration
	}{
		{1, usualFenceTime, maxWindow, 57500 * time.Microsecond, 55 * time.Millisecond},
		{400, usualFenceTime, maxWindow, 1300 * time.Millisecond, 300 * time.Millisecond},
		{400, mostFenceTime, maxWindow, 1300 * time.Millisecond, 300 * time.Millisecond},
		{3000, usualFenceTime, maxWindow, 11_700 * time.Millisecond, 300 * time.Millisecond},
		{3000, leastFenceTime, maxWindow, 7800 * time.Millisecond, 300 * time.Millisecond},
		{10_000, usualFenceTime, maxWindow, 30_300 * time.Millisecond, 300 * time.Millisecond},
		{10_000, usualFenceTime, maxWindowOnce, 6300 * time.Millisecond, 300 * time.Millisecond},
	} {
		first, last := fenceSpread(tt.together, tt.each, tt.most)
		require.Equal(t, tt.first, first, "%d", tt.together)
		require.Equal(t, tt.last, last, "%d", tt.together)
	}
}

// A server that takes one fence after the other.
func TestThePaceFollowsTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		herd := func(server, apart time.Duration) {
			busy := make(chan struct{}, 1) // a mutex would keep the clock of the test from advancing
			var group sync.WaitGroup
			for range 2000 {
				group.Go(func() {
					passed := p.begin()
					busy <- struct{}{}
					time.Sleep(server)
					<-busy
					passed(nil)
				})
				time.Sleep(apart)
			}
			group.Wait()
		}
		require.Equal(t, usualFenceTime, p.time())
		herd(6*time.Millisecond, p.time())
		require.InDelta(t, 6, float64(p.time())/float64(time.Millisecond), 1.2, "it is slower than usual")
		slow := p.time()
		herd(time.Millisecond, p.time())
		require.Less(t, p.time(), slow, "it could take more")
		for range 20 {
			herd(time.Millisecond, p.time())
		}
		require.Equal(t, leastFenceTime, p.time())
		herd(time.Second, time.Millisecond)
		require.Equal(t, mostFenceTime, p.time())
		p.begin()(errors.New("it does not answer"))
		require.Equal(t, mostFenceTime, p.time())
	})
}
