package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/bench/systems"
)

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, tt := range []struct {
		name   string
		values []time.Duration
		want   Spread
	}{
		{"none", nil, Spread{}},
		{"one", []time.Duration{7}, Spread{1, 7, 7, 7}},
		{"two: the lower one is the half", []time.Duration{2, 1}, Spread{2, 1, 2, 2}},
		{"a hundred", hundred, Spread{100, 50, 99, 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, SpreadOf(tt.values))
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	require.Equal(t, 7*time.Second, Median([]time.Duration{7 * time.Second}))
	require.Equal(t, 2*time.Second, Median([]time.Duration{3 * time.Second, time.Second}), "of two, neither the better nor the worse one")
	require.InDelta(t, 2.5, Median([]float64{9, 1, 3, 2}), 0)
	values := []float64{3, 1, 2}
	require.InDelta(t, 2, Median(values), 0)
	require.Equal(t, []float64{3, 1, 2}, values, "the argument is left as it is")
}

// The due time in a request says which tick it belongs to. What was due before the first tick or after
// the last one belongs to none.
func TestArrivalsAreSortedByTick(t *testing.T) {
	t.Parallel()
	h := systems.Herd{Jobs: 2, First: time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC), Every: time.Minute}
	at := func(job int, due, late time.Duration) systems.Arrival {
		return systems.Arrival{Job: job, Due: h.First.Add(due), At: h.First.Add(due + late)}
	}
	ticks := SortTicks(h, 3, []systems.Arrival{
		at(0, -time.Minute, time.Millisecond), // before the first tick
		at(0, 0, 3*time.Millisecond), at(1, 0, 4*time.Millisecond),
		at(0, time.Minute, 5*time.Millisecond), at(0, time.Minute, 9*time.Millisecond), // twice, and the other one never
		at(0, 2*time.Minute, -time.Millisecond), at(1, 2*time.Minute, 70*time.Second), // early, and after the next tick
		at(0, 3*time.Minute, time.Millisecond), // after the last tick
	})
	require.Equal(t, []Tick{
		{Lateness: Spread{2, 3 * time.Millisecond, 4 * time.Millisecond, 4 * time.Millisecond}},
		{Lateness: Spread{1, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond}, Missing: 1, Twice: 1},
		{Lateness: Spread{2, -time.Millisecond, 70 * time.Second, 70 * time.Second}, Early: 1},
	}, ticks)

	sum := Tick{
		Lateness: Spread{3, 2 * time.Millisecond, (5*time.Millisecond + 70*time.Second) / 2, 70 * time.Second}, Early: 1, Missing: 1, Twice: 1,
	}
	require.Equal(t, sum, Combine(ticks[1:], Median[time.Duration]))
	sum.Lateness.P99 = 70 * time.Second
	require.Equal(t, sum, Worst(ticks[1:]))
}
