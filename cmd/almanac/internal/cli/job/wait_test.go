package job_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/job"
)

// session returns a session with an API, and what it tells.
func session(t *testing.T, answer http.HandlerFunc) (*base.Session, *strings.Builder) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	require.NoError(t, err)
	var told strings.Builder
	return &base.Session{Client: c, URL: server.URL, Err: &told}, &told
}

func waiting(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"properties":{"status":"waiting"}}`))
}

func TestWithinIsForAllJobsTogether(t *testing.T) {
	t.Parallel()
	var others atomic.Int64
	s, _ := session(t, func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) != "1" {
			others.Add(1)
		}
		waiting(w, r)
	})
	const late = "Done Unknown it has not ended within the time of --within"
	require.Equal(t, []string{late, late, late, late}, job.Wait(t.Context(), s, time.Second, time.Hour, "1", "2", "3", "4"))
	require.Zero(t, others.Load(), "no time is left for the others")
}

func TestAnInterruptOfAWaitSaysThatTheRunGoesOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, _ := session(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		waiting(w, r)
	})
	require.Equal(t, []string{"Done Unknown interrupted; the run goes on"}, job.Wait(ctx, s, 0, time.Hour, "1"))
}

func TestAnAPIThatDoesNotAnswerIsToldOnceAndNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	s, told := session(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	said := job.Wait(t.Context(), s, 0, 0, "1")
	require.Len(t, said, 1)
	require.Contains(t, said[0], "Unreachable  ")
	require.Contains(t, told.String(), "Is "+s.URL+" the URL of Almanac's API?\nIt is asked again for ")

	answers := []int{http.StatusBadGateway, http.StatusBadGateway, http.StatusOK}
	s, told = session(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answers[0])
		answers = answers[1:]
		_, _ = w.Write([]byte(`{"properties":{"status":"ended","outcome":"Completed"}}`))
	})
	require.Equal(t, []string{"Done Completed "}, job.Wait(t.Context(), s, 0, time.Hour, "1"))
	require.Equal(t, 1, strings.Count(told.String(), "It is asked again"))
	require.Contains(t, told.String(), "The API answers again")
}
