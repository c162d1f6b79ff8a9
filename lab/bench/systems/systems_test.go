package systems

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/lab/receiver"
	"almanac/lab/record"
	"almanac/lab/report"
)

func TestAHerdIsCreatedThroughAllAPIsAlsoIfTheyAreBusyAtFirst(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := map[string]int{} // by server and path
	serve := func(name string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			calls[name+" "+r.URL.Path]++
			if strings.Contains(r.URL.Path, "/jobs/") && calls[name+" "+r.URL.Path] == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	r, err := receiver.Start(0)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	a := NewAlmanac(r, []string{serve("first"), serve("second")})
	require.NoError(t, a.Create(t.Context(), Herd{Name: "herd", Jobs: 2, First: time.Now(), Schedule: Minutely}))
	require.Equal(t, map[string]int{
		"first /jobCollections/herd": 1, "first /jobCollections/herd/jobs/herd-0": 2,
		"second /jobCollections/herd/jobs/herd-1": 2,
	}, calls)
}

// The due time in a request says which tick it belongs to. What was due before the first tick or after
// the last one belongs to none.
func TestArrivalsAreSortedByTick(t *testing.T) {
	t.Parallel()
	h := Herd{Jobs: 2, First: time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC), Every: time.Minute}
	at := func(job int, due, late time.Duration) record.Request {
		return record.Request{Job: record.Job{Name: strconv.Itoa(job)}, Due: h.First.Add(due),
			Arrived: h.First.Add(due + late)}
	}
	ticks := SortTicks(h, 3, []record.Request{
		at(0, -time.Minute, time.Millisecond), // before the first tick
		at(0, 0, 3*time.Millisecond), at(1, 0, 4*time.Millisecond),
		// twice, and the other one never
		at(0, time.Minute, 5*time.Millisecond), at(0, time.Minute, 9*time.Millisecond),
		at(0, 2*time.Minute, -time.Millisecond), at(1, 2*time.Minute, 70*time.Second), // early, and after the next tick
		at(0, 3*time.Minute, time.Millisecond), // after the last tick
	})
	require.Equal(t, []Tick{
		{Lateness: report.Spread{N: 2, P50: 3 * time.Millisecond, P99: 4 * time.Millisecond,
			Max: 4 * time.Millisecond}},
		{Lateness: report.Spread{N: 1, P50: 5 * time.Millisecond, P99: 5 * time.Millisecond,
			Max: 5 * time.Millisecond}, Missing: 1, Twice: 1},
		{Lateness: report.Spread{N: 2, P50: -time.Millisecond, P99: 70 * time.Second, Max: 70 * time.Second}, Early: 1},
	}, ticks)

	sum := Tick{
		Lateness: report.Spread{N: 3, P50: 2 * time.Millisecond, P99: (5*time.Millisecond + 70*time.Second) / 2,
			Max: 70 * time.Second}, Early: 1, Missing: 1, Twice: 1,
	}
	require.Equal(t, sum, Combine(ticks[1:], report.Median[time.Duration]))
	sum.Lateness.P99 = 70 * time.Second
	require.Equal(t, sum, Worst(ticks[1:]))
}
