package scheduler_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/scheduler"
)

// An archive answers as a server does that holds one workflow, of which these
// are the runs, oldest first.
type archive struct {
	client.Client
	runs []*history.History
	read int // pages that were asked for
}

// recorded returns the runs of a workflow whose histories were recorded on a
// real server.
func recorded(t *testing.T, scenario string) *archive {
	t.Helper()
	files, err := filepath.Glob("../workflows/testdata/histories/" + scenario + "-[0-9]*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	a := &archive{}
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		h, err := client.HistoryFromJSON(z, client.HistoryJSONOptions{})
		require.NoError(t, err)
		a.runs = append(a.runs, h)
	}
	return a
}

func (a *archive) WorkflowService() workflowservice.WorkflowServiceClient { return &frontend{a: a} }

type frontend struct {
	workflowservice.WorkflowServiceClient
	a *archive
}

// pages returns how many there are.
func (a *archive) pages() int {
	n := 0
	for _, h := range a.runs {
		n += (len(h.Events) + 6) / 7
	}
	return n
}

func runID(h *history.History) string {
	return h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
}

func (a *archive) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Status:    enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		Execution: &common.WorkflowExecution{RunId: runID(a.runs[len(a.runs)-1])},
	}}, nil
}

// GetWorkflowExecutionHistoryReverse pages by as little as 7 events, so that
// what belongs together lies on different pages.
func (f *frontend) GetWorkflowExecutionHistoryReverse(_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryReverseRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	f.a.read++
	for _, h := range f.a.runs {
		if runID(h) != r.GetExecution().GetRunId() {
			continue
		}
		end := len(h.Events)
		if len(r.GetNextPageToken()) > 0 {
			if _, err := fmt.Sscan(string(r.GetNextPageToken()), &end); err != nil {
				return nil, err
			}
		}
		begin := max(0, end-7)
		page := slices.Clone(h.Events[begin:end])
		slices.Reverse(page)
		answer := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &history.History{Events: page}}
		if begin > 0 {
			answer.NextPageToken = fmt.Append(nil, begin)
		}
		return answer, nil
	}
	return nil, serviceerror.NewNotFound("no such run")
}

var key = job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("j")

// lines shows records as text: action, number of the execution and of the
// attempt, outcome.
func lines(records []job.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprintf("%s %d/%d %s", r.ActionName, r.Repeat, r.Number, r.Outcome))
	}
	return strings.Join(out, "\n")
}

func TestHistoryTellsEveryAttempt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ scenario, want string }{
		{"0.1-job-once", `MainAction 1/1 Completed`},
		{"0.1-job-retries", `
ErrorAction 1/1 Completed
MainAction 1/3 Failed
MainAction 1/2 Failed
MainAction 1/1 Failed`},
		// The retry of the first execution was cancelled when the job was
		// disabled, that of the second when it was changed.
		{"0.1-job-changes", `
MainAction 3/1 Completed
MainAction 2/1 Failed
MainAction 1/1 Failed`},
		{"0.1-job-catch-up", "MainAction 3/1 Completed\nMainAction 2/1 Completed\nMainAction 1/1 Completed\n" +
			strings.Repeat("MainAction 0/1 Missed\n", 8)},
		{"0.1-job-allow-all", `
MainAction 3/1 Completed
MainAction 2/1 Completed
MainAction 1/1 Completed`},
	} {
		t.Run(tt.scenario, func(t *testing.T) {
			t.Parallel()
			s := scheduler.New(scheduler.Options{Client: recorded(t, tt.scenario)})
			records, more, err := s.History(t.Context(), key, job.Page{Top: 100})
			require.NoError(t, err)
			require.False(t, more)
			require.Equal(t, strings.TrimSpace(tt.want), lines(records))
			for i, r := range records[1:] {
				require.False(t, r.Start.After(records[i].Start), "newest first")
				require.NotEmpty(t, r.Message)
			}
		})
	}
}

func TestHistoryIsPagedAcrossRuns(t *testing.T) {
	t.Parallel()
	const executions = 321 // the first run ends after 300
	a := recorded(t, "0.1-job-continue-as-new")
	require.Len(t, a.runs, 2)
	s := scheduler.New(scheduler.Options{Client: a})
	seen := map[string]bool{}
	for skip := 0; skip < executions; skip += 100 {
		records, more, err := s.History(t.Context(), key, job.Page{Skip: skip, Top: 100})
		require.NoError(t, err)
		require.Equal(t, skip+100 < executions, more)
		for _, r := range records {
			require.False(t, seen[r.ID], "%s is on two pages", r.ID)
			seen[r.ID] = true
		}
	}
	require.Len(t, seen, executions)
}

func TestReadersWhoFilterForFailuresSkipRunsWithout(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-continue-as-new")
	whole := a.pages()
	s := scheduler.New(scheduler.Options{Client: a})
	records, more, err := s.History(t.Context(), key, job.Page{Top: 100, Status: job.OutcomeFailed})
	require.NoError(t, err)
	require.Empty(t, records)
	require.False(t, more)
	require.Less(t, a.read, whole/2, "pages, of all there are")
}

func TestHistoryEndsWhereTheServerForgotARun(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-continue-as-new")
	a.runs = a.runs[1:]
	s := scheduler.New(scheduler.Options{Client: a})
	records, more, err := s.History(t.Context(), key, job.Page{Top: 100})
	require.NoError(t, err)
	require.NotEmpty(t, records)
	require.False(t, more)
}
