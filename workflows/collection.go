package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

// CollectionInput is everything that a run of [Collection] starts from.
type CollectionInput struct {
	Collection job.Collection `json:"collection"`
	Jobs       []Registration `json:"jobs,omitempty"` // in the order in which they were created
}

// A Registration is a job's name in the registry of its collection.
//
// A name is registered before the job's workflow is started, so that a quota
// holds whoever else creates jobs. Whether the start came about is looked up
// a little later, so that a crash between the two leaves no name without a job.
type Registration struct {
	Name       string    `json:"name"`                // as it was first written
	Unverified time.Time `json:"unverified,omitzero"` // when it was registered, as long as the job was not seen
	Resting    bool      `json:"resting,omitempty"`   // what the job was last told of the collection
}

// A RegisterRequest asks for a name for a new job.
type RegisterRequest struct {
	Name  string `json:"name"`
	Limit int    `json:"limit"` // how many jobs the collection may hold
}

// A RegisterResult says what the name stands for.
type RegisterResult struct {
	Name    string `json:"name"`    // as it was first written
	New     bool   `json:"new"`     // the job's workflow is to be started
	Resting bool   `json:"resting"` // the collection is not enabled
}

// Whoever registers a name has StartWithin to start the job's workflow; after
// verifyAfter a job that is not there is taken for one that never will be.
const (
	StartWithin = 15 * time.Second
	verifyAfter = 30 * time.Second
)

// A run of a collection continues as new after so many changes, if the server
// does not suggest it before.
const changesPerRun = 1000

// Collection is one job collection for as long as it exists.
func Collection(ctx workflow.Context, in CollectionInput) error {
	c := &registry{CollectionInput: in, order: workflow.NewMutex(ctx)}
	if err := c.handle(ctx); err != nil {
		return err
	}
	return c.run(ctx)
}

type registry struct {
	CollectionInput

	changes int // in this run
	changed bool
	order   workflow.Mutex
	timer   timer
	deleted bool
	removed workflow.ReceiveChannel
}

func (c *registry) handle(ctx workflow.Context) error {
	present := func() error { return c.present() }
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, c.status,
			workflow.QueryHandlerOptions{Description: "the job collection's properties"}),
		workflow.SetQueryHandlerWithOptions(ctx, QueryJobs, c.names,
			workflow.QueryHandlerOptions{Description: "the names of the collection's jobs"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdatePut, c.put,
			workflow.UpdateHandlerOptions{Validator: func(job.Collection) error { return present() }, Description: "replace the properties"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateRegister, c.register,
			workflow.UpdateHandlerOptions{Validator: c.mayRegister, Description: "reserve a name for a new job"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateDelete, c.remove,
			workflow.UpdateHandlerOptions{Description: "delete the job collection and all its jobs"}),
	)
	c.removed = workflow.GetSignalChannel(ctx, SignalRemoved)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var name string
			c.removed.Receive(ctx, &name)
			c.forget(name)
		}
	})
	return err
}

// run verifies registrations when it is time to.
func (c *registry) run(ctx workflow.Context) error {
	for {
		c.changed = false
		c.describe(ctx)
		switch {
		case c.over(ctx):
			return nil
		case c.quiet(ctx) && (c.changes >= changesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()):
			return workflow.NewContinueAsNewError(ctx, TypeCollection, c.CollectionInput)
		}
		c.timer.set(ctx, c.verifyAt())
		err := workflow.Await(ctx, func() bool { return c.changed || c.timer.fired() || c.over(ctx) })
		if err == nil && c.timer.fired() {
			err = c.verify(ctx)
		}
		if temporal.IsCanceledError(err) { // someone cancelled the workflow itself: as good as a delete
			ctx, _ = workflow.NewDisconnectedContext(ctx)
			err = c.remove(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// quiet reports whether no update and no signal is being handled or waits.
func (c *registry) quiet(ctx workflow.Context) bool {
	return c.removed.Len() == 0 && workflow.AllHandlersFinished(ctx)
}

// over reports whether the collection is deleted and nobody waits for an answer.
func (c *registry) over(ctx workflow.Context) bool {
	return c.deleted && len(c.Jobs) == 0 && c.quiet(ctx)
}

func (c *registry) status() (job.Collection, error) { return c.Collection, c.present() }

// describe tells the Temporal Web UI and CLI how the collection stands.
func (c *registry) describe(ctx workflow.Context) {
	p := c.Collection.Properties
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s** (%s, %s)\n\n%d jobs", c.Collection.Key.Name, p.SKU.Name, p.State, len(c.Jobs)))
}

// present refuses what comes while the collection is being deleted.
func (c *registry) present() error {
	if c.deleted {
		return refuse(ErrTypeGone, "the job collection is being deleted")
	}
	return nil
}

func (c *registry) names() ([]string, error) { return c.allNames(), c.present() }

func (c *registry) allNames() []string {
	names := make([]string, len(c.Jobs))
	for i, r := range c.Jobs {
		names[i] = r.Name
	}
	return names
}

// resting reports whether the collection's jobs rest.
func (c *registry) resting() bool {
	return c.Collection.Properties.State != job.CollectionEnabled
}

func (c *registry) find(name string) int {
	folded := job.Fold(name)
	return slices.IndexFunc(c.Jobs, func(r Registration) bool { return job.Fold(r.Name) == folded })
}

func (c *registry) note() { c.changes, c.changed = c.changes+1, true }

// put replaces the properties; the jobs are told if that enables or disables
// the collection.
func (c *registry) put(ctx workflow.Context, to job.Collection) (job.Collection, error) {
	c.note()
	to.Key = c.Collection.Key
	c.Collection = to
	c.tell(ctx)
	return c.Collection, nil
}

func (c *registry) mayRegister(_ workflow.Context, r RegisterRequest) error {
	if err := c.present(); err != nil {
		return err
	}
	if n := len(c.Jobs); c.find(r.Name) < 0 && n >= r.Limit {
		return refuse(ErrTypeConflict, fmt.Sprintf(
			"The job collection '%s' has reached its quota of %d jobs, so that job '%s' cannot be created. Delete a job, or raise the quota or the plan.",
			c.Collection.Key.Name, r.Limit, r.Name))
	}
	return nil
}

func (c *registry) register(ctx workflow.Context, r RegisterRequest) (RegisterResult, error) {
	if i := c.find(r.Name); i >= 0 {
		return RegisterResult{Name: c.Jobs[i].Name, Resting: c.resting()}, nil
	}
	c.note()
	c.Jobs = append(c.Jobs, Registration{Name: r.Name, Unverified: workflow.Now(ctx), Resting: c.resting()})
	return RegisterResult{Name: r.Name, New: true, Resting: c.resting()}, nil
}

// forget takes a job that is gone off the registry.
func (c *registry) forget(name string) {
	c.note()
	if i := c.find(name); i >= 0 {
		c.Jobs = slices.Delete(c.Jobs, i, i+1)
	}
}

// tell tells every job that does not know yet whether the collection is
// enabled. One that cannot be told, since it is not there yet, is told when it
// was verified. What was told before has arrived by then, for signals that are
// under way together may overtake each other.
func (c *registry) tell(ctx workflow.Context) {
	if err := c.order.Lock(ctx); err != nil {
		return // cancelled: the jobs are about to be deleted
	}
	defer c.order.Unlock()
	resting := c.resting()
	var names []string
	for i := range c.Jobs {
		if r := &c.Jobs[i]; r.Resting != resting {
			r.Resting = resting
			names = append(names, r.Name)
		}
	}
	for _, name := range c.signal(ctx, names, SignalCollection, !resting) {
		if i := c.find(name); i >= 0 {
			c.Jobs[i].Resting = !c.resting()
		}
	}
}

// signal signals jobs and returns the names of those that were not there.
func (c *registry) signal(ctx workflow.Context, names []string, signal string, argument any) []string {
	sent := make([]workflow.Future, len(names))
	for i, name := range names {
		sent[i] = workflow.SignalExternalWorkflow(ctx, c.jobID(name), "", signal, argument)
	}
	var missing []string
	for i, s := range sent {
		if err := s.Get(ctx, nil); err != nil {
			missing = append(missing, names[i])
		}
	}
	c.changed = true
	return missing
}

func (c *registry) jobID(name string) string { return c.Collection.Key.Job(name).WorkflowID() }

// remove deletes all jobs and then the collection. Each job says when it is
// gone; those that do not are asked again, until they are known not to exist.
func (c *registry) remove(ctx workflow.Context) error {
	c.note()
	c.deleted = true
	for len(c.Jobs) > 0 {
		c.signal(ctx, c.allNames(), UpdateDelete, nil)
		ok, err := workflow.AwaitWithTimeout(ctx, time.Second, func() bool { return len(c.Jobs) == 0 })
		if err != nil {
			return err
		}
		if !ok {
			if err := c.verify(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyAt returns when the oldest unverified registration is to be verified.
func (c *registry) verifyAt() time.Time {
	for _, r := range c.Jobs {
		if !r.Unverified.IsZero() {
			return r.Unverified.Add(verifyAfter)
		}
	}
	return time.Time{}
}

// verify looks up the jobs whose registration is old enough that they must
// exist by now, or all if the collection is being deleted, and forgets those
// that do not. Jobs that missed a change of the collection's state are told.
func (c *registry) verify(ctx workflow.Context) error {
	now := workflow.Now(ctx)
	var asked []Registration
	var ids []string
	for _, r := range c.Jobs {
		if old := !now.Before(r.Unverified.Add(verifyAfter)); old && (c.deleted || !r.Unverified.IsZero()) {
			asked, ids = append(asked, r), append(ids, c.jobID(r.Name))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             fmt.Sprintf("which of %d jobs are there?", len(ids)),
	})
	var missing []int
	if err := workflow.ExecuteActivity(ctx, activities.TypeMissing, ids).Get(ctx, &missing); err != nil {
		return err
	}
	for i, r := range asked {
		at := c.find(r.Name)
		switch {
		case at < 0 || !c.Jobs[at].Unverified.Equal(r.Unverified): // gone, or created anew meanwhile
		case slices.Contains(missing, i):
			c.forget(r.Name)
		default:
			c.Jobs[at].Unverified = time.Time{}
		}
	}
	c.note()
	if !c.deleted {
		c.tell(ctx)
	}
	return nil
}
