package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job/listing"
)

// forecasts returns an API at the beginning of 2026 that records of what a forecast is asked for.
func forecasts() (http.Handler, *listing.ForecastQuery) {
	q := new(listing.ForecastQuery)
	f := &fake{forecast: func(_ context.Context, _ listing.Scope, query listing.ForecastQuery) (listing.Forecast, error) {
		*q = query
		times := make([]listing.DueCount, len(query.Times))
		for i, at := range query.Times {
			times[i] = listing.DueCount{Time: at, Due: 7 + i, Host: listing.NamedCount{Name: "h", Due: 5}}
		}
		return listing.Forecast{Until: query.From.Add(time.Minute), Times: times}, nil
	}}
	return api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00.5Z") }}), q
}

func TestAForecastCoversTheWindowOfTheQuery(t *testing.T) {
	t.Parallel()
	h, q := forecasts()
	got := send(h, http.MethodGet, "/forecast", "")
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, listing.ForecastQuery{From: at("2026-01-01T00:00:00Z"), Until: at("2026-01-01T01:00:00Z"), Step: time.Minute}, *q)
	require.Contains(t, got.body, `"until":"2026-01-01T00:01:00Z","complete":false,"step":"PT1M"`)
	require.NotContains(t, got.body, `"occurrences"`)

	got = send(h, http.MethodGet, "/jobCollections/c/forecast?from=2026-03-01&until=2026-03-02T12:00:00Z&step=PT1H&host=API.example.com&except=J", "")
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, []any{at("2026-03-01T00:00:00Z"), at("2026-03-02T12:00:00Z"), time.Hour, "api.example.com", "J"}, []any{q.From, q.Until, q.Step, q.Host, q.Except.Name})
}

func TestAForecastForAJobThatIsNotSavedSaysHowManyAreDueWithIt(t *testing.T) {
	t.Parallel()
	h, q := forecasts()
	got := send(h, http.MethodPost, "/forecast", `{"take":2,"properties":{"startTime":"2026-01-02T08:00:00Z","recurrence":{"frequency":"day"}}}`)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, []time.Time{at("2026-01-02T08:00:00Z"), at("2026-01-03T08:00:00Z")}, q.Times)
	require.Contains(t, got.body, `"occurrences":[{"time":"2026-01-02T08:00:00Z","due":7,"host":{"name":"h","due":5}},{"time":"2026-01-03T08:00:00Z","due":8,"host":{"name":"h","due":5}}],"done":false}`)
}

func TestAForecastThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	h, _ := forecasts()
	for query, want := range map[string]string{
		"from=x":                      "one value, a date or a time",
		"from=2025-12-31T22:00:00Z":   "an hour ago to 366 days from now",
		"from=2028-01-01":             "an hour ago to 366 days from now",
		"until=2026-01-01":            "after from and at most 7 days after it",
		"until=2026-01-09":            "after from and at most 7 days after it",
		"step=PT0.5S":                 "whole seconds, from PT1S to P1D",
		"step=P2D":                    "whole seconds, from PT1S to P1D",
		"until=2026-01-02&step=PT10S": "at most 3600 steps",
		"except=j":                    "unknown query parameter",
		"host=":                       "one value",
		"host=https://a.example/":     "a host as jobs have it",
		"host=%20":                    "a host as jobs have it",
	} {
		got := send(h, http.MethodGet, "/forecast?"+query, "")
		require.Equal(t, http.StatusBadRequest, got.status, query)
		require.Contains(t, got.body, want, query)
	}
	got := send(h, http.MethodPost, "/forecast", `{"take":101,"properties":{"recurrence":{"frequency":"day"}}}`)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.body, "take: 101 is out of range; allowed: 1 to 100")
	got = send(h, http.MethodGet, "/jobCollections/c/forecast?except=a%2Fb", "")
	require.Contains(t, got.body, "the name of a job, for a forecast of its job collection")
}
