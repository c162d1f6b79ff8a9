package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler"
	"almanac/workflows"
)

// A directory answers queries in place of workflows.
type directory struct {
	client.Client
	t       testing.TB
	answers map[string]any // by workflow ID and query
	runs    string         // the ID of every run; "": the server does not answer Describe

	mu          sync.Mutex
	asked       int   // guarded by mu
	transitions int64 // of every workflow
}

func (d *directory) WorkflowService() workflowservice.WorkflowServiceClient { return unhurried{} }

// On a slow machine queries are repeated and sticky queues are reset. An unhurried server accepts that.
type unhurried struct {
	workflowservice.WorkflowServiceClient
}

func (unhurried) ResetStickyTaskQueue(context.Context, *workflowservice.ResetStickyTaskQueueRequest, ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return &workflowservice.ResetStickyTaskQueueResponse{}, nil
}

func (unhurried) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest, ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (d *directory) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if _, ok := d.answers[id+" "+workflows.QueryStatus]; !ok || d.runs == "" {
		return nil, serviceerror.NewNotFound("there is no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id, RunId: d.runs}, StateTransitionCount: d.transitions,
		Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (d *directory) QueryWorkflowWithOptions(_ context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	d.mu.Lock()
	d.asked++
	d.mu.Unlock()
	answer, ok := d.answers[r.WorkflowID+" "+r.QueryType]
	if !ok {
		return nil, serviceerror.NewNotFound("there is no such workflow")
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer)
	require.NoError(d.t, err)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, nil
}

// jobDirectory returns a collection of jobs job1, job2 … with the sequences 10, 20 … Every third job is disabled,
// every fifth is gone.
func jobDirectory(t *testing.T, jobs int) *directory {
	t.Helper()
	d := &directory{t: t, answers: map[string]any{}}
	var listed []workflows.Listed
	for i := 1; i <= jobs; i++ {
		j := job.Job{Key: key.Collection.Job(fmt.Sprint("Job", i))}
		j.Definition.State = job.StateEnabled
		if i%3 == 0 {
			j.Definition.State = job.StateDisabled
		}
		start := time.Date(2026, 1, i, 0, 0, 0, 0, time.UTC)
		j.Definition.StartTime = job.NewTime(start)
		j.Status.NextExecutionTime = job.NewTime(start)
		listed = append(listed, workflows.Listed{Name: j.Key.Name, Sequence: 10 * i})
		if i%5 != 0 {
			d.answers[j.Key.WorkflowID()+" "+workflows.QueryStatus] = j
		}
	}
	d.answers[key.Collection.WorkflowID()+" "+workflows.QueryJobs] = workflows.JobList{Collection: key.Collection, Jobs: listed}
	return d
}

// jobPages lists all jobs of a collection, page by page.
func jobPages(t *testing.T, s *scheduler.Service, p listing.Page) []string {
	t.Helper()
	var names []string
	for {
		jobs, next, err := s.Jobs(t.Context(), key.Collection, p)
		require.NoError(t, err)
		for _, j := range jobs {
			names = append(names, j.Key.Name)
		}
		if next == "" {
			return names
		}
		require.Len(t, jobs, p.Top, "only the last page is shorter")
		p.After, p.Skip = next, 0
	}
}

func TestJobsAreListedInTheOrderOfTheirCreation(t *testing.T) {
	t.Parallel()
	const jobs = 64
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name   string
		filter listing.Filter
		want   func(i int) bool
	}{
		{"all that are there", listing.Filter{}, func(int) bool { return true }},
		{"those that are disabled", listing.Filter{State: job.StateDisabled}, func(i int) bool { return i%3 == 0 }},
		{"those that start in a period", listing.Filter{Start: listing.Period{From: at(20), Before: at(41)}}, func(i int) bool { return i >= 20 && i < 41 }},
		{"those whose names begin alike", listing.Filter{NamePrefix: "job1"}, func(i int) bool { return i == 1 || i/10 == 1 }},
		{"one by its name", listing.Filter{Name: "job7"}, func(i int) bool { return i == 7 }},
		{"those that are due next in a period", listing.Filter{Next: listing.Period{Before: at(20)}}, func(i int) bool { return i < 20 }},
		{"those that have an end time: none", listing.Filter{End: listing.Period{From: at(1)}}, func(int) bool { return false }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for i := 1; i <= jobs; i++ {
				if i%5 != 0 && tt.want(i) {
					want = append(want, fmt.Sprint("Job", i))
				}
			}
			s := scheduler.New(scheduler.Options{Client: jobDirectory(t, jobs)})
			for _, top := range []int{1, 2, 7, 100} {
				require.Equal(t, want, jobPages(t, s, listing.Page{Top: top, Filter: tt.filter}), "by %d", top)
			}
			skip := min(3, len(want))
			require.ElementsMatch(t, want[skip:], jobPages(t, s, listing.Page{Skip: skip, Top: 4, Filter: tt.filter}), "but for %d", skip)
		})
	}
}

// A view shows the jobs, or the collections, with some names.
type view []string

func (v view) ShowsCollection(k job.CollectionKey) bool { return slices.Contains(v, k.Name) }
func (v view) ShowsJob(k job.Key) bool                  { return slices.Contains(v, k.Name) }
func (v view) ShowsWithin(job.CollectionKey) bool       { return true }

func TestAListShowsOnlyWhatTheCallerMaySeeOnFullPagesAndReadsNothingElse(t *testing.T) {
	t.Parallel()
	d := jobDirectory(t, 100)
	s := scheduler.New(scheduler.Options{Client: d})
	want := view{"Job2", "Job41", "Job42", "Job97", "Job98", "Job99"}
	for top := 1; top < 8; top++ {
		require.Equal(t, []string(want), jobPages(t, s, listing.Page{Top: top, View: want}), "by %d", top)
	}
	d.asked = 0
	jobs, next, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 3, Skip: 1, View: want})
	require.NoError(t, err)
	require.Len(t, jobs, 3)
	require.Equal(t, "Job41", jobs[0].Key.Name)
	require.NotEmpty(t, next)
	require.LessOrEqual(t, d.asked, 1+len(want), "the list, and the jobs that may be seen")
	require.Empty(t, jobPages(t, s, listing.Page{Top: 3, View: view{}}))
}

func TestAPageOfJobsAsksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	d := jobDirectory(t, 640)
	jobs, next, err := scheduler.New(scheduler.Options{Client: d}).Jobs(t.Context(), key.Collection, listing.Page{Top: 20})
	require.NoError(t, err)
	require.Len(t, jobs, 20)
	require.NotEmpty(t, next)
	require.Less(t, d.asked, 50, "of 640 jobs")
}

func TestAListOfJobsGoesOnThoughJobsComeAndGo(t *testing.T) {
	t.Parallel()
	d := jobDirectory(t, 9)
	s := scheduler.New(scheduler.Options{Client: d})
	jobs, next, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 3})
	require.NoError(t, err)
	require.Equal(t, "Job3", jobs[2].Key.Name)

	list := key.Collection.WorkflowID() + " " + workflows.QueryJobs
	listed := slices.Clone(d.answers[list].(workflows.JobList).Jobs)
	// the jobs of the first page are gone
	listed = slices.DeleteFunc(listed, func(l workflows.Listed) bool { return l.Sequence <= 30 })
	// one of them is created again
	listed = append(listed, workflows.Listed{Name: "Job1", Sequence: 100})
	d.answers[list] = workflows.JobList{Collection: key.Collection, Jobs: listed}
	require.Equal(t, []string{"Job4", "Job6", "Job7", "Job8", "Job9", "Job1"}, jobPages(t, s, listing.Page{Top: 2, After: next}))
}

// collectionDirectory returns a subscription with the collections at these paths, such as "Group/Name".
func collectionDirectory(t *testing.T, paths ...string) *directory {
	t.Helper()
	d := &directory{t: t, answers: map[string]any{job.SubscriptionWorkflowID("S") + " " + workflows.QueryCollections: paths}}
	for _, path := range paths {
		group, name, _ := strings.Cut(path, "/")
		k := job.CollectionKey{Subscription: "s", ResourceGroup: group, Name: name}
		if name != "gone" {
			d.answers[k.WorkflowID()+" "+workflows.QueryStatus] = job.Collection{Key: k}
		}
	}
	return d
}

// collectionPages lists all collections, page by page.
func collectionPages(t *testing.T, s *scheduler.Service, group string, p listing.Page) []string {
	t.Helper()
	var paths []string
	for {
		collections, next, err := s.Collections(t.Context(), "s", group, p)
		require.NoError(t, err)
		for _, c := range collections {
			paths = append(paths, c.Key.Path())
		}
		if next == "" {
			return paths
		}
		require.Len(t, collections, p.Top, "only the last page is shorter")
		p.After, p.Skip = next, 0
	}
}

func TestCollectionsAreListedByName(t *testing.T) {
	t.Parallel()
	paths := []string{"g/zebra", "G/Ape", "h/bear", "h/ape", "g/gone", "g/Äffin", "g/cat", "h/Zebra"}
	for _, tt := range []struct {
		group string
		want  []string
	}{
		{"", []string{"G/Ape", "h/ape", "h/bear", "g/cat", "g/zebra", "h/Zebra", "g/Äffin"}},
		{"g", []string{"G/Ape", "g/cat", "g/zebra", "g/Äffin"}},
		{"H", []string{"h/ape", "h/bear", "h/Zebra"}},
		{"nobody's", nil},
	} {
		t.Run("of the resource group "+tt.group, func(t *testing.T) {
			t.Parallel()
			s := scheduler.New(scheduler.Options{Client: collectionDirectory(t, paths...)})
			for _, top := range []int{1, 2, 7, 100} {
				require.Equal(t, tt.want, collectionPages(t, s, tt.group, listing.Page{Top: top}), "by %d", top)
			}
		})
	}
	t.Run("of those that the caller may see", func(t *testing.T) {
		t.Parallel()
		s := scheduler.New(scheduler.Options{Client: collectionDirectory(t, paths...)})
		for _, top := range []int{1, 2, 100} {
			require.Equal(t, []string{"h/bear", "g/cat"}, collectionPages(t, s, "", listing.Page{Top: top, View: view{"bear", "cat"}}), "by %d", top)
		}
	})
	t.Run("of a subscription that has none", func(t *testing.T) {
		t.Parallel()
		s := scheduler.New(scheduler.Options{Client: &directory{t: t}})
		require.Empty(t, collectionPages(t, s, "", listing.Page{Top: 10}))
	})
	t.Run("though some come and go meanwhile", func(t *testing.T) {
		t.Parallel()
		s := scheduler.New(scheduler.Options{Client: collectionDirectory(t, "g/a", "g/b", "g/c")})
		_, next, err := s.Collections(t.Context(), "s", "", listing.Page{Top: 2})
		require.NoError(t, err)
		s = scheduler.New(scheduler.Options{Client: collectionDirectory(t, "g/aa", "g/c", "g/bb")}) // a and b are gone
		require.Equal(t, []string{"g/bb", "g/c"}, collectionPages(t, s, "", listing.Page{Top: 2, After: next}))
	})
}

var key = job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("j")

// requireBadToken requires the error for an unknown continuation of a list.
func requireBadToken(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, job.KindInvalid, job.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "$skiptoken")
	require.ErrorContains(t, err, "start again without it")
}

func TestAContinuationThatNoListReturnedIsRefused(t *testing.T) {
	t.Parallel()
	s := scheduler.New(scheduler.Options{Client: jobDirectory(t, 3)})
	for _, after := range []string{"next", "1.5", "0x10", "10 ", "99999999999999999999", "~", "10~", "~5", "10~0", "10~-1", "10~5~5", "10~9999999999", "10~99999999999999999999"} {
		_, _, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 1, After: after})
		requireBadToken(t, err)
	}
	s = scheduler.New(scheduler.Options{Client: collectionDirectory(t, "g/a")})
	for _, after := range []string{"not base64", "a", "Zy9h=", "~5", "Zy9h~0", "Zy9h~a"} {
		_, _, err := s.Collections(t.Context(), "s", "", listing.Page{Top: 1, After: after})
		requireBadToken(t, err)
	}
	_, _, err := s.History(t.Context(), key, listing.Page{Top: 1, After: "next"})
	requireBadToken(t, err)
}

func TestAContinuationIsOfOneListAlone(t *testing.T) {
	t.Parallel()
	s := scheduler.New(scheduler.Options{Client: jobDirectory(t, 3)})
	page, next, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 1})
	require.NoError(t, err)
	require.Len(t, page, 1)
	otherCase := key.Collection
	otherCase.Name = strings.ToUpper(otherCase.Name)
	_, _, err = s.Jobs(t.Context(), otherCase, listing.Page{Top: 1, After: next})
	require.NoError(t, err)

	other := key.Collection
	other.Name = "other"
	_, _, err = s.Jobs(t.Context(), other, listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
	for _, after := range []string{next[1:], next[:len(next)-1], next + "x", "0" + next, strings.Repeat(next, 1000), strings.ToUpper(next) + "."} {
		_, _, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 1, After: after})
		requireBadToken(t, err)
	}
	_, _, err = s.Collections(t.Context(), "s", "", listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
	_, _, err = s.Calendars(t.Context(), key.Collection, listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
	_, _, err = s.Subscriptions(t.Context(), listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
	_, _, err = s.ResourceGroups(t.Context(), "s", listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
	_, _, err = s.JobChanges(t.Context(), key, listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
	_, _, err = s.Lateness(t.Context(), key.Collection, "", listing.Page{Top: 1, After: next})
	requireBadToken(t, err)
}

// An unchanged job is listed with its cached status.
func TestListsAskOnlyJobsThatDidSomething(t *testing.T) {
	t.Parallel()
	const jobs = 4
	for _, tt := range []struct {
		name   string
		runs   string
		change func(*directory)
		asked  int // jobs queried
	}{
		{"none did", "run", func(*directory) {}, 0},
		{"all did", "run", func(d *directory) { d.transitions++ }, jobs},
		{"all are in another run, which did as much", "run", func(d *directory) { d.runs = "next" }, jobs},
		{"nobody knows", "", func(*directory) {}, jobs},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := jobDirectory(t, jobs)
			d.runs, d.transitions = tt.runs, 3
			s := scheduler.New(scheduler.Options{Client: d})
			list := func() []job.Job {
				listed, _, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 100})
				require.NoError(t, err)
				require.Len(t, listed, jobs)
				return listed
			}
			first := list()
			require.Equal(t, 1+jobs, d.asked, "the collection and its jobs")
			first[0].Definition.StartTime.Time = time.Time{} // the reader changes its own copy

			for id, answer := range d.answers {
				if j, ok := answer.(job.Job); ok {
					j.Generation = 2
					d.answers[id] = j
				}
			}
			tt.change(d)
			d.asked = 0
			news := 0
			for _, j := range list() {
				require.False(t, j.Definition.StartTime.IsZero())
				if j.Generation == 2 {
					news++
				}
			}
			require.Equal(t, tt.asked, news)
			require.Equal(t, 1+tt.asked, d.asked)
		})
	}
}

func TestAJobOfACollectionThatIsDisabledSaysWhyNothingIsNext(t *testing.T) {
	t.Parallel()
	d := jobDirectory(t, 2)
	for i := 1; i <= 2; i++ {
		id := key.Collection.Job(fmt.Sprint("Job", i)).WorkflowID() + " " + workflows.QueryStatus
		j := d.answers[id].(job.Job)
		j.Status.NextExecutionTime, j.Status.Reason = nil, job.WhyCollectionDisabled
		d.answers[id] = j
	}
	for _, tt := range []struct {
		state job.CollectionState
		want  string
	}{
		{job.CollectionEnabled, job.WhyCollectionDisabled}, // as of when the job was asked
		{job.CollectionDisabled, "The job collection is disabled, so none of its jobs runs on its schedule."},
		{job.CollectionSuspended, "The job collection is suspended, so none of its jobs runs on its schedule."},
	} {
		d.answers[key.Collection.WorkflowID()+" "+workflows.QueryStatus] = job.Collection{Key: key.Collection, Properties: job.CollectionProperties{State: tt.state}}
		s := scheduler.New(scheduler.Options{Client: d})
		d.asked = 0
		jobs, _, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 10})
		require.NoError(t, err)
		require.Len(t, jobs, 2)
		require.Equal(t, 2+2, d.asked, "the collection twice, and its jobs")
		for _, j := range jobs {
			require.Equal(t, tt.want, j.Status.Reason)
		}
		one, err := s.Job(t.Context(), key.Collection.Job("Job1"))
		require.NoError(t, err)
		require.Equal(t, tt.want, one.Status.Reason)
	}
}

func TestOfAJobCollectionThatHasNotChangedNothingIsAskedTwice(t *testing.T) {
	t.Parallel()
	d := jobDirectory(t, 4)
	d.runs, d.transitions = "run", 1
	d.answers[key.Collection.WorkflowID()+" "+workflows.QueryStatus] = job.Collection{Key: key.Collection}
	s := scheduler.New(scheduler.Options{Client: d})
	list := func() []string { return jobPages(t, s, listing.Page{Top: 10}) }
	before := list()
	d.asked = 0
	require.Equal(t, before, list())
	require.Zero(t, d.asked)

	d.transitions++ // a job was deleted
	jobs := d.answers[key.Collection.WorkflowID()+" "+workflows.QueryJobs].(workflows.JobList)
	jobs.Jobs = jobs.Jobs[1:]
	d.answers[key.Collection.WorkflowID()+" "+workflows.QueryJobs] = jobs
	require.Equal(t, before[1:], list())
}
