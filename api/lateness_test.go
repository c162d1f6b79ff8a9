package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/lateness"
	"almanac/job/listing"
)

// report is a report with all members.
func report() lateness.Report {
	r := lateness.Report{
		From: at("2026-01-30T00:00:00Z"), Until: at("2026-01-31T00:00:00Z"), Jobs: 3, Read: 2,
		Unread: []lateness.Unread{{Job: "j2", Why: "it did not answer in time"}},
	}
	one := attempt()
	one.Due, one.Repeat, one.Number, one.ActionName, one.Outcome = at("2026-01-30T01:00:00Z"), 2, 1, job.MainAction, job.OutcomeCompleted
	one.Start, one.Taken = one.Due.Add(1500*time.Millisecond), 1000
	r.Add("j1", 1, []job.Record{one})
	return r
}

func TestAReportHasPercentilesAHistogramAndTheSlowest(t *testing.T) {
	t.Parallel()
	var asked listing.Page
	var of string
	f := &fake{lateness: func(_ context.Context, k job.CollectionKey, name string, p listing.Page) (lateness.Report, string, error) {
		asked, of = p, k.Name+"/"+name
		return report(), "next", nil
	}}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-02-01T00:00:00Z") }})
	r := send(h, http.MethodGet, explained+"/lateness"+version+"&from=2026-01-30&until=2026-01-31", "")
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.Equal(t, listing.Period{From: at("2026-01-30T00:00:00Z"), Before: at("2026-01-31T00:00:00Z")}, asked.Filter.Start)
	require.Equal(t, "c1/", of)
	require.Contains(t, r.body, `"properties":{"from":"2026-01-30T00:00:00Z","until":"2026-01-31T00:00:00Z","jobs":3,"jobsRead":2,"complete":false,"executions":1,`)
	require.Contains(t, r.body, `{"below":2,"count":1}`)
	require.Contains(t, r.body, `"slowest":[{"id":"`+explained+`/jobs/j1/executions/1-2","name":"j1","expectedExecutionTime":"2026-01-30T01:00:00Z",`+
		`"split":{"lateness":1.5,"worker":1,"server":0,"place":0.5,`)
	require.Contains(t, r.body, `"unread":[{"name":"j2","reason":"it did not answer in time"}]`)
	require.Contains(t, r.body, `$skiptoken=next`)

	send(h, http.MethodGet, explained+"/jobs/j1/lateness"+version+"&until=2027-01-01", "")
	require.Equal(t, "c1/j1", of)
	require.Equal(t, listing.Period{From: at("2026-01-31T00:00:00Z"), Before: at("2026-02-01T00:00:00Z")}, asked.Filter.Start, "24 hours up to now")
	for _, bad := range []string{"&from=2027-01-01", "&from=2025-01-01", "&from=x", "&until=x", "&from=2026-01-30&until=2026-01-30"} {
		refusal(t, send(h, http.MethodGet, explained+"/lateness"+version+bad, ""))
	}
}
