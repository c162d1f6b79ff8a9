package notify

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/latency"
	"almanac/job"
	"almanac/job/notification"
)

var errSignal = errors.New("the server is busy")

// handOver returns a part with an alert of some size.
func handOver(ctx context.Context, shard, size int) *part {
	raised := []notification.Raised{{Alert: notification.Alert{Text: strings.Repeat("x", size)}, Inherit: []string{"ops"}}}
	return &part{
		ctx: ctx, shard: notification.Shard{Collection: job.CollectionKey{Name: "Reports"}, Number: shard}, raised: raised,
		size: notification.SizeOf(raised), done: make(chan struct{}),
	}
}

func TestHandOversAtTheSameTimeAreFewSignalsOfBoundedSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		signals, last := map[string]int{}, map[string]time.Time{}
		m := merger{signal: func(id string, batch []*part) {
			mu.Lock()
			defer mu.Unlock()
			size := 0
			for _, p := range batch {
				size += p.size
				close(p.done)
			}
			require.LessOrEqual(t, size, maxSignal)
			if signals[id]++; signals[id] > 1 {
				require.GreaterOrEqual(t, time.Since(last[id]), signalPause)
			}
			last[id] = time.Now()
		}}
		var parts []*part
		for i := range 10_000 {
			p := handOver(t.Context(), 1+i%notification.Shards, 1000)
			parts = append(parts, p)
			m.add(p, nil)
		}
		for _, p := range parts {
			<-p.done
		}
		require.Less(t, time.Since(start), 2*time.Second)
		synctest.Wait()
		total := 0
		for _, n := range signals {
			total += n
		}
		require.Len(t, signals, notification.Shards)
		require.LessOrEqual(t, total, 100)
		time.Sleep(time.Second) // until the merger has nothing to wait for
	})
}

func TestALoneHandOverDoesNotWaitAndOneThatWasGivenUpIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		sent := 0
		m := merger{signal: func(_ string, batch []*part) {
			for _, p := range batch {
				p.err = errSignal
				sent++
				close(p.done)
			}
		}}
		p := handOver(t.Context(), 1, 10)
		m.add(p, nil)
		<-p.done
		require.ErrorIs(t, p.err, errSignal)
		require.Zero(t, time.Since(start))
		gone, cancel := context.WithCancel(t.Context())
		m.add(handOver(gone, 1, 10), nil)
		cancel()
		time.Sleep(time.Second)
		require.Equal(t, 1, sent)
	})
}

func TestHandOversAreFewerSignalsWhileTheServerIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := new(latency.Meter)
		for range 100 {
			end := slow.Begin()
			time.Sleep(time.Second)
			end()
		}
		start := time.Now()
		var mu sync.Mutex
		var signals []time.Duration
		m := merger{signal: func(_ string, batch []*part) {
			mu.Lock()
			defer mu.Unlock()
			signals = append(signals, time.Since(start).Round(time.Second))
			for _, p := range batch {
				close(p.done)
			}
		}}
		for range 60 { // ten a second
			m.add(handOver(t.Context(), 1, 10), slow)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(busyPause)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []time.Duration{0, 3 * time.Second, 6 * time.Second}, signals)
	})
}
