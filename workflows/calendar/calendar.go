// Package calendar holds the workflows of calendars: one for each calendar, which has its days, and one for each
// collection or subscription that has some, which has their names. Each fits the size of what Temporal stores.
package calendar

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/internal/await"
	"almanac/workflows/jobloop/state"
)

const (
	// changesPerRun is after how many updates a run continues as new, and bytesPerRun at what size of its history: an
	// update has up to 192 KiB.
	changesPerRun = 100
	bytesPerRun   = 4 << 20

	// repeatedFor is how long applied updates are remembered, of which a caller that got no answer repeats one for
	// 50 s; maxRemembered is how many at most.
	repeatedFor   = 10 * time.Minute
	maxRemembered = 1000
)

// Input is the input of a run of [Workflow].
type Input struct {
	job.KeptCalendar
	Registration int `json:"registration"` // its number; the generation begins with it
	// updates, each with the version that it made, or left
	Applied state.Requests `json:"applied,omitempty"`
	// the generation of which the jobs that use the calendar were told
	Told int `json:"told,omitempty"`
	// the last warning of its horizon
	Warned job.HorizonWarned `json:"warned,omitzero"`
}

// Workflow keeps a calendar from its creation to its deletion.
func Workflow(ctx workflow.Context, in Input) error {
	if in.Key.Name == "" || in.Generation == 0 || in.Registration == 0 {
		return workflows.ErrForeign
	}
	c := &kept{Input: in, end: await.Signals(ctx, workflows.SignalEnd, "the job collection is gone, and the calendar with it")}
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryStatus,
			func() (job.KeptCalendar, error) { return c.KeptCalendar, c.present() },
			workflow.QueryHandlerOptions{Description: "the calendar"}),
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QuerySummary,
			func() (job.KeptCalendar, error) { return c.Summary(), c.present() },
			workflow.QueryHandlerOptions{Description: "the calendar without its days"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdatePut, c.put,
			workflow.UpdateHandlerOptions{Validator: c.mayPut, Description: "replace the calendar"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateDelete, c.remove,
			workflow.UpdateHandlerOptions{Validator: c.mayRemove, Description: "delete the calendar"}),
	)
	if err != nil {
		return err
	}
	return c.run(ctx)
}

// A kept is the state of a run of [Workflow].
type kept struct {
	Input
	end     workflow.ReceiveChannel
	updates int
	deleted bool

	telling bool // jobs are told of a change

	timer   await.Timer // of the next warning
	warning bool        // users are warned of the horizon
	look    bool        // the next warning may be another one

	asking       bool // whether it is registered
	unregistered error
}

func (c *kept) run(ctx workflow.Context) error {
	long := func() bool {
		info := workflow.GetInfo(ctx)
		return c.updates >= changesPerRun || info.GetCurrentHistorySize() >= bytesPerRun || info.GetContinueAsNewSuggested()
	}
	c.describe(ctx)
	c.confirm(ctx)
	idle := func() bool { return !c.asking && !c.telling && !c.warning && workflow.AllHandlersFinished(ctx) }
	var err error
	for err == nil && !c.over() && (!long() || !idle()) {
		c.look = false
		c.tell(ctx)
		c.warn(ctx)
		err = workflow.Await(ctx, func() bool {
			return c.over() || !c.telling && c.Told != c.Generation || c.look || c.timer.Fired() || long() && idle()
		})
	}
	if err == nil && !c.over() {
		return workflow.NewContinueAsNewError(ctx, workflows.TypeCalendar, c.Input)
	}
	c.deleted = true // a cancellation deletes it, too
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	// otherwise the list could learn of it after it is gone
	_ = workflow.Await(ctx, func() bool { return !c.asking && workflow.AllHandlersFinished(ctx) })
	if c.end.Len() == 0 && c.unregistered == nil {
		removed := workflows.Registration{Name: c.Key.Name, Number: c.Registration}
		list := c.Key.Scope.CalendarsWorkflowID()
		err := workflow.SignalExternalWorkflow(ctx, list, "", workflows.SignalRemoved, removed).Get(ctx, nil)
		if err != nil {
			workflow.GetLogger(ctx).Info("the list of calendars was not notified that the calendar is gone",
				"calendar", c.Key.ARMID(), "error", err)
		}
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	return c.unregistered
}

func (c *kept) describe(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s: version %d", c.Key.ARMID(), c.Version))
}

// confirm tells the list of names, in the first run, that the calendar exists. The list may have ended with the
// collection since the name was registered: then the calendar ends, which nothing else would end.
func (c *kept) confirm(ctx workflow.Context) {
	if workflow.GetInfo(ctx).ContinuedExecutionRunID != "" {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = withLookup(ctx, "is the calendar registered?")
	c.asking = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := workflow.ExecuteActivity(ctx, lookups.TypeUpdate, c.Key.Scope.CalendarsWorkflowID(), workflows.UpdateConfirm,
			workflows.Registration{Name: c.Key.Name, Number: c.Registration}).Get(ctx, nil)
		c.asking, c.unregistered = false, workflows.Unregistered(err)
	})
}

const (
	// tellTimeout is for telling 10,000 jobs, and tellSilence for one of them.
	tellTimeout = 10 * time.Minute
	tellSilence = time.Minute
	// tellAgain is after what time they are told again: Temporal's lists lag behind the jobs, and a job may have been
	// planned by what an API remembered of the calendar.
	tellAgain = 15 * time.Second
)

// tell tells the jobs that use the calendar that it is new or has changed, twice, beside what else it does. One that
// changes again meanwhile has them told anew.
func (c *kept) tell(ctx workflow.Context) {
	if c.telling || c.Told == c.Generation {
		return
	}
	c.telling = true
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: tellTimeout, HeartbeatTimeout: tellSilence,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:     "tell the jobs that use the calendar",
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		change := workflows.CalendarChange{Key: c.Key, Generation: c.Generation}
		err := workflow.ExecuteActivity(ctx, workflows.ActivityTell, change).Get(ctx, nil)
		if err == nil {
			err = workflow.Sleep(ctx, tellAgain)
		}
		if err == nil && c.Generation == change.Generation && !c.over() {
			err = workflow.ExecuteActivity(ctx, workflows.ActivityTell, change).Get(ctx, nil)
		}
		if err == nil {
			c.Told = change.Generation
		}
		c.telling = false
	})
}

// maxWait is half of the time that the workflow sleeps at most until a warning: a horizon can be in 900 years.
const maxWait = 365 * 24 * time.Hour

// warn warns the users of the calendar that its horizon is near, beside what else it does, and waits until that is to be
// done next. Nothing that runs waits for it.
func (c *kept) warn(ctx workflow.Context) {
	if c.warning {
		return
	}
	now := workflow.Now(ctx)
	at, days, ok := c.Calendar.NextWarning(now, c.Warned)
	switch most := now.Truncate(maxWait).Add(2 * maxWait); {
	case !ok || !at.After(now):
		c.timer.Set(ctx, time.Time{})
	case at.After(most):
		c.timer.Set(ctx, most) // the same time for long, so that the timer is kept
	default:
		c.timer.Set(ctx, at)
	}
	if !ok || at.After(now) {
		return
	}
	c.warning = true
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: tellTimeout, HeartbeatTimeout: tellSilence,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:     "warn of the end of the days that are known",
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		w := workflows.HorizonWarning{Key: c.Key, Registration: c.Registration, Horizon: c.Calendar.CompleteUntil, Days: days}
		err := workflow.ExecuteActivity(ctx, workflows.ActivityWarn, w).Get(ctx, nil)
		if err == nil {
			c.Warned = job.HorizonWarned{Horizon: w.Horizon, Days: w.Days}
			workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"days": strconv.Itoa(days)}).
				Counter("almanac_calendar_horizon_warnings").Inc(1)
		}
		c.warning, c.look = false, err == nil
	})
}

// withLookup returns a context for activities that ask other workflows, until they answer.
func withLookup(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             summary,
	})
}

// over reports whether the calendar is deleted, by whatever.
func (c *kept) over() bool { return c.deleted || c.end.Len() > 0 || c.unregistered != nil }

// present returns an error once the calendar is deleted, whatever its workflow still has to do.
func (c *kept) present() error {
	if c.over() {
		return workflows.Refuse(workflows.ErrTypeGone, "the calendar is being deleted")
	}
	return nil
}

// mayPut refuses a change that was based on another calendar, before it is written to the history.
func (c *kept) mayPut(ctx workflow.Context, r workflows.PutCalendarRequest) error {
	return c.expect(ctx, r.Expected)
}

func (c *kept) mayRemove(ctx workflow.Context, expected int) error { return c.expect(ctx, expected) }

func (c *kept) expect(ctx workflow.Context, expected int) error {
	if err := c.present(); err != nil {
		return err
	}
	if expected != 0 && expected != c.Generation && c.Applied.Find(workflow.GetCurrentUpdateInfo(ctx).ID) == nil {
		return workflows.Refuse(workflows.ErrTypeStale, "the calendar was changed meanwhile")
	}
	return nil
}

// put replaces the calendar. One that is the same changes nothing; nor does an update that an earlier run applied, which
// gets the answer of the first time.
func (c *kept) put(ctx workflow.Context, r workflows.PutCalendarRequest) (job.KeptCalendar, error) {
	c.Applied.Forget(workflow.Now(ctx).Add(-repeatedFor))
	if err := c.expect(ctx, r.Expected); err != nil { // another update came between
		return job.KeptCalendar{}, err
	}
	c.updates++
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	if before := c.Applied.Find(id); before != nil {
		then := job.KeptCalendar{Key: c.Key, Calendar: r.Calendar}
		then.Version, _ = strconv.Atoi(before.Answer) // digits
		then.Generation = c.Generation - c.Version + then.Version
		return then.Summary(), nil
	}
	same := reflect.DeepEqual(c.Calendar, r.Calendar) //workflowcheck:ignore // of types without maps it is deterministic
	if !same {
		c.Calendar = r.Calendar
		c.Version++
		c.Generation++
		c.describe(ctx)
		c.look = true
	}
	c.Applied.Add(id, strconv.Itoa(c.Version), workflow.Now(ctx), repeatedFor, maxRemembered)
	return c.Summary(), nil
}

func (c *kept) remove(ctx workflow.Context, expected int) error {
	if err := c.expect(ctx, expected); err != nil {
		return err
	}
	c.deleted = true
	return nil
}
