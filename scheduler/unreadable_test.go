package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// A faultyDirectory is a directory in which some workflows are faulty: they answer queries with an error, or not at
// all.
type faultyDirectory struct {
	*directory
	faulty     map[string]error // error of a workflow's query; nil: no answer
	slow       time.Duration    // delay of the list of jobs
	attempt    int32            // attempt of a faulty workflow's task
	terminated []string
	removed    []string // names reported to the collection as gone
}

func (w *faultyDirectory) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if r.QueryType == workflows.QueryJobs {
		select {
		case <-time.After(w.slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	err, faulty := w.faulty[r.WorkflowID]
	switch {
	case !faulty:
		return w.directory.QueryWorkflowWithOptions(ctx, r)
	case err != nil:
		return nil, err
	}
	<-ctx.Done()
	return nil, serviceerror.NewDeadlineExceeded("no worker answered")
}

func (w *faultyDirectory) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id, RunId: "run"}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
		PendingWorkflowTask:   &workflow.PendingWorkflowTaskInfo{Attempt: w.attempt},
	}, nil
}

func (w *faultyDirectory) UpdateWorkflow(ctx context.Context, _ client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (w *faultyDirectory) TerminateWorkflow(_ context.Context, id, run, reason string, _ ...any) error {
	w.terminated = append(w.terminated, fmt.Sprint(id, " ", run, " ", reason))
	return nil
}

func (w *faultyDirectory) SignalWorkflow(_ context.Context, id, _, name string, argument any) error {
	require.Equal(w.t, key.Collection.WorkflowID(), id)
	require.Equal(w.t, workflows.SignalRemoved, name)
	require.Zero(w.t, argument.(workflows.Registration).Number, "the collection looks up whether it is gone")
	w.removed = append(w.removed, argument.(workflows.Registration).Name)
	return nil
}

func (w *faultyDirectory) WorkflowService() workflowservice.WorkflowServiceClient {
	return faultyFrontend{}
}

type faultyFrontend struct {
	workflowservice.WorkflowServiceClient
}

func (faultyFrontend) ResetStickyTaskQueue(context.Context, *workflowservice.ResetStickyTaskQueueRequest, ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return &workflowservice.ResetStickyTaskQueueResponse{}, nil
}

func (faultyFrontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest, ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (faultyFrontend) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest, ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return &workflowservice.GetWorkflowExecutionHistoryResponse{}, nil
}

// withFaultyJobs returns a faultyDirectory of jobs. Those with the numbers faulty are faulty.
func withFaultyJobs(t *testing.T, jobs int, of error, faulty ...int) *faultyDirectory {
	w := &faultyDirectory{directory: jobDirectory(t, jobs), faulty: map[string]error{}, attempt: 1}
	for _, i := range faulty {
		w.faulty[key.Collection.Job(fmt.Sprint("Job", i)).WorkflowID()] = of
	}
	w.answers[key.Collection.WorkflowID()+" "+workflows.QueryStatus] = job.Collection{Key: key.Collection}
	return w
}

func TestAListShowsWhatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	const jobs = 4 // Job3 is disabled
	for _, tt := range []struct {
		name string
		of   error
		want string
		took time.Duration
	}{
		{"since it is silent", nil, "it did not answer in time", 14 * time.Second},
		{"since its task fails", serviceerror.NewWorkflowNotReady("internals"), "its workflow task fails repeatedly; the log of the workers says why", 0},
		{"since no worker can read its history", serviceerror.NewQueryFailed("internals"), "no worker can read its history; the log of the workers says why", 0},
		{"since Temporal is confused", serviceerror.NewInternal("internals"), "its stored state could not be read; the log of the API says why", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := scheduler.New(scheduler.Options{Client: withFaultyJobs(t, jobs, tt.of, 2)})
				start := time.Now()
				listed, next, err := s.Jobs(t.Context(), key.Collection, listing.Page{Top: 2})
				require.NoError(t, err)
				require.Equal(t, tt.took, time.Since(start))
				require.Equal(t, core.Token("jobs "+key.Collection.WorkflowID(), "20"), next)
				require.Equal(t, job.StateEnabled, listed[0].Definition.State)
				require.Equal(t, job.Job{Key: key.Collection.Job("Job2"), Unread: tt.want}, listed[1])

				listed, _, err = s.Jobs(t.Context(), key.Collection, listing.Page{Top: 9, Filter: listing.Filter{State: job.StateEnabled}})
				require.NoError(t, err)
				require.Len(t, listed, 2, "nobody knows whether it is enabled")
			})
		})
	}
	t.Run("although there are many", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := scheduler.New(scheduler.Options{Client: withFaultyJobs(t, 300, nil, upTo(300)...)})
			require.Len(t, inTime(t, listing.Page{Top: 1000}, ofJobs(s)), 300)
		})
	})
	t.Run("under the id that the others have", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := scheduler.New(scheduler.Options{Client: withFaultyJobs(t, 4, nil, 2)})
			k := key.Collection
			listed, _, err := s.Jobs(t.Context(), job.CollectionKey{
				Subscription: strings.ToUpper(k.Subscription), ResourceGroup: strings.ToUpper(k.ResourceGroup), Name: strings.ToUpper(k.Name),
			}, listing.Page{Top: 9})
			require.NoError(t, err)
			for i, j := range listed {
				require.Equal(t, k.Job(fmt.Sprint("Job", i+1)).ARMID(), j.Key.ARMID())
			}
		})
	})
	t.Run("of collections, too", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := &faultyDirectory{directory: collectionDirectory(t, "G/a", "G/b")}
			w.faulty = map[string]error{job.CollectionWorkflowID("s", "G/a"): nil}
			found, _, err := scheduler.New(scheduler.Options{Client: w}).Collections(t.Context(), "s", "", listing.Page{Top: 9})
			require.NoError(t, err)
			require.Equal(t, job.Collection{Key: job.CollectionKey{Subscription: "s", ResourceGroup: "G", Name: "a"}, Unread: "it did not answer in time"}, found[0])
			require.Equal(t, "b", found[1].Key.Name)
		})
	})
}

// upTo returns the numbers from 1 to n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func ofJobs(s *scheduler.Service) func(context.Context, listing.Page) ([]job.Job, string, error) {
	return func(ctx context.Context, p listing.Page) ([]job.Job, string, error) {
		return s.Jobs(ctx, key.Collection, p)
	}
}

// inTime lists all pages. Each must take less time than the API allows a request.
func inTime[T any](t *testing.T, p listing.Page, list func(context.Context, listing.Page) ([]T, string, error)) (all []T) {
	t.Helper()
	seen := map[string]bool{}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		page, next, err := list(ctx, p)
		cancel()
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), p.Top)
		all = append(all, page...)
		if next == "" {
			return all
		}
		require.False(t, seen[next], "the list goes round at %s", next)
		seen[next] = true
		p.After, p.Skip = next, 0
	}
}

func TestAListWithManyThatDoNotAnswerGoesOnWithItsNextPage(t *testing.T) {
	t.Parallel()
	const jobs, silent = 1000, 950
	enabled := listing.Filter{State: job.StateEnabled}
	want := func(skip int) (names []string) { // after the silent ones
		for i := silent + 1; i <= jobs; i++ {
			if i%3 != 0 && i%5 != 0 {
				names = append(names, fmt.Sprint("Job", i))
			}
		}
		return names[skip:]
	}
	for _, tt := range []struct {
		name string
		page listing.Page
		want []string
	}{
		{"which is filtered", listing.Page{Top: 100, Filter: enabled}, want(0)},
		{"of few entries", listing.Page{Top: 3, Filter: enabled}, want(0)},
		{"but for what is skipped", listing.Page{Skip: 5, Top: 4, Filter: enabled}, want(5)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var names []string
				for _, j := range inTime(t, tt.page, ofJobs(scheduler.New(scheduler.Options{Client: withFaultyJobs(t, jobs, nil, upTo(silent)...)}))) {
					names = append(names, j.Key.Name)
				}
				require.Equal(t, tt.want, names)
			})
		})
	}
	t.Run("though the collection is slow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := withFaultyJobs(t, 200, nil, upTo(200)...)
			w.slow = 24 * time.Second
			require.Len(t, inTime(t, listing.Page{Top: 100}, ofJobs(scheduler.New(scheduler.Options{Client: w}))), 200)
		})
	})
	t.Run("though more than can be asked in time is skipped", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := scheduler.New(scheduler.Options{Client: withFaultyJobs(t, jobs, nil, upTo(jobs)...)})
			listed := inTime(t, listing.Page{Skip: 990, Top: 100}, ofJobs(s))
			require.Len(t, listed, 10)
			require.Equal(t, "Job991", listed[0].Key.Name)
		})
	})
	t.Run("of collections, too", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var paths []string
			faulty := map[string]error{}
			for i := range jobs {
				paths = append(paths, fmt.Sprintf("g/c%04d", i))
				faulty[job.CollectionWorkflowID("s", paths[i])] = nil
			}
			s := scheduler.New(scheduler.Options{Client: &faultyDirectory{directory: collectionDirectory(t, paths...), faulty: faulty}})
			found := inTime(t, listing.Page{Skip: 500, Top: 100}, func(ctx context.Context, p listing.Page) ([]job.Collection, string, error) {
				return s.Collections(ctx, "s", "", p)
			})
			require.Len(t, found, 500)
			require.Equal(t, "c0500", found[0].Key.Name)
		})
	})
}

func TestAJobThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		of      error
		attempt int32
		want    string
	}{
		{"if nothing is known of it", nil, 1, "Temporal, or a worker of Almanac, did not answer in time."},
		{"if Temporal cannot be reached", serviceerror.NewUnavailable("internals"), 7, "Temporal, or a worker of Almanac, did not answer in time."},
		{"if its task was tried before", nil, 7, "The job 'Job1' could not be read: its workflow task has failed or timed out, and is at attempt 7"},
		{"if its task fails", serviceerror.NewWorkflowNotReady("internals"), 1, "its workflow task fails repeatedly"},
		{"if no worker can read its history", serviceerror.NewQueryFailed("internals"), 1, "no worker can read its history"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := withFaultyJobs(t, 1, tt.of, 1)
				w.attempt = tt.attempt
				_, err := scheduler.New(scheduler.Options{Client: w}).Job(t.Context(), key.Collection.Job("Job1"))
				require.Equal(t, job.KindUnavailable, job.KindOf(err))
				require.ErrorContains(t, err, tt.want)
				require.NotContains(t, err.Error(), "internals")
			})
		})
	}
}

// busyDirectory is a faultyDirectory whose workflows are faulty until they have caught up.
type busyDirectory struct {
	*faultyDirectory
	until time.Time
}

func (w busyDirectory) UpdateWorkflow(ctx context.Context, _ client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	select {
	case <-time.After(time.Until(w.until)):
		return obeyed{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestDeletingAJobWaitsWhileNeitherItNorItsCollectionAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := busyDirectory{withFaultyJobs(t, 1, nil, 1), time.Now().Add(40 * time.Second)}
		w.faulty[key.Collection.WorkflowID()] = nil
		require.NoError(t, scheduler.New(scheduler.Options{Client: w}).DeleteJob(t.Context(), key.Collection.Job("Job1"), nil))
		require.Empty(t, w.terminated)
	})
}

func TestDeletingAJobThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	one := key.Collection.Job("Job1")
	for _, tt := range []struct {
		name    string
		arrange func(*faultyDirectory)
		ended   bool
	}{
		{"terminates it", func(*faultyDirectory) {}, true},
		{"terminates it, if it takes questions only", func(w *faultyDirectory) { delete(w.faulty, one.WorkflowID()) }, true},
		{"does not, if its collection does not answer either: there may be no worker", func(w *faultyDirectory) { w.faulty[key.Collection.WorkflowID()] = nil }, false},
		{"does not, if Temporal is away", func(w *faultyDirectory) {
			w.faulty[one.WorkflowID()] = serviceerror.NewUnavailable("away")
			w.faulty[key.Collection.WorkflowID()] = serviceerror.NewUnavailable("away")
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := withFaultyJobs(t, 1, nil, 1)
				tt.arrange(w)
				start := time.Now()
				err := scheduler.New(scheduler.Options{Client: w}).DeleteJob(t.Context(), one, nil)
				if !tt.ended {
					require.Equal(t, 50*time.Second, time.Since(start))
					require.Equal(t, job.KindUnavailable, job.KindOf(err))
					require.Empty(t, w.terminated)
					return
				}
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), 20*time.Second)
				require.Equal(t, []string{one.WorkflowID() + " run it was deleted, and did not answer"}, w.terminated)
				require.Equal(t, []string{"Job1"}, w.removed)
			})
		})
	}
}
