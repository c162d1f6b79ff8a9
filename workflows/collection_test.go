package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
	"almanac/workflows"
)

// A hall runs a job collection in skipped time. Instants are told as durations
// since newYear.
type hall struct {
	t     *testing.T
	env   *testsuite.TestWorkflowEnvironment
	input workflows.CollectionInput

	deaf        func(name string) bool // which jobs cannot be signalled, since they do not exist
	leaves      bool                   // whether a job that is told to delete itself does, 300 ms later
	slow        time.Duration          // how long the first signal takes
	lookups     [][]string             // the names of the jobs that were looked up
	missing     []string               // the jobs that do not exist
	lookupTakes time.Duration          // how long a lookup takes

	events  []event
	stopped bool       // whether the test is over: then no job exists any more
	mu      sync.Mutex // guards what follows
	told    []string   // signals that arrived, such as "00:00:10 a collection true"
}

func newHall(t *testing.T, state job.CollectionState, names ...string) *hall {
	h := &hall{t: t, deaf: func(string) bool { return false }}
	h.input.Collection = job.Collection{Key: key.Collection, Properties: properties(state)}
	for _, name := range names {
		h.input.Jobs = append(h.input.Jobs, workflows.Registration{Name: name, Resting: state != job.CollectionEnabled})
	}
	return h
}

func properties(state job.CollectionState) job.CollectionProperties {
	return job.CollectionProperties{SKU: job.SKU{Name: "Standard"}, State: state}
}

func (h *hall) at(after time.Duration, do func()) {
	h.events = append(h.events, event{at: after, do: do})
}

func (h *hall) update(after time.Duration, name string, arguments ...any) *reply {
	r := &reply{}
	h.at(after, func() { h.env.UpdateWorkflow(name, "", r, arguments...) })
	return r
}

func (h *hall) register(after time.Duration, name string, limit int) *reply {
	return h.update(after, workflows.UpdateRegister, workflows.RegisterRequest{Name: name, Limit: limit})
}

func (h *hall) put(after time.Duration, state job.CollectionState) *reply {
	return h.update(after, workflows.UpdatePut, job.Collection{Key: key.Collection, Properties: properties(state)})
}

// removed tells the collection that a job is gone.
func (h *hall) removed(after time.Duration, name string) {
	h.at(after, func() { h.env.SignalWorkflow(workflows.SignalRemoved, name) })
}

// names asks for the names of the jobs.
func (h *hall) names(after time.Duration) *[]string {
	got := []string{"not asked"}
	h.at(after, func() {
		value, err := h.env.QueryWorkflow(workflows.QueryJobs)
		require.NoError(h.t, err)
		got = nil
		require.NoError(h.t, value.Get(&got))
	})
	return &got
}

// A reply is what became of an update of a collection.
type reply struct {
	accepted, completed bool
	value               any
	err                 error
}

func (r *reply) Accept()                   { r.accepted = true }
func (r *reply) Reject(err error)          { r.completed, r.err = true, err }
func (r *reply) Complete(v any, err error) { r.completed, r.value, r.err = true, v, err }

func (r *reply) ok(t *testing.T) any {
	t.Helper()
	require.NoError(t, r.err)
	require.True(t, r.completed, "the update was not answered")
	return r.value
}

func (r *reply) refused(t *testing.T, errType string) string {
	t.Helper()
	require.True(t, r.completed, "the update was not answered")
	require.False(t, r.accepted, "the update was accepted")
	requireType(t, r.err, errType)
	return r.err.Error()
}

// errStopped says that the collection was there until the test deleted it.
var errStopped = errors.New("the test is over")

// run runs one run of the collection's workflow and returns what it ended
// with: errStopped if it was still there in the end.
func (h *hall) run(until time.Duration) error {
	h.env = newEnvironment()
	h.env.SetStartTime(newYear)
	h.env.RegisterWorkflowWithOptions(workflows.Collection, workflow.RegisterOptions{Name: workflows.TypeCollection})
	h.env.RegisterActivityWithOptions(h.lookup, activity.RegisterOptions{Name: activities.TypeMissing})
	if h.lookupTakes > 0 {
		h.env.OnActivity(activities.TypeMissing, mock.Anything, mock.Anything).After(h.lookupTakes).Return(h.lookup)
	}
	var first sync.Once
	h.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", mock.Anything, mock.Anything).
		AfterFn(func() (wait time.Duration) {
			first.Do(func() { wait = h.slow })
			return wait
		}).
		Return(func(_, id, _, signal string, argument any) error { return h.signalled(id, signal, argument) }).Maybe()
	for _, e := range h.events {
		h.env.RegisterDelayedCallback(e.do, e.at)
	}
	h.env.RegisterDelayedCallback(func() { h.stopped = true; h.env.CancelWorkflow() }, until)
	h.env.ExecuteWorkflow(workflows.TypeCollection, h.input)
	if err := h.env.GetWorkflowError(); err != nil {
		return err
	}
	if h.stopped {
		return errStopped
	}
	return nil
}

func (h *hall) signalled(id, signal string, argument any) error {
	name := id[strings.LastIndex(id, "/")+1:]
	require.Equal(h.t, key.Collection.Job(name).WorkflowID(), id)
	if h.stopped || h.deaf(name) {
		return errors.New("there is no such workflow")
	}
	line := clock(h.env.Now()) + " " + name + " " + signal
	if argument != nil {
		line += fmt.Sprint(" ", argument)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, line)
	if h.leaves && signal == workflows.UpdateDelete {
		h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(workflows.SignalRemoved, name) }, 300*time.Millisecond)
	}
	return nil
}

// signals returns the signals that arrived; those of one instant by name.
func (h *hall) signals() []string {
	slices.Sort(h.told)
	return h.told
}

// lookup stands for the activity that looks up which workflows do not exist.
func (h *hall) lookup(_ context.Context, ids []string) ([]int, error) {
	var names []string
	missing := []int{}
	for i, id := range ids {
		name := id[strings.LastIndex(id, "/")+1:]
		names = append(names, name)
		if h.stopped || slices.Contains(h.missing, name) {
			missing = append(missing, i)
		}
	}
	if !h.stopped {
		h.lookups = append(h.lookups, names)
	}
	return missing, nil
}

func TestRegister(t *testing.T) {
	t.Parallel()
	t.Run("reserves the name of a new job", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		a, b := h.register(time.Second, "One", 2), h.register(2*time.Second, "two", 2)
		names := h.names(3 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		require.Equal(t, workflows.RegisterResult{Name: "One", New: true}, a.ok(t))
		require.Equal(t, workflows.RegisterResult{Name: "two", New: true}, b.ok(t))
		require.Equal(t, []string{"One", "two"}, *names, "in the order in which they were created")
	})
	t.Run("shows an existing job as it was first written", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "NightlyÄ")
		a := h.register(time.Second, "nIGHTLYä", 1)
		names := h.names(2 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		require.Equal(t, workflows.RegisterResult{Name: "NightlyÄ"}, a.ok(t), "although the collection is full")
		require.Equal(t, []string{"NightlyÄ"}, *names)
	})
	t.Run("tells whether the collection's jobs rest", func(t *testing.T) {
		t.Parallel()
		for _, state := range []job.CollectionState{job.CollectionDisabled, job.CollectionSuspended} {
			h := newHall(t, state, "a")
			a, b := h.register(time.Second, "a", 5), h.register(time.Second, "b", 5)
			require.ErrorIs(t, h.run(10*time.Second), errStopped)
			require.Equal(t, workflows.RegisterResult{Name: "a", Resting: true}, a.ok(t))
			require.Equal(t, workflows.RegisterResult{Name: "b", New: true, Resting: true}, b.ok(t))
		}
	})
	t.Run("is refused when the collection is full", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "a", "b")
		a := h.register(time.Second, "c", 2)
		h.removed(2*time.Second, "A")
		b := h.register(3*time.Second, "c", 2)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		text := a.refused(t, workflows.ErrTypeConflict)
		require.Contains(t, text, "2 jobs")
		require.Contains(t, text, "'c'")
		require.Equal(t, workflows.RegisterResult{Name: "c", New: true}, b.ok(t), "a job has gone meanwhile")
	})
	t.Run("never exceeds the limit when all come at once", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		var replies []*reply
		for i := range 30 {
			replies = append(replies, h.register(time.Second, fmt.Sprint("job", i%20), 10)) // some of them twice
		}
		names := h.names(2 * time.Second)
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		created := 0
		for _, r := range replies {
			if r.err != nil {
				r.refused(t, workflows.ErrTypeConflict)
			} else if r.ok(t).(workflows.RegisterResult).New {
				created++
			}
		}
		require.Equal(t, 10, created)
		require.Len(t, *names, 10)
	})
}

func TestAJobThatIsGoneLeavesTheRegistry(t *testing.T) {
	t.Parallel()
	h := newHall(t, job.CollectionEnabled, "a", "B", "c")
	h.removed(time.Second, "b")
	h.removed(time.Second, "stranger")
	names := h.names(2 * time.Second)
	require.ErrorIs(t, h.run(10*time.Second), errStopped)
	require.Equal(t, []string{"a", "c"}, *names)
}

func TestRegistrationsAreVerified(t *testing.T) {
	t.Parallel()
	t.Run("30 seconds after", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "old")
		h.missing = []string{"lost", "old"}
		h.register(10*time.Second, "there", 9)
		h.register(10*time.Second, "lost", 9)
		h.register(25*time.Second, "later", 9)
		early, names := h.names(39*time.Second), h.names(41*time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"old", "there", "lost", "later"}, *early)
		require.Equal(t, []string{"old", "there", "later"}, *names)
		require.Equal(t, [][]string{{"there", "lost"}, {"later"}}, h.lookups, "each once, and none that was seen before")
	})
	t.Run("and again when a name is registered anew", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		h.missing = []string{"a"}
		h.register(time.Second, "a", 9)
		h.removed(20*time.Second, "a")
		h.register(21*time.Second, "a", 9)
		names := h.names(50 * time.Second)
		gone := h.names(52 * time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *names, "its 30 seconds have begun anew")
		require.Empty(t, *gone)
	})
	t.Run("but not by a lookup that began before they were made", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		h.missing = []string{"a"}
		h.lookupTakes = 10 * time.Second
		h.register(time.Second, "a", 9) // looked up from 31 to 41 seconds
		h.removed(33*time.Second, "a")
		h.register(34*time.Second, "a", 9)
		names, gone := h.names(60*time.Second), h.names(75*time.Second)
		require.ErrorIs(t, h.run(10*time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *names)
		require.Empty(t, *gone)
	})
	t.Run("across runs", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		h.input.Jobs = []workflows.Registration{{Name: "b", Unverified: newYear.Add(-time.Hour)}, {Name: "a", Unverified: newYear.Add(-10 * time.Second)}}
		h.missing = []string{"a", "b"}
		first, second := h.names(19*time.Second), h.names(21*time.Second)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{"a"}, *first)
		require.Empty(t, *second)
	})
}

func TestPut(t *testing.T) {
	t.Parallel()
	t.Run("replaces the properties", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "a")
		to := job.Collection{
			Key:        job.CollectionKey{Subscription: "S", ResourceGroup: "G", Name: "REPORTS"},
			Properties: job.CollectionProperties{SKU: job.SKU{Name: "Free"}, State: job.CollectionEnabled, Quota: &job.Quota{MaxJobCount: 3}},
		}
		a := h.update(time.Second, workflows.UpdatePut, to)
		var read job.Collection
		h.at(2*time.Second, func() {
			value, err := h.env.QueryWorkflow(workflows.QueryStatus)
			require.NoError(t, err)
			require.NoError(t, value.Get(&read))
		})
		require.ErrorIs(t, h.run(10*time.Second), errStopped)
		to.Key = key.Collection // the names stay as they were first written
		require.Equal(t, to, a.ok(t))
		require.Equal(t, to, read)
		require.Empty(t, h.told, "no job need be told")
	})
	t.Run("that disables or enables tells every job", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "a", "B")
		h.put(10*time.Second, job.CollectionDisabled)
		h.put(20*time.Second, job.CollectionSuspended)
		h.put(30*time.Second, job.CollectionEnabled)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{
			"00:00:10 a collection false", "00:00:10 b collection false",
			"00:00:30 a collection true", "00:00:30 b collection true",
		}, h.signals(), "Suspended is no news to jobs that rest")
	})
	t.Run("is answered when every job has been told", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "a", "b")
		h.slow = 5 * time.Second
		a := h.put(10*time.Second, job.CollectionDisabled)
		var before bool
		h.at(14*time.Second, func() { before = a.completed })
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		a.ok(t)
		require.False(t, before)
	})
	t.Run("tells jobs that started meanwhile when they are verified", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		started := false
		h.deaf = func(string) bool { return !started }
		a := h.register(time.Second, "a", 9)
		b := h.put(2*time.Second, job.CollectionDisabled) // before the job's workflow is there
		h.at(3*time.Second, func() { started = true })
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.False(t, a.ok(t).(workflows.RegisterResult).Resting)
		b.ok(t)
		require.Equal(t, []string{"00:00:31 a collection false"}, h.signals())
	})
	t.Run("never overtakes the one before it", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "a")
		h.slow = 5 * time.Second
		h.put(10*time.Second, job.CollectionDisabled)
		h.put(11*time.Second, job.CollectionEnabled)
		require.ErrorIs(t, h.run(time.Minute), errStopped)
		require.Equal(t, []string{"00:00:15 a collection false", "00:00:15 a collection true"}, h.signals())
	})
}

func TestDeletingACollection(t *testing.T) {
	t.Parallel()
	deletions := map[string]func(*hall) *reply{
		"by update": func(h *hall) *reply { return h.update(10*time.Second, workflows.UpdateDelete) },
		"by cancelling the workflow": func(h *hall) *reply {
			h.at(10*time.Second, func() { h.env.CancelWorkflow() })
			return &reply{completed: true}
		},
	}
	for by, remove := range deletions {
		t.Run(by+" deletes its jobs first", func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionEnabled, "a", "b")
			h.leaves = true
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Equal(t, []string{"00:00:10 a delete", "00:00:10 b delete"}, h.signals())
			require.Equal(t, newYear.Add(10*time.Second+300*time.Millisecond), h.env.Now().UTC())
		})
		t.Run(by+" does not wait for jobs that do not exist", func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionEnabled, "a", "ghost")
			h.leaves = true
			h.missing = []string{"ghost"}
			h.deaf = func(name string) bool { return name == "ghost" }
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Equal(t, newYear.Add(11*time.Second), h.env.Now().UTC())
		})
		t.Run(by+" reaches a job that starts late", func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionEnabled)
			started := false
			h.leaves = true
			h.deaf = func(string) bool { return !started }
			h.missing = []string{"a"} // which is not believed before its 30 seconds are over
			h.register(9*time.Second, "a", 9)
			a := remove(h)
			h.at(15500*time.Millisecond, func() { started = true })
			require.NoError(t, h.run(5*time.Minute))
			a.ok(t)
			require.Equal(t, []string{"00:00:16 a delete"}, h.signals())
		})
		t.Run(by+" waits for a job that never starts until that is certain", func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionEnabled)
			h.deaf = func(string) bool { return true }
			h.missing = []string{"a"}
			h.register(9*time.Second, "a", 9)
			a := remove(h)
			require.NoError(t, h.run(5*time.Minute))
			a.ok(t)
			require.Equal(t, newYear.Add(39*time.Second), h.env.Now().UTC())
		})
		t.Run(by+" works while registrations are verified", func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionEnabled)
			h.leaves = true
			h.input.Jobs = []workflows.Registration{{Name: "a", Unverified: newYear.Add(-25 * time.Second)}} // verified from 00:00:05 on
			h.lookupTakes = 8 * time.Second
			a := remove(h)
			require.NoError(t, h.run(time.Minute))
			a.ok(t)
			require.Contains(t, h.signals(), "00:00:10 a delete")
		})
	}
	t.Run("that holds no job ends it at once", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled)
		a := h.update(10*time.Second, workflows.UpdateDelete)
		require.NoError(t, h.run(time.Minute))
		a.ok(t)
		require.Equal(t, newYear.Add(10*time.Second), h.env.Now().UTC())
	})
	t.Run("twice answers both", func(t *testing.T) {
		t.Parallel()
		h := newHall(t, job.CollectionEnabled, "a")
		h.leaves = true
		a, b := h.update(10*time.Second, workflows.UpdateDelete), h.update(10*time.Second+100*time.Millisecond, workflows.UpdateDelete)
		require.NoError(t, h.run(time.Minute))
		a.ok(t)
		b.ok(t)
	})
}

func TestWhatComesWhileACollectionIsBeingDeletedIsRefused(t *testing.T) {
	t.Parallel()
	h := newHall(t, job.CollectionEnabled, "a")
	h.update(10*time.Second, workflows.UpdateDelete)
	during := 10*time.Second + 500*time.Millisecond
	register, again, put := h.register(during, "b", 9), h.register(during, "a", 9), h.put(during, job.CollectionDisabled)
	for _, query := range []string{workflows.QueryStatus, workflows.QueryJobs} {
		h.at(during, func() {
			_, err := h.env.QueryWorkflow(query)
			requireType(t, err, workflows.ErrTypeGone)
		})
	}
	h.removed(11*time.Second+500*time.Millisecond, "a")
	require.NoError(t, h.run(time.Minute))
	register.refused(t, workflows.ErrTypeGone)
	again.refused(t, workflows.ErrTypeGone)
	put.refused(t, workflows.ErrTypeGone)
}

func TestACollectionContinuesAsNewWithItsRegistry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		arrange func(*hall)
		most    time.Duration
	}{
		{"after a thousand changes", func(h *hall) {
			for i := range 100 {
				h.at(time.Duration(i+1)*100*time.Millisecond, func() {
					for range 5 {
						h.env.UpdateWorkflow(workflows.UpdateRegister, "", &reply{}, workflows.RegisterRequest{Name: "passing", Limit: 50})
						h.env.SignalWorkflow(workflows.SignalRemoved, "passing")
					}
				})
			}
		}, 10 * time.Second},
		{"when the server suggests it", func(h *hall) {
			h.at(time.Second, func() { h.env.SetContinueAsNewSuggested(true) })
			h.removed(2*time.Second, "stranger")
		}, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHall(t, job.CollectionDisabled, "a", "B")
			h.input.Jobs = append(h.input.Jobs, workflows.Registration{Name: "new", Unverified: newYear, Resting: true})
			tt.arrange(h)
			err := h.run(time.Hour)
			var next *workflow.ContinueAsNewError
			require.ErrorAs(t, err, &next)
			var got workflows.CollectionInput
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &got))
			require.Equal(t, asJSON(t, h.input), asJSON(t, got))
			require.LessOrEqual(t, h.env.Now().Sub(newYear), tt.most)
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
