package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/audit/refusals"
	"almanac/internal/ratelimit"
	"almanac/internal/web"
)

func TestTheAuditLogHasRefusedCallsWithoutTheirQuery(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	h := api.New(&fake{}, api.Options{Refusals: refusals.New(&text), CheckHost: new(web.Hosts).Check})
	send := func(host, site string) (answer, refusals.Refusal) {
		text.Reset()
		r := httptest.NewRequest(http.MethodDelete, "http://"+host+jobPath+"?sig=hush", nil)
		r.RemoteAddr = "203.0.113.5:1000"
		r.Header.Set("Sec-Fetch-Site", site)
		got := serve(h, r)
		var entry refusals.Refusal
		require.NoError(t, json.Unmarshal([]byte(text.String()), &entry), text.String())
		require.NotContains(t, text.String(), "hush")
		require.WithinDuration(t, time.Now(), entry.Time, time.Hour)
		entry.Time = time.Time{}
		return got, entry
	}
	for _, tt := range []struct {
		host, site string
		status     int
		code       string
	}{
		{"127.0.0.1", "cross-site", http.StatusForbidden, "CrossOriginRequestForbidden"},
		{"evil.example", "same-origin", http.StatusMisdirectedRequest, "MisdirectedRequest"},
	} {
		got, entry := send(tt.host, tt.site)
		require.Equal(t, tt.status, got.status)
		require.Equal(t, refusals.Refusal{
			Client: "203.0.113.5", Method: http.MethodDelete, Path: jobPath, Status: tt.status, Code: tt.code,
			RequestID: got.header.Get("x-ms-request-id"), CorrelationID: got.header.Get("x-ms-correlation-request-id"), Count: 1,
		}, entry)
	}
}

func TestTheAuditLogHasNoOtherCalls(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	h := api.New(&fake{}, api.Options{Refusals: refusals.New(&text)})
	for _, path := range []string{"/", "/nowhere", "/jobCollections", "/healthz"} { // the fake panics in the third
		_ = send(h, http.MethodGet, path, "")
	}
	require.Empty(t, text.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAuditLogThatCannotBeWrittenIsLoggedAndKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	o, log := logged()
	o.Refusals = refusals.New(broken{})
	r := httptest.NewRequest(http.MethodDelete, jobPath, nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, serve(api.New(&fake{}, o), r).status)
	require.Contains(t, log.String(), "a refused request is missing in the audit log")
	require.Contains(t, log.String(), "no space left on device")
}

func TestRefusalsOfStrangersComeAfterTheirLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host, site string
		status     int
	}{
		{"127.0.0.1", "cross-site", http.StatusForbidden}, {"evil.example", "same-origin", http.StatusMisdirectedRequest},
	} {
		synctest.Test(t, func(t *testing.T) {
			var text strings.Builder
			o, log := logged()
			o.Refusals, o.CheckHost, o.Callers = refusals.New(&text), new(web.Hosts).Check, ratelimit.NewLimiter(ratelimit.Limits{Rate: 2})
			h := api.New(&fake{}, o)
			statuses := map[int]int{}
			for range 50 {
				r := httptest.NewRequest(http.MethodDelete, "http://"+tt.host+"/"+strings.Repeat("a", 5000), nil)
				r.RemoteAddr = "203.0.113.5:1000"
				r.Header.Set("Sec-Fetch-Site", tt.site)
				statuses[serve(h, r).status]++
			}
			require.Equal(t, map[int]int{tt.status: 4, http.StatusTooManyRequests: 46}, statuses)
			require.Equal(t, 4, strings.Count(text.String(), "\n"), "what exceeds the limit is not in the audit log")
			require.NotContains(t, text.String(), strings.Repeat("a", 513))
			require.NotContains(t, log.String(), strings.Repeat("a", 513))
			require.Len(t, regexp.MustCompile(`level=INFO [^\n]*status=429`).FindAllString(log.String(), -1), 10, "nor is all of it in the log")
			time.Sleep(2 * time.Minute) // in a bubble: the minute of the audit log ends
		})
	}
}
