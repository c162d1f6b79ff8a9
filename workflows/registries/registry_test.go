package registries_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/workflows"
)

var (
	newYear     = workflowtest.NewYear
	key         = workflowtest.Key
	clock       = workflowtest.Clock
	requireType = workflowtest.RequireType
)

// An event happens at a given time.
type event struct {
	at time.Duration
	do func()
}

// A registryEnv runs a workflow with a registry in skipped time. Times are given as durations since newYear.
type registryEnv struct {
	mu   sync.Mutex // of what activities, which have goroutines of their own, note
	t    *testing.T
	env  *testsuite.TestWorkflowEnvironment
	name func(workflowID string) string // of a registered workflow, in lower case

	missing     []string       // names without a workflow
	alive       map[string]int // registrations of the other workflows, by lower-cased name
	lookupTakes time.Duration  // duration of a lookup
	lookups     [][]string     // names looked up, per call
	payloads    []int          // sizes of the inputs of activities

	events  []event
	stopped bool // the test is over, and no workflow exists
}

func newRegistryEnv(t *testing.T, name func(string) string) *registryEnv {
	return &registryEnv{t: t, name: name, alive: map[string]int{}}
}

func (s *registryEnv) at(after time.Duration, do func()) {
	s.events = append(s.events, event{at: after, do: do})
}

func (s *registryEnv) update(after time.Duration, name string, arguments ...any) *reply {
	r := &reply{}
	s.at(after, func() { s.env.UpdateWorkflow(name, "", r, arguments...) })
	return r
}

func (s *registryEnv) signal(after time.Duration, name string, argument any) {
	s.at(after, func() { s.env.SignalWorkflow(name, argument) })
}

// removed signals to the registry that a workflow is gone.
func (s *registryEnv) removed(after time.Duration, name string) {
	s.at(after, func() {
		s.mu.Lock()
		number := s.alive[job.NormalizeName(name)]
		delete(s.alive, job.NormalizeName(name))
		s.mu.Unlock()
		s.env.SignalWorkflow(workflows.SignalRemoved, workflows.Registration{Name: name, Number: number})
	})
}

// starts has the workflow of a name started by whoever registers the name at that time, unless there is one.
func (s *registryEnv) starts(after time.Duration, name string) {
	s.at(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if name = job.NormalizeName(name); s.alive[name] == 0 {
			s.alive[name] = number(after)
		}
	})
}

// own sets the registration to which the workflow of a name in lower case belongs.
func (s *registryEnv) own(name string, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[name] = number
}

// number returns the number of the first registration at a time.
func number(after time.Duration) int { return int(newYear.Add(after).UnixMicro()) }

// pass registers and removes a name so many times, every 20 ms.
func (s *registryEnv) pass(times int, name string, register any) {
	var next func()
	next = func() {
		s.env.UpdateWorkflow(workflows.UpdateRegister, "", &reply{}, register)
		gone := workflows.Registration{Name: name, Number: int(s.env.Now().UnixMicro())}
		s.env.RegisterDelayedCallback(func() { s.env.SignalWorkflow(workflows.SignalRemoved, gone) }, 10*time.Millisecond)
		if times--; times > 0 {
			s.env.RegisterDelayedCallback(next, 20*time.Millisecond)
		}
	}
	s.at(0, next)
}

func (s *registryEnv) prepare(name string, of any) {
	s.env = workflowtest.NewEnvironment()
	s.env.SetStartTime(newYear)
	s.env.RegisterWorkflowWithOptions(of, workflow.RegisterOptions{Name: name})
	s.env.RegisterActivityWithOptions(s.lookup, activity.RegisterOptions{Name: lookups.TypeRegistrations})
}

// play runs the workflow once and returns its error.
func (s *registryEnv) play(name string, input any) error {
	if s.lookupTakes > 0 {
		s.env.OnActivity(lookups.TypeRegistrations, mock.Anything, mock.Anything).After(s.lookupTakes).Return(s.lookup)
	}
	for _, e := range s.events {
		s.env.RegisterDelayedCallback(e.do, e.at)
	}
	s.env.ExecuteWorkflow(name, input)
	return s.env.GetWorkflowError()
}

// lookup is a fake of the activity that finds the registrations of workflows.
func (s *registryEnv) lookup(_ context.Context, ids []string) ([]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payloads = append(s.payloads, size(s.t, ids))
	var names []string
	numbers := make([]int, len(ids))
	for i, id := range ids {
		name := s.name(id)
		names = append(names, name)
		if !s.stopped && !slices.Contains(s.missing, name) {
			numbers[i] = cmp.Or(s.alive[name], lookups.Unknown)
		}
	}
	if !s.stopped {
		s.lookups = append(s.lookups, names)
	}
	return numbers, nil
}

// continued requires that a run continued as new, and returns the next run's input.
func continued[T any](t *testing.T, err error) T {
	t.Helper()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, err, &next)
	var input T
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &input))
	return input
}

// A reply is the answer to an update.
type reply struct {
	accepted, completed bool
	value               any
	err                 error
}

func (r *reply) Accept()                   { r.accepted = true }
func (r *reply) Reject(err error)          { r.completed, r.err = true, err }
func (r *reply) Complete(v any, err error) { r.completed, r.value, r.err = true, v, err }

// ok requires that the update succeeded, and returns its result.
func (r *reply) ok(t *testing.T) any {
	t.Helper()
	require.NoError(t, r.err)
	require.True(t, r.completed, "the update was not answered")
	return r.value
}

// registered requires that the registration succeeded, and returns its results.
func (r *reply) registered(t *testing.T) []workflows.RegisterResult {
	t.Helper()
	answer, ok := r.ok(t).(workflows.RegisterAnswer)
	require.True(t, ok)
	return answer.Jobs
}

// as returns the answer for a name that was registered first at a time.
func as(name string, after time.Duration) []workflows.RegisterResult {
	return []workflows.RegisterResult{{Registration: workflows.Registration{Name: name, Number: number(after)}}}
}

// noRoom requires that one job was refused for lack of room, with or without a recount, and returns the
// reason.
func (r *reply) noRoom(t *testing.T) string {
	t.Helper()
	if r.err != nil {
		return r.refused(t, workflows.ErrTypeConflict)
	}
	results := r.registered(t)
	require.Len(t, results, 1)
	require.NotEmpty(t, results[0].Refused)
	return results[0].Refused
}

// refused requires that the update was refused before it was written to the history, and returns the reason.
func (r *reply) refused(t *testing.T, errType string) string {
	t.Helper()
	require.False(t, r.accepted, "the update was accepted")
	return r.failed(t, errType)
}

// failed requires that the update failed, and returns its error's text.
func (r *reply) failed(t *testing.T, errType string) string {
	t.Helper()
	require.True(t, r.completed, "the update was not answered")
	requireType(t, r.err, errType)
	return r.err.Error()
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
