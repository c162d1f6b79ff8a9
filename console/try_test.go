package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
)

// An action is tried as the form or the JSON has it, and nothing is saved.
func TestAnActionIsTriedAndNotSaved(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	var sent []string
	m := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/try") {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.URL.Path+" "+string(body))
		_ = json.NewEncoder(w).Encode(client.Trial{Status: client.OutcomeFailed, StartTime: now, EndTime: now.Add(41 * time.Millisecond), ExecutionID: "id-1",
			Message: "Http Action - Request to host 'example.com' failed: <b>refused</b>"})
		return true
	}}
	b := browse(t, m, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	edit := b.get(path).has("Try it now")
	for form, changes := range map[string]url.Values{"f": {"do": {"try"}, "uri": {"https://example.com/other"}}, "j": {"do": {"try"}}} {
		b.send(http.MethodPost, path, filled(t, edit, form, changes), nil).has("Tried at", "02:12:20", "Failed.", "&lt;b&gt;refused&lt;/b&gt;", "41 ms", "Nothing was saved", "id-1")
	}
	require.Len(t, sent, 2)
	require.Contains(t, strings.Join(sent, "\n"), "/jobCollections/reports/jobs/nightly/try")
	require.Contains(t, strings.Join(sent, "\n"), "https://example.com/other")
	after, err := c.Job(t.Context(), "reports", "nightly")
	require.NoError(t, err)
	require.Equal(t, "https://example.com/hook", after.Properties.Action.Request.URI)

	fresh := filled(t, b.get("/console/new?collection=reports"), "f", url.Values{"do": {"try"}})
	nameless := b.send(http.MethodPost, "/console/new", fresh, nil)
	require.Equal(t, http.StatusBadRequest, nameless.status)
	require.Contains(t, nameless.text, "name: required")
	fresh.Set("name", "other")
	b.send(http.MethodPost, "/console/new", fresh, nil).has("Tried at")
	require.Contains(t, sent[2], "/jobs/other/try")
}

func TestWhatMayNotBeTriedIsSaidInTheWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	c, h := stored(t, new(apitest.Memory))
	_, err := c.PutJob(t.Context(), "reports", "nightly", daily())
	require.NoError(t, err)
	m := &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/try") {
			return false
		}
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"code":"TooManyRequests","message":"Nothing was sent: that is too often."}}`)
		return true
	}}
	b := browse(t, m, console.Options{})
	const path = "/console/jobs/reports/nightly/edit"
	form := filled(t, b.get(path), "f", url.Values{"do": {"try"}, "uri": {"https://example.com/mine"}})
	refused := b.send(http.MethodPost, path, form, nil)
	require.Equal(t, http.StatusTooManyRequests, refused.status)
	require.Contains(t, refused.text, "Nothing was sent: that is too often.")
	require.Contains(t, refused.text, "https://example.com/mine", "what was written stays")

	may := func(a access.Action, _ access.Scope) bool { return a != access.TryJobs }
	b = browse(t, h, console.Options{Who: func(*http.Request) (console.Caller, error) {
		return console.Caller{Name: "w", ID: "w", Known: true, May: may}, nil
	}})
	b.get(path).lacks("Try it now", "Try the JSON")
}
