package calendar

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

// registrationsPerRun is after how many names and signals the list of names continues as new.
const registrationsPerRun = 500

// DirectoryInput is the input of a run of [Directory].
type DirectoryInput struct {
	Scope job.CollectionKey        `json:"scope"`
	Names []workflows.Registration `json:"names,omitempty"` // in order of their names as they compare
	Last  int                      `json:"last,omitempty"`  // the greatest number so far
}

// Directory keeps the names of the calendars of a collection or a subscription: at most [job.MaxCalendars]. A name may
// have no calendar, if what registered it was interrupted. It ends with the collection.
func Directory(ctx workflow.Context, in DirectoryInput) error {
	if in.Scope.Subscription == "" {
		return workflows.ErrForeign
	}
	d := &directory{
		DirectoryInput: in, removed: await.Signals(ctx, workflows.SignalRemoved, "a calendar is gone"),
		end: await.Signals(ctx, workflows.SignalEnd, "the job collection is gone, and its calendars with it"),
	}
	err := errors.Join( // an update of the first task is handled while its handler is set
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryCalendars,
			func() ([]workflows.Registration, error) { return d.Names, nil },
			workflow.QueryHandlerOptions{Description: "the names of the calendars"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateRegister, d.register,
			workflow.UpdateHandlerOptions{Validator: d.mayRegister, Description: "reserve a name for a new calendar"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateConfirm, d.confirm,
			workflow.UpdateHandlerOptions{Description: "a calendar exists: is its name registered?"}),
	)
	if err != nil {
		return err
	}
	return d.run(ctx)
}

type directory struct {
	DirectoryInput
	removed, end workflow.ReceiveChannel
	changes      int
	orphaned     bool // the collection does not exist
}

const (
	// isOldAfter is how long after the registration of a name no workflow is started for it any more, except one that
	// confirms itself.
	isOldAfter = 2 * workflows.StartWithin

	// collectionAfter is after what time a run asks whether the collection exists: one that was being deleted when a
	// calendar was made in it, and had signalled the end already, is then gone.
	collectionAfter = time.Minute
)

// over reports whether the collection is gone.
func (d *directory) over() bool { return d.end.Len() > 0 || d.orphaned }

// lookForCollection ends the workflow if its collection does not exist.
func (d *directory) lookForCollection(ctx workflow.Context) {
	if d.Scope.Name == "" {
		return
	}
	ctx = withLookup(ctx, "is the job collection there?")
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := workflow.Sleep(ctx, collectionAfter); err != nil {
			return
		}
		var numbers []int
		ids := []string{d.Scope.WorkflowID()}
		err := workflow.ExecuteActivity(ctx, lookups.TypeRegistrations, ids).Get(ctx, &numbers)
		d.orphaned = err == nil && len(numbers) == 1 && numbers[0] == 0
	})
}

func (d *directory) run(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancellation is ignored: the calendars stay listed
	d.lookForCollection(ctx)
	for d.changes < registrationsPerRun || d.removed.Len() > 0 || !workflow.AllHandlersFinished(ctx) {
		err := workflow.Await(ctx, func() bool {
			return d.removed.Len() > 0 || d.over() ||
				d.changes >= registrationsPerRun && workflow.AllHandlersFinished(ctx)
		})
		if err != nil {
			return err
		}
		for d.removed.Len() > 0 {
			var r workflows.Registration
			d.removed.ReceiveAsync(&r)
			d.changes++
			d.remove(ctx, r)
		}
		if d.over() {
			d.leave(ctx)
			return nil
		}
	}
	return workflow.NewContinueAsNewError(ctx, workflows.TypeCalendars, d.DirectoryInput)
}

// remove forgets the name of a calendar that is gone. One that was registered again since stays as long as its calendar
// may be about to start.
func (d *directory) remove(ctx workflow.Context, r workflows.Registration) {
	i, found := d.find(r.Name)
	if !found {
		return
	}
	number := d.Names[i].Number
	isOld := !workflow.Now(ctx).Before(workflows.RegisteredAt(number).Add(isOldAfter))
	if r.Number == 0 || r.Number == number || r.Number < number && isOld {
		d.Names = slices.Delete(d.Names, i, i+1)
	}
}

// leave ends the calendars, whose collection is gone.
func (d *directory) leave(ctx workflow.Context) {
	for _, r := range d.Names {
		k := d.Scope.Calendar(r.Name)
		err := workflow.SignalExternalWorkflow(ctx, k.WorkflowID(), "", workflows.SignalEnd, nil).Get(ctx, nil)
		if err != nil {
			workflow.GetLogger(ctx).Info("a calendar was gone before its job collection",
				"calendar", k.ARMID(), "error", err)
		}
	}
	d.Names = nil
}

// find returns where a name is, or would be.
func (d *directory) find(name string) (int, bool) {
	return slices.BinarySearchFunc(d.Names, job.NormalizeName(name), func(r workflows.Registration, name string) int {
		switch own := job.NormalizeName(r.Name); {
		case own < name:
			return -1
		case own > name:
			return 1
		}
		return 0
	})
}

func (d *directory) mayRegister(_ workflow.Context, name string) error { return d.room(name) }

func (d *directory) room(name string) error {
	if d.over() {
		return workflows.Refuse(workflows.ErrTypeGone, "the job collection is being deleted")
	}
	if _, found := d.find(name); !found && len(d.Names) >= job.MaxCalendars {
		return workflows.Refusef(workflows.ErrTypeFull,
			"There are %d calendars already, which is the limit. Delete one first.", len(d.Names))
	}
	return nil
}

// register registers a name, once more if it is registered already: it is then the first spelling that counts, and a
// new number.
func (d *directory) register(ctx workflow.Context, name string) (workflows.Registration, error) {
	if err := d.room(name); err != nil {
		return workflows.Registration{}, err
	}
	d.changes++
	d.Last = max(int(workflow.Now(ctx).UnixMicro()), d.Last+1000)
	r := workflows.Registration{Name: name, Number: d.Last}
	i, found := d.find(name)
	if found {
		d.Names[i].Number = r.Number
		return d.Names[i], nil
	}
	d.Names = slices.Insert(d.Names, i, r)
	return r, nil
}

// confirm answers a calendar that has begun. Its number is then that of the name, which is registered again if it was
// forgotten. The error says that there is no room for it: the calendar ends.
func (d *directory) confirm(_ workflow.Context, exists workflows.Registration) error {
	if err := d.room(exists.Name); err != nil {
		return workflows.Refuse(workflows.ErrTypeUnregistered, err.Error())
	}
	d.changes++
	d.Last = max(d.Last, exists.Number)
	if i, found := d.find(exists.Name); found {
		d.Names[i].Number = exists.Number
	} else {
		d.Names = slices.Insert(d.Names, i, exists)
	}
	return nil
}
