package devserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/devserver"
	"almanac/internal/emulators"
	"almanac/internal/web"
)

const taskQueue = "devserver-test"

var team = temporal.NewSearchAttributeKeyKeyword("Team")

// sleeper sleeps for a second and then waits for a signal to finish.
func sleeper(ctx workflow.Context) (string, error) {
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	var word string
	workflow.GetSignalChannel(ctx, "finish").Receive(ctx, &word)
	return word, nil
}

func TestStateSurvivesRestart(t *testing.T) {
	t.Parallel()
	o := options(filepath.Join(t.TempDir(), "odd name? 100% #1"))
	s := start(t, o)
	c := dial(t, s.Address(), "")
	stopWorker := startWorker(t, c)
	startSleeper(t, c, "survivor", "blue")
	require.Eventually(t, func() bool { return hasEvent(t, c, "survivor", enumspb.EVENT_TYPE_TIMER_STARTED) }, time.Minute, 20*time.Millisecond)
	stopWorker()
	c.Close()
	s.Stop()
	s.Stop() // a second call has no effect

	if log, err := os.Stat(filepath.Join(o.DataDir, "temporal.db-wal")); err == nil {
		require.Zero(t, log.Size(), "after a stop the database should be the one file")
	}

	s = start(t, o)
	c = dial(t, s.Address(), "")
	defer startWorker(t, c)()
	require.NoError(t, c.SignalWorkflow(t.Context(), "survivor", "", "finish", "done"))
	var got string
	require.NoError(t, c.GetWorkflow(t.Context(), "survivor", "").Get(t.Context(), &got))
	require.Equal(t, "done", got)
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	o.Namespace = "jobs"
	s := start(t, o)
	require.Equal(t, devserver.DefaultRetention, describeNamespace(t, dial(t, s.Address(), o.Namespace), o.Namespace).GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	s.Stop()

	o.Retention = 36 * time.Hour
	o.SearchAttributes = map[string]enumspb.IndexedValueType{
		"Team":  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"DueAt": enumspb.INDEXED_VALUE_TYPE_DATETIME,
	}
	s = start(t, o)
	c := dial(t, s.Address(), o.Namespace)
	require.Equal(t, o.Retention, describeNamespace(t, c, o.Namespace).GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), "a changed retention should apply to an existing namespace")

	attributes, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: o.Namespace})
	require.NoError(t, err)
	require.Equal(t, enumspb.INDEXED_VALUE_TYPE_KEYWORD, attributes.GetCustomAttributes()["Team"])
	require.Equal(t, enumspb.INDEXED_VALUE_TYPE_DATETIME, attributes.GetCustomAttributes()["DueAt"])

	startSleeper(t, c, "in-blue", "blue")
	startSleeper(t, c, "in-red", "red")
	require.Eventually(t, func() bool {
		list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: `Team = "blue" AND DueAt IS NULL`})
		return err == nil && len(list.GetExecutions()) == 1 && list.GetExecutions()[0].GetExecution().GetWorkflowId() == "in-blue"
	}, time.Minute, 20*time.Millisecond, "a list filtered by a search attribute")
	s.Stop()

	o.SearchAttributes = map[string]enumspb.IndexedValueType{"Team": enumspb.INDEXED_VALUE_TYPE_INT}
	_, err = devserver.Start(t.Context(), o)
	require.ErrorContains(t, err, `search attribute "Team" has type Keyword`)

	o.SearchAttributes = map[string]enumspb.IndexedValueType{"Priority": enumspb.INDEXED_VALUE_TYPE_INT}
	s = start(t, o)
	attributes, err = dial(t, s.Address(), o.Namespace).OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: o.Namespace})
	require.NoError(t, err)
	require.Contains(t, attributes.GetCustomAttributes(), "Team", "attributes no longer asked for should stay")
	require.Contains(t, attributes.GetCustomAttributes(), "Priority")
}

func TestTheWebUISpeaksTLS(t *testing.T) {
	t.Parallel()
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "localhost")
	require.NoError(t, err)
	certificates, err := web.LoadCertificates(web.CertificateFiles{Cert: cert, Key: key})
	require.NoError(t, err)
	o := options(t.TempDir())
	o.UIListen, o.UITLS = "127.0.0.1:0", certificates.Server()
	s := start(t, o)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	resp, err := client.Get("https://" + s.UIAddress() + "/api/v1/namespaces/default")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, 2, resp.ProtoMajor)
	for _, cookie := range resp.Cookies() {
		require.True(t, cookie.Secure, cookie.Name)
	}
}

func TestWebUI(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	o.UIListen = "127.0.0.1:0"
	s := start(t, o)

	for _, path := range []string{"/", "/api/v1/namespaces/default", "/api/v1/namespaces/default/workflows"} {
		resp, err := http.Get("http://" + s.UIAddress() + path)
		require.NoError(t, err)
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "frame-ancestors 'self'", path)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "same-origin", resp.Header.Get("Referrer-Policy"), path)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
	}
	s.Stop()
	_, err := net.Dial("tcp", s.UIAddress())
	require.Error(t, err, "the Web UI should be gone after Stop")
}

// A web page can have DNS resolve its own name to this machine. Without this check it would be the same
// site as the Web UI, and could read all histories and terminate workflows.
func TestTheWebUIAnswersToItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	o.UIListen = "127.0.0.1:0"
	var err error
	o.UIHosts, err = web.ParseHosts("ui.example.com")
	require.NoError(t, err)
	s := start(t, o)
	_, port, err := net.SplitHostPort(s.UIAddress())
	require.NoError(t, err)
	const list, terminate = "/api/v1/namespaces/default/workflows", "/api/v1/namespaces/default/workflows/none/terminate"
	for host, found := range map[string]bool{
		s.UIAddress(): true, "localhost:" + port: true, "ui.example.com": true, "evil.example:" + port: false, "ui.example.com.evil.example": false,
	} {
		for path, method := range map[string]string{"/": http.MethodGet, list: http.MethodGet, terminate: http.MethodPost} {
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.UIAddress()+path, http.NoBody)
			require.NoError(t, err)
			r.Host = host
			r.Header.Set("Origin", "http://"+host)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			switch {
			case !found:
				require.Equal(t, http.StatusMisdirectedRequest, resp.StatusCode, "%s of %s", path, host)
			case path == terminate:
				require.Equal(t, http.StatusNotFound, resp.StatusCode, "Temporal was asked for a workflow that does not exist")
			default:
				require.Equal(t, http.StatusOK, resp.StatusCode, "%s of %s", path, host)
			}
		}
	}
}

func TestTheWebUIRefusesOtherSites(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	o.UIListen = "127.0.0.1:0"
	s := start(t, o)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.UIAddress()+"/api/v1/namespaces/default/workflows/none/terminate", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Origin", "http://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	used := options(t.TempDir())
	start(t, used)
	sticky := t.TempDir()
	require.NoError(t, os.Chmod(sticky, 0o777|os.ModeSticky))

	for _, tt := range []struct {
		name   string
		change func(*devserver.Options)
		want   string
	}{
		{"a data directory in use", func(o *devserver.Options) { o.DataDir = used.DataDir }, "in use by another server"},
		{"a frontend address in use", func(o *devserver.Options) { o.Listen = taken.Addr().String() }, taken.Addr().String()},
		{"a Web UI address in use", func(o *devserver.Options) { o.UIListen = taken.Addr().String() }, taken.Addr().String()},
		{"a directory for the files of all users", func(o *devserver.Options) { o.DataDir = sticky }, "for the files of all users"},
		{"no data directory", func(o *devserver.Options) { o.DataDir = "" }, "no data directory"},
		{"no address", func(o *devserver.Options) { o.Listen = "" }, "no address"},
		{"a retention below Temporal's minimum", func(o *devserver.Options) { o.Retention = time.Minute }, "retention: 1m0s is too short; allowed: at least 1h0m0s"},
		{"an unknown synchronous mode", func(o *devserver.Options) { o.Synchronous = "off" }, `synchronous: "off" is not supported; allowed: "full" or "normal"`},
		{"a reserved search attribute", func(o *devserver.Options) {
			o.SearchAttributes = map[string]enumspb.IndexedValueType{"WorkflowId": enumspb.INDEXED_VALUE_TYPE_KEYWORD}
		}, "one of Temporal's own"},
		{"more search attributes than there is room for", func(o *devserver.Options) {
			o.SearchAttributes = map[string]enumspb.IndexedValueType{}
			for i := range 4 {
				o.SearchAttributes[fmt.Sprint("Number", i)] = enumspb.INDEXED_VALUE_TYPE_INT
			}
		}, `no room for search attribute "Number3"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := options(t.TempDir())
			tt.change(&o)
			_, err := devserver.Start(t.Context(), o)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := devserver.Start(ctx, o)
	require.ErrorIs(t, err, context.Canceled)

	start(t, o) // the directory is free again
}

// TestKillLosesNothingAcknowledged kills a server in another process right after it has acknowledged some
// workflows, and counts them after a restart.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address, kill := startProcess(t, dir)
	c := dial(t, address, "")
	const workflows = 10
	for i := range workflows {
		startSleeper(t, c, fmt.Sprint("acknowledged-", i), "blue")
	}
	kill()

	c = dial(t, start(t, options(dir)).Address(), "")
	for i := range workflows {
		info, err := c.DescribeWorkflowExecution(t.Context(), fmt.Sprint("acknowledged-", i), "")
		require.NoError(t, err)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, info.GetWorkflowExecutionInfo().GetStatus())
	}
}

// dirVariable names the environment variable that makes this test binary run a server on a directory.
const dirVariable = "DEVSERVER_TEST_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := devserver.Start(context.Background(), options(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Address())
	select {} // until killed
}

func startProcess(t *testing.T, dir string) (address string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	address, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(address), func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // reports the kill
	}
}

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

func options(dir string) devserver.Options {
	return devserver.Options{
		DataDir:          dir,
		Listen:           "127.0.0.1:0",
		SearchAttributes: map[string]enumspb.IndexedValueType{team.GetName(): team.GetValueType()},
		Log:              slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

func start(t *testing.T, o devserver.Options) *devserver.Server {
	t.Helper()
	s, err := devserver.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Namespace: namespace, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func startWorker(t *testing.T, c client.Client) (stop func()) {
	t.Helper()
	w := worker.New(c, taskQueue, worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflow(sleeper)
	require.NoError(t, w.Start())
	return w.Stop
}

func startSleeper(t *testing.T, c client.Client, id, inTeam string) {
	t.Helper()
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID:                    id,
		TaskQueue:             taskQueue,
		TypedSearchAttributes: temporal.NewSearchAttributes(team.ValueSet(inTeam)),
	}, sleeper)
	require.NoError(t, err)
}

func hasEvent(t *testing.T, c client.Client, id string, kind enumspb.EventType) bool {
	t.Helper()
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil { // require may not be used: Eventually calls this on a goroutine of its own
			return false
		}
		if event.GetEventType() == kind {
			return true
		}
	}
	return false
}

func describeNamespace(t *testing.T, c client.Client, name string) *workflowservice.DescribeNamespaceResponse {
	t.Helper()
	resp, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: name})
	require.NoError(t, err)
	return resp
}
