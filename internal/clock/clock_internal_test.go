package clock

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClockReliesOnTheBestObservation(t *testing.T) {
	t.Parallel()
	const ahead = time.Hour // this machine's clock is
	type report struct {
		at   time.Duration // when it arrives
		took time.Duration // to arrive
	}
	for _, tt := range []struct {
		name    string
		reports []report
		after   time.Duration
		behind  time.Duration // by how much the clock is behind the server's then
	}{
		{"the first", []report{{0, time.Second}}, time.Minute, time.Second},
		{"a faster one replaces a slow one", []report{{0, time.Second}, {time.Minute, 100 * time.Millisecond}}, 2 * time.Minute, 100 * time.Millisecond},
		{"a slower one does not replace a fast one", []report{{0, 100 * time.Millisecond}, {time.Minute, time.Second}}, 2 * time.Minute, 100 * time.Millisecond},
		{"a slower one replaces one that is old", []report{{0, 0}, {sampleAge + time.Second, time.Second}}, sampleAge + time.Minute, time.Second},
		{"an old one is relied on if there is no other", []report{{0, time.Second}}, 100 * sampleAge, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := Clock{Local: func() time.Time { return time.Now().Add(ahead) }}
				for _, r := range tt.reports {
					time.Sleep(time.Until(start.Add(r.at)))
					c.Observe(time.Now().Add(-r.took).Round(0), slog.New(slog.DiscardHandler))
				}
				time.Sleep(time.Until(start.Add(tt.after)))
				require.Equal(t, time.Now().Add(-tt.behind).Round(0), c.Now().Round(0))
				require.Equal(t, time.Minute, c.Until(time.Now().Add(time.Minute-tt.behind)))
			})
		})
	}
}

func TestClockIsThisMachinesUntilTheServersIsKnown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	c := Clock{Local: func() time.Time { return now }}
	require.Equal(t, now, c.Now())
}
