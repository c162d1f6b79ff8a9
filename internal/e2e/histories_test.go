package e2e_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"

	"almanac/job"
	"almanac/job/input"
	"almanac/workflows"
	"almanac/workflows/bulk"
	"almanac/workflows/installation"
	"almanac/workflows/jobloop"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/notifier"
	"almanac/workflows/plan"
	"almanac/workflows/registries"
	"almanac/workflows/trial"
)

// historyVersion is the version whose histories are recorded. After its
// release they stay as they are, and the next version gets its own.
const historyVersion = "0.1"

var record = flag.Bool("record", false, "write the histories to workflows/testdata/histories, for the replay test of this version and all later ones")

// A scenario leads a workflow through something and returns its id. The
// workflow is closed in the end, so that the last task is checked as well.
type scenario func(t *testing.T, s *stack, jobs string) (workflowID string)

// TestHistoriesReplay makes histories on a real server and replays them.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]scenario{
		"job-once":            jobOnce,
		"job-retries":         jobRetries,
		"job-changes":         jobChanges,
		"job-signals":         jobSignals,
		"job-buffer-one":      jobOverlap(job.OverlapBufferOne),
		"job-skip":            jobOverlap(job.OverlapSkip),
		"job-allow-all":       jobOverlap(job.OverlapAllowAll),
		"job-catch-up":        jobCatchUp,
		"job-continue-as-new": jobContinueAsNew,
		"job-deferred":        jobDeferred,
		"job-ahead":           jobAhead,
		"job-hold":            jobHold,
		"job-delayed":         jobDelayed,
		"job-revived":         jobRevived,
		"job-rerun":           jobRerun,
		"job-next-run":        jobNextRun,
		"job-backfill":        jobBackfill,
		"collection":          collectionLife,
		"collection-plans":    collectionPlans,
		"subscription":        subscriptionLife,
		"try":                 trialLife,
		"bulk":                bulkLife,

		"job-notifications":        jobNotifications,
		"collection-notifications": collectionNotifications,
		"notifications":            notificationsLife,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := use(t)
			id := do(t, s, s.collection(t)+"/jobs")
			replay(t, name, s.histories(t, id))
		})
	}
}

// replay replays histories, and writes them with -record.
func replay(t *testing.T, name string, all []*history.History) {
	t.Helper()
	for i, h := range all {
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflowWithOptions(jobloop.Workflow, workflow.RegisterOptions{Name: workflows.TypeJob})
		r.RegisterWorkflowWithOptions(registries.Collection, workflow.RegisterOptions{Name: workflows.TypeCollection})
		r.RegisterWorkflowWithOptions(notifier.Workflow, workflow.RegisterOptions{Name: workflows.TypeNotifications})
		r.RegisterWorkflowWithOptions(registries.Subscription, workflow.RegisterOptions{Name: workflows.TypeSubscription})
		r.RegisterWorkflowWithOptions(installation.Workflow, workflow.RegisterOptions{Name: workflows.TypeInstallation})
		r.RegisterWorkflowWithOptions(bulk.Workflow, workflow.RegisterOptions{Name: workflows.TypeBulk})
		r.RegisterWorkflowWithOptions(trial.Workflow, workflow.RegisterOptions{Name: workflows.TypeTry})
		if *record { // before the replay, which changes search attributes in h
			write(t, fmt.Sprintf("%s-%s-%d", historyVersion, name, i+1), h)
		}
		require.NoError(t, r.ReplayWorkflowHistory(nil, h))
	}
}

// histories returns the histories of a workflow's runs, oldest first, once it
// is closed.
func (s *stack) histories(t *testing.T, id string) []*history.History {
	t.Helper()
	eventually(t, "end of "+id, func() bool {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil && found.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	var all []*history.History
	for run := ""; ; {
		h := &history.History{}
		events := s.temporal.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, e)
		}
		all = append([]*history.History{h}, all...)
		if run = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return all
		}
	}
}

func write(t *testing.T, name string, h *history.History) {
	t.Helper()
	text, err := protojson.Marshal(h)
	require.NoError(t, err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	dir := filepath.Join("..", "..", "workflows", "testdata", "histories")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json.gz"), b.Bytes(), 0o644))
}

// key returns the key of a job below a URL that ends in …/jobCollections/NAME/jobs.
func key(jobs, name string) job.Key {
	collection := strings.TrimSuffix(jobs, "/jobs")
	return job.CollectionKey{
		Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default",
		Name: collection[strings.LastIndex(collection, "/")+1:],
	}.Job(name)
}

func created(t *testing.T, url, body string) {
	t.Helper()
	require.NoError(t, expect(t, http.StatusCreated, http.MethodPut, url, body))
}

func ok(t *testing.T, method, url, body string) {
	t.Helper()
	require.NoError(t, expect(t, http.StatusOK, method, url, body))
}

func jobOnce(t *testing.T, _ *stack, jobs string) string {
	target := newSink(t, nil)
	created(t, jobs+"/j", get(target.URL+"/", ""))
	status(t, jobs+"/j", "properties.state", "completed")
	ok(t, http.MethodDelete, jobs+"/j", "")
	return key(jobs, "j").WorkflowID()
}

// failing is a job whose action fails and whose error action succeeds.
func failing(target, more string) string {
	return `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"` + target + `/fails"},
		"retryPolicy":{"retryInterval":"PT1S","retryCount":2},
		"errorAction":{"type":"Http","request":{"method":"GET","uri":"` + target + `/alarm"}}}` + more + `}}`
}

func fails(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/fails" {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func jobRetries(t *testing.T, _ *stack, jobs string) string {
	target := newSink(t, fails)
	created(t, jobs+"/j", failing(target.URL, ""))
	status(t, jobs+"/j", "properties.state", "faulted")
	ok(t, http.MethodDelete, jobs+"/j", "")
	return key(jobs, "j").WorkflowID()
}

// jobDelayed is changed, which has it begin long before it would by itself.
func jobDelayed(t *testing.T, _ *stack, jobs string) string {
	target := newSink(t, nil)
	created(t, jobs+"/j", get(target.URL+"/", later+`,"recurrence":{"frequency":"day"}`))
	ok(t, http.MethodPatch, jobs+"/j", `{"properties":{"recurrence":{"frequency":"week"}}}`)
	ok(t, http.MethodPost, jobs+"/j/run", "")
	status(t, jobs+"/j", "properties.status.executionCount", float64(1))
	ok(t, http.MethodDelete, jobs+"/j", "")
	return key(jobs, "j").WorkflowID()
}

// jobRevived is run, and left as it is by a change, while it is final; and lives on by another one.
func jobRevived(t *testing.T, _ *stack, jobs string) string {
	target := newSink(t, fails)
	j := jobs + "/j"
	created(t, j, failing(target.URL, ""))
	status(t, j, "properties.state", "faulted")
	ok(t, http.MethodPost, j+"/run", "")
	target.await(t, "/alarm", 2)
	ok(t, http.MethodPatch, j, `{"properties":{"action":{"request":{"uri":"`+target.URL+`/mended"}}}}`)
	ok(t, http.MethodPatch, j, `{"properties":{"state":"disabled"`+later+`}}`)
	ok(t, http.MethodPatch, j, `{"properties":{"state":"enabled"}}`)
	startSoon(t, j)
	status(t, j, "properties.state", "completed")
	target.await(t, "/mended", 1)
	ok(t, http.MethodPost, j+"/run", "")
	target.await(t, "/mended", 2)
	ok(t, http.MethodDelete, j, "")
	return key(jobs, "j").WorkflowID()
}

func jobChanges(t *testing.T, _ *stack, jobs string) string {
	target := newSink(t, fails)
	j := jobs + "/j"
	created(t, j, failing(target.URL, `,"recurrence":{"frequency":"hour"}`))
	target.await(t, "/fails", 1)
	ok(t, http.MethodPatch, j, `{"properties":{"state":"disabled"}}`)
	ok(t, http.MethodPost, j+"/run", "")
	target.await(t, "/fails", 2)
	ok(t, http.MethodPatch, j, `{"properties":{"state":"enabled","recurrence":{"interval":2}}}`)
	collection := strings.TrimSuffix(jobs, "/jobs")
	ok(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"state":"Suspended"}}`)
	ok(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"state":"Enabled"}}`)
	ok(t, http.MethodPut, j, get(target.URL+"/new", `,"recurrence":{"frequency":"day"}`))
	ok(t, http.MethodPost, j+"/run", "")
	target.await(t, "/new", 1)
	ok(t, http.MethodDelete, j, "")
	return key(jobs, "j").WorkflowID()
}

func jobSignals(t *testing.T, s *stack, jobs string) string {
	target := newSink(t, nil)
	j, id := jobs+"/j", key(jobs, "j").WorkflowID()
	created(t, j, get(target.URL+"/", `,"recurrence":{"frequency":"day"}`))
	target.await(t, "/", 1)
	signal := func(name string) { require.NoError(t, s.temporal.SignalWorkflow(t.Context(), id, "", name, nil)) }
	signal(workflows.UpdateDisable)
	status(t, j, "properties.state", "disabled")
	signal(workflows.UpdateRun)
	target.await(t, "/", 2)
	signal(workflows.UpdateEnable)
	status(t, j, "properties.state", "enabled")
	signal(workflows.UpdateDelete)
	return id
}

// started starts a job's workflow from a state that would take long to reach.
func (s *stack) started(t *testing.T, jobs, definition string, created time.Time, change func(*state.Input)) string {
	t.Helper()
	d, err := input.ParseDefinition([]byte(definition), input.ParseOptions{Now: created})
	require.NoError(t, err)
	in, err := state.New(key(jobs, "j"), d, int(time.Now().UnixMicro()), workflows.CollectionState{}, created)
	require.NoError(t, err)
	change(&in)
	id := in.Key.WorkflowID()
	_, err = s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue}, workflows.TypeJob, in)
	require.NoError(t, err)
	return id
}

// jobNextRun shows its next run in Temporal's lists, and continues as new while it has none.
func jobNextRun(t *testing.T, s *stack, jobs string) string {
	target, now := newSink(t, nil), time.Now().UTC().Truncate(time.Second)
	id := s.started(t, jobs, get(target.URL+"/", `,"recurrence":{"frequency":"day"}`), now, func(in *state.Input) { in.ShowNext = true })
	target.await(t, "/", 1)
	url := jobs + "/j"
	change := func(signal, state string) { // a PATCH by an API that is not asked to show it would end it
		require.NoError(t, s.temporal.SignalWorkflow(t.Context(), id, "", signal, nil))
		status(t, url, "properties.state", state)
	}
	change(workflows.UpdateDisable, "disabled")
	for range jobloop.ExecutionsPerRun {
		ok(t, http.MethodPost, url+"/run", "")
	}
	eventually(t, "second run of "+id, func() bool {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil && found.GetWorkflowExecutionInfo().GetFirstRunId() != found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	})
	change(workflows.UpdateEnable, "enabled")
	ok(t, http.MethodDelete, url, "")
	return id
}

// jobRerun fails, is run again twice, and recovers.
func jobRerun(t *testing.T, _ *stack, jobs string) string {
	var broken atomic.Bool
	broken.Store(true)
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	url := jobs + "/j"
	created(t, url, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/"},"retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"day"}}}`)
	status(t, url, "properties.status.consecutiveFailures", 1.0)
	ok(t, http.MethodPost, url+"/rerun", "")
	status(t, url, "properties.status.consecutiveFailures", 2.0)
	broken.Store(false)
	ok(t, http.MethodPost, url+"/rerun", "")
	status(t, url, "properties.status.lastOutcome.status", "Completed")
	ok(t, http.MethodDelete, url, "")
	return key(jobs, "j").WorkflowID()
}

// jobOverlap has occurrences come due while the first one runs. They are not
// those of the recurrence, so that it does not take minutes; so the engine
// does not tell them when they are dropped.
func jobOverlap(policy job.OverlapPolicy) scenario {
	return func(t *testing.T, s *stack, jobs string) string {
		step, takes := time.Second, 2500*time.Millisecond
		if policy == job.OverlapAllowAll { // of which several that are due at once were missed
			step, takes = 3*time.Second, 8*time.Second
		}
		target := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(takes):
			case <-r.Context().Done():
			}
		})
		now := time.Now().UTC().Truncate(time.Second)
		id := s.started(t, jobs, get(target.URL+"/slow", `,"recurrence":{"frequency":"hour","overlapPolicy":"`+string(policy)+`"}`), now,
			func(in *state.Input) {
				in.Plan.Due = nil
				for i := range 4 { // the last one gives way to what the engine answers when it is asked again
					in.Plan.Due = append(in.Plan.Due, now.Add(20*time.Second+time.Duration(i)*step))
				}
			})
		want := map[job.OverlapPolicy]int{job.OverlapBufferOne: 2, job.OverlapSkip: 1, job.OverlapAllowAll: 3}[policy]
		target.await(t, "/slow", want)
		url := jobs + "/j"
		status(t, url, "properties.status.executionCount", float64(want))
		eventually(t, "end of the executions", func() bool {
			return call(t, http.MethodGet, url+"/history?$filter=status%20eq%20Completed", "").count("value") == want
		})
		ok(t, http.MethodDelete, url, "")
		return id
	}
}

// jobCatchUp starts almost a minute before its next occurrence, and before one that is late leaves the window.
func jobCatchUp(t *testing.T, s *stack, jobs string) string {
	target := newSink(t, nil)
	now := time.Now().UTC().Truncate(time.Second)
	id := s.started(t, jobs, get(target.URL+"/late", `,"recurrence":{"frequency":"minute","catchUpWindow":"PT3M"}`),
		now.Add(-10*time.Minute-2*time.Second), func(*state.Input) {})
	target.await(t, "/late", 3)
	url := jobs + "/j"
	eventually(t, "missed occurrences in the history", func() bool {
		history := call(t, http.MethodGet, url+"/history", "").body
		return strings.Count(history, `"status":"Missed"`) == 8 && strings.Count(history, `"status":"Completed"`) == 3
	})
	ok(t, http.MethodDelete, url, "")
	return id
}

func jobContinueAsNew(t *testing.T, s *stack, jobs string) string {
	target := newSink(t, nil)
	url, id := jobs+"/j", key(jobs, "j").WorkflowID()
	created(t, url, get(target.URL+"/", `,"recurrence":{"frequency":"day"}`))
	const runs = 120
	for range runs {
		ok(t, http.MethodPost, url+"/run", "")
	}
	status(t, url, "properties.status.executionCount", float64(runs+1))
	eventually(t, "new run", func() bool {
		found, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
		return err == nil && found.GetWorkflowExecutionInfo().GetExecution().GetRunId() != found.GetWorkflowExecutionInfo().GetFirstRunId()
	})
	found, err := s.temporal.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.Contains(t, string(found.Memo.GetFields()[workflows.MemoText].GetData()), "every day", "the Web UI shows what the job is in every run")
	state, _ := found.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState))
	require.Equal(t, "enabled", state)
	target.await(t, "/", runs+1)
	seen := map[string]bool{}
	for _, r := range target.got("/") {
		require.False(t, seen[r.key], "an execution was sent twice")
		seen[r.key] = true
	}
	history := call(t, http.MethodGet, url+"/history?$top=100&$skip=100", "")
	require.Equal(t, runs+1-100, history.count("value"), "the history goes on in the run before")
	ok(t, http.MethodDelete, url, "")
	return id
}

func collectionLife(t *testing.T, s *stack, jobs string) string {
	target := newSink(t, nil)
	collection := strings.TrimSuffix(jobs, "/jobs")
	k := key(jobs, "").Collection
	for _, name := range []string{"a", "b", "c"} {
		created(t, jobs+"/"+name, get(target.URL+"/", `,"state":"disabled"`))
	}
	// A name whose workflow was never started, as after a crash in between.
	handle, err := s.temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: k.WorkflowID(), UpdateName: workflows.UpdateRegister, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{workflows.RegisterRequest{Jobs: []workflows.RegisterJob{{Name: "never"}}, Tiers: input.DefaultLimits().Tiers}},
	})
	require.NoError(t, err)
	require.NoError(t, handle.Get(t.Context(), nil))
	ok(t, http.MethodDelete, jobs+"/b", "")
	ok(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"},"state":"Disabled"}}`)
	ok(t, http.MethodPut, collection, `{"properties":{"sku":{"name":"Standard"}}}`)
	eventually(t, "registry without the name that stands for nothing", func() bool {
		var list workflows.JobList
		value, err := s.temporal.QueryWorkflow(t.Context(), k.WorkflowID(), "", workflows.QueryJobs)
		return err == nil && value.Get(&list) == nil && len(list.Jobs) == 2
	})
	finish(t, call(t, http.MethodDelete, collection, ""))
	return k.WorkflowID()
}

// jobDeferred has a manual run in flight all the time, so that the workflow's run has to drain, and
// leaves manual runs to the next one.
func jobDeferred(t *testing.T, _ *stack, jobs string) string {
	var held atomic.Bool
	demanded := make(chan struct{})
	target := newSink(t, func(http.ResponseWriter, *http.Request) {
		if held.CompareAndSwap(false, true) {
			<-demanded // while this attempt is being made, the run continues as new only once it drains
		}
	})
	answer := sync.OnceFunc(func() { close(demanded) })
	t.Cleanup(answer) // else the target could not be closed
	url := jobs + "/j"
	created(t, url, get(target.URL+"/", later))
	const runs = 640
	var group errgroup.Group
	compute(func() {
		for range 8 {
			group.Go(func() error {
				for range runs / 8 {
					if err := expect(t, http.StatusOK, http.MethodPost, url+"/run", ""); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
		answer()
		status(t, url, "properties.status.executionCount", float64(runs))
	})
	target.await(t, "/", runs)
	ok(t, http.MethodDelete, url, "")
	return key(jobs, "j").WorkflowID()
}

// collectionPlans has jobs demand more and less of their collection's plan.
func collectionPlans(t *testing.T, s *stack, jobs string) string {
	collection, id := strings.TrimSuffix(jobs, "/jobs"), key(jobs, "").Collection.WorkflowID()
	every := func(unit string) string {
		return get("http://127.0.0.1:1/", later+`,"recurrence":{"frequency":"`+unit+`"}`)
	}
	created(t, jobs+"/a", every("minute"))
	free := `{"properties":{"sku":{"name":"P10Premium"},"quota":{"maxRecurrence":{"frequency":"hour","interval":1}}}}`
	require.Equal(t, http.StatusConflict, call(t, http.MethodPut, collection, free).code)
	ok(t, http.MethodPut, jobs+"/a", every("day"))
	ok(t, http.MethodPut, collection, free)
	require.Equal(t, http.StatusConflict, call(t, http.MethodPut, jobs+"/a", every("minute")).code)
	ok(t, http.MethodPut, jobs+"/a", every("hour"))
	finish(t, call(t, http.MethodPost, collection+"/disable", ""))
	created(t, jobs+"/b", every("week"))
	finish(t, call(t, http.MethodPost, collection+"/enable", ""))
	signal := func(name string) { require.NoError(t, s.temporal.SignalWorkflow(t.Context(), id, "", name, nil)) }
	signal(workflows.UpdateDisable)
	status(t, collection, "properties.state", "Disabled")
	signal(workflows.UpdateEnable)
	status(t, collection, "properties.state", "Enabled")
	signal(workflows.UpdateDelete)
	return id
}

func subscriptionLife(t *testing.T, s *stack, _ string) string {
	collections := subscription(s)
	put := func(name, plan string) int {
		return call(t, http.MethodPut, collections+name+version, `{"properties":{"sku":{"name":"`+plan+`"}}}`).code
	}
	require.Equal(t, http.StatusCreated, put("a", "Free"))
	require.Equal(t, http.StatusConflict, put("b", "Free"))
	require.Equal(t, http.StatusCreated, put("b", "Standard"))
	require.Equal(t, http.StatusOK, put("a", "P20Premium"))
	require.Equal(t, http.StatusOK, put("b", "Free"))
	finish(t, call(t, http.MethodDelete, collections+"a"+version, ""))
	finish(t, call(t, http.MethodDelete, collections+"b"+version, ""))
	parts := strings.Split(collections, "/")
	return job.SubscriptionWorkflowID(parts[4])
}

// jobAhead changes, disables and enables a job while a worker holds an
// occurrence, and deletes it while a worker holds the next one.
func jobAhead(t *testing.T, s *stack, jobs string) string {
	target := newSink(t, nil)
	now := time.Now().UTC().Truncate(time.Second)
	first, second := now.Add(40*time.Second), now.Add(90*time.Second)
	id := s.started(t, jobs, hourly(target.URL+"/old"), now, func(in *state.Input) {
		in.Plan = plan.Plan{Due: []time.Time{first, second}, Done: true}
		in.Lead = 15000
	})
	url := jobs + "/j"
	eventually(t, "hold", func() bool { return s.isHeld(t, id) })
	ok(t, http.MethodPatch, url, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/new"}}}}`)
	target.await(t, "/new", 1)
	require.Empty(t, target.got("/old"))
	sleepUntil(t, second.Add(-45*time.Second))
	eventually(t, "hold", func() bool { return s.isHeld(t, id) })
	ok(t, http.MethodPatch, url, `{"properties":{"state":"disabled"}}`)
	ok(t, http.MethodPatch, url, `{"properties":{"state":"enabled"}}`)
	ok(t, http.MethodDelete, url, "")
	require.Len(t, target.got("/new"), 1)
	return id
}

// jobHold is held from one occurrence to the next, without a timer.
func jobHold(t *testing.T, s *stack, jobs string) string {
	target := newSink(t, nil)
	now := time.Now().UTC().Truncate(time.Second)
	first, second, third := now.Add(3*time.Second), now.Add(33*time.Second), now.Add(75*time.Second)
	id := s.started(t, jobs, hourly(target.URL+"/old"), now, func(in *state.Input) {
		in.Plan = plan.Plan{Due: []time.Time{first, second, third}, Done: true}
	})
	url := jobs + "/j"
	target.await(t, "/old", 1)
	eventually(t, "hold of the second", func() bool { return s.isHeld(t, id) })
	ok(t, http.MethodPatch, url, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/new"}}}}`)
	require.True(t, time.Now().Before(second), "the answer does not wait for the due time")
	require.False(t, target.await(t, "/new", 1)[0].at.Before(second))
	eventually(t, "hold of the third", func() bool { return s.isHeld(t, id) })
	ok(t, http.MethodPatch, url, `{"properties":{"state":"disabled"}}`)
	ok(t, http.MethodDelete, url, "")
	require.Len(t, target.got("/old"), 1)
	require.Len(t, target.got("/new"), 1)
	return id
}
