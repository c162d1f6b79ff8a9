package history_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
)

// An archive is a Temporal with one workflow, whose runs are given, oldest first.
type archive struct {
	client.Client
	runs    []*historypb.History
	pending []*workflow.PendingActivityInfo // of the last run
	read    int                             // pages requested
	first   int                             // likewise, from the first event on
}

// recorded returns the runs of a workflow whose histories were recorded on a real server.
func recorded(t *testing.T, scenario string) *archive {
	t.Helper()
	files, err := filepath.Glob("../../workflows/testdata/histories/" + scenario + "-[0-9]*.json.gz")
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

// pages returns the total number of pages.
func (a *archive) pages() int {
	n := 0
	for _, h := range a.runs {
		n += (len(h.Events) + 6) / 7
	}
	return n
}

func runID(h *historypb.History) string {
	return h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
}

func (a *archive) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
			Status:    enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			Execution: &common.WorkflowExecution{RunId: runID(a.runs[len(a.runs)-1])},
		},
		WorkflowExtendedInfo: &workflow.WorkflowExecutionExtendedInfo{OriginalStartTime: a.runs[len(a.runs)-1].Events[0].EventTime},
		PendingActivities:    a.pending,
	}, nil
}

// GetWorkflowExecutionHistoryReverse returns pages of as little as 7 events, so that events of one
// execution are on different pages.
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
		answer := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &historypb.History{Events: page}}
		if begin > 0 {
			answer.NextPageToken = fmt.Append(nil, begin)
		}
		return answer, nil
	}
	return nil, serviceerror.NewNotFound("no such run")
}

// GetWorkflowExecutionHistory returns the first event of a run.
func (f *frontend) GetWorkflowExecutionHistory(_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	f.a.first++
	for _, h := range f.a.runs {
		if runID(h) == r.GetExecution().GetRunId() {
			return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: h.Events[:1]}}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such run")
}

const workflowID = "job/s/g/c/j"

func newReader(c client.Client) *history.Reader {
	return history.New(core.New(core.Options{Temporal: c}))
}

// lines returns records as text: action, number of the execution and of the attempt, outcome.
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
		// The first execution's retry was cancelled when the job was disabled, the second's when it was
		// changed.
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
			var log strings.Builder
			s := history.New(core.New(core.Options{
				Temporal: recorded(t, tt.scenario), Log: slog.New(slog.NewTextHandler(&log, nil)),
			}))
			records, next, err := s.Read(t.Context(), workflowID, listing.Page{Top: 100})
			require.Empty(t, log.String(), "nothing of it is strange")
			require.NoError(t, err)
			require.Empty(t, next)
			require.Equal(t, strings.TrimSpace(tt.want), lines(records))
			for i, r := range records[1:] {
				require.False(t, r.Start.After(records[i].Start), "newest first")
				require.NotEmpty(t, r.Message)
			}
		})
	}
}

// scenarios returns the names of all recorded histories of jobs.
func scenarios(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../workflows/testdata/histories/*-job-*.json.gz")
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		name := filepath.Base(file)
		names = append(names, name[:strings.LastIndex(name, "-")])
	}
	names = slices.Compact(names)
	require.NotEmpty(t, names)
	return names
}

// pages reads a history page by page until it ends.
func pages(t *testing.T, s *history.Reader, p listing.Page) []job.Record {
	t.Helper()
	var all []job.Record
	for {
		records, next, err := s.Read(t.Context(), workflowID, p)
		require.NoError(t, err)
		all = append(all, records...)
		if next == "" {
			return all
		}
		require.Len(t, records, p.Top, "only the last page is shorter")
		p.After, p.Skip = next, 0
	}
}

func TestPagesOfAHistoryMakeUpTheWhole(t *testing.T) {
	t.Parallel()
	for _, scenario := range scenarios(t) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			s := newReader(recorded(t, scenario))
			whole := pages(t, s, listing.Page{Top: 1000})
			require.NotEmpty(t, whole)
			for _, top := range []int{1, 2, 7} {
				if len(whole) < 200*top { // each page reads the newest run from its end on
					require.Equal(t, whole, pages(t, s, listing.Page{Top: top}), "by %d", top)
				}
			}
			skip := len(whole) / 2
			require.Equal(t, whole[skip:], pages(t, s, listing.Page{Skip: skip, Top: 7}), "but for the %d newest", skip)
		})
	}
}

func TestHistoryIsPagedAcrossRuns(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-deferred")
	require.Len(t, a.runs, 2)
	whole := pages(t, newReader(a), listing.Page{Top: 100})
	seen := map[string]bool{}
	for _, r := range whole {
		id := fmt.Sprint(r.ID, r.ActionName, r.Number)
		require.False(t, seen[id], "%s is on two pages", id)
		seen[id] = true
	}
	var apart []job.Record
	for _, run := range []*historypb.History{a.runs[1], a.runs[0]} {
		records := pages(t, newReader(&archive{runs: []*historypb.History{run}}), listing.Page{Top: 100})
		require.NotEmpty(t, records)
		apart = append(apart, records...)
	}
	require.Equal(t, apart, whole)
}

func TestFiltersHoldAcrossPages(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"0.1-job-retries", "0.1-job-changes", "0.1-job-catch-up", "0.1-job-continue-as-new"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			s := newReader(recorded(t, scenario))
			whole := pages(t, s, listing.Page{Top: 1000})
			early, late := whole[len(whole)*2/3], whole[len(whole)/3]
			for name, filter := range map[string]listing.Filter{
				"completed":          {Status: job.OutcomeCompleted},
				"failed":             {Status: job.OutcomeFailed},
				"missed":             {Status: job.OutcomeMissed},
				"started since":      {Start: listing.Period{From: early.Start}},
				"started before":     {Start: listing.Period{Before: late.Start}},
				"started in between": {Start: listing.Period{From: early.Start, Before: late.Start}},
				"ended since":        {End: listing.Period{From: early.End}},
				"ended in between":   {Start: listing.Period{From: early.Start}, End: listing.Period{Before: late.End}},
				"all of it":          {Status: job.OutcomeCompleted, Start: listing.Period{From: early.Start}, End: listing.Period{Before: late.End}},
			} {
				var want []job.Record
				for _, r := range whole {
					if filter.MatchesRecord(&r) {
						want = append(want, r)
					}
				}
				for _, top := range []int{3, 100} {
					require.Equal(t, want, pages(t, s, listing.Page{Top: top, Filter: filter}), "%s, by %d", name, top)
				}
			}
		})
	}
}

// Of a run that may have entries of a page, the server is not asked when it began: its description has said so.
func TestTheFirstEventIsReadOnlyOfRunsThatAPageMayLeaveOut(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-deferred")
	whole := pages(t, newReader(a), listing.Page{Top: 100})
	began := a.runs[1].Events[0].EventTime.AsTime()
	for name, test := range map[string]struct {
		before time.Time
		first  int
	}{
		"any time":                  {time.Time{}, 0},
		"up to the end of the run":  {whole[0].Start, 0},
		"up to before all its runs": {began.Add(-time.Hour), 2},
	} {
		a.first = 0
		_, _, err := newReader(a).Read(t.Context(), workflowID, listing.Page{Top: 1, Filter: listing.Filter{Start: listing.Period{Before: test.before}}})
		require.NoError(t, err)
		require.Equal(t, test.first, a.first, name)
	}
}

// A reader of all pages gets each entry once, even if entries are added meanwhile.
func TestPagesGoOnWhereTheyEndedThoughTheHistoryGrows(t *testing.T) {
	t.Parallel()
	for _, scenario := range scenarios(t) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			a := recorded(t, scenario)
			s := newReader(a)
			whole := pages(t, s, listing.Page{Top: 1000})
			last := a.runs[len(a.runs)-1]
			events := last.Events
			for n := 1; n < len(events); n += max(1, len(events)/50) {
				last.Events = events[:n]
				records, next, err := s.Read(t.Context(), workflowID, listing.Page{Top: 1})
				require.NoError(t, err)
				last.Events = events
				if next == "" {
					continue
				}
				at := slices.IndexFunc(whole, func(r job.Record) bool { return r.ID == records[0].ID && r.Start.Equal(records[0].Start) })
				require.GreaterOrEqual(t, at, 0)
				require.Equal(t, whole[at+1:], pages(t, s, listing.Page{Top: 1000, After: next}), "after %d events", n)
			}
		})
	}
}

func TestAPositionThatTheHistoryDoesNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-retries")
	s := newReader(a)
	_, next, err := s.Read(t.Context(), workflowID, listing.Page{Top: 1})
	require.NoError(t, err)
	run, _, _ := strings.Cut(next, ".")
	for name, after := range map[string]string{
		"a word":                     "next",
		"a number":                   "17",
		"no run":                     ".5.0",
		"no event":                   run,
		"no index":                   run + ".5",
		"more than a position":       next + ".0",
		"an event that is no number": run + ".five.0",
		"an index that is no number": run + ".5.first",
		"an event that is not there": run + ".99999.0",
		"an event without an entry":  run + ".1.0",
		"an entry that is not there": strings.TrimSuffix(next, next[strings.LastIndex(next, "."):]) + ".99",
		"a run of another job":       "6ba7b810-9dad-11d1-80b4-00c04fd430c8.5.0",
		"something longer by a byte": next + " ",
		"a run that is not one":      "../" + next,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newReader(recorded(t, "0.1-job-retries"))
			records, next, err := s.Read(t.Context(), workflowID, listing.Page{Top: 100, After: after})
			require.Equal(t, core.BadToken(), err)
			require.Empty(t, records)
			require.Empty(t, next)
		})
	}
}

func TestReadersWhoFilterForFailuresSkipRunsWithout(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-continue-as-new")
	whole := a.pages()
	s := newReader(a)
	records, next, err := s.Read(t.Context(), workflowID, listing.Page{Top: 100, Filter: listing.Filter{Status: job.OutcomeFailed}})
	require.NoError(t, err)
	require.Empty(t, records)
	require.Empty(t, next)
	require.Less(t, a.read, whole/2, "pages, of all there are")
}

func TestHistoryEndsWhereTheServerForgotARun(t *testing.T) {
	t.Parallel()
	a := recorded(t, "0.1-job-deferred")
	require.Len(t, a.runs, 2)
	a.runs = a.runs[1:]
	s := newReader(a)
	records, next, err := s.Read(t.Context(), workflowID, listing.Page{Top: 100})
	require.NoError(t, err)
	require.NotEmpty(t, records)
	require.Empty(t, next)
}
