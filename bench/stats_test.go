package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	t.Parallel()
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, i+1)
	}
	for _, tt := range []struct {
		name   string
		sorted []int
		p      float64
		want   int
	}{
		{"of none", nil, 99, 0},
		{"of one", []int{7}, 50, 7},
		{"the lower of two in the middle", []int{1, 2}, 50, 1},
		{"the half of a hundred", hundred, 50, 50},
		{"all but one of a hundred", hundred, 99, 99},
		{"all of them", hundred, 100, 100},
		{"the least", hundred, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, percentile(tt.sorted, tt.p))
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	require.Zero(t, median([]float64{}))
	require.Equal(t, 7*time.Second, median([]time.Duration{7 * time.Second}))
	require.Equal(t, 2*time.Second, median([]time.Duration{3 * time.Second, time.Second}), "of two, neither the better nor the worse one")
	require.InDelta(t, 2.5, median([]float64{9, 1, 3, 2}), 0)
	values := []float64{3, 1, 2}
	require.InDelta(t, 2, median(values), 0)
	require.Equal(t, []float64{3, 1, 2}, values, "the argument is left as it is")
}

// The due time tells which tick a request belongs to; what was due before all
// jobs were there, or after the measurement, belongs to none.
func TestArrivalsAreSortedByTick(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	h := herd{name: "herd", jobs: 2, first: first.Add(10 * time.Second), every: time.Minute}
	m := &measurement{
		options: options{ticks: 2}, settle: 1, every: time.Minute, first: first.Add(time.Minute),
		herds: []herd{{first: first}, h},
	}
	at := func(job int, due, late time.Duration) arrival {
		return arrival{job, h.first.Add(due), h.first.Add(due + late)}
	}
	ticks := m.sort(h, []arrival{
		at(0, 0, time.Millisecond), // before the first tick that counts
		at(0, time.Minute, 3*time.Millisecond), at(1, time.Minute, 4*time.Millisecond),
		at(0, 2*time.Minute, 5*time.Millisecond), at(0, 2*time.Minute, 9*time.Millisecond), // twice, and the other one never
		at(0, 3*time.Minute, -time.Millisecond), at(1, 3*time.Minute, 70*time.Second), // early, and after the next tick
		at(0, 4*time.Minute, time.Millisecond), // after the last tick
	})
	require.Equal(t, []tick{
		{settling: true, lateness: spread{2, 3 * time.Millisecond, 4 * time.Millisecond, 4 * time.Millisecond}},
		{lateness: spread{1, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond}, missing: 1, duplicates: 1},
		{lateness: spread{2, -time.Millisecond, 70 * time.Second, 70 * time.Second}, early: 1},
	}, ticks)

	settled := herdResult{ticks: ticks}.settled()
	require.Equal(t, tick{
		lateness: spread{3, 2 * time.Millisecond, (5*time.Millisecond + 70*time.Second) / 2, 70 * time.Second}, early: 1, missing: 1, duplicates: 1,
	}, settled)
}
