package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
)

func TestAnActionIsTriedAsAPutWouldSaveIt(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: "s1", ResourceGroup: "g1", Name: "c1"}.Job("j1")
	type tried struct {
		definition job.Definition
		stored     bool
	}
	var got []tried
	there := true
	f := &fake{
		job: func(context.Context, job.Key) (job.Job, error) {
			if !there {
				return job.Job{}, job.NotFound("it", "g1")
			}
			return daily(t, k), nil
		},
		try: func(_ context.Context, k job.Key, d *job.Definition, stored bool) (job.Trial, error) {
			got = append(got, tried{*d, stored})
			start := at("2026-01-01T00:00:00Z")
			return job.Trial{Key: k, ID: "id", Attempt: job.Attempt{
				Number: 1, Start: start, End: start.Add(time.Second), Outcome: job.OutcomeCompleted, Message: "fine",
			}}, nil
		},
	}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	body := func(password string) string {
		return `{"properties":{"action":{"type":"http","request":{"uri":"http://example.com/new","method":"POST",
			"authentication":{"type":"basic","username":"u"` + password + `}}}}}`
	}
	const path = group + "/jobCollections/c1/jobs/j1/try" + version
	answered := send(h, http.MethodPost, path, body(""))
	require.Equal(t, http.StatusOK, answered.status, answered.body)
	require.JSONEq(t, `{"status":"Completed","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-01T00:00:01Z","message":"fine","executionId":"id"}`, answered.body)
	require.True(t, got[0].stored)
	require.Equal(t, "http://example.com/new", got[0].definition.Action.Request.URI)

	there = false
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, path, body("")).status, "there is no stored password")
	require.Equal(t, http.StatusOK, send(h, http.MethodPost, path, body(`,"password":"p"`)).status)
	require.Len(t, got, 2)
	require.False(t, got[1].stored)
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, path, `{"properties":{}}`).status)
}
