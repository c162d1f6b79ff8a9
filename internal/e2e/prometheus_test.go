package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrometheusAnswersTheQueriesOfTheDashboard needs the server of Debian's package prometheus.
func TestPrometheusAnswersTheQueriesOfTheDashboard(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("prometheus"); err != nil && os.Getenv("CI") == "" {
		t.Skip("prometheus is not installed")
	}
	p := dev(t, t.TempDir())
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	job := p.url + "/jobCollections/default/jobs/watched"
	created(t, job, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/"},"retryPolicy":{"retryType":"none"},
		"errorAction":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/error"}}}`+inAYear()+`}}`)
	address := strings.TrimPrefix(p.url, "http://")
	classic, native := startPrometheus(t, address), startPrometheus(t, address, "--enable-feature=native-histograms")

	unanswered := dashboard(t)
	require.Greater(t, len(unanswered), 15)
	histograms := []string{
		`histogram_quantile(0.99, sum(rate(almanac_execution_lateness_seconds[5m])))`,
		`histogram_quantile(0.99, sum by (kind) (rate(almanac_attempt_duration_seconds[5m])))`,
		`histogram_quantile(0.99, sum by (method, route) (rate(almanac_api_request_duration_seconds[5m])))`,
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("not answered:", unanswered, histograms)
		}
	})
	eventually(t, "answers of Prometheus", func() bool {
		_, _ = tryCall(t.Context(), http.MethodPost, job+"/run", "") // a rate needs a change between two scrapes
		unanswered = notAnswered(t, classic, unanswered)
		histograms = notAnswered(t, native, histograms)
		return len(unanswered)+len(histograms) == 0
	})
}

// dashboard returns the queries of the dashboard, but those of what did not happen.
func dashboard(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(repository + "/docs/monitoring/dashboard.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(text, &board))
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			if !strings.Contains(target.Expr, "almanac_dropped_occurrences_total") {
				queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			}
		}
	}
	return queries
}

// startPrometheus starts a Prometheus that scrapes a node every second, and returns the URL of its queries.
func startPrometheus(t *testing.T, node string, more ...string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "prometheus.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `scrape_configs: [{job_name: almanac, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q]}]}]`, node), 0o600))
	address := freeAddress(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "prometheus", append(more, "--config.file="+config, "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+address)...)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s", text)
		}
	})
	return "http://" + address + "/api/v1/query?query="
}

// notAnswered returns the queries that Prometheus answers with nothing, or with no number.
func notAnswered(t *testing.T, prometheus string, queries []string) (unanswered []string) {
	t.Helper()
	for _, query := range queries {
		r, err := tryCall(t.Context(), http.MethodGet, prometheus+url.QueryEscape(query), "")
		if err != nil { // it has not started yet
			return queries
		}
		require.NotEqual(t, http.StatusBadRequest, r.code, r.body)
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if r.code == http.StatusOK {
			require.NoError(t, json.Unmarshal([]byte(r.body), &answer))
		}
		answered := false
		for _, series := range answer.Data.Result {
			answered = answered || series.Value[1] != "NaN"
		}
		if !answered {
			unanswered = append(unanswered, query)
		}
	}
	return unanswered
}
