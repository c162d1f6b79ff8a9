package calendar_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/calendar"
)

var key = job.SubscriptionScope("s").Calendar("SE")

func kept() calendar.Input {
	return calendar.Input{
		KeptCalendar: job.KeptCalendar{Key: key, Calendar: job.Calendar{WeekendDays: []string{"sunday"}}, Version: 1, Generation: 1700},
		Registration: 1700,
	}
}

// A reply is the answer to an update.
type reply struct {
	stored job.KeptCalendar
	err    error
}

// update sends an update after a time.
func update(env *testsuite.TestWorkflowEnvironment, after time.Duration, id, name string, args ...any) *reply {
	r := &reply{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { r.err = err },
			OnComplete: func(v any, err error) {
				r.stored, _ = v.(job.KeptCalendar)
				r.err = err
			},
		}, args...)
	}, after)
	return r
}

func TestACalendarCountsItsChanges(t *testing.T) {
	t.Parallel()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	put := func(after time.Duration, id, day string, expected int) *reply {
		c := job.Calendar{WeekendDays: []string{"sunday"}, Days: []job.NamedDay{{Date: day}}}
		return update(env, after, id, workflows.UpdatePut, workflows.PutCalendarRequest{Calendar: c, Expected: expected})
	}
	env.OnSignalExternalWorkflow("default-test-namespace", "calendars/s", "", workflows.SignalRemoved, workflows.Registration{Name: "SE", Number: 1700}).Return(nil).Once()
	changed, same := put(time.Second, "a", "2026-01-01", 1700), put(2*time.Second, "b", "2026-01-01", 1701)
	stale, repeated := put(3*time.Second, "c", "2026-05-01", 1700), put(4*time.Second, "a", "2026-01-01", 1700)
	later := put(5*time.Second, "d", "2026-05-01", 0)
	staleDelete := update(env, 6*time.Second, "e", workflows.UpdateDelete, 1701)
	deleted := update(env, 7*time.Second, "f", workflows.UpdateDelete, 1702)
	env.ExecuteWorkflow(calendar.Workflow, kept())
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, changed.err)
	require.Equal(t, 2, changed.stored.Version)
	require.Equal(t, 1701, changed.stored.Generation)
	require.Empty(t, changed.stored.Calendar.Days, "the caller has them")
	require.Equal(t, 2, same.stored.Version)
	require.ErrorContains(t, stale.err, "changed meanwhile")
	require.NoError(t, repeated.err)
	require.Equal(t, 2, repeated.stored.Version)
	require.Equal(t, 3, later.stored.Version)
	require.ErrorContains(t, staleDelete.err, "changed meanwhile")
	require.NoError(t, deleted.err)
	env.AssertExpectations(t)
}

func TestACalendarContinuesAsNewAfterManyChanges(t *testing.T) {
	t.Parallel()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	for i := range 100 {
		c := job.Calendar{WeekendDays: []string{}, Description: fmt.Sprint(i)}
		update(env, time.Duration(i+1)*time.Second, fmt.Sprint(i), workflows.UpdatePut, workflows.PutCalendarRequest{Calendar: c})
	}
	env.ExecuteWorkflow(calendar.Workflow, kept())
	next := requireContinues[calendar.Input](t, env)
	require.Equal(t, 101, next.Version)
	require.Equal(t, "99", next.Calendar.Description)
	require.Equal(t, 1700, next.Registration)
}

// requireContinues requires that a run continues as new, and returns the input of the next one.
func requireContinues[T any](t *testing.T, env *testsuite.TestWorkflowEnvironment) (next T) {
	t.Helper()
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	return next
}

func TestACalendarThatNobodyRegisteredEnds(t *testing.T) {
	t.Parallel()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(calendar.Workflow, calendar.Input{})
	refused := new(temporal.ApplicationError)
	require.ErrorAs(t, env.GetWorkflowError(), &refused)
	require.Equal(t, workflows.ErrTypeInvalid, refused.Type())
}
