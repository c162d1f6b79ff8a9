// Package calendar holds the workflows of calendars: one for each calendar, which has its days, and one for each
// collection or subscription that has some, which has their names. Each fits the size of what Temporal stores.
package calendar

import (
	"errors"
	"fmt"
	"reflect"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

const (
	// changesPerRun is after how many updates a run continues as new, and bytesPerRun at what size of its history: an
	// update has up to 192 KiB.
	changesPerRun = 100
	bytesPerRun   = 4 << 20
)

// Input is the input of a run of [Workflow].
type Input struct {
	job.KeptCalendar
	Registration int    `json:"registration"` // its number; the generation begins with it
	Applied      string `json:"applied,omitempty"`
}

// Workflow keeps a calendar from its creation to its deletion.
func Workflow(ctx workflow.Context, in Input) error {
	if in.Key.Name == "" || in.Generation == 0 || in.Registration == 0 {
		return workflows.ErrForeign
	}
	c := &kept{Input: in}
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryStatus,
			func() (job.KeptCalendar, error) { return c.KeptCalendar, nil },
			workflow.QueryHandlerOptions{Description: "the calendar"}),
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QuerySummary,
			func() (job.KeptCalendar, error) { return c.Summary(), nil },
			workflow.QueryHandlerOptions{Description: "the calendar without its days"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdatePut, c.put,
			workflow.UpdateHandlerOptions{Validator: c.mayPut, Description: "replace the calendar"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateDelete, c.remove,
			workflow.UpdateHandlerOptions{Validator: c.mayRemove, Description: "delete the calendar"}),
	)
	if err != nil {
		return err
	}
	end := await.Signals(ctx, workflows.SignalEnd, "the job collection is gone, and the calendar with it")
	return c.run(ctx, end)
}

// A kept is the state of a run of [Workflow].
type kept struct {
	Input
	updates int
	deleted bool
}

func (c *kept) run(ctx workflow.Context, end workflow.ReceiveChannel) error {
	long := func() bool {
		info := workflow.GetInfo(ctx)
		return c.updates >= changesPerRun || info.GetCurrentHistorySize() >= bytesPerRun || info.GetContinueAsNewSuggested()
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s: version %d", c.Key.ARMID(), c.Version))
	err := workflow.Await(ctx, func() bool {
		return c.deleted || end.Len() > 0 || long() && workflow.AllHandlersFinished(ctx)
	})
	if err == nil && !c.deleted && end.Len() == 0 {
		return workflow.NewContinueAsNewError(ctx, workflows.TypeCalendar, c.Input)
	}
	c.deleted = true // a cancellation deletes it, too
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if end.Len() == 0 {
		removed := workflows.Registration{Name: c.Key.Name, Number: c.Registration}
		list := c.Key.Scope.CalendarsWorkflowID()
		err := workflow.SignalExternalWorkflow(ctx, list, "", workflows.SignalRemoved, removed).Get(ctx, nil)
		if err != nil {
			workflow.GetLogger(ctx).Info("the list of calendars was not notified that the calendar is gone",
				"calendar", c.Key.ARMID(), "error", err)
		}
	}
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// mayPut refuses a change that was based on another calendar, before it is written to the history.
func (c *kept) mayPut(ctx workflow.Context, r workflows.PutCalendarRequest) error {
	return c.expect(ctx, r.Expected)
}

func (c *kept) mayRemove(ctx workflow.Context, expected int) error { return c.expect(ctx, expected) }

func (c *kept) expect(ctx workflow.Context, expected int) error {
	switch {
	case c.deleted:
		return workflows.Refuse(workflows.ErrTypeGone, "the calendar is being deleted")
	case expected != 0 && expected != c.Generation && c.Applied != workflow.GetCurrentUpdateInfo(ctx).ID:
		return workflows.Refuse(workflows.ErrTypeStale, "the calendar was changed meanwhile")
	}
	return nil
}

// put replaces the calendar. One that is the same changes nothing; nor does an update that an earlier run applied.
func (c *kept) put(ctx workflow.Context, r workflows.PutCalendarRequest) (job.KeptCalendar, error) {
	if err := c.expect(ctx, r.Expected); err != nil { // another update came between
		return job.KeptCalendar{}, err
	}
	c.updates++
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	same := reflect.DeepEqual(c.Calendar, r.Calendar) //workflowcheck:ignore // of types without maps
	if c.Applied == id || same {
		return c.Summary(), nil
	}
	c.Calendar, c.Applied = r.Calendar, id
	c.Version++
	c.Generation++
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s: version %d", c.Key.ARMID(), c.Version))
	return c.Summary(), nil
}

func (c *kept) remove(ctx workflow.Context, expected int) error {
	if err := c.expect(ctx, expected); err != nil {
		return err
	}
	c.deleted = true
	return nil
}
