package latency_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/latency"
)

// calls makes calls that take so long, some at once.
func calls(m *latency.Meter, n int, takes time.Duration) {
	for range n {
		end := m.Begin()
		time.Sleep(takes)
		end()
	}
}

func TestPatienceFollowsHowLongCallsTake(t *testing.T) {
	t.Parallel()
	const least, most = 3 * time.Second, 30 * time.Second
	for _, tt := range []struct {
		name     string
		before   func(m *latency.Meter)
		from, to time.Duration
	}{
		{"and is the least at first", func(*latency.Meter) {}, least, least},
		{"and is the least while the server is quick", func(m *latency.Meter) { calls(m, 1000, 900*time.Millisecond) }, least, least},
		{"and not a single slow one", func(m *latency.Meter) { calls(m, 10, time.Millisecond); calls(m, 1, 10*time.Second) }, least, least},
		{"if many are slow", func(m *latency.Meter) { calls(m, 50, 4*time.Second) }, 11 * time.Second, 12 * time.Second},
		{"up to the most", func(m *latency.Meter) { calls(m, 100, time.Minute) }, most, most},
		{"and remembers a herd until the next one", func(m *latency.Meter) { calls(m, 50, 4*time.Second); calls(m, 590, 100*time.Millisecond) }, 11 * time.Second, 12 * time.Second},
		{"and comes back", func(m *latency.Meter) {
			calls(m, 50, 4*time.Second)
			calls(m, 1, time.Millisecond)
			for range 3 {
				time.Sleep(latency.Kept)
				calls(m, 100, time.Millisecond)
			}
		}, least, least},
		{"before they are answered", func(m *latency.Meter) {
			for range 100 {
				m.Begin()
			}
			time.Sleep(5 * time.Second)
		}, 14 * time.Second, 15 * time.Second},
		{"and not that a single one is not answered", func(m *latency.Meter) { m.Begin(); time.Sleep(10 * time.Second) }, least, least},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := new(latency.Meter)
				tt.before(m)
				got := m.Patience(least, most)
				require.GreaterOrEqual(t, got, tt.from)
				require.LessOrEqual(t, got, tt.to)
			})
		})
	}
}

func TestNothingIsMeasuredWithoutAMeter(t *testing.T) {
	t.Parallel()
	var m *latency.Meter
	m.Begin()()
	require.Zero(t, m.Lately())
	require.Equal(t, time.Second, m.Patience(time.Second, time.Minute))
}
