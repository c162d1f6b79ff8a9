package calendar_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/calendar"
	"almanac/cmd/almanac/internal/cli/exit"
)

// An apiOfCalendars keeps calendars of one scope in memory, and answers as the API does.
type apiOfCalendars struct {
	mu   sync.Mutex
	all  map[string]map[string]any
	path string // of the last request

	usage string // the answer of any calendar's
}

func (a *apiOfCalendars) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.path = r.URL.Path
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":"It is %s."}}`, code, code)
	}
	now, there := a.all[name]
	etag := func() string { return fmt.Sprintf(`"%v"`, a.all[name]["version"]) }
	show := func(status int) {
		w.Header().Set("ETag", etag())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "properties": a.all[name]})
	}
	switch {
	case name == "usage":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, a.usage)
	case name == "calendars":
		var list []any
		for n := range a.all {
			list = append(list, map[string]any{"name": n, "properties": map[string]any{"weekendDays": []string{"sunday"}, "entries": 2, "version": 1}})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"value": list})
	case r.Method == http.MethodPut:
		if r.Header.Get("If-None-Match") == "*" && there || r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag() {
			refuse(http.StatusPreconditionFailed, "ConditionNotMet")
			return
		}
		text, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(text, &body)
		if p, ok := body["properties"].(map[string]any); ok {
			body = p
		}
		version := 1
		if there {
			version = now["version"].(int) + 1
		}
		body["version"] = version
		a.all[name] = body
		show(map[bool]int{true: http.StatusOK, false: http.StatusCreated}[there])
	case !there:
		refuse(http.StatusNotFound, "CalendarNotFound")
	case r.Method == http.MethodDelete:
		delete(a.all, name)
	default:
		show(http.StatusOK)
	}
}

func TestCalendarsOfTheAPI(t *testing.T) {
	t.Parallel()
	api := &apiOfCalendars{all: map[string]map[string]any{}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "ALMANAC_URL": server.URL}
	run := func(stdin string, args ...string) (string, string, int) {
		root := &cobra.Command{Use: "almanac", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(calendar.Command(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }))
		var out, problems strings.Builder
		root.SetOut(&out)
		root.SetErr(&problems)
		root.SetIn(strings.NewReader(stdin))
		root.SetArgs(append([]string{"calendar"}, args...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			return out.String(), problems.String() + err.Error(), exit.Status(err)
		}
		return out.String(), problems.String(), exit.OK
	}
	must := func(stdin string, args ...string) string {
		out, problems, status := run(stdin, args...)
		require.Equal(t, exit.OK, status, "%v: %s", args, problems)
		return out
	}
	made := must("", "make", "SE", "2026")
	require.Contains(t, must(made, "create", "SE", "-f", "-"), "calendar SE applied, version 1, 13 entries")
	require.Contains(t, api.path, "/jobCollections/default/calendars/SE")
	_, problems, status := run(made, "create", "SE", "-f", "-")
	require.Contains(t, problems, "the calendar SE exists")
	require.Equal(t, exit.Refused, status)
	require.Equal(t, "SE\n", must("", "list", "-o", "name"))
	require.Contains(t, must("", "get", "SE"), "saturday,sunday")

	api.usage = `{"value":[]}`
	_, problems, status = run("", "usage", "SE")
	require.Equal(t, exit.OK, status)
	require.Contains(t, problems, "No job uses the calendar SE")
	api.usage = `{"value":[{"name":"reports/a","properties":{"onMatch":"nextWorkingDay","state":"enabled","until":"2026-12-30T00:00:00Z","adjustments":[` +
		`{"change":"moved","nominalTime":"2026-12-25T08:00:00Z","expectedExecutionTime":"2026-12-28T08:00:00Z","text":"moved from Fri 2026-12-25 because SE has Juldagen"},` +
		`{"change":"skipped","nominalTime":"2026-12-26T08:00:00Z","count":3,"text":"3 skipped because SE has Saturday"}]}},` +
		`{"name":"reports/b","properties":{"onMatch":"skip","state":"disabled","reason":"The job is disabled.","until":"2026-12-30T00:00:00Z","adjustments":[]}},` +
		`{"name":"reports/c","properties":{"status":{"reason":"it did not answer in time"}}}]}`
	used, problems, status := run("", "usage", "SE")
	require.NotEqual(t, exit.OK, status, "not all could be read")
	require.Contains(t, problems, "it did not answer in time")
	require.Contains(t, api.path, "/calendars/SE/usage")
	require.Regexp(t, `reports/a +nextWorkingDay +1 +3 +2026-12-28T08:00:00Z moved from Fri 2026-12-25 because SE has Juldagen`, used)
	require.Regexp(t, `reports/b +skip +- +- +The job is disabled`, used)

	file := must("", "get", "SE", "-o", "yaml")
	require.Contains(t, file, "# etag: \"1\"\n")
	require.Contains(t, must(file, "apply", "SE", "-f", "-"), "version 2")
	_, problems, status = run(file, "apply", "SE", "-f", "-")
	require.Contains(t, problems, "somebody has changed the calendar SE since")
	require.Equal(t, exit.Refused, status)

	_, problems, status = run("", "get", "SEE")
	require.Contains(t, problems, "Did you mean SE?")
	require.Equal(t, exit.NotFound, status)
	_, _, status = run("", "apply", "SE")
	require.Equal(t, exit.Usage, status)
	_, problems, status = run("", "delete", "SE")
	require.Contains(t, problems, "--yes")
	require.Equal(t, exit.Usage, status)
	must(made, "apply", "SE", "--shared", "-f", "-", "--yes")
	require.NotContains(t, api.path, "jobCollections")
	require.Contains(t, must("", "delete", "SE", "--shared", "--yes"), "calendar SE deleted")
}
