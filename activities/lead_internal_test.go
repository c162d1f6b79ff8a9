package activities

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNextLead(t *testing.T) {
	t.Parallel()
	bounds := Lead{Min: 250 * time.Millisecond, Max: 20 * time.Second}
	const ms = time.Millisecond
	for _, tt := range []struct {
		name        string
		lead, slack time.Duration
		want        time.Duration
	}{
		{"grows by what is missing to half of it", 600 * ms, 100 * ms, 800 * ms},
		{"grows by what is missing to a second, where half of it is more", 3 * time.Second, 400 * ms, 3600 * ms},
		{"grows by what is missing to a quarter of it, where that is more than a second", 8 * time.Second, 400 * ms, 9600 * ms},
		{"grows by how late it was, and more", 600 * ms, -2 * time.Second, 2900 * ms},
		{"is as long as it may be, at most", 19 * time.Second, -5 * time.Second, 20 * time.Second},
		{"stays as it is after an outage, which no lead makes up for", 600 * ms, -20*time.Second - 1, 600 * ms},
		{"stays as it is where it is enough", 600 * ms, 300 * ms, 600 * ms},
		{"stays as it is where it is hardly more than enough", 600 * ms, 375 * ms, 600 * ms},
		{"shrinks a little where it is more than enough", 640 * ms, 500 * ms, 630 * ms},
		{"shrinks as slowly however much it is", 16 * time.Second, 15 * time.Second, 15750 * ms},
		{"is as short as it may be, at least", 251 * ms, 250 * ms, 250 * ms},
		{"comes into bounds that are new", 100 * ms, 50 * ms, 250 * ms},
		{"comes into bounds that are new, from above", time.Minute, 15 * time.Second, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, bounds.next(tt.lead, tt.slack))
		})
	}
	t.Run("is nothing without bounds, for nothing is learnt then", func(t *testing.T) {
		t.Parallel()
		require.Zero(t, Lead{}.next(150*time.Millisecond, -time.Second))
	})
}

// A herd is many jobs due at the same time, at a server that dispatches them one after another.
type herd struct {
	leads []time.Duration
	each  time.Duration // duration of a dispatch
}

// round runs all jobs once and adjusts each lead. It returns the slack of the last one, negative if late.
func (h *herd) round(bounds Lead) (slack time.Duration) {
	order := make([]int, len(h.leads))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(h.leads[b], h.leads[a]), cmp.Compare(a, b)) })
	ready := -time.Hour // relative to the due time
	slack = time.Hour
	for _, i := range order {
		ready = max(ready, -h.leads[i]) + h.each
		slack = min(slack, -ready)
		h.leads[i] = bounds.next(h.leads[i], -ready)
	}
	return slack
}

func TestLeadsOfAHerdGrowUntilItIsInTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		jobs int
		each time.Duration
	}{
		{1, 5 * time.Millisecond}, {100, 2 * time.Millisecond}, {1000, time.Millisecond}, {1000, 4 * time.Millisecond}, {3000, 4 * time.Millisecond},
		{3500, 4 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("of %d, %s each", tt.jobs, tt.each), func(t *testing.T) {
			t.Parallel()
			h := herd{leads: slices.Repeat([]time.Duration{150 * time.Millisecond}, tt.jobs), each: tt.each}
			for range 60 {
				h.round(DefaultLead())
			}
			work := time.Duration(tt.jobs) * tt.each
			first := h.round(DefaultLead())
			for range 300 {
				slack := h.round(DefaultLead())
				require.Positive(t, slack, "somebody is late")
				require.InDelta(t, first.Seconds(), slack.Seconds(), max(0.1, 0.05*work.Seconds()), "it oscillates")
				require.LessOrEqual(t, slices.Max(h.leads), max(DefaultLead().Min, work+work/3+time.Second), "they get up far too early")
			}
		})
	}
}

func TestJobsSleepAgainWhereTooMuchIsHeld(t *testing.T) {
	t.Parallel()
	r := &Runner{Lead: DefaultLead()}
	due := time.Now().Add(time.Hour)
	var last *heldAttempt
	for n := range maxHeld {
		require.Equal(t, 60_000, r.nextHold())
		last = r.holds.enter(strconv.Itoa(n), due, time.Hour)
	}
	require.Zero(t, r.nextHold())
	r.holds.sent(last)
	require.Equal(t, 60_000, r.nextHold())
	require.Zero(t, new(Runner).nextHold())
}
