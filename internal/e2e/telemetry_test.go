package e2e_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans are the names of the spans that an OTLP receiver got, by trace.
type spans struct {
	mu   sync.Mutex
	of   map[string][]string
	text string
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += sent.String()
	for _, resource := range sent.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := hex.EncodeToString(span.GetTraceId())
				s.of[id] = append(s.of[id], span.GetName())
			}
		}
	}
}

func (s *spans) named(trace string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[trace]
}

// A trace goes from a request through the workflow and all attempts to the receiver, and a scrape has all metrics.
func TestTracesAndMetricsOfANode(t *testing.T) {
	t.Parallel()
	received := &spans{of: map[string][]string{}}
	otlp := httptest.NewServer(received)
	t.Cleanup(otlp.Close)
	p := devIn(t, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + otlp.URL + "/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=200"}, os.Stderr, t.TempDir())
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	job := p.url + "/jobCollections/default/jobs/traced"
	created(t, job, `{"properties":{"action":{"type":"Http","request":{"method":"POST","uri":"`+target.URL+`/fails?key=s3cret-query","body":"s3cret-body"},
		"retryPolicy":{"retryType":"fixed","retryInterval":"PT15S","retryCount":1},
		"errorAction":{"type":"Http","request":{"method":"POST","uri":"`+target.URL+`/error","headers":{"x-key":"s3cret-header"}}}}`+inAYear()+`}}`)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, job+"/run", nil)
	require.NoError(t, err)
	r.Header.Set("traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	for path, n := range map[string]int{"/fails": 2, "/error": 1} {
		for _, got := range target.await(t, path, n) {
			require.True(t, strings.HasPrefix(got.header.Get("traceparent"), "00-"+trace+"-"), got.header.Get("traceparent"))
		}
	}
	want := []string{"POST /jobCollections/{collection}/jobs/{job}/run", "UpdateWorkflow:run", "execution", "attempt", "attempt", "error action attempt"}
	eventually(t, "spans of the execution", func() bool {
		got := received.named(trace)
		for _, name := range want {
			if strings.Count(strings.Join(got, "\n")+"\n", name+"\n") < strings.Count(strings.Join(want, "\n")+"\n", name+"\n") {
				return false
			}
		}
		return true
	})
	require.NotContains(t, received.text, "s3cret")

	for _, page := range []string{"docs/monitoring.md", "docs/monitoring/alerts.yaml", "docs/monitoring/dashboard.json"} {
		requireMetrics(t, p, page)
	}
}

// absentAtFirst are metrics that a node has only when it has happened or with certain settings, and what it looks up in
// its first minutes.
var absentAtFirst = regexp.MustCompile(`^(almanac_audit_lines_lost_total|almanac_certificate_expiry_timestamp_seconds|almanac_dropped_occurrences_total|almanac_notifications_total|almanac_alerts_lost_total|almanac_calendar_horizon_warnings_total|almanac_forecast_second_.*|almanac_zoneinfo_workers|temporal_.*)$`)

// requireMetrics requires that scrapes have, sooner or later, every metric that a page names.
func requireMetrics(t *testing.T, p *process, page string) {
	t.Helper()
	var missing []string
	defer func() { t.Logf("the last scrape lacks %q of %s", missing, page) }()
	eventually(t, "scrape with all metrics of "+page, func() bool {
		missing = missingMetrics(t, p, page)
		return len(missing) == 0
	})
}

// missingMetrics returns the metrics that a page names and a scrape lacks.
func missingMetrics(t *testing.T, p *process, page string) (missing []string) {
	t.Helper()
	text, err := os.ReadFile(repository + "/" + page)
	require.NoError(t, err)
	scrape := call(t, http.MethodGet, p.url+"/metrics", "")
	require.Equal(t, http.StatusOK, scrape.code)
	require.Less(t, len(scrape.body), 200_000)
	named := regexp.MustCompile(`\b(?:almanac|temporal|process)_[a-z_]*[a-z]\b`).FindAllString(string(text), -1)
	require.NotEmpty(t, named)
	named = slices.DeleteFunc(named, absentAtFirst.MatchString)
	for _, name := range append(named, "temporal_request_latency_seconds_bucket{operation=", "temporal_num_pollers{") {
		if !strings.Contains(scrape.body, "\n"+name) {
			missing = append(missing, name)
		}
	}
	return missing
}
