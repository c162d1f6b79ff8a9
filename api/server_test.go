package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/internal/build"
	"almanac/internal/web"
	"almanac/job"
)

var guid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func TestEveryAnswerCarriesTheServicesHeaders(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{
		job:       func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil },
		deleteJob: func(context.Context, job.Key) error { return nil },
	}, api.Options{})
	seen := map[string]bool{}
	for _, call := range []string{
		// the fake panics
		"GET " + jobPath, "DELETE " + jobPath, "GET /nowhere", "PUT /", "GET " + group + "/jobCollections", "GET /jobCollections",
	} {
		method, path, _ := strings.Cut(call, " ")
		got := send(h, method, path, "")
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Pragma": "no-cache", "Expires": "-1", "X-Content-Type-Options": "nosniff",
		} {
			require.Equal(t, []string{want}, got.header.Values(name), "%s of %s", name, call)
		}
		for _, name := range []string{"x-ms-request-id", "x-ms-correlation-request-id"} {
			id := got.header.Get(name)
			require.Regexp(t, guid, id, "%s of %s", name, call)
			require.False(t, seen[id], "the %s of %s is used twice", name, call)
			seen[id] = true
		}
		require.Regexp(t, `^ALMANAC:\d{8}T\d{6}Z:`+got.header.Get("x-ms-correlation-request-id")+`$`, got.header.Get("x-ms-routing-request-id"), call)
	}
}

func TestCorrelationIDIsTheCallersIfItIsAGUID(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	correlation := func(sent string) string {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Header.Set("x-ms-correlation-request-id", sent)
		return serve(h, r).header.Get("x-ms-correlation-request-id")
	}
	for _, kept := range []string{"0b6f3bd8-6c1f-4d3f-9a57-2f7f1e1c9f00", "0B6F3BD8-6C1F-4D3F-9A57-2F7F1E1C9F00"} {
		require.Equal(t, kept, correlation(kept))
	}
	for _, replaced := range []string{
		"", "x", "0b6f3bd86c1f4d3f9a572f7f1e1c9f00", "{0b6f3bd8-6c1f-4d3f-9a57-2f7f1e1c9f00}", "urn:uuid:0b6f3bd8-6c1f-4d3f-9a57-2f7f1e1c9f00",
		"0b6f3bd8-6c1f-4d3f-9a57-2f7f1e1c9f0\n", strings.Repeat("0", 36), strings.Repeat("a", 10_000),
	} {
		got := correlation(replaced)
		require.Regexp(t, guid, got)
		require.NotEqual(t, replaced, got)
	}
}

func TestTheIDOfAClientIsReturnedIfItAsksForThat(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	returned := func(id, ask string) string {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Header.Set("x-ms-client-request-id", id)
		r.Header.Set("x-ms-return-client-request-id", ask)
		return serve(h, r).header.Get("x-ms-client-request-id")
	}
	require.Equal(t, "9C4D50EE-2D56", returned("9C4D50EE-2D56", "true"))
	require.Equal(t, "x", returned("x", "True"))
	require.Empty(t, returned("x", "false"))
	require.Empty(t, returned("x", ""))
	require.Empty(t, returned("a\x7fb", "true"))
	require.Empty(t, returned(strings.Repeat("x", 129), "true"))
}

func TestAccessLogHasALinePerRequestWithoutItsQuery(t *testing.T) {
	t.Parallel()
	o, log := logged()
	h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil }}, o)
	got := send(h, http.MethodGet, jobPath+"?api-version=2016-03-01", "")
	require.Regexp(t, `^time=\S+ level=INFO msg="request answered" method=GET path=/jobCollections/c/jobs/j status=200 `+
		fmt.Sprintf(`bytes=%d took=\S+ client=192\.0\.2\.1 request=%s\n$`, len(got.body), got.header.Get("X-Ms-Request-Id")), log.String())

	log.Reset()
	send(h, http.MethodGet, "/healthz", "")
	require.Contains(t, log.String(), "level=DEBUG")
}

func TestAccessLogHasWhatTheCheckOfHostsRefused(t *testing.T) {
	t.Parallel()
	o, log := logged()
	o.CheckHost = new(web.Hosts).Check
	h := api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil }}, o)
	call := func(host string) answer {
		r := httptest.NewRequest(http.MethodGet, jobPath, nil)
		r.Host = host
		return serve(h, r)
	}
	require.Equal(t, http.StatusOK, call("127.0.0.1:8080").status)
	log.Reset()
	got := call("evil.example")
	require.Equal(t, http.StatusMisdirectedRequest, got.status)
	require.Contains(t, got.body, `"MisdirectedRequest"`)
	require.NotContains(t, got.body, "properties", "nothing else is answered")
	require.Regexp(t, `msg="request answered" method=GET path=/jobCollections/c/jobs/j status=421 `+
		fmt.Sprintf(`bytes=%d took=\S+ client=192\.0\.2\.1 request=%s\n$`, len(got.body), got.header.Get("X-Ms-Request-Id")), log.String())
}

func TestIndexTellsWhereThingsAre(t *testing.T) {
	t.Parallel()
	got := send(api.New(&fake{}, api.Options{Build: build.Info{Version: "1.2.3"}}), http.MethodGet, "/", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"service":"Almanac","version":"1.2.3","resources":["/jobCollections",`+
		`"/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01"],`+
		`"preview":"/previewRecurrence","openapi":"/openapi.yaml","docs":"/docs","health":"/healthz","readiness":"/readyz"}`, got.body)
}

func TestHealthDependsOnNothing(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{Build: build.Info{Version: "1.2.3", Go: "1.26.8", SDK: "1.50.0"}})
	got := send(h, http.MethodGet, "/healthz", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"status":"alive","build":{"version":"1.2.3","go":"1.26.8","sdk":"1.50.0"}}`, got.body)
}

func TestReadinessSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	got := get(&fake{ready: func(context.Context) error { return nil }}, "/readyz")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"status":"ready"}`, got.body)

	got = get(&fake{ready: func(context.Context) error { return errors.New(`no worker polls the task queue "almanac"`) }}, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, `{"status":"not ready","missing":"no worker polls the task queue \"almanac\""}`, got.body)
	require.Equal(t, "2", got.header.Get("Retry-After"))
}

func TestPreviewListsOccurrences(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	const question = `{"id":"q1","now":"2026-01-01T00:00:00Z","take":2,"properties":{"startTime":"2026-01-05T08:00:00Z","recurrence":{"frequency":"Week","count":3}}}`
	for _, path := range []string{
		"/previewRecurrence", "/PREVIEWRECURRENCE", group + "/previewRecurrence" + version,
		"/subscriptions/s1/providers/Microsoft.Scheduler/previewRecurrence" + version, "/providers/microsoft.scheduler/previewrecurrence" + version,
	} {
		got := send(h, http.MethodPost, path, question)
		require.Equal(t, http.StatusOK, got.status, path)
		require.Equal(t, `{"id":"q1","occurrences":["2026-01-05T08:00:00Z","2026-01-12T08:00:00Z"],"done":false,"text":"every week on Monday at 08:00, from 2026-01-05 08:00, 3 times"}`, got.body, path)
	}
}

func TestPreviewSaysWhyAJobWouldNeverRun(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	got := send(h, http.MethodPost, "/previewRecurrence", `{"now":"2026-01-02","properties":{"recurrence":{"frequency":"day","endTime":"2026-01-01"}}}`)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"occurrences":[],"done":true,"text":"every day, until 2026-01-01 00:00","notes":["The job would never run, because its endTime, 2026-01-01T00:00:00Z, is past. It would be accepted, and be completed at once."]}`, got.body)
}

func TestPreviewOfABadRecurrenceNamesItsFields(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	got := send(h, http.MethodPost, "/previewRecurrence", `{"properties":{"recurrence":{"frequency":"fortnight"}}}`)
	require.Equal(t, http.StatusBadRequest, got.status)
	const detail = `properties.recurrence.frequency: \"fortnight\" is not supported; allowed: minute, hour, day, week, month or year`
	require.Equal(t, `{"error":{"code":"BadRequest","message":"The preview is not valid: `+detail+`",`+
		`"details":[{"code":"Unsupported","target":"properties.recurrence.frequency","message":"`+detail+`"}]}}`, got.body)

	got = send(h, http.MethodPost, "/previewRecurrence", strings.Repeat(" ", 65<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, got.status)
}

func TestHandlerServesManyAtOnce(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(api.New(&fake{job: func(_ context.Context, k job.Key) (job.Job, error) {
		if k.Name == "j0" {
			panic("j0")
		}
		return job.Job{Key: k, Definition: job.Definition{State: job.StateDisabled}}, nil
	}}, api.Options{}))
	defer s.Close()
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			resp, err := s.Client().Get(fmt.Sprintf("%s/jobCollections/c/jobs/j%d", s.URL, n%8))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			want := http.StatusOK
			if n%8 == 0 {
				want = http.StatusInternalServerError
			}
			if resp.StatusCode != want {
				t.Errorf("job %d is answered %d, want %d", n%8, resp.StatusCode, want)
			}
		})
	}
	wg.Wait()
}

func TestWebPagesOfOtherSitesMayChangeNothing(t *testing.T) {
	t.Parallel()
	ran := 0
	h := api.New(&fake{
		job:    func(_ context.Context, k job.Key) (job.Job, error) { return daily(t, k), nil },
		runJob: func(context.Context, job.Key) error { ran++; return nil },
	}, api.Options{})
	from := func(method, path, site string) int {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Sec-Fetch-Site", site)
		return serve(h, r).status
	}
	require.Equal(t, http.StatusForbidden, from(http.MethodPost, jobPath+"/run", "cross-site"))
	require.Zero(t, ran)
	require.Equal(t, http.StatusOK, from(http.MethodGet, jobPath, "cross-site"))
	require.Equal(t, http.StatusOK, from(http.MethodPost, jobPath+"/run", "same-origin"))
	require.Equal(t, http.StatusOK, send(h, http.MethodPost, jobPath+"/run", "").status, "not a browser")
	require.Equal(t, 2, ran)
}
