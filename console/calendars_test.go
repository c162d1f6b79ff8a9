package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/console"
	"almanac/internal/apitest"
)

const swedish = `{"name":"SE","properties":{"weekendDays":["saturday","sunday"],"days":[{"date":"2026-12-24","name":"<b>Eve</b>"}],
	"periods":[{"first":"2026-12-28","last":"2026-12-30","name":"closed"}],"makeUpDays":[{"date":"2026-12-26","name":"made up"}],
	"completeUntil":"2027-12-31","description":"of Sweden","version":3}}`

// calendarAPI has a calendar of the subscription. It keeps the bodies that it is sent.
func calendarAPI(h http.Handler, sent *[]string, refuse string) http.Handler {
	return &meddler{Handler: h, instead: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/calendars") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"7"`)
		ofAll := strings.HasPrefix(r.URL.Path, "/subscriptions/") && !strings.Contains(r.URL.Path, "jobCollections")
		switch body, _ := io.ReadAll(r.Body); {
		case strings.HasSuffix(r.URL.Path, "/usage"):
			_, _ = io.WriteString(w, `{"value":[]}`)
		case r.Method == http.MethodPut || r.Method == http.MethodDelete:
			*sent = append(*sent, r.Method+" "+r.Header.Get("If-Match")+r.Header.Get("If-None-Match")+" "+string(body))
			if refuse != "" {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, refuse)
				return true
			}
			_, _ = io.WriteString(w, swedish)
		case strings.HasSuffix(r.URL.Path, "/calendars") && ofAll:
			_, _ = io.WriteString(w, `{"value":[{"name":"SE","properties":{"weekendDays":[],"entries":2,"completeUntil":"2027-12-31"}}]}`)
		case strings.HasSuffix(r.URL.Path, "/calendars"):
			_, _ = io.WriteString(w, `{"value":[]}`)
		default:
			_, _ = io.WriteString(w, swedish)
		}
		return true
	}}
}

func TestACalendarIsAYearOfMonths(t *testing.T) {
	t.Parallel()
	_, h := stored(t, new(apitest.Memory))
	var sent []string
	b := browse(t, calendarAPI(h, &sent, ""), console.Options{})
	b.get("/console/calendars").has(">SE</a>", "all job collections", "2027-12-31", "New calendar")
	const path = "/console/calendars?name=SE&scope="
	shown := b.get(path)
	shown.has("<h1>SE</h1>", "Covers to 2027-12-31", "Saturday and Sunday are off", "<caption>December</caption>", `class="hol" title="&lt;b&gt;Eve&lt;/b&gt;"`, `class="makeup" title="made up"`,
		`class="wknd"`, "29 Dec 2026", "made up: worked", "year=2027")
	require.NotContains(t, shown.text, "&#34;version&#34;")
	form := url.Values{"scope": {""}, "name": {"SE"}, "etag": {`"7"`}, "json": {`{"weekendDays":["friday"]}`}}
	require.Equal(t, path, b.post(path, "/console/calendars", form).location)
	require.JSONEq(t, `{"properties":{"weekendDays":["friday"]}}`, strings.TrimPrefix(sent[0], `PUT "7" `), "what almanac calendar make prints may be pasted")
	form.Set("etag", "")
	b.post(path, "/console/calendars", form)
	require.True(t, strings.HasPrefix(sent[1], "PUT * "), "a new one replaces none: %s", sent[1])
	require.Equal(t, http.StatusBadRequest, b.post(path, "/console/calendars/delete", url.Values{"name": {"SE"}, "confirm": {"se"}}).status)
	require.Equal(t, "/console/calendars", b.post(path, "/console/calendars/delete", url.Values{"name": {"SE"}, "confirm": {"SE"}, "etag": {`"7"`}}).location)
}

func TestACalendarThatIsRefusedIsShownAsItWasWritten(t *testing.T) {
	t.Parallel()
	_, h := stored(t, new(apitest.Memory))
	refusal, _ := json.Marshal(map[string]any{"error": map[string]any{"code": "BadRequest", "message": "It is wrong.", "details": []any{map[string]string{"message": "days[0].date: no date"}}}})
	var sent []string
	b := browse(t, calendarAPI(h, &sent, string(refusal)), console.Options{})
	got := b.post("/console/calendars", "/console/calendars", url.Values{"name": {"<x>"}, "json": {`{"days":[{"date":"soon"}]}`}})
	require.Equal(t, http.StatusBadRequest, got.status)
	for _, text := range []string{"It is wrong.", "days[0].date: no date", "&#34;soon&#34;", `value="&lt;x&gt;"`} {
		require.Contains(t, got.text, text)
	}
	got = b.post("/console/calendars", "/console/calendars", url.Values{"name": {"SE"}, "json": {`{`}})
	require.Contains(t, got.text, "cannot be read in line 1")

	may := func(a access.Action, _ access.Scope) bool { return access.Reader.Allows(a) }
	guest := browse(t, calendarAPI(h, &sent, ""), console.Options{Who: func(*http.Request) (console.Caller, error) {
		return console.Caller{Name: "guest", ID: "guest", Known: true, May: may}, nil
	}})
	guest.get("/console/calendars?name=SE").has("<h1>SE</h1>").lacks("Its definition", "Delete SE", `action="/console/calendars`)
}
