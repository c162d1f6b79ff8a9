package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var (
	metricInCode = regexp.MustCompile(`"(almanac_[a-z_]+)"`)
	metricName   = regexp.MustCompile(`\b(?:almanac|temporal|process|go)_[a-z_]+\b`)
	ofHistogram  = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// expressions returns the queries of the dashboard and of the alert rules.
func expressions(t *testing.T) []string {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "docs/monitoring/dashboard.json")), &dashboard))
	var found []string
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			found = append(found, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	require.Greater(t, len(found), 15)
	var rules struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "docs/monitoring/alerts.yaml")), &rules))
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			found = append(found, r.Expr)
		}
	}
	return found
}

func TestTheMonitoringPageHasEveryMetricAndNoOther(t *testing.T) {
	t.Parallel()
	var table []string
	for line := range strings.Lines(read(t, "docs/monitoring.md")) {
		if name, ok := strings.CutPrefix(line, "| `almanac_"); ok {
			name, _, _ = strings.Cut(name, "`")
			table = append(table, "almanac_"+name)
		}
	}
	made := map[string]bool{}
	for _, m := range metricInCode.FindAllStringSubmatch(sources(t, "internal/telemetry", "workflows", "activities/notify"), -1) {
		name := m[1]
		if slices.Contains([]string{
			"almanac_dropped_occurrences", "almanac_notifications", "almanac_alerts_lost", "almanac_calendar_horizon_warnings",
		}, name) { // counted through Temporal's SDK, which adds the end of the name
			name += "_total"
		}
		made[name] = true
		assert.Containsf(t, table, name, "the table of docs/monitoring.md lacks a metric")
	}
	for _, name := range table {
		assert.Truef(t, made[name], "docs/monitoring.md has %s, which no code counts", name)
	}
	require.Greater(t, len(table), 15)
}

func TestTheDashboardAndTheAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/monitoring.md")
	for _, e := range expressions(t) {
		names := metricName.FindAllString(e, -1)
		require.NotEmpty(t, names, e)
		for _, name := range names {
			if strings.HasPrefix(name, "almanac_") {
				assert.Truef(t, has(page, "| `"+ofHistogram.ReplaceAllString(name, "")+"`"), "%s: docs/monitoring.md does not list %s", e, name)
			}
		}
	}
}

// TestPrometheusAcceptsTheAlertsAndTheDashboard needs promtool, of Debian's package prometheus.
func TestPrometheusAcceptsTheAlertsAndTheDashboard(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("promtool is not installed")
	}
	require.NoError(t, err)
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	type group struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	}
	all := group{Name: "all"}
	for i, e := range expressions(t) {
		all.Rules = append(all.Rules, rule{"query:" + strings.Repeat("x", i+1), e})
	}
	text, err := yaml.Marshal(map[string][]group{"groups": {all}})
	require.NoError(t, err)
	queries := filepath.Join(t.TempDir(), "queries.yaml")
	require.NoError(t, os.WriteFile(queries, text, 0o600))
	directory := filepath.Join(root, "docs", "monitoring")
	for _, arguments := range [][]string{
		{"check", "rules", queries},
		{"check", "rules", filepath.Join(directory, "alerts.yaml")},
		{"test", "rules", filepath.Join(directory, "alerts_test.yaml")},
	} {
		out, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput()
		require.NoErrorf(t, err, "promtool %s: %s", strings.Join(slices.Concat(arguments), " "), out)
	}
}
