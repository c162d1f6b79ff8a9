package wiring

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

// accepting is a scheduler that takes every job and collection.
type accepting struct{ going }

func (accepting) PutJob(_ context.Context, k job.Key, edit func(*job.Job) (job.Definition, error)) (job.Job, bool, error) {
	d, err := edit(nil)
	return job.Job{Key: k, Definition: d}, true, err
}

func (accepting) PutCollection(_ context.Context, c job.Collection, _ func(*job.Collection) error) (job.Collection, bool, error) {
	return c, true, nil
}

func TestATargetOfMailIsRefusedOrWarnedOfWhereNoMailServerIsSet(t *testing.T) {
	t.Parallel()
	const (
		notifications = `"notifications":[{"on":"failed","target":{"type":"Email","email":{"to":["a@example.com"]}}}]`
		refused       = "properties.notifications[0].target: not allowed; no mail server is set: start Almanac with --smtp-server and --smtp-from (ALMANAC_SMTP_SERVER and ALMANAC_SMTP_FROM)"
		warning       = `299 - "Mail is sent by workers that were started with --smtp-server and --smtp-from. This API cannot see whether any was: POST to testNotification to find out."`
	)
	bodies := map[string]string{
		"/jobCollections/c":        `{"properties":{"sku":{"name":"Free"},` + notifications + `}}`,
		"/jobCollections/c/jobs/j": `{"properties":{"action":{"type":"Http","request":{"uri":"http://example.com/","method":"GET"}},` + notifications + `}}`,
	}
	mail := []string{"--smtp-server", "smtp.example.com:587", "--smtp-from", "almanac@example.com"}
	for _, tt := range []struct {
		command string
		args    []string
		status  int
		warning string
	}{
		{"dev", nil, http.StatusBadRequest, ""},
		{"dev", mail, http.StatusCreated, ""},
		{"server", []string{"--data", t.TempDir()}, http.StatusBadRequest, ""},
		{"api", nil, http.StatusCreated, warning},
	} {
		p := loaded(t, tt.command, nil, tt.args...)
		h := p.Handler(accepting{})
		put := func(path, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "http://127.0.0.1:8080"+path, strings.NewReader(body)))
			return w
		}
		for path, body := range bodies {
			w := put(path, body)
			require.Equal(t, tt.status, w.Code, "%s %s: %s", tt.command, path, w.Body)
			require.Equal(t, tt.warning, w.Header().Get("Warning"))
			require.Equal(t, tt.status == http.StatusBadRequest, strings.Contains(w.Body.String(), refused), w.Body.String())
			w = put(path, strings.Replace(body, notifications, `"notifications":[]`, 1))
			require.Equal(t, []any{http.StatusCreated, ""}, []any{w.Code, w.Header().Get("Warning")}, w.Body.String())
		}
	}
}
