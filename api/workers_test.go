package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job/presence"
)

// workersOnRecord are one that has gone and one that came a minute later and was handed over, with a gap.
func workersOnRecord() presence.Log {
	first := at("2026-01-01T08:00:00Z")
	a := presence.Worker{ID: "a", Identity: "1@a", Version: "1.0", Zones: "2026a"}
	b := presence.Worker{ID: "b", Identity: "2@b", Version: "1.1"}
	went, came, handed := first.Add(time.Hour), first.Add(time.Hour+time.Minute), first.Add(2*time.Hour)
	return presence.Log{
		State: presence.State{Since: first, Spans: []presence.Span{
			{Worker: a, Segment: presence.Segment{From: first, To: went, End: presence.Lost}},
			{Worker: b, Segment: presence.Segment{From: came, To: handed, End: presence.Continues, Gaps: []presence.Interval{
				{From: came.Add(time.Minute), To: came.Add(2 * time.Minute)},
			}}},
		}},
		Here: []presence.Span{{Worker: b, Segment: presence.Segment{From: handed, To: at("2026-01-01T11:59:40Z")}}},
	}
}

func TestTheWorkersOfAWindowAreListedWithTheTimesInWhichNoneWasThere(t *testing.T) {
	t.Parallel()
	f := &fake{workers: func(context.Context) (presence.Log, error) { return workersOnRecord(), nil }}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T12:00:00Z") }})
	const path = "/subscriptions/s1/providers/Microsoft.Scheduler/workers" + version
	got := send(h, http.MethodGet, path+"&from=2026-01-01T09:00:30Z", "")
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.JSONEq(t, `{"from":"2026-01-01T09:00:30Z","until":"2026-01-01T12:00:00Z","since":"2026-01-01T08:00:00Z",
		"value":[{"name":"2@b","version":"1.1","firstCheckIn":"2026-01-01T09:01:00Z","lastCheckIn":"2026-01-01T11:59:40Z",
			"gaps":[{"from":"2026-01-01T09:02:00Z","to":"2026-01-01T09:03:00Z"}]}],
		"absences":[{"from":"2026-01-01T09:00:00Z","to":"2026-01-01T09:01:00Z"},{"from":"2026-01-01T09:02:00Z","to":"2026-01-01T09:03:00Z"}]}`, got.body)
	got = send(h, http.MethodGet, path, "")
	require.Contains(t, got.body, `{"name":"1@a","version":"1.0","zoneinfo":"2026a","firstCheckIn":"2026-01-01T08:00:00Z","lastCheckIn":"2026-01-01T09:00:00Z","end":"lost"}`)
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodGet, path+"&from=2026-01-02", "").status)
}
