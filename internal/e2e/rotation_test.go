package e2e_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"almanac/internal/codec"
	"almanac/workflows"
)

// A half is a running `almanac api` or `almanac worker`.
type half struct {
	process
	log transcript
}

// startHalf starts half of Almanac on the default namespace, and waits until it says that it is there.
func startHalf(t *testing.T, temporal, keys string, args ...string) *half {
	t.Helper()
	return startHalfIn(t, temporal, client.DefaultNamespace, keys, args...)
}

func startHalfIn(t *testing.T, temporal, namespace, keys string, args ...string) *half {
	t.Helper()
	h := &half{process: process{Cmd: exec.Command(program(t), args...)}}
	h.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+temporal, "TEMPORAL_NAMESPACE="+namespace, "ALMANAC_ENCRYPTION_KEYS="+keys, "ALMANAC_EGRESS=any")
	h.Stderr = &h.log
	out, err := h.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.Start())
	t.Cleanup(func() { h.kill(t) })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "%s: %s", args, &h.log)
	h.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	return h
}

// halves are an API and a worker that are restarted with other keys.
type halves struct {
	temporal    string
	api, worker *half
}

// restart starts both with those keys and arguments, the ones before being gone.
func (h *halves) restart(t *testing.T, keys string, args ...string) {
	t.Helper()
	if h.api != nil {
		h.api.kill(t)
		h.worker.kill(t)
	}
	h.worker = startHalf(t, h.temporal, keys, append([]string{"worker"}, args...)...)
	h.api = startHalf(t, h.temporal, keys, append([]string{"api", "--listen", "127.0.0.1:0"}, args...)...)
}

// jobs returns the URL of a collection's jobs.
func (h *halves) jobs() string { return h.api.url + "/jobCollections/rotation/jobs" }

// Jobs go on while keys are replaced. Where one is missing, everybody who looks
// is told which, and nothing is lost: jobs stand still until it is back.
func TestKeysAreRotatedWhileJobsWait(t *testing.T) {
	t.Parallel()
	target := newSink(t, nil)
	server := newServer(t, t.TempDir(), slog.New(slog.DiscardHandler))
	raw, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	before, after := "before:"+codec.GenerateKey(), "after:"+codec.GenerateKey()
	h := &halves{temporal: server.Address()}

	h.restart(t, before)
	eventually(t, "collection", func() bool { // its search attributes are registered meanwhile
		return call(t, http.MethodPut, h.api.url+"/jobCollections/rotation", `{"properties":{"sku":{"name":"P20Premium"}}}`).code < 300
	})
	created(t, h.jobs()+"/hourly", get(target.URL+"/hourly", `,"recurrence":{"frequency":"hour"}`))
	due := time.Now().UTC().Add(8 * time.Second).Truncate(time.Second)
	created(t, h.jobs()+"/asleep", get(target.URL+"/asleep", `,"startTime":"`+due.Format(time.RFC3339)+`"`))
	created(t, h.jobs()+"/later", get(target.URL+"/later", later)) // the API reads it, for it has not begun
	target.await(t, "/hourly", 1)
	status(t, h.jobs()+"/hourly", "properties.status.executionCount", float64(1))
	id := key(h.jobs(), "hourly").WorkflowID()

	// Both keys: what was written before can be read, what is written is new.
	h.restart(t, after+","+before)
	ok(t, http.MethodGet, h.jobs()+"/later", "")
	ok(t, http.MethodPost, h.jobs()+"/hourly/run", "")
	target.await(t, "/hourly", 2)
	status(t, h.jobs()+"/hourly", "properties.status.executionCount", float64(2))
	eventually(t, "history", func() bool {
		return call(t, http.MethodGet, h.jobs()+"/hourly/history", "").count("value") == 2
	})
	require.Equal(t, []string{"before"}, keysOf(t, raw, id, enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED))
	require.Equal(t, []string{"after", "before"}, keysOf(t, raw, id, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED))

	// The first key is missing, too early.
	var failed []string
	sent := 2
	for len(failed) == 0 {
		lost := tasksLost(t, raw, id)
		h.restart(t, after)
		require.NoError(t, raw.SignalWorkflow(t.Context(), id, "", workflows.UpdateRun, nil))
		sent++
		refused := call(t, http.MethodGet, h.jobs()+"/hourly", "")
		require.GreaterOrEqual(t, refused.code, http.StatusInternalServerError, refused.body)
		refused = call(t, http.MethodGet, h.jobs()+"/later", "")
		require.GreaterOrEqual(t, refused.code, http.StatusInternalServerError, refused.body)
		eventually(t, "failed workflow task", func() bool {
			failed = keysOf(t, raw, id, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)
			return len(failed) > 0 || tasksLost(t, raw, id) > lost
		})
		if len(failed) == 0 { // the server records the first attempt of a task only, which a killed worker had
			require.Less(t, sent, 6, "each time a killed worker had the task")
			h.restart(t, after+","+before)
			target.await(t, "/hourly", sent)
			status(t, h.jobs()+"/hourly", "properties.status.executionCount", float64(sent))
		}
	}
	require.Equal(t, []string{"after"}, failed, "why it failed is encrypted as well")
	require.Contains(t, h.worker.log.String(), `the key \"before\", and the keys here are after`)
	found, err := raw.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, found.GetWorkflowExecutionInfo().GetStatus())

	// It is back.
	h.restart(t, after+","+before)
	ok(t, http.MethodGet, h.jobs()+"/later", "")
	target.await(t, "/hourly", sent)
	status(t, h.jobs()+"/hourly", "properties.status.executionCount", float64(sent))
	require.False(t, target.await(t, "/asleep", 1)[0].at.Before(due))
	status(t, h.jobs()+"/asleep", "properties.state", "completed")
	require.Len(t, target.got("/hourly"), sent)
	require.Len(t, target.got("/asleep"), 1)

	// A run that continues as new needs the first key only.
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	const runs = 100 // after which a workflow continues as new
	for range runs {
		group.Go(func() error {
			for { // a busy API may refuse it, or not know whether it was done
				r, err := tryCall(ctx, http.MethodPost, h.jobs()+"/hourly/run", "")
				if err != nil || r.code == http.StatusOK {
					return err
				}
				if r.code != http.StatusTooManyRequests && r.code != http.StatusServiceUnavailable {
					return fmt.Errorf("%d %s", r.code, r.body)
				}
			}
		})
	}
	require.NoError(t, group.Wait())
	target.await(t, "/hourly", sent+runs)
	eventually(t, "new run", func() bool {
		found, err := raw.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil && found.GetWorkflowExecutionInfo().GetExecution().GetRunId() != found.GetWorkflowExecutionInfo().GetFirstRunId()
	})
	h.restart(t, after)
	ok(t, http.MethodGet, h.jobs()+"/hourly", "")
	last := status(t, location(t, h.jobs()+"/hourly/run"), "properties.status", "ended")
	require.Equal(t, "Completed", last.get("properties.outcome"), last.body)
}

// tasksLost returns how many workflow tasks were not answered by the worker that had them.
func tasksLost(t *testing.T, c client.Client, id string) (n int) {
	t.Helper()
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if e.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType() == enums.TIMEOUT_TYPE_START_TO_CLOSE {
			n++
		}
	}
	return n
}

// Jobs from before there were keys go on if what is in clear is accepted, and stand still
// otherwise.
func TestKeysAreIntroducedWhileJobsWait(t *testing.T) {
	t.Parallel()
	target := newSink(t, nil)
	server := newServer(t, t.TempDir(), slog.New(slog.DiscardHandler))
	raw, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	h, keys := &halves{temporal: server.Address()}, "k:"+codec.GenerateKey()

	h.restart(t, "")
	eventually(t, "collection", func() bool { // its search attributes are registered meanwhile
		return call(t, http.MethodPut, h.api.url+"/jobCollections/rotation", `{"properties":{"sku":{"name":"P20Premium"}}}`).code < 300
	})
	created(t, h.jobs()+"/old", get(target.URL+"/old", `,"recurrence":{"frequency":"hour"}`))
	target.await(t, "/old", 1)

	h.restart(t, keys)
	id := key(h.jobs(), "old").WorkflowID()
	require.NoError(t, raw.SignalWorkflow(t.Context(), id, "", workflows.UpdateRun, nil))
	refused := call(t, http.MethodGet, h.jobs()+"/old", "")
	require.GreaterOrEqual(t, refused.code, http.StatusInternalServerError, refused.body)
	eventually(t, "word of what to do", func() bool { return strings.Contains(h.worker.log.String(), "--accept-clear-payloads") })
	require.Len(t, target.got("/old"), 1)

	h.restart(t, keys, "--accept-clear-payloads")
	target.await(t, "/old", 2)
	status(t, h.jobs()+"/old", "properties.status.executionCount", float64(2))
	created(t, h.jobs()+"/new", get(target.URL+"/new", `,"recurrence":{"frequency":"hour"}`))
	target.await(t, "/new", 1)
	require.Equal(t, []string{"k"}, keysOf(t, raw, key(h.jobs(), "new").WorkflowID(), enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED))
}

// A job's payloads are of no use in another workflow: whoever starts one with them past
// Almanac has a workflow that stands still.
func TestAJobsPayloadsAreRefusedInAnotherWorkflow(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	target := newSink(t, nil)
	var log transcript
	s := newStack(t, setup{data: t.TempDir(), keys: keys, log: slog.New(slog.NewTextHandler(&log, nil))})
	jobs := s.collection(t) + "/jobs"
	created(t, jobs+"/victim", get(target.URL+"/victim", `,"recurrence":{"frequency":"hour"}`))
	target.await(t, "/victim", 1)
	var input *common.Payloads
	for e := range events(t, s.temporal, key(jobs, "victim").WorkflowID()) {
		if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
			input = started.GetInput()
		}
	}
	copied := key(jobs, "copied").WorkflowID()
	_, err = s.temporal.WorkflowService().StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowId: copied, WorkflowType: &common.WorkflowType{Name: workflows.TypeJob},
		TaskQueue: &taskqueue.TaskQueue{Name: workflows.TaskQueue}, Input: input, RequestId: "copied",
	})
	require.NoError(t, err)
	eventually(t, "refusal", func() bool { return strings.Contains(log.String(), `was found in \"`+copied) })
	require.Len(t, target.got("/victim"), 1)
}

// Each payload is encrypted for one workflow: the heartbeats that hand records to the next
// attempt, the signal of a job that leaves its collection, the updates of a collection.
func TestRetriesAndCollectionsWorkWithKeys(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	var log transcript
	s := newStack(t, setup{data: t.TempDir(), keys: keys, log: slog.New(slog.NewTextHandler(&log, nil))})
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not today", http.StatusServiceUnavailable)
	})
	collection := s.collection(t)
	jobs := collection + "/jobs"
	created(t, jobs+"/j", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/fails"},
		"retryPolicy":{"retryType":"fixed","retryInterval":"PT1S","retryCount":2}}}}`)
	status(t, jobs+"/j", "properties.state", "faulted")
	require.Len(t, target.got("/fails"), 3)
	history := call(t, http.MethodGet, jobs+"/j/history", "")
	require.Equal(t, 3, history.count("value"), history.body)
	for i := range 3 {
		require.Contains(t, history.get(fmt.Sprintf("value.%d.properties.message", i)), "not today")
	}

	finish(t, call(t, http.MethodPost, collection+"/disable", ""))
	ok(t, http.MethodDelete, jobs+"/j", "")
	eventually(t, "collection without the job", func() bool { return call(t, http.MethodGet, jobs, "").count("value") == 0 })
	finish(t, call(t, http.MethodDelete, collection, ""))
	require.NotContains(t, log.String(), "was encrypted for the workflow")
	require.NotContains(t, log.String(), "cannot be read")
}

// keysOf returns the ids of the keys that a workflow's events of a type need.
func keysOf(t *testing.T, c client.Client, id string, kind enums.EventType) []string {
	t.Helper()
	var ids []string
	for e := range events(t, c, id) {
		if e.GetEventType() == kind {
			ids = append(ids, keyIDs(t, e)...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// What `almanac dev` encrypts its codec server shows to the Temporal Web UI and CLI.
func TestDevEncryptsAndItsCodecServerDecodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("k:"+codec.GenerateKey()), 0o600))
	p := dev(t, t.TempDir(), "--encryption-keys-file", file, "--codec-listen", "127.0.0.1:0")
	printed := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(strings.Join(p.output, "\n"))
		require.Len(t, found, 2, p.output)
		return found[1]
	}
	jobs := p.url + "/jobCollections/default/jobs"
	created(t, jobs+"/j", get(newSink(t, nil).URL, `,"recurrence":{"frequency":"week"}`))

	raw, err := client.DialContext(t.Context(), client.Options{HostPort: printed(`Temporal +(\S+)`), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer raw.Close()
	found, err := raw.DescribeWorkflowExecution(t.Context(), key(jobs, "j").WorkflowID(), "")
	require.NoError(t, err)
	memo := found.GetWorkflowExecutionInfo().GetMemo().GetFields()[workflows.MemoText]
	require.Equal(t, "k", string(memo.GetMetadata()["encryption-key-id"]))

	server := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: printed(`Codec +(\S+)`) + "/default"})
	decoded, err := server.Decode([]*common.Payload{memo})
	require.NoError(t, err)
	require.Contains(t, string(decoded[0].GetData()), "every week")
}
