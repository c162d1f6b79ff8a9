package workflows_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/workflowtest"
	"almanac/workflows"
	"almanac/workflows/bulk"
	"almanac/workflows/installation"
	"almanac/workflows/jobloop"
	"almanac/workflows/notifier"
	"almanac/workflows/registries"
	"almanac/workflows/trial"
)

// The histories were recorded on a real server by `task histories`. Those of a released version are
// never recorded again or edited: running jobs have such histories.
const historiesDir = "testdata/histories"

// recordedScenarios are the required histories: a version, and the scenario.
var recordedScenarios = []string{
	"0.1-job-once",
	"0.1-job-retries",
	"0.1-job-changes",
	"0.1-job-signals",
	"0.1-job-buffer-one",
	"0.1-job-skip",
	"0.1-job-allow-all",
	"0.1-job-catch-up",
	"0.1-job-continue-as-new",
	"0.1-job-deferred",
	"0.1-job-revived",
	"0.1-job-ahead",
	"0.1-job-hold",
	"0.1-collection",
	"0.1-collection-plans",
	"0.1-subscription",
	"0.1-job-notifications",
	"0.1-collection-notifications",
	"0.1-notifications",
	"0.1-installation",
	"0.1-try",
	"0.1-bulk",
	"0.1-job-backfill",
}

func recordedHistories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(historiesDir, "*.json.gz"))
	require.NoError(t, err)
	for _, scenario := range recordedScenarios {
		runs, err := filepath.Glob(filepath.Join(historiesDir, scenario+"-[0-9]*.json.gz"))
		require.NoError(t, err)
		require.NotEmpty(t, runs, "no history of %s: the test would prove nothing about it", scenario)
	}
	return files
}

func readHistory(t *testing.T, file string) *history.History {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	h, err := client.HistoryFromJSON(z, client.HistoryJSONOptions{})
	require.NoError(t, err)
	require.NotContains(t, []enums.EventType{enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		h.Events[len(h.Events)-1].EventType, "a replay does not check the task before the one that a history ends in")
	return h
}

// replay replays a history with the given implementations of the workflows.
func replay(t *testing.T, file string, ofJob, ofCollection, ofSubscription, ofNotifications, ofInstallation, ofTrial, ofBulk any) error {
	t.Helper()
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(ofJob, workflow.RegisterOptions{Name: workflows.TypeJob})
	r.RegisterWorkflowWithOptions(ofCollection, workflow.RegisterOptions{Name: workflows.TypeCollection})
	r.RegisterWorkflowWithOptions(ofNotifications, workflow.RegisterOptions{Name: workflows.TypeNotifications})
	r.RegisterWorkflowWithOptions(ofSubscription, workflow.RegisterOptions{Name: workflows.TypeSubscription})
	r.RegisterWorkflowWithOptions(ofInstallation, workflow.RegisterOptions{Name: workflows.TypeInstallation})
	r.RegisterWorkflowWithOptions(ofBulk, workflow.RegisterOptions{Name: workflows.TypeBulk})
	r.RegisterWorkflowWithOptions(ofTrial, workflow.RegisterOptions{Name: workflows.TypeTry})
	return r.ReplayWorkflowHistory(workflowtest.Silent, readHistory(t, file))
}

func TestReplay(t *testing.T) {
	t.Parallel()
	for _, file := range recordedHistories(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, replay(t, file, jobloop.Workflow, registries.Collection, registries.Subscription, notifier.Workflow, installation.Workflow, trial.Workflow, bulk.Workflow))
		})
	}
}

// A later version may refuse what this one accepted, or lack a time zone. Its recurrence engine is not asked in a
// replay.
func TestJobsReplayThoughTheirScheduleCannotBeRead(t *testing.T) {
	t.Parallel()
	const frequency, unreadable = `"frequency":`, `"timeZone":"Europe/Atlantis","frequency":`
	readable := 0
	for _, file := range recordedHistories(t) {
		h := readHistory(t, file)
		start := h.Events[0].GetWorkflowExecutionStartedEventAttributes()
		if start.GetWorkflowType().GetName() != workflows.TypeJob {
			continue
		}
		payloads := start.Input.Payloads
		for _, e := range h.Events {
			payloads = append(payloads, e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetArgs().GetPayloads()...)
		}
		for _, p := range payloads {
			readable += bytes.Count(p.Data, []byte(frequency))
			p.Data = bytes.ReplaceAll(p.Data, []byte(frequency), []byte(unreadable))
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(jobloop.Workflow, workflow.RegisterOptions{Name: workflows.TypeJob})
			require.NoError(t, r.ReplayWorkflowHistory(workflowtest.Silent, h))
		})
	}
	require.Greater(t, readable, 10, "a test whose jobs can be read would prove nothing")
}

// A replay that accepted any workflow would prove nothing.
func TestReplayCanFail(t *testing.T) {
	t.Parallel()
	stranger := func(ctx workflow.Context) error {
		return workflow.ExecuteChildWorkflow(ctx, "Stranger").Get(ctx, nil)
	}
	for _, file := range recordedHistories(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, replay(t, file, stranger, stranger, stranger, stranger, stranger, stranger, stranger), "TMPRL1100")
		})
	}
}

func TestAWorkflowThatAlmanacDidNotStartEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, function := range map[string]any{
		workflows.TypeJob: jobloop.Workflow, workflows.TypeCollection: registries.Collection, workflows.TypeSubscription: registries.Subscription, workflows.TypeNotifications: notifier.Workflow, workflows.TypeTry: trial.Workflow, workflows.TypeBulk: bulk.Workflow,
	} {
		env := workflowtest.NewEnvironment()
		env.RegisterWorkflowWithOptions(function, workflow.RegisterOptions{Name: name})
		env.ExecuteWorkflow(name, map[string]any{})
		require.ErrorContains(t, env.GetWorkflowError(), "create jobs and job collections through the API", name)
	}
}
