package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
	daysoff "almanac/recurrence/calendars"
)

// changing returns an API on Monday, 5 January 2026 with a job that runs at 02:30 every day in Stockholm.
func changing(t *testing.T) (http.Handler, *listing.ForecastQuery) {
	t.Helper()
	q := new(listing.ForecastQuery)
	f := &fake{
		job: func(_ context.Context, k job.Key) (job.Job, error) {
			j := daily(t, k)
			j.Created = at("2025-12-01T00:00:00Z")
			j.Definition.StartTime = job.NewTime(at("2025-12-01T01:30:00Z"))
			j.Definition.State = job.StateEnabled
			j.Definition.Recurrence = &job.Recurrence{Frequency: "day", Interval: 1, TimeZone: "Europe/Stockholm"}
			return j, nil
		},
		forecast: func(_ context.Context, _ listing.Scope, query listing.ForecastQuery) (listing.Forecast, error) {
			*q = query
			times := make([]listing.DueCount, len(query.Times))
			for i, at := range query.Times {
				times[i] = listing.DueCount{Time: at, Due: 413 + i, Host: listing.NamedCount{Name: "h", Due: 380}}
			}
			return listing.Forecast{Times: times, AsOf: at("2026-01-05T12:00:00Z")}, nil
		},
	}
	return api.New(f, api.Options{Now: func() time.Time { return at("2026-01-05T12:00:00Z") }}), q
}

const changedJob = `{"properties":{"action":{"type":"Https","request":{"method":"GET","uri":"https://example.com/"}},"startTime":"2025-12-01T00:00:00",` +
	`"recurrence":{"frequency":"week","timeZone":"Europe/Stockholm","schedule":{"weekDays":["tuesday","wednesday"],"hours":[0,12],"minutes":[0]}}}}`

func TestAPreviewOfAChangeSaysWhichRunsMoveAppearAndGo(t *testing.T) {
	t.Parallel()
	h, q := changing(t)
	got := send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange?take=4", changedJob)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, `{"runs":[`+
		`{"change":"moves","was":"2026-01-06T01:30:00Z","willBe":"2026-01-05T23:00:00Z","others":413,"host":{"name":"h","due":380}},`+
		`{"change":"new","willBe":"2026-01-06T11:00:00Z","others":414,"host":{"name":"h","due":380}},`+
		`{"change":"moves","was":"2026-01-07T01:30:00Z","willBe":"2026-01-06T23:00:00Z","others":415,"host":{"name":"h","due":380}},`+
		`{"change":"new","willBe":"2026-01-07T11:00:00Z","others":416,"host":{"name":"h","due":380}}],`+
		`"same":0,"moves":2,"new":2,"goes":0,"nextExecutionTime":"2026-01-05T23:00:00Z","done":false,`+
		`"wasText":"every day at 02:30, from 2025-12-01 02:30, Europe/Stockholm",`+
		`"text":"every week on Tuesday and Wednesday at 00:00 and 12:00, from 2025-12-01, Europe/Stockholm","asOf":"2026-01-05T12:00:00Z"}`, got.body)
	require.Equal(t, "j", q.Except.Name, "the job itself is none of the others")
	got = send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange?take=4&others=1", changedJob)
	require.Len(t, q.Times, 1)
	require.Equal(t, 1, strings.Count(got.body, `"others":`), got.body)
	require.NotContains(t, send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange?others=0", changedJob).body, `"others"`)
	require.Contains(t, send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange?others=51", changedJob).body, "0 to 50")
}

func TestAPreviewOfAChangeHasTheErrorsOfThatChange(t *testing.T) {
	t.Parallel()
	h, _ := changing(t)
	got := send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange", `{"properties":{"recurrence":{"frequency":"dayly"}}}`)
	put := send(h, http.MethodPut, "/jobCollections/c/jobs/j/previewChange", `{}`)
	require.Equal(t, http.StatusMethodNotAllowed, put.status)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.body, "properties.action")
	require.Contains(t, got.body, "properties.recurrence.frequency")
	for _, take := range []string{"0", "51", "x", "1&take=2", ""} {
		got := send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange?take="+take, changedJob)
		require.Contains(t, got.body, "1 to 50", take)
	}
}

func TestAPreviewOfAChangeIsAnsweredThoughTheOtherJobsCannotBeRead(t *testing.T) {
	t.Parallel()
	var asked []string
	f := &fake{
		job: func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil },
		forecast: func(_ context.Context, s listing.Scope, _ listing.ForecastQuery) (listing.Forecast, error) {
			asked = append(asked, s.Collection)
			return listing.Forecast{}, &job.Error{Kind: job.KindInvalid, Code: "TooManyJobs", Message: "too many"}
		},
	}
	got := send(api.New(f, api.Options{}), http.MethodPost, "/jobCollections/c/jobs/j/previewChange", changedJob)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, []string{"", "c"}, asked)
	require.NotContains(t, got.body, "others")
	require.NotContains(t, got.body, "asOf")
}

func TestAPreviewOfAChangeSaysWhatCalendarsMove(t *testing.T) {
	t.Parallel()
	f := &fake{
		job: func(_ context.Context, k job.Key) (job.Job, error) {
			j := daily(t, k)
			j.Created, j.Decided, j.Definition.State = at("2025-12-01T00:00:00Z"), at("2026-01-05T01:30:00Z"), job.StateEnabled
			j.Definition.StartTime, j.Definition.Recurrence = job.NewTime(at("2025-12-01T01:30:00Z")), &job.Recurrence{Frequency: "day", Interval: 1}
			return j, nil
		},
		calendarUses: func(_ job.CollectionKey, r *job.Recurrence) ([]daysoff.Use, error) {
			if !r.ByCalendars() {
				return nil, nil
			}
			return r.Uses([]job.KeptCalendar{{Version: 2, Calendar: job.Calendar{WeekendDays: []string{}, Days: []job.NamedDay{{Date: "2026-01-06", Name: "Trettondedag jul"}}}}})
		},
		forecast: func(context.Context, listing.Scope, listing.ForecastQuery) (listing.Forecast, error) {
			return listing.Forecast{}, nil
		},
	}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-05T12:00:00Z") }})
	got := send(h, http.MethodPost, "/jobCollections/c/jobs/j/previewChange?take=2", `{"properties":{"action":{"type":"Https","request":{"method":"GET","uri":"https://example.com/"}},`+
		`"startTime":"2025-12-01T01:30:00","recurrence":{"frequency":"day","calendars":[{"name":"SE"}]}}}`)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, got.body, `"adjustments":[{"change":"skipped","nominalTime":"2026-01-06T01:30:00Z","count":1,"text":"skipped because SE has Trettondedag jul",`+
		`"reason":"SE has Trettondedag jul","calendars":[{"name":"SE","version":2,"day":"Trettondedag jul"}]}]`)
}
