package job

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
)

func TestADateIsThatOfTheJobsTimeZone(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name": "a/b", "properties": {"recurrence": {"frequency": "day", "timeZone": "W. Europe Standard Time"}}}`))
	}))
	t.Cleanup(api.Close)
	c, err := client.New(api.URL, client.Options{})
	require.NoError(t, err)
	w := which{on: "2026-10-25"} // of 25 hours
	runs, err := w.of(t.Context(), &base.Session{Client: c}, base.Name{Collection: "a", Job: "b"})
	require.NoError(t, err)
	require.Equal(t, "2026-10-24T22:00:00Z", runs.From.UTC().Format(time.RFC3339))
	require.Equal(t, "2026-10-25T23:00:00Z", runs.Until.UTC().Format(time.RFC3339))
}
