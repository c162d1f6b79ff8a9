package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// registry is a Temporal with a job collection in which each update takes a second.
type registry struct {
	*directory
	generation int // of the collection
	full       map[string]bool

	mu       sync.Mutex
	requests []workflows.RegisterRequest
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{directory: &directory{t: t, answers: map[string]any{}}, full: map[string]bool{}}
	r.change()
	return r
}

// change changes the properties of the collection.
func (r *registry) change() {
	r.generation++
	r.answers[key.Collection.WorkflowID()+" "+workflows.QueryStatus] = job.Collection{
		Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}, Generation: r.generation,
	}
}

func (r *registry) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	request := o.Args[0].(workflows.RegisterRequest)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request)
	return &registeredAfter{r: r, request: request}, nil
}

func (*registry) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, nil
}

type registeredAfter struct {
	client.WorkflowUpdateHandle
	r       *registry
	request workflows.RegisterRequest
}

func (a *registeredAfter) Get(_ context.Context, result any) error {
	time.Sleep(time.Second)
	if a.request.Generation != a.r.generation {
		return temporal.NewNonRetryableApplicationError("changed", workflows.ErrTypeStale, nil)
	}
	var results []workflows.RegisterResult
	for _, j := range a.request.Jobs {
		if a.r.full[j.Name] {
			results = append(results, workflows.RegisterResult{Refused: "no room for " + j.Name})
		} else {
			results = append(results, workflows.RegisterResult{Name: "as first written " + j.Name})
		}
	}
	*result.(*[]workflows.RegisterResult) = results
	return nil
}

// put creates jobs with these names in parallel, and returns their errors.
func (r *registry) put(s *scheduler.Service, names ...string) map[string]error {
	var group sync.WaitGroup
	var mu sync.Mutex
	errs := map[string]error{}
	for _, name := range names {
		group.Go(func() {
			j, created, err := s.PutJob(r.t.Context(), key.Collection.Job(name), put(aJob))
			if err == nil && (!created || j.Key.Name != "as first written "+name) {
				err = fmt.Errorf("got the job %q", j.Key.Name)
			}
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	group.Wait()
	return errs
}

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("job-", i)
	}
	return all
}

func TestJobsThatAreCreatedTogetherAreRegisteredTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.full["job-7"] = true
		s := scheduler.New(scheduler.Options{Client: r})
		start := time.Now()
		go func() { assert.NoError(t, r.put(s, "first")["first"]) }()
		synctest.Wait()
		for name, err := range r.put(s, names(250)...) {
			if name == "job-7" {
				require.Equal(t, job.KindConflict, job.KindOf(err))
				require.ErrorContains(t, err, "no room for job-7")
				continue
			}
			require.NoError(t, err)
		}
		require.Equal(t, 4*time.Second, time.Since(start), "the first, 100, 100 and 50")
		var registered []string
		for _, request := range r.requests {
			require.LessOrEqual(t, len(request.Jobs), 100)
			for _, j := range request.Jobs {
				registered = append(registered, j.Name)
			}
		}
		require.ElementsMatch(t, append(names(250), "first"), registered)
	})
}

func TestACollectionThatAnsweredLatelyIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		between func(r *registry)
		asked   int // queries for a job with the name
		sent    int
	}{
		{"at once", func(*registry) {}, 2 + 1, 2},
		{"after a while, for its worker may have been killed", func(*registry) { time.Sleep(2 * time.Second) }, 2 + 2, 2},
		{"after it was changed, once it has refused", func(r *registry) { r.change() }, 3 + 2, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRegistry(t)
				s := scheduler.New(scheduler.Options{Client: r})
				require.NoError(t, r.put(s, "a")["a"])
				tt.between(r)
				require.NoError(t, r.put(s, "b")["b"])
				require.Equal(t, tt.asked, r.asked)
				require.Len(t, r.requests, tt.sent)
			})
		})
	}
}

func TestARegistrationDoesNotEndWithTheCallerThatSentIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		s := scheduler.New(scheduler.Options{Client: r})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		go func() { _, _, _ = s.PutJob(ctx, key.Collection.Job("first"), put(aJob)) }()
		synctest.Wait()
		require.NoError(t, r.put(s, "second")["second"])
		require.True(t, slices.ContainsFunc(r.requests, func(q workflows.RegisterRequest) bool { return q.Jobs[0].Name == "second" }))
	})
}

func TestNoJobIsRegisteredForACallerThatGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		s := scheduler.New(scheduler.Options{Client: r})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		for _, name := range []string{"first", "second", "third"} {
			go func() { _, _, _ = s.PutJob(ctx, key.Collection.Job(name), put(aJob)) }()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		require.Len(t, r.requests, 1)
		require.Equal(t, "first", r.requests[0].Jobs[0].Name)
		require.NoError(t, r.put(s, "fourth")["fourth"])
	})
}
