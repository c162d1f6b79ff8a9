package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/codec"
)

// cliVersion is the latest version of the temporal CLI that can be built as a
// module: later ones need a module that has no version of its own.
const cliVersion = "github.com/temporalio/cli@v1.5.1"

// temporalCLI builds Temporal's own command line, less the server that is in it,
// and returns its directory.
func temporalCLI(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	goCommand := func(in string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		t.Logf("go %s\n%s", strings.Join(args, " "), errs.Bytes())
		return out, err
	}
	out, err := goCommand(dir, "mod", "download", "-json", cliVersion)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("the temporal CLI cannot be downloaded: what the document shows is not run")
	}
	require.NoError(t, err)
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	require.NoError(t, os.CopyFS(source, os.DirFS(module.Dir)))
	server := filepath.Join(source, "temporalcli", "devserver")
	text, err := os.ReadFile("testdata/devserver.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(server, "server.go"), text, 0o600))
	require.NoError(t, os.Remove(filepath.Join(server, "log.go")))
	compute(func() {
		_, err = goCommand(source, "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "bin", "temporal"), "./cmd/temporal")
		require.NoError(t, err)
	})
	return filepath.Join(dir, "bin")
}

// shown returns the commands of a document, in their order.
func shown(t *testing.T, document string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

// reading are the commands that change nothing.
var reading = regexp.MustCompile(`^(list|count|describe|metadata|query|show) `)

func TestTheDocumentOfTheTemporalCLIShowsWhatWorks(t *testing.T) {
	t.Parallel()
	bin, s, target := temporalCLI(t), use(t), newSink(t, nil)
	run := func(command string) string { return runCLI(t, bin, s, command) }
	collection := s.url + "/jobCollections/default"
	hello := collection + "/jobs/hello"
	patch := func(state string) { ok(t, http.MethodPatch, hello, `{"properties":{"state":"`+state+`"}}`) }
	disable := func() { patch("disabled") }
	prints := func(want ...string) func(string) bool {
		return func(out string) bool {
			return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(out, w) })
		}
	}
	reads := func(url, path string, want any) func(string) bool {
		return func(string) bool { return call(t, http.MethodGet, url, "").get(path) == want }
	}
	// listed waits until Temporal's lists have the run of the job that there is now.
	listed := func() {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), "job/default/default/hello", "")
		require.NoError(t, err)
		run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		eventually(t, "job in a list", func() bool {
			list, err := s.temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
				Query: `WorkflowType = "Job" AND AlmanacCollection = "default" AND ExecutionStatus = "Running"`,
			})
			return err == nil && slices.ContainsFunc(list.GetExecutions(), func(e *workflow.WorkflowExecutionInfo) bool { return e.GetExecution().GetRunId() == run })
		})
	}
	disabled, enabled := reads(hello, "properties.state", "disabled"), reads(hello, "properties.state", "enabled")
	ranAgain := reads(hello, "properties.status.executionCount", 2.0)
	gone := func(string) bool { return call(t, http.MethodGet, hello, "").code == http.StatusNotFound }

	const (
		subscription = "00000000-0000-0000-0000-000000000000"
		ofJob        = "--workflow-id job/default/default/hello"
		ofCollection = "--workflow-id collection/default/default"
		running      = ` AND ExecutionStatus = "Running"'`
	)
	steps := []struct {
		command string
		before  func()            // nil: the job is enabled, and has run once or more
		holds   func(string) bool // of what is printed, sooner or later
	}{
		{`list --query 'WorkflowType = "Job" AND AlmanacCollection = "default"` + running, nil, prints("job/default/default/hello")},
		{`list --query 'AlmanacJob = "hello"` + running, nil, prints("job/default/default/hello")},
		{`list --query 'AlmanacState = "disabled"` + running, disable, prints("job/default/default/hello")},
		{`count --query 'AlmanacState = "disabled"` + running, disable, prints("Total: ")},
		// none fails; the query is one that Temporal takes
		{`list --query 'AlmanacLastOutcome = "Failed"` + running, nil, prints()},
		{`count --query 'AlmanacLastOutcome = "Failed"` + running, nil, prints("Total: ")},
		{`list --query 'AlmanacLastOutcome = "None"` + running, nil, prints()},
		{`list --query 'AlmanacNextRun < "2026-12-24T18:00:00Z"` + running, nil, prints()},

		{"describe " + ofJob, nil, prints("AlmanacState", "AlmanacLastOutcome", "/jobCollections/default/jobs/hello")},
		{"metadata " + ofJob, nil, prints("next execution:", "last outcome:", "run the job now, without an answer", "delete the job, without an answer")},
		{"query " + ofJob + " --type status", nil, prints(`"executionCount":1`)},
		{"show " + ofJob, nil, prints("WorkflowExecutionStarted")},
		{"query " + ofCollection + " --type status", nil, prints("Standard")},
		{"query " + ofCollection + " --type jobs", nil, prints("hello")},
		{"query --workflow-id subscription/" + subscription + " --type collections", nil, prints("default/default")},

		{"update execute " + ofJob + " --name run", nil, ranAgain},
		{"update execute " + ofJob + " --name skip", nil, prints("skips")},
		{"update execute " + ofJob + " --name unskip", nil, prints("nextExecutionTime")},
		{"update execute " + ofJob + " --name disable", nil, disabled},
		{"update execute " + ofJob + " --name enable", disable, enabled},
		{"update execute " + ofJob + " --name delete", nil, gone},
		{"update execute " + ofCollection + " --name disable", nil, reads(collection, "properties.state", "Disabled")},
		{"update execute " + ofCollection + " --name enable", nil, reads(collection, "properties.state", "Enabled")},

		{"signal " + ofJob + " --name run", nil, ranAgain},
		{"signal " + ofJob + " --name disable", nil, disabled},
		{"signal " + ofJob + " --name enable", disable, enabled},
		{"signal " + ofJob + " --name delete", nil, gone},
		{`signal --query 'WorkflowType = "Job" AND AlmanacCollection = "default"` + running + ` --name disable --reason "maintenance" --yes`, listed, disabled},

		{"cancel " + ofJob, nil, gone},
		{"terminate " + ofJob + ` --reason "does not answer"`, nil, gone},
	}
	var tested []string
	for _, step := range steps {
		tested = append(tested, "temporal workflow "+step.command)
	}
	require.Equal(t, tested, shown(t, "../../docs/temporal-cli.md"), "what the document shows is what is tested")

	require.Equal(t, http.StatusCreated, call(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"}}}`).code)
	for i, step := range steps {
		t.Log(tested[i])
		if gone("") {
			created(t, hello, get(target.URL, `,"recurrence":{"frequency":"week"}`))
			status(t, hello, "properties.status.executionCount", 1.0)
		}
		patch("enabled")
		if step.before != nil {
			step.before()
		}
		out := run(tested[i])
		eventually(t, "outcome of "+tested[i]+", which printed\n"+out, func() bool {
			if reading.MatchString(step.command) {
				// what Temporal finds is some milliseconds old, and an execution may not have ended yet
				out = run(tested[i])
			}
			return step.holds(out)
		})
	}
	created(t, hello, get(target.URL, later)) // a name whose job was terminated can be used again

	t.Run("with encryption keys", func(t *testing.T) { testCLIWithKeys(t, bin) })
}

// runCLI runs a command of the temporal CLI and returns what it prints.
func runCLI(t *testing.T, bin string, s *stack, command string) string {
	t.Helper()
	home := t.TempDir() // without a configuration of whoever runs the test
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "TEMPORAL_ADDRESS="+s.address, "HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	return string(out)
}

// With a codec server the CLI shows what is encrypted, and its commands without arguments work.
func testCLIWithKeys(t *testing.T, bin string) {
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	s, target := newStack(t, setup{data: t.TempDir(), keys: keys}), newSink(t, nil)
	decoder := httptest.NewServer(keys.Handler(codec.HandlerOptions{Token: "t0ken"}))
	t.Cleanup(decoder.Close)
	hello := s.collection(t) + "/jobs/hello"
	created(t, hello, get(target.URL, `,"recurrence":{"frequency":"week"}`))
	status(t, hello, "properties.status.executionCount", 1.0)
	ofJob := " --workflow-id " + key(strings.TrimSuffix(hello, "/hello"), "hello").WorkflowID()
	const with = ` --codec-auth "Bearer t0ken" --codec-endpoint `

	query := "temporal workflow query --type status" + ofJob
	require.NotContains(t, runCLI(t, bin, s, query), `"executionCount":1`)
	require.Contains(t, runCLI(t, bin, s, query+with+decoder.URL), `"executionCount":1`)
	require.Contains(t, runCLI(t, bin, s, "temporal workflow describe"+ofJob+with+decoder.URL), "every week")
	// so the CLI shows payloads of events
	text := base64.StdEncoding.EncodeToString([]byte(`"GET ` + target.URL + `, every week"`))
	require.NotContains(t, runCLI(t, bin, s, "temporal workflow show --output json"+ofJob), text)
	require.Contains(t, runCLI(t, bin, s, "temporal workflow show --output json"+ofJob+with+decoder.URL), text)

	runCLI(t, bin, s, "temporal workflow update execute --name run"+ofJob+with+decoder.URL)
	status(t, hello, "properties.status.executionCount", 2.0)
	runCLI(t, bin, s, "temporal workflow signal --name disable"+ofJob)
	status(t, hello, "properties.state", "disabled")
}
