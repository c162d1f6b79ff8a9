package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/client"
	"almanac/console"
	"almanac/internal/apitest"
	"almanac/job"
)

var liveOf = regexp.MustCompile(`data-live="([^"]+)"(?: data-version="([^"]+)")?(?: data-since="(\d+)")?`)

// asked returns what a page asks to learn whether it has changed.
func asked(t *testing.T, of *shown) string {
	t.Helper()
	m := liveOf.FindStringSubmatch(of.text)
	require.NotNil(t, m, of.text)
	path, sign := html.UnescapeString(m[1]), "?"
	if strings.Contains(path, "?") {
		sign = "&"
	}
	if m[3] != "" {
		return path + sign + "since=" + m[3]
	}
	return path + sign + "v=" + m[2]
}

// at returns a browser whose console has another clock.
func at(t *testing.T, h http.Handler, o console.Options, clock *time.Time) *browser {
	t.Helper()
	o.API, o.Now = h, func() time.Time { return *clock }
	c, err := console.New(o)
	require.NoError(t, err)
	return &browser{t, c.Before(h), map[string]string{}, "http://localhost"}
}

func TestAPageIsToldThatItHasChangedAndNothingElse(t *testing.T) {
	t.Parallel()
	clock := now
	c, h := stored(t, &apitest.Memory{Records: history()})
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	m := &meddler{Handler: h}
	b := at(t, m, console.Options{}, &clock)
	for _, path := range []string{"/console/", "/console/jobs", "/console/jobs/reports?q=a&sort=-late", "/console/jobs/reports/a"} {
		ask := asked(t, b.get(path))
		same := b.get(ask)
		require.Equal(t, http.StatusNoContent, same.status, "%s: %s", ask, same.text)
		before := m.with("/summaries")
		for range 20 {
			require.Equal(t, http.StatusNoContent, b.get(ask).status)
		}
		require.Equal(t, before, m.with("/summaries"), "all pages are answered from one look")

		clock = clock.Add(time.Second)
		off := daily()
		off.State = client.JobDisabled
		off.Recurrence.Schedule.Hours = []int{clock.Second() % 24}
		other := fmt.Sprintf("b%d", clock.Unix())
		put := b.send(http.MethodPut, "/jobCollections/reports/jobs/"+other, nil, withJSON(t, off))
		require.Equal(t, http.StatusCreated, put.status, put.text)
		if path == "/console/jobs/reports?q=a&sort=-late" || path == "/console/jobs/reports/a" {
			require.Equal(t, http.StatusOK, b.send(http.MethodPut, "/jobCollections/reports/jobs/a", nil, withJSON(t, off)).status)
		}
		news := b.get(ask)
		require.Equal(t, http.StatusOK, news.status, path)
		require.Regexp(t, `^\{"v":"[0-9a-f]{16}"\}\n$`, news.text, "a change through this process is seen at once")
		_, err := c.PutJob(t.Context(), "reports", "a", daily())
		require.NoError(t, err)
		clock = clock.Add(time.Minute)
	}
}

func withJSON(t *testing.T, of client.JobProperties) func(*http.Request) {
	t.Helper()
	return func(r *http.Request) {
		body := jsonOf(t, map[string]any{"properties": of})
		*r = *httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
}

func TestAChangeElsewhereIsSeenAfterAWhileOrWhenSomethingIsDue(t *testing.T) {
	t.Parallel()
	clock := now
	next := now.Add(4 * time.Second)
	c, h := stored(t, &apitest.Memory{Status: func(job.Key) job.Status { return job.Status{NextExecutionTime: job.NewTime(next)} }})
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	m := &meddler{Handler: h}
	b := at(t, m, console.Options{}, &clock)
	ask := asked(t, b.get("/console/jobs/reports"))
	b.get(ask)
	_, err = c.PutJob(t.Context(), "reports", "b", daily()) // not through the console's process
	require.NoError(t, err)
	clock = clock.Add(3 * time.Second)
	require.Equal(t, http.StatusNoContent, b.get(ask).status)
	clock = clock.Add(2 * time.Second)
	require.Equal(t, http.StatusOK, b.get(ask).status, "something came due")
	looks := m.with("/summaries")
	clock = clock.Add(2 * time.Second)
	b.get(ask)
	require.Equal(t, looks+1, m.with("/summaries"), "what came due may still change")
	clock = clock.Add(time.Minute)
	b.get(ask)
	clock = clock.Add(9 * time.Second)
	looks = m.with("/summaries")
	b.get(ask)
	require.Equal(t, looks, m.with("/summaries"))
	clock = clock.Add(2 * time.Second)
	b.get(ask)
	require.Equal(t, looks+1, m.with("/summaries"))
}

func TestAPageLearnsWhyItIsToldNothingAndGoesOn(t *testing.T) {
	t.Parallel()
	clock, broken := now, false
	_, h := stored(t, &apitest.Memory{})
	m := &meddler{Handler: h, instead: func(w http.ResponseWriter, _ *http.Request) bool {
		if broken {
			w.Header().Set("Retry-After", "3")
			http.Error(w, `{"error":{"code":"ServiceUnavailable","message":"not now"}}`, http.StatusServiceUnavailable)
		}
		return broken
	}}
	b := at(t, m, console.Options{}, &clock)
	ask := asked(t, b.get("/console/jobs"))
	broken = true
	refused := b.get(ask)
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	require.Empty(t, refused.text)
	broken = false
	clock = clock.Add(2 * time.Second)
	require.Equal(t, http.StatusNoContent, b.get(ask).status)
}

func TestActivityIsToldHowManyEntriesAreNew(t *testing.T) {
	t.Parallel()
	clock := now.Add(-59*time.Minute - time.Second)
	c, h := stored(t, &apitest.Memory{Records: history()})
	_, err := c.PutJob(t.Context(), "reports", "a", daily())
	require.NoError(t, err)
	b := at(t, h, console.Options{}, &clock)
	ask := asked(t, b.get("/console/activity"))
	require.Equal(t, "{\"new\":2}\n", b.get(ask).text, "two entries ended after the page was made")
	require.Equal(t, "{\"new\":1}\n", b.get(asked(t, b.get("/console/activity?outcome=failed"))).text)
	clock = now.Add(time.Hour)
	require.Equal(t, http.StatusNoContent, b.get(asked(t, b.get("/console/activity"))).status)
}

func TestWhoMayNotSeeAPageIsToldNothing(t *testing.T) {
	t.Parallel()
	clock := now
	_, h := stored(t, &apitest.Memory{})
	known := true
	b := at(t, h, console.Options{Login: true, Who: func(*http.Request) (console.Caller, error) {
		return console.Caller{ID: "me", Known: known, May: func(access.Action, access.Scope) bool { return true }}, nil
	}}, &clock)
	ask := asked(t, b.get("/console/jobs"))
	require.Equal(t, http.StatusNoContent, b.get(ask).status)
	known = false
	refused := b.get(ask)
	require.Equal(t, http.StatusUnauthorized, refused.status, "no redirect, which a script would follow")
	require.Empty(t, refused.text)
}

// The policy of all pages leaves scripts no way to make markup of text, so the script must not try.
func TestTheScriptKeepsToThePolicy(t *testing.T) {
	t.Parallel()
	_, h := stored(t, &apitest.Memory{})
	b := browse(t, h, console.Options{})
	page := b.get("/console/jobs")
	policy := page.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "form-action 'self'",
		"base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
		require.Contains(t, strings.Split(policy, "; "), part)
	}
	script := b.get(regexp.MustCompile(`<script type="module" src="([^"]+)"></script>`).FindStringSubmatch(page.text)[1])
	require.Equal(t, "text/javascript; charset=utf-8", script.header.Get("Content-Type"))
	require.NotRegexp(t, `innerHTML|outerHTML\s*=[^=]|insertAdjacentHTML|DOMParser|document\.write|\beval\b|new Function|setAttribute\('(style|on)|\.style\b`, script.text)
	small := b.send(http.MethodGet, regexp.MustCompile(`src="([^"]+)"></script>`).FindStringSubmatch(page.text)[1], nil, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	require.Less(t, len(small.text), 7000, "bytes that a browser loads")
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// The name of a job does not hide that it was changed.
func TestAChangeOfAJobOfAnyNameIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	clock := now
	_, h := stored(t, new(apitest.Memory))
	b := at(t, h, console.Options{}, &clock)
	for _, name := range []string{"new", "edit", "forecast", "try"} {
		ask := asked(t, b.get("/console/jobs/reports"))
		require.Equal(t, http.StatusNoContent, b.get(ask).status)
		clock = clock.Add(time.Second)
		require.Equal(t, http.StatusCreated, b.send(http.MethodPut, "/jobCollections/reports/jobs/"+name, nil, withJSON(t, daily())).status)
		require.Equal(t, http.StatusOK, b.get(ask).status, name)
		clock = clock.Add(time.Minute)
	}
}
