package client_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/client"
)

func TestAnAnswerToACallThatIsOverIsNone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusOK)
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
	require.NoError(t, err)
	resp, err := client.ServedBy(h).RoundTrip(r) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, resp, "an answer or an error, as http.RoundTripper has it")
}

func TestReadinessThatIsRefusedIsAnErrorInTheWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = w.Write([]byte(`{"error":{"code":"MisdirectedRequest","message":"This server does not answer to that host."}}`))
	})
	_, err := c.Ready(t.Context())
	require.Equal(t, http.StatusMisdirectedRequest, client.StatusOf(err))
	require.EqualError(t, err, "This server does not answer to that host.")
	endless := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"ready","problem":"` + strings.Repeat("x", 17<<20) + `"}`))
	})
	_, err = endless.Ready(t.Context())
	require.ErrorContains(t, err, "not by Almanac")
}
