package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/client"
	"almanac/cmd/almanac/internal/cli"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/apitest"
	"almanac/job"
)

// A user types command lines.
type user struct {
	home string
	vars map[string]string
}

// newUser returns a user of an API that keeps jobs in memory, in which the collection default is.
func newUser(t *testing.T, m *apitest.Memory) *user {
	t.Helper()
	server := httptest.NewServer(api.New(m, api.Options{}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	require.NoError(t, err)
	_, err = c.PutCollection(t.Context(), "default", client.Collection{
		Properties: client.CollectionProperties{SKU: client.SKU{Name: "P20Premium"}},
	})
	require.NoError(t, err)
	home := t.TempDir()
	return &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "ALMANAC_URL": server.URL}}
}

// types returns what a command line prints and its status.
func (u *user) types(t *testing.T, line ...string) (stdout, stderr string, status int) {
	t.Helper()
	return u.typesFor(context.WithoutCancel(t.Context()), t, line...)
}

// typesFor is types until a context ends.
func (u *user) typesFor(ctx context.Context, t *testing.T, line ...string) (stdout, stderr string, status int) {
	t.Helper()
	root := &cobra.Command{Use: "almanac", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cli.Commands(func(name string) (string, bool) { v, ok := u.vars[name]; return v, ok })...)
	var out, problems strings.Builder
	root.SetArgs(line)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&problems)
	if err := root.ExecuteContext(ctx); err != nil {
		return out.String(), problems.String() + err.Error(), exit.Status(err)
	}
	return out.String(), problems.String(), exit.OK
}

// must returns what a command line prints that succeeds.
func (u *user) must(t *testing.T, line ...string) string {
	t.Helper()
	out, problems, status := u.types(t, line...)
	require.Equal(t, exit.OK, status, "%v: %s", line, problems)
	return out
}

func TestAJobFromItsCreationToItsEnd(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	require.Contains(t, u.must(t, "job", "create", "hello", "http://example.com/", "--every", "5m", "--start", "2026-12-01"), "job default/hello created")
	require.Equal(t, "hello\n", u.must(t, "job", "list", "-o", "name"))
	require.Contains(t, u.must(t, "job", "list"), "every 5 minutes")
	require.Equal(t, "5\n", u.must(t, "job", "get", "hello", "-o", "jsonpath={.properties.recurrence.interval}"))
	require.Equal(t, "GET\n", u.must(t, "job", "get", "hello", "-o", "jsonpath=$.properties.action.request.method"))
	require.Contains(t, u.must(t, "job", "disable", "hello"), "job default/hello disabled")
	require.JSONEq(t, `{"name":"default/hello","status":"Done"}`, u.must(t, "job", "enable", "hello", "-o", "json"))
	require.Contains(t, u.must(t, "job", "delete", "hello", "--yes"), "job default/hello deleted")
	_, problems, status := u.types(t, "job", "get", "hello")
	require.Equal(t, exit.NotFound, status)
	require.Contains(t, problems, "jobs/hello' under resource group 'default' was not found")
}

func TestAChangeOfOneMemberTouchesNoOther(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "hello", "http://example.com/", "-X", "post", "-d", "body", "-H", "A: b", "--every", "2h",
		"--minutes", "0,30", "--time-zone", "Europe/Berlin", "--retries", "2", "--retry-interval", "1m", "--start", "2026-12-01")
	before := u.must(t, "job", "get", "hello", "-o", "yaml")
	u.must(t, "job", "edit", "hello", "--interval", "3")
	require.Equal(t, body(strings.Replace(before, "interval: 2", "interval: 3", 1)), body(u.must(t, "job", "get", "hello", "-o", "yaml")))
	file := filepath.Join(u.home, "hello.yaml")
	now := u.must(t, "job", "get", "hello", "-o", "yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(now, "interval: 3", "interval: 4 # hours", 1)), 0o600))
	require.Contains(t, u.must(t, "job", "edit", "hello", "-f", file), "changed")
	require.Equal(t, body(strings.Replace(before, "interval: 2", "interval: 4", 1)), body(u.must(t, "job", "get", "hello", "-o", "yaml")))
	require.Contains(t, u.must(t, "job", "edit", "hello", "-f", file), "unchanged")
}

// body returns a job in YAML without the comment with its entity tag.
func body(text string) string {
	_, after, _ := strings.Cut(text, "\n")
	return after
}

func TestEverythingThatFlagsSayIsInTheJob(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "full", "http://example.com/a", "-X", "PUT", "-d", "body", "-H", "A: b, c", "-H", "D: e:f",
		"--every", "month", "--monthly", "last friday", "--monthly", "2 monday", "--hours", "9,17", "--minutes", "0", "--months", "1,6",
		"--time-zone", "Europe/Berlin", "--start", "2026-12-01T08:00:00", "--count", "7", "--catch-up", "1h30m", "--overlap", "Skip",
		"--on-failure", "http://example.com/b", "--retries", "0", "--disable-after", "3", "--disabled")
	require.JSONEq(t, `{
		"startTime": "2026-12-01T07:00:00Z", "state": "disabled", "disableAfter": 3,
		"action": {"type": "Http", "retryPolicy": {"retryType": "none"},
			"request": {"uri": "http://example.com/a", "method": "PUT", "body": "body", "headers": {"A": "b, c", "D": "e:f"}},
			"errorAction": {"type": "Http", "request": {"uri": "http://example.com/b", "method": "GET"}}},
		"recurrence": {"frequency": "month", "interval": 1, "count": 7, "timeZone": "Europe/Berlin", "catchUpWindow": "PT1H30M",
			"overlapPolicy": "Skip", "schedule": {"hours": [9, 17], "minutes": [0], "months": [1, 6],
			"monthlyOccurrences": [{"day": "friday", "occurrence": -1}, {"day": "monday", "occurrence": 2}]}}}`,
		without(u.must(t, "job", "get", "full", "-o", "jsonpath=properties"), `,"status":`))
}

// without returns a JSON object that ends before a member.
func without(text, member string) string {
	before, _, found := strings.Cut(text, member)
	if found {
		return before + "}"
	}
	return text
}

func TestErrorsSayWhatToDoAndHaveTheirStatus(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "hello", "http://example.com/", "--every", "5m", "--start", "2026-12-01")
	file := filepath.Join(u.home, "job.yaml")
	require.NoError(t, os.WriteFile(file, []byte("properties:\n  action:\n    type: Http\n    request:\n      uri: http://example.com/\n  recurrence: {frequency: dai}\n"), 0o600))
	for _, tt := range []struct {
		line   string
		status int
		want   string
	}{
		{"job get helo", exit.NotFound, "Did you mean default/hello?"},
		{"collection get defalt", exit.NotFound, "Did you mean default?"},
		{"job create hello http://example.com/", exit.Refused, `the job default/hello exists: "almanac job edit hello" changes it`},
		{"job create new http://example.com/ --every 5m --hours 24", exit.Refused, "properties.recurrence.schedule.hours[0]: 24 is out of range; allowed: 0 to 23"},
		{"job create new http://example.com/ --every never", exit.Usage, `"never" is not understood; allowed: such as "every 15 minutes"`},
		{"job create new http://example.com/ --interval many", exit.Usage, `--interval: "many" is not a number`},
		{"job create new http://example.com/ -H nothing", exit.Usage, `--header: "nothing" has no colon`},
		{"job create new", exit.Usage, "say what it calls"},
		{"job create new -f " + file, exit.Refused, file + `:6:16: properties.recurrence.frequency: "dai" is not supported`},
		{"job create new -f /nowhere.yaml", exit.Usage, "/nowhere.yaml"},
		{"job delete hello", exit.Usage, "There is no terminal to ask at: --yes says so"},
		{"job delete", exit.Usage, "name jobs, or select them by --filter or --search"},
		{"job delete hello --filter x", exit.Usage, "names exclude --filter and --search"},
		{"job edit hello", exit.Usage, "there is no terminal for an editor"},
		{"job backfill hello --pause a --end a", exit.Usage, "--pause, --resume and --end exclude each other"},
		{"job backfill hello --end a --from 2026-11-01 --until 2026-11-02", exit.Usage, "and all other flags of a backfill"},
		{"job backfill hello --at-once 3", exit.Usage, "say both --from and --until"},
		{"job backfill hello --dry-run", exit.Usage, "say both --from and --until"},
		{"job get a/b/c", exit.Usage, `"a/b/c" is not the name of a job`},
		{"job list -o jsn", exit.Usage, `--output: unknown value "jsn", did you mean json?; allowed: table, wide, json, yaml, name, jsonpath=PATH`},
		{"job list -o jsonpath=$[", exit.Usage, "is not a JSON path"},
		{"job list --filter state", exit.Refused, "$filter"},
		{"job list --url http://127.0.0.1:1", exit.Unreachable, "the API at http://127.0.0.1:1 cannot be reached"},
		{"job list --context prod", exit.Usage, `there is no context "prod"`},
		{"job list --token-file /nowhere", exit.Usage, "the token: open /nowhere"},
		{"collection disable default", exit.Usage, "There is no terminal"},
	} {
		_, problems, status := u.types(t, strings.Fields(tt.line)...)
		require.Contains(t, problems, tt.want, tt.line)
		require.Equal(t, tt.status, status, tt.line)
	}
	require.Equal(t, "hello\n", u.must(t, "job", "list", "-o", "name"), "nothing was deleted or made")
}

func TestAnotherServerThanAlmanacIsNotAMissingJob(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	u := &user{vars: map[string]string{"ALMANAC_URL": other.URL}}
	_, problems, status := u.types(t, "job", "get", "hello")
	require.Equal(t, exit.Unreachable, status)
	require.Contains(t, problems, "Is "+other.URL+" the URL of Almanac's API?")
}

func TestTheTokenOfAContextIsForItsAPIAlone(t *testing.T) {
	t.Parallel()
	var sent []string
	record := func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"value":[]}`))
	}
	own, other := httptest.NewServer(http.HandlerFunc(record)), httptest.NewServer(http.HandlerFunc(record))
	t.Cleanup(own.Close)
	t.Cleanup(other.Close)
	home := t.TempDir()
	token := filepath.Join(home, "token")
	require.NoError(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	u := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
	u.must(t, "context", "add", "own", "--url", own.URL, "--token-file", token)
	u.must(t, "context", "add", "bare", "--url", own.URL, "--stay")
	u.must(t, "collection", "list", "-o", "name")
	u.must(t, "collection", "list", "-o", "name", "--url", other.URL)
	u.must(t, "collection", "list", "-o", "name", "--context", "bare")
	u.vars["ALMANAC_TOKEN"] = "mine"
	u.must(t, "collection", "list", "-o", "name", "--url", other.URL)
	require.Equal(t, []string{"Bearer secret", "", "", "Bearer mine"}, sent)
}

func TestContextsAreKeptInAFileOfTheirUser(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	u := &user{home, map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}}
	require.Equal(t, "[]\n", u.must(t, "context", "list", "-o", "json"))
	u.must(t, "context", "add", "a", "--url", "http://a.example.com", "-c", "reports")
	u.must(t, "context", "add", "b", "--url", "http://b.example.com")
	info, err := os.Stat(filepath.Join(home, "almanac", "contexts.yaml"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, "true\n", u.must(t, "context", "list", "-o", "jsonpath=$[?@.name=='b'].current"))
	u.must(t, "context", "use", "a")
	u.must(t, "context", "remove", "b")
	require.Equal(t, "a\n", u.must(t, "context", "list", "-o", "name"))
	for line, want := range map[string]string{
		"context use c": `there is no context "c"`, "context add c": "--url: say where the API is",
		"context add c --url ftp://x": "allowed: http or https", "context add c --url http://x --token-file /nowhere": "--token-file:",
	} {
		_, problems, status := u.types(t, strings.Fields(line)...)
		require.Contains(t, problems, want)
		require.NotEqual(t, exit.OK, status)
	}
}

func TestWhatReceiversAnswerDoesNotReachTheTerminalAsCommands(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;owned\a\u009b31m\u202edesrever\r\n"
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u := newUser(t, &apitest.Memory{Records: []job.Record{{
		Execution: job.Execution{Due: at, Repeat: 1, ActionName: job.MainAction},
		Attempt:   job.Attempt{Number: 1, Start: at, End: at.Add(time.Second), Outcome: job.OutcomeFailed, Message: evil},
	}}})
	u.must(t, "job", "create", "hello", "http://example.com/", "-d", evil, "--start", "2026-12-01")
	for _, line := range []string{
		"job get hello", "job get hello -o json", "job get hello -o yaml", "job history hello", "job history hello -o json",
		"activity", "job edit hello --interval 2 --every day --dry-run",
	} {
		out, problems, status := u.types(t, strings.Fields(line)...)
		require.Equal(t, exit.OK, status, problems)
		require.NotRegexp(t, "[\\x00-\\x09\\x0b-\\x1f\\x7f\\x{80}-\\x{9f}\\x{202a}-\\x{202e}]", out+problems, line)
	}
	require.Equal(t, evil+"\n", u.must(t, "job", "get", "hello", "-o", "jsonpath=properties.action.request.body"), "a program gets it as it is")
}

func TestNamesComplete(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "hello", "http://example.com/", "--every", "5m", "--start", "2026-12-01")
	u.must(t, "job", "create", "other", "http://example.com/", "--start", "2026-12-01")
	require.Equal(t, "hello\tevery 5 minutes, from 2026-12-01\n:4\n", u.must(t, "__complete", "job", "get", "he"))
	require.Contains(t, u.must(t, "__complete", "job", "run", "default/o"), "default/other\t")
	require.Equal(t, "default\n:4\n", u.must(t, "__complete", "collection", "get", ""))
	require.Contains(t, u.must(t, "__complete", "job", "list", "-o", ""), "jsonpath=\n")
	u.vars["ALMANAC_URL"] = "http://127.0.0.1:1"
	require.Equal(t, ":4\n", u.must(t, "__complete", "job", "get", ""))
}

func TestHelpOfEveryCommandSaysWhatTheStatusesMean(t *testing.T) {
	t.Parallel()
	u := &user{vars: map[string]string{}}
	for _, noun := range []string{"job", "collection"} {
		for line := range strings.Lines(u.must(t, "__complete", noun, "")) {
			verb, _, described := strings.Cut(strings.TrimSpace(line), "\t")
			if !described {
				continue
			}
			require.Contains(t, u.must(t, noun, verb, "--help"), exit.Help, verb)
		}
	}
}

func TestOnlyAPromiseHoldsWhatComesDue(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "hello", "http://example.com/", "--every", "5m", "--start", "2026-12-01")
	for line, want := range map[string]string{
		"job disable hello --dry-run":                  "Nothing that comes due runs, nor is it held, until somebody enables it",
		"job disable hello --dry-run --note move":      "Nothing that comes due runs, nor is it held, until somebody enables it",
		"job disable hello --dry-run --recover latest": "It holds every run that comes due, until somebody enables it",
	} {
		said, more, status := u.types(t, strings.Fields(line)...)
		require.Contains(t, said+more, want, line)
		require.Zero(t, status)
	}
}
