package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

// sendNamed sends a POST request that has a name.
func sendNamed(f *fake, target, name string) answer {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(""))
	r.Header.Set("Repeatability-Request-ID", name)
	return serve(api.New(f, api.Options{}), r)
}

func TestJobsThatFailedAreRunAgainWithAResultForEach(t *testing.T) {
	t.Parallel()
	var page listing.Page
	var request string
	f := &fake{rerunJobs: func(_ context.Context, k job.CollectionKey, p listing.Page, r string) ([]job.Rerun, string, error) {
		page, request = p, r
		return []job.Rerun{
			{Key: k.Job("a"), Status: job.RerunStarted}, {Key: k.Job("b"), Status: job.RerunRefused, Err: job.Conflictf("it is busy")},
			{Key: k.Job("c"), Status: job.RerunRefused, Err: errors.New("a secret")},
		}, "7", nil
	}}
	got := sendNamed(f,
		"/jobCollections/c1/rerun?$filter=status+eq+Failed+and+endTime+ge+2026-01-01+and+endTime+lt+2026-01-02", "r1")
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, listing.Page{Top: 100, Filter: listing.Filter{
		LastOutcome: job.OutcomeFailed, Failing: listing.Period{From: at("2026-01-01T00:00:00Z"), Before: at("2026-01-02T00:00:00Z")},
	}}, page)
	require.Equal(t, "r1", request)
	require.Contains(t, got.body, `"name":"c1/a","properties":{"status":"Started"}}`)
	require.Contains(t, got.body, `"name":"c1/b","properties":{"status":"Refused","error":{"code":"ConflictError","message":"it is busy"}}}`)
	require.Contains(t, got.body, `"properties":{"status":"Refused","error":{"code":"InternalServerError"`)
	require.Contains(t, got.body, `"nextLink":"http://`)
	require.NotContains(t, got.body, "a secret")
}

func TestAJobIsRunAgainAlone(t *testing.T) {
	t.Parallel()
	f := &fake{rerunJob: func(_ context.Context, k job.Key, _ string) job.Rerun {
		return job.Rerun{Key: k, Status: job.RerunNotFailed}
	}}
	got := sendNamed(f, "/jobCollections/c1/jobs/j1/rerun", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, `"name":"c1/j1","properties":{"status":"NotFailed"}}`)

	got = sendNamed(f, "/jobCollections/c1/jobs/j1/rerun", strings.Repeat("x", 101))
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.body, "Repeatability-Request-ID")
}
