package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	require.Equal(t, 2*time.Second, Median([]time.Duration{3 * time.Second, time.Second}),
		"of two, neither the better nor the worse one")
	require.InDelta(t, 2.5, Median([]float64{9, 1, 3, 2}), 0)
	values := []float64{3, 1, 2}
	require.InDelta(t, 2, Median(values), 0)
	require.Equal(t, []float64{3, 1, 2}, values, "the argument is left as it is")
}
