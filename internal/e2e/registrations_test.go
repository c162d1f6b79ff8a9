package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"almanac/api"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/quota"
	"almanac/scheduler"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

var racers = flag.Int("racers", 60, "clients of the test of registrations under faults")

const (
	raceQuota = 20
	raceNames = 30
)

// A race is one collection for which many clients contend, each over its own faulty connections.
type race struct {
	*stack
	collection string // its path
	k          job.CollectionKey

	struck atomic.Int32 // faults that happened

	mu          sync.Mutex
	generations map[string]map[int]int // which were seen, by name and registration: the newest one
}

// allowed and forbidden are jobs that the plan Free allows, and does not. Both rest, so that they have begun and
// answer.
func (r *race) body(forbidden, sleeps bool) string {
	more := `,"recurrence":{"frequency":"day"}`
	if forbidden {
		more = `,"recurrence":{"frequency":"minute"}`
	}
	if sleeps {
		return get("http://127.0.0.1:1/", later+more)
	}
	return get("http://127.0.0.1:1/", `,"state":"disabled"`+more)
}

// client is one client. It creates, changes and deletes jobs through an API whose connection to Temporal has a fault,
// and is cut off from the API after a while.
func (r *race) client(t *testing.T, n int) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	f := fault{up: random.IntN(3) > 0, frame: 4 + random.IntN(40), where: random.IntN(3), cut: random.IntN(2) == 0}
	if random.IntN(3) == 0 {
		f.stall = time.Duration(1+random.IntN(18)) * time.Second
	} else {
		f.cut = true
	}
	proxy := newFrameProxy(t, r.address, f)
	c, err := client.NewLazyClient(client.Options{HostPort: proxy.address, Logger: sdklog.NewStructuredLogger(quiet)})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if proxy.struck.Load() {
			r.struck.Add(1)
		}
	}()
	t.Cleanup(c.Close)
	service := scheduler.New(scheduler.Options{Client: c})
	front := httptest.NewServer(api.New(service, api.Options{Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(front.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 6 {
		patience := time.Duration(random.IntN(60)) * time.Millisecond
		if random.IntN(2) == 0 {
			patience = time.Minute
		}
		impatient, stop := context.WithTimeout(ctx, patience)
		url := fmt.Sprintf("%s%s/jobs/j%d", front.URL, r.collection, random.IntN(raceNames))
		switch random.IntN(8) {
		case 0:
			_, _ = tryCall(impatient, http.MethodDelete, url, "")
		case 1:
			_, _ = tryCall(impatient, http.MethodPatch, url, r.body(random.IntN(2) == 0, false))
		default:
			_, _ = tryCall(impatient, http.MethodPut, url, r.body(random.IntN(2) == 0, random.IntN(3) == 0))
		}
		stop()
	}
}

// read returns a job as its workflow has it, begun or not; false if it has none.
func (r *race) read(ctx context.Context, name string) (job.Job, bool, error) {
	j, err := r.service.Job(ctx, r.k.Job(name))
	if job.KindOf(err) == job.KindNotFound {
		return job.Job{}, false, nil
	}
	return j, err == nil, err
}

// watch reads jobs until ctx ends, and checks their generations.
func (r *race) watch(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		for n := range raceNames {
			r.see(ctx, t, fmt.Sprint("j", n))
		}
	}
}

// see reads a job, and checks that its generation is none before those that were seen when the reading began, and none
// that another job of the name had.
func (r *race) see(ctx context.Context, t *testing.T, name string) (job.Job, bool) {
	seen := r.newest(name)
	j, there, err := r.read(ctx, name)
	if err != nil || !there {
		return j, false
	}
	if j.Generation < seen[j.Registration] {
		t.Errorf("the generation of %s went back from %d to %d", name, seen[j.Registration], j.Generation)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.generations[name]
	all[j.Registration] = max(all[j.Registration], j.Generation)
	for registration, newest := range all {
		if registration != j.Registration && registration <= j.Generation && j.Generation <= newest {
			t.Errorf("the generation %d of %s belongs to two jobs, %d and %d", j.Generation, name, registration, j.Registration)
		}
	}
	return j, true
}

// newest returns the newest generation that was seen so far, by registration of the name.
func (r *race) newest(name string) map[int]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.generations[name] == nil {
		r.generations[name] = map[int]int{}
	}
	return maps.Clone(r.generations[name])
}

// broken returns what does not hold now: no more jobs than the quota, no registered name without a job, no job without
// a registered name, no job that the plan does not allow.
func (r *race) broken(t *testing.T) error {
	ctx := t.Context()
	list, err := r.names(ctx, r.k)
	if err != nil {
		return err
	}
	c, err := r.service.Collection(ctx, r.k)
	if err != nil {
		return err
	}
	limits := input.DefaultLimits().Tiers.LimitsOf(&c.Properties)
	var all error
	if len(list) > raceQuota {
		all = errors.Join(all, fmt.Errorf("%d jobs, and the quota is %d", len(list), raceQuota))
	}
	for n := range raceNames {
		name := fmt.Sprint("j", n)
		j, there := r.see(ctx, t, name)
		if registered := slices.Contains(list, name); there != registered {
			all = errors.Join(all, fmt.Errorf("%s: registered %t, there %t", name, registered, there))
		}
		if there {
			if why := limits.RefusesJob(c.Key.Name, name, quota.RequirementsOf(&j.Definition, j.Created)); why != "" {
				all = errors.Join(all, errors.New(why))
			}
		}
	}
	return all
}

// raceBody returns the collection's properties under a plan.
func raceBody(plan string) string {
	return fmt.Sprintf(`{"location":"here","properties":{"sku":{"name":%q},"quota":{"maxJobCount":%d}}}`, plan, raceQuota)
}

// With -racers 1000 it takes some minutes.
func TestQuotasAndPlansHoldWhereverConnectionsAreCutOrStalled(t *testing.T) {
	t.Parallel()
	s := newStack(t, setup{data: t.TempDir()})
	r := &race{stack: s, collection: "/jobCollections/race", generations: map[string]map[int]int{}}
	r.k = key(r.collection+"/jobs", "").Collection
	created(t, s.url+r.collection, raceBody("Standard"))
	watching, stop := context.WithCancel(t.Context())
	var watchers, clients sync.WaitGroup
	watchers.Go(func() { r.watch(watching, t) })
	watchers.Go(func() { // changes the plan whenever the jobs allow it
		for i := 0; watching.Err() == nil; i++ {
			_, _ = tryCall(watching, http.MethodPut, s.url+r.collection, raceBody([]string{"Free", "P10Premium", "Standard"}[i%3]))
			wait(watching, 200*time.Millisecond)
		}
	})
	slots := make(chan struct{}, 60)
	for n := range *racers {
		clients.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			r.client(t, n)
		})
	}
	clients.Wait()
	require.Greater(t, int(r.struck.Load()), *racers/2, "faults must happen for the test to show anything")
	t.Logf("%d of %d connections were struck", r.struck.Load(), *racers)
	var last error
	deadline := time.Now().Add(patience)
	for last = r.broken(t); last != nil && time.Now().Before(deadline); last = r.broken(t) {
		wait(t.Context(), time.Second)
	}
	stop()
	watchers.Wait()
	require.NoError(t, last, "after the time that the registry takes")
	require.NoError(t, r.broken(t), "and it stays so")
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func TestAJobWhoseCreatorWasSuspendedForLongEndsItself(t *testing.T) {
	t.Parallel()
	s, target := use(t), newSink(t, nil)
	jobs := s.collection(t) + "/jobs"
	for name, start := range map[string]string{"at once": "", "before it is due": later} {
		k := key(jobs, name)
		registered := s.register(t, k)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eventually(t, "list without the name", func() bool {
				list, err := s.names(t.Context(), k.Collection)
				return err == nil && !slices.Contains(list, name)
			})
			d, err := input.ParseDefinition([]byte(get(target.URL+"/", start+`,"recurrence":{"frequency":"minute"}`)), input.ParseOptions{Now: time.Now()})
			require.NoError(t, err)
			in, err := state.New(k, d, registered.Number, workflows.CollectionState{}, time.Now())
			require.NoError(t, err)
			run, err := s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: k.WorkflowID(), TaskQueue: workflows.TaskQueue, StartDelay: 3 * time.Second,
			}, workflows.TypeJob, in)
			require.NoError(t, err)
			var refused *temporal.ApplicationError
			require.ErrorAs(t, run.Get(t.Context(), nil), &refused)
			require.Equal(t, workflows.ErrTypeUnregistered, refused.Type())
			require.Contains(t, refused.Message(), "started later than 15s after its name was registered")
			require.Empty(t, target.got("/"))
			created(t, jobs+"/"+name, get(target.URL+"/", later))
		})
	}
}

// names returns the registered names of a collection.
func (s *stack) names(ctx context.Context, k job.CollectionKey) (names []string, err error) {
	value, err := s.temporal.QueryWorkflow(ctx, k.WorkflowID(), "", workflows.QueryJobs)
	if err != nil {
		return nil, err
	}
	var list workflows.JobList
	err = value.Get(&list)
	for _, l := range list.Jobs {
		names = append(names, l.Name)
	}
	return names, err
}

// register registers the name of a job, as an API does before it starts the workflow.
func (s *stack) register(t *testing.T, k job.Key) workflows.Registration {
	t.Helper()
	handle, err := s.temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: k.Collection.WorkflowID(), UpdateName: workflows.UpdateRegister, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{workflows.RegisterRequest{Jobs: []workflows.RegisterJob{{Name: k.Name}}, Tiers: input.DefaultLimits().Tiers}},
	})
	require.NoError(t, err)
	var answer workflows.RegisterAnswer
	require.NoError(t, handle.Get(t.Context(), &answer))
	require.Empty(t, answer.Jobs[0].Refused)
	return answer.Jobs[0].Registration
}

// With a cut connection, whether the first job is created is open. What the second one requires is not.
func TestAForbiddenJobDoesNotGetTheNameOfAnAllowedOne(t *testing.T) {
	t.Parallel()
	s := use(t)
	collection := subscription(s) + "free"
	created(t, collection+version, `{"location":"here","properties":{"sku":{"name":"Free"}}}`)
	for i := range 5 {
		url := fmt.Sprintf("%s/jobs/j%d%s", collection, i, version)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(6+3*i)*time.Millisecond)
		_, _ = tryCall(ctx, http.MethodPut, url, get("http://127.0.0.1:1/", `,"recurrence":{"frequency":"day"}`))
		cancel()
		r := call(t, http.MethodPut, url, get("http://127.0.0.1:1/", `,"recurrence":{"frequency":"minute"}`))
		require.Equal(t, http.StatusConflict, r.code, r.body)
	}
}

func TestAChangeOfAJobDoesNotReachAnotherOneOfItsName(t *testing.T) {
	t.Parallel()
	s := use(t)
	jobs := s.collection(t) + "/jobs"
	url, k := jobs+"/j", key(jobs, "j")
	read := 0
	other := scheduler.New(scheduler.Options{Client: s.temporal}) // changes of one API wait for each other
	_, err := other.PatchJob(t.Context(), k, nil)
	require.Equal(t, job.KindNotFound, job.KindOf(err))
	created(t, url, get("http://127.0.0.1:1/first", `,"state":"disabled"`))
	_, err = other.PatchJob(t.Context(), k, func(current *job.Job) (job.Definition, error) {
		d := current.Definition
		if read++; read == 1 { // the job is deleted and created anew between the reading and the writing
			ok(t, http.MethodDelete, url, "")
			created(t, url, get("http://127.0.0.1:1/second", `,"state":"disabled"`))
		}
		d.State = job.StateEnabled
		return d, nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, read, "the new job is read, too")
	require.Equal(t, "http://127.0.0.1:1/second", call(t, http.MethodGet, url, "").get("properties.action.request.uri"))
}
