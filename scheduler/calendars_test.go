package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// registrar is a Temporal with a collection and the names of its calendars.
type registrar struct {
	*directory
	register func() error // the answer to a registration
	start    func() error // the answer to a start
	signals  []string     // workflow and signal of each
	asked    int          // registrations
}

func newRegistrar(t *testing.T) *registrar {
	t.Helper()
	k := key.Collection
	c := job.Collection{Key: k, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
	ok := func() error { return nil }
	return &registrar{register: ok, start: ok, directory: &directory{t: t, answers: map[string]any{k.WorkflowID() + " " + workflows.QueryStatus: c}}}
}

func (r *registrar) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if o.UpdateName != workflows.UpdateRegister {
		return nil, serviceerror.NewNotFound("there is no such workflow")
	}
	r.asked++
	if err := wfclient.Sleep(ctx, time.Millisecond); err != nil {
		return nil, err
	}
	return named{workflows.Registration{Name: o.Args[0].(string), Number: 1700}}, r.register()
}

func (r *registrar) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, r.start()
}

func (r *registrar) SignalWorkflow(_ context.Context, id, _, signal string, argument any) error {
	if gone, ok := argument.(workflows.Registration); ok {
		signal += " " + gone.Name
	}
	r.signals = append(r.signals, id+" "+signal)
	return nil
}

type named struct{ workflows.Registration }

func (named) RunID() string      { return "" }
func (named) UpdateID() string   { return "" }
func (named) WorkflowID() string { return "" }

func (n named) Get(_ context.Context, result any) error {
	*result.(*workflows.Registration) = n.Registration
	return nil
}

func TestACalendarThatWasMadeWhileItsCollectionWasDeletedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistrar(t)
		r.start = func() error {
			delete(r.answers, key.Collection.WorkflowID()+" "+workflows.QueryStatus)
			return nil
		}
		k := key.Collection.Calendar("SE")
		_, _, err := scheduler.New(scheduler.Options{Client: r}).PutCalendar(t.Context(), k, job.Calendar{}, nil)
		require.Equal(t, job.KindNotFound, job.KindOf(err), "%v", err)
		require.Equal(t, []string{
			k.Scope.CalendarsWorkflowID() + " " + workflows.SignalEnd, k.WorkflowID() + " " + workflows.SignalEnd,
		}, r.signals)
	})
}

func TestARegistrationOfACalendarWaitsForAListThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistrar(t)
		ends := time.Now().Add(3 * time.Second)
		r.register = func() error {
			if time.Now().Before(ends) {
				return workflows.Refuse(workflows.ErrTypeGone, "the job collection is being deleted")
			}
			return nil
		}
		r.start = func() error {
			if time.Now().Before(ends) {
				return serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", "", "")
			}
			return nil
		}
		_, created, err := scheduler.New(scheduler.Options{Client: r}).PutCalendar(t.Context(), key.Collection.Calendar("SE"), job.Calendar{}, nil)
		require.NoError(t, err)
		require.True(t, created)
		require.Less(t, r.asked, 40)
	})
}

// A name without a calendar is forgotten if there is no room, but not one whose calendar may be about to start.
func TestNamesOfCalendarsThatAreAboutToStartAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistrar(t)
		scope := key.Collection
		number := func(age time.Duration) int { return int(time.Now().Add(-age).UnixMicro()) }
		r.answers[scope.CalendarsWorkflowID()+" "+workflows.QueryCalendars] = []workflows.Registration{
			{Name: "a", Number: number(2 * time.Minute)}, {Name: "b", Number: number(20 * time.Second)},
		}
		r.register = func() error {
			if len(r.signals) == 0 {
				return workflows.Refuse(workflows.ErrTypeFull, "There are 100 calendars already")
			}
			return nil
		}
		_, created, err := scheduler.New(scheduler.Options{Client: r}).PutCalendar(t.Context(), scope.Calendar("c"), job.Calendar{}, nil)
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, []string{scope.CalendarsWorkflowID() + " " + workflows.SignalRemoved + " a"}, r.signals)
	})
}
