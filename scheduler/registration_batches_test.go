package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/notification"
	"almanac/scheduler"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// registry is a Temporal with a job collection in which each update takes a second.
type registry struct {
	*directory
	generation int                       // of the collection, as it is read
	state      workflows.CollectionState // as it answers a registration
	full       map[string]bool
	taken      map[string]bool // names that are registered already

	mu       sync.Mutex
	requests []workflows.RegisterRequest
	started  []state.Input
	memos    []any // numbers of registrations in the memos
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{directory: &directory{t: t, answers: map[string]any{}}, full: map[string]bool{}, taken: map[string]bool{}}
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

func (r *registry) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, arguments ...any) (client.WorkflowRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, arguments[0].(state.Input))
	r.memos = append(r.memos, o.Memo[workflows.MemoRegistration])
	return nil, nil
}

type registeredAfter struct {
	client.WorkflowUpdateHandle
	r       *registry
	request workflows.RegisterRequest
}

func (a *registeredAfter) Get(_ context.Context, result any) error {
	time.Sleep(time.Second)
	answer := workflows.RegisterAnswer{Collection: a.r.state}
	for i, j := range a.request.Jobs {
		one := workflows.RegisterResult{Registration: workflows.Registration{Name: "as first written " + j.Name, Number: 1_000_000 + i}}
		switch {
		case a.r.full[j.Name]:
			one = workflows.RegisterResult{Refused: "no room for " + j.Name}
		case j.IfNew && a.r.taken[j.Name]:
			one = workflows.RegisterResult{Taken: true}
		}
		answer.Jobs = append(answer.Jobs, one)
	}
	*result.(*workflows.RegisterAnswer) = answer
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
		asked   int // queries, of which the first two are for the first job and for the collection
		sent    int
	}{
		{"at once", func(*registry) {}, 2, 2},
		{"after a while, for its worker may have been killed", func(*registry) { time.Sleep(2 * time.Second) }, 2 + 1, 2},
		{"though it was changed, for it decides by what it is", func(r *registry) { r.change() }, 2, 2},
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

func TestAJobStartsWithWhatItsRegistrationAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		// not as it was read
		r.state = workflows.CollectionState{Generation: 5, Disabled: true, Rules: []notification.Rule{{Key: "ops"}}}
		s := scheduler.New(scheduler.Options{Client: r})
		require.NoError(t, r.put(s, "a")["a"])
		in := r.started[0]
		got := workflows.CollectionState{Generation: in.Collection, Disabled: in.CollectionDisabled, Rules: in.Alerts.Inherited}
		require.Equal(t, r.state, got)
		require.Equal(t, 1_000_000, in.Registration)
		require.Equal(t, 1_000_000, in.Generation, "so that no earlier job of the name had it")
		require.Equal(t, []any{1_000_000}, r.memos)
		require.Equal(t, input.DefaultLimits().Tiers, r.requests[0].Tiers)
	})
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

func TestAJobOfACollectionThatGrowsIsCreatedWithoutAskingForItFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		s := scheduler.New(scheduler.Options{Client: r})
		require.NoError(t, r.put(s, "a")["a"])
		require.False(t, r.requests[0].Jobs[0].IfNew, "it was asked for, and is not there")
		asked := r.asked
		require.NoError(t, r.put(s, "b")["b"])
		require.Equal(t, asked, r.asked)
		require.True(t, r.requests[1].Jobs[0].IfNew)
		require.Equal(t, []workflows.Registration{{Name: "as first written a", Number: 1_000_000}}, r.requests[1].Started, "so that it is not looked up")

		r.taken["c"] = true // but there is no job: its start failed
		require.NoError(t, r.put(s, "c")["c"])
		require.True(t, r.requests[2].Jobs[0].IfNew)
		require.Greater(t, r.asked, asked)
		require.False(t, r.requests[3].Jobs[0].IfNew)
		require.Len(t, r.started, 3)

		r.full["d"] = true
		require.ErrorContains(t, r.put(s, "d")["d"], "no room for d")

		time.Sleep(10 * time.Second)
		asked = r.asked
		require.NoError(t, r.put(s, "e")["e"])
		require.Greater(t, r.asked, asked, "the last one was created a while ago")
	})
}

// A PUT that may be wrong for a new job can be right for one that exists.
func TestAJobThatExistsIsReplacedInACollectionThatGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		s := scheduler.New(scheduler.Options{Client: r})
		require.NoError(t, r.put(s, "a")["a"])
		existing := key.Collection.Job("b")
		r.answers[existing.WorkflowID()+" "+workflows.QueryStatus] = job.Job{Key: existing}
		stop := errors.New("read it first")
		var seen []bool
		_, created, err := s.PutJob(t.Context(), existing, func(current *job.Job) (job.Definition, error) {
			seen = append(seen, current != nil)
			return job.Definition{}, stop
		})
		require.ErrorIs(t, err, stop)
		require.False(t, created)
		require.Equal(t, []bool{false, true}, seen)
		require.Len(t, r.requests, 1, "nothing was registered")
	})
}
