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
	for _, tt := range []struct{ name, zone, date, from, until string }{
		{"of 25 hours", "W. Europe Standard Time", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"without its midnight", "America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		{"with two midnights", "Atlantic/Azores", "2026-10-25", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"name": "a/b", "properties": {"recurrence": {"frequency": "day", "timeZone": "` + tt.zone + `"}}}`))
			}))
			t.Cleanup(api.Close)
			c, err := client.New(api.URL, client.Options{})
			require.NoError(t, err)
			w := which{on: tt.date}
			runs, err := w.of(t.Context(), &base.Session{Client: c}, base.Name{Collection: "a", Job: "b"})
			require.NoError(t, err)
			require.Equal(t, tt.from, runs.From.UTC().Format(time.RFC3339))
			require.Equal(t, tt.until, runs.Until.UTC().Format(time.RFC3339))
		})
	}
}
