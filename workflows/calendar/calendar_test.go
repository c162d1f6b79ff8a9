package calendar_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
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

func newEnv() *testsuite.TestWorkflowEnvironment {
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	all := new(lookups.Lookups)
	env.RegisterActivityWithOptions(all.UpdateWorkflow, activity.RegisterOptions{Name: lookups.TypeUpdate})
	env.RegisterActivityWithOptions(all.Registrations, activity.RegisterOptions{Name: lookups.TypeRegistrations})
	env.RegisterActivityWithOptions(func(context.Context, workflows.HorizonWarning) (int, error) { return 0, nil },
		activity.RegisterOptions{Name: workflows.ActivityWarn})
	env.RegisterActivityWithOptions(func(context.Context, workflows.CalendarChange) (int, error) { return 0, nil },
		activity.RegisterOptions{Name: workflows.ActivityTell})
	return env
}

// confirms has the list of names answer calendars that they are registered.
func confirms(env *testsuite.TestWorkflowEnvironment) {
	env.OnActivity(lookups.TypeUpdate, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil)
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
	env := newEnv()
	confirms(env)
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
	env := newEnv()
	confirms(env)
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
	env := newEnv()
	env.ExecuteWorkflow(calendar.Workflow, calendar.Input{})
	refused := new(temporal.ApplicationError)
	require.ErrorAs(t, env.GetWorkflowError(), &refused)
	require.Equal(t, workflows.ErrTypeInvalid, refused.Type())
}

// ask asks a query after a time.
func ask(env *testsuite.TestWorkflowEnvironment, after time.Duration, name string) *error {
	answer := new(error)
	env.RegisterDelayedCallback(func() { _, *answer = env.QueryWorkflow(name) }, after)
	return answer
}

func TestACalendarThatIsDeletedAnswersNoQueries(t *testing.T) {
	t.Parallel()
	for _, end := range []bool{false, true} {
		env := newEnv()
		env.OnActivity(lookups.TypeUpdate, mock.Anything, mock.Anything, mock.Anything, mock.Anything).After(time.Minute).Return(nil)
		env.OnSignalExternalWorkflow(mock.Anything, "calendars/s", "", workflows.SignalRemoved, mock.Anything).Return(nil).Maybe()
		before := ask(env, time.Second, workflows.QueryStatus)
		if end {
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalEnd, nil) }, 2*time.Second)
		} else {
			update(env, 2*time.Second, "a", workflows.UpdateDelete, 0)
		}
		answers := []*error{ask(env, 3*time.Second, workflows.QueryStatus), ask(env, 3*time.Second, workflows.QuerySummary)}
		env.ExecuteWorkflow(calendar.Workflow, kept())
		require.NoError(t, env.GetWorkflowError())
		require.NoError(t, *before)
		for _, answer := range answers {
			require.ErrorContains(t, *answer, "the calendar is being deleted")
		}
	}
}

// A repetition of an update that an earlier run applied gets the answer of the first time, and undoes nothing.
func TestACalendarAppliesAnUpdateOnceWhateverCameSince(t *testing.T) {
	t.Parallel()
	in := kept()
	put := func(env *testsuite.TestWorkflowEnvironment, after time.Duration, id string, expected int) *reply {
		c := job.Calendar{WeekendDays: []string{"sunday"}, Description: id}
		return update(env, after, id, workflows.UpdatePut, workflows.PutCalendarRequest{Calendar: c, Expected: expected})
	}
	first := newEnv()
	confirms(first)
	for i := range 100 {
		put(first, time.Duration(i+1)*time.Millisecond, fmt.Sprint(i), 0)
	}
	first.ExecuteWorkflow(calendar.Workflow, in)
	in = requireContinues[calendar.Input](t, first)

	again := newEnv()
	again.SetStartTime(first.Now())
	again.SetContinuedExecutionRunID("first")
	again.OnSignalExternalWorkflow(mock.Anything, "calendars/s", "", workflows.SignalRemoved, mock.Anything).Return(nil)
	repeated, conditional := put(again, time.Second, "5", 0), put(again, 2*time.Second, "6", 1706)
	later := put(again, 3*time.Second, "later", 1800)
	old := put(again, time.Hour, "7", 0)
	update(again, 2*time.Hour, "z", workflows.UpdateDelete, 0)
	again.ExecuteWorkflow(calendar.Workflow, in)
	require.NoError(t, again.GetWorkflowError())
	require.NoError(t, repeated.err)
	require.Equal(t, []int{7, 1706}, []int{repeated.stored.Version, repeated.stored.Generation})
	require.NoError(t, conditional.err)
	require.Equal(t, []int{8, 1707}, []int{conditional.stored.Version, conditional.stored.Generation})
	require.NoError(t, later.err)
	require.Equal(t, 102, later.stored.Version)
	require.Equal(t, 103, old.stored.Version, "nobody repeats an update so late: it is another one")
}

// A calendar asks the list of names whether it is there, which may have ended with the collection, or forgotten it.
func TestACalendarWhoseCollectionIsGoneEnds(t *testing.T) {
	t.Parallel()
	env := newEnv()
	env.OnActivity(lookups.TypeUpdate, mock.Anything, "calendars/s", workflows.UpdateConfirm, mock.Anything).
		Return(temporal.NewNonRetryableApplicationError("there is no open workflow of that id", workflows.ErrTypeGone, nil)).Once()
	env.ExecuteWorkflow(calendar.Workflow, kept())
	require.True(t, env.IsWorkflowCompleted())
	refused := new(temporal.ApplicationError)
	require.ErrorAs(t, env.GetWorkflowError(), &refused)
	require.Equal(t, workflows.ErrTypeUnregistered, refused.Type())
	env.AssertExpectations(t)
}

func names(t *testing.T, env *testsuite.TestWorkflowEnvironment) (all []workflows.Registration) {
	t.Helper()
	answer, err := env.QueryWorkflow(workflows.QueryCalendars)
	require.NoError(t, err)
	require.NoError(t, answer.Get(&all))
	return all
}

func TestTheListOfCalendarsTakesTheNumberOfTheCalendarThatExists(t *testing.T) {
	t.Parallel()
	env := newEnv()
	start := int(env.Now().UnixMicro())
	r := func(name string, seconds int) workflows.Registration {
		return workflows.Registration{Name: name, Number: start + seconds*1_000_000}
	}
	update(env, time.Second, "a", workflows.UpdateRegister, "A")
	update(env, 2*time.Second, "b", workflows.UpdateRegister, "A")
	confirmed := update(env, 3*time.Second, "c", workflows.UpdateConfirm, r("A", 1))
	forgotten := update(env, 4*time.Second, "d", workflows.UpdateConfirm, r("b", 0))
	env.RegisterDelayedCallback(func() {
		require.Equal(t, []workflows.Registration{r("A", 1), r("b", 0)}, names(t, env))
		env.SignalWorkflow(workflows.SignalRemoved, r("A", 1))
	}, 5*time.Second)
	env.RegisterDelayedCallback(func() { require.Equal(t, []workflows.Registration{r("b", 0)}, names(t, env)) }, 6*time.Second)
	// a name that another caller registers again while its calendar exists
	update(env, 10*time.Second, "e", workflows.UpdateRegister, "b")
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalRemoved, r("b", 0)) }, 11*time.Second)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, []workflows.Registration{r("b", 10)}, names(t, env), "its calendar may be about to start")
		env.SignalWorkflow(workflows.SignalRemoved, r("b", 0))
	}, time.Minute)
	env.RegisterDelayedCallback(func() {
		require.Empty(t, names(t, env))
		env.SignalWorkflow(workflows.SignalEnd, nil)
	}, 2*time.Minute)
	env.ExecuteWorkflow(calendar.Directory, calendar.DirectoryInput{Scope: key.Scope})
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, confirmed.err)
	require.NoError(t, forgotten.err)
}

func TestAListOfCalendarsWithoutItsCollectionEnds(t *testing.T) {
	t.Parallel()
	env := newEnv()
	collection := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	env.OnActivity(lookups.TypeRegistrations, mock.Anything, []string{collection.WorkflowID()}).Return([]int{0}, nil).Once()
	update(env, time.Second, "a", workflows.UpdateRegister, "SE")
	env.OnSignalExternalWorkflow(mock.Anything, collection.Calendar("SE").WorkflowID(), "", workflows.SignalEnd, nil).Return(nil).Once()
	env.ExecuteWorkflow(calendar.Directory, calendar.DirectoryInput{Scope: collection})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	env.AssertExpectations(t)
}

func TestTheJobsThatUseACalendarAreToldTwiceOfEachChange(t *testing.T) {
	t.Parallel()
	env := newEnv()
	confirms(env)
	env.OnSignalExternalWorkflow(mock.Anything, "calendars/s", "", workflows.SignalRemoved, mock.Anything).Return(nil)
	var told []int
	env.OnActivity(workflows.ActivityTell, mock.Anything, mock.Anything).Return(func(_ context.Context, c workflows.CalendarChange) (int, error) {
		require.Equal(t, key, c.Key)
		told = append(told, c.Generation)
		return 1, nil
	})
	put := func(day string) workflows.PutCalendarRequest {
		return workflows.PutCalendarRequest{Calendar: job.Calendar{WeekendDays: []string{"sunday"}, Days: []job.NamedDay{{Date: day}}}}
	}
	update(env, time.Hour, "1", workflows.UpdatePut, put("2026-05-01"))
	update(env, 2*time.Hour, "2", workflows.UpdatePut, put("2026-05-02"))
	update(env, 2*time.Hour+5*time.Second, "3", workflows.UpdatePut, put("2026-05-03"))
	update(env, 3*time.Hour, "4", workflows.UpdatePut, put("2026-05-03"))
	update(env, 4*time.Hour, "5", workflows.UpdateDelete, 0)
	env.ExecuteWorkflow(calendar.Workflow, kept())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{1700, 1700, 1701, 1701, 1702, 1703, 1703}, told)
}
