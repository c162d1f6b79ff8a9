package registries

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/notification"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

// CollectionInput is the input of a run of [Collection].
type CollectionInput struct {
	job.Collection `json:"collection"`
	Registration   int   `json:"registration"` // its number; the generation begins with it
	Jobs           Names `json:"jobs"`
	// number of changes that jobs have to know: of the state, and of the rules of notifications, which they have
	// without their targets
	State int           `json:"state,omitempty"`
	Pause time.Duration `json:"pause,omitempty"` // between rounds of updates to silent jobs
	// of the request, or the pause, by which the collection was enabled: what its jobs recover
	Recover   *job.Promise `json:"recover,omitempty"`
	Notifying shards       `json:"notifying,omitempty"` // of the workflows that deliver alerts, those that may run

	Tests notification.Tests `json:"tests,omitempty"` // of notifications, the newest
	Tries tries              `json:"tries,omitempty"` // of actions, the newest

	Owners []job.Owner `json:"owners,omitempty"` // of job files, on record; at most [maxOwners]
}

// registrationBatch is the time over which registrations are collected to be verified together.
const registrationBatch = 10 * time.Second

// Collection is one job collection, from its creation to its deletion.
func Collection(ctx workflow.Context, in CollectionInput) error {
	if in.Key.Name == "" || in.Generation == 0 || in.Registration == 0 {
		return workflows.ErrForeign
	}
	if err := workflows.CheckStart(ctx, &in.Collection); err != nil {
		return err
	}
	c := &collection{CollectionInput: in}
	c.registry = newRegistry(ctx, in.Jobs, func(name string) string { return c.Key.Job(name).WorkflowID() })
	c.batch, c.other = registrationBatch, c.sizeWith(&c.Collection)
	c.resume(ctx)
	if err := c.handle(ctx); err != nil {
		return err
	}
	if workflows.StartedLate(ctx, c.Registration) {
		if err := c.confirmOwn(ctx); err != nil {
			return err
		}
	}
	return c.run(ctx)
}

type collection struct {
	CollectionInput // but for its jobs, which the registry has
	*registry

	order await.Turns // of changes of the properties; each lasts until every job that answers has applied it
	again again       // repeated updates of silent jobs

	pauseEnd await.Timer   // when the collection is enabled by itself
	pending  *quota.Limits // rules of properties that are about to be put in force
	asking   bool          // whether it is registered; until the answer, it is not there for anybody
	deleted  bool          // only deletes are still accepted
	gone     bool          // all jobs are deleted as well

	commands []workflow.ReceiveChannel
	handling int // signals being handled
}

func (c *collection) handle(ctx workflow.Context) error {
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryStatus, c.status,
			workflow.QueryHandlerOptions{Description: "the job collection's properties"}),
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryJobs, c.list,
			workflow.QueryHandlerOptions{Description: "the names of the collection's jobs"}),
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryNotifications,
			func() ([]job.Notification, error) { return c.Properties.Notifications, nil },
			workflow.QueryHandlerOptions{Description: "the notifications, with the secrets of their targets"}),
		handleUpdate(ctx, workflows.UpdateTest, c.test, c.mayTest),
		handleUpdate(ctx, workflows.UpdateAdmitTest, c.admitTest, c.mayAdmitTest),
		handleUpdate(ctx, workflows.UpdateAdmitTry, c.admitTry, c.mayTry),
		handleUpdate(ctx, workflows.UpdatePut, c.put, c.mayPut),
		handleUpdate(ctx, workflows.UpdateRegister, c.register, c.mayRegister),
		handleUpdate(ctx, workflows.UpdateConfirm, c.confirm, nil),
		handleUpdate(ctx, workflows.UpdateReserve, c.reserve, c.mayReserve),
		handleUpdate(ctx, workflows.UpdateBindOwner, c.bindOwner, c.mayBindOwner),
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryOwners, c.listOwners,
			workflow.QueryHandlerOptions{Description: "the owners of job files on record"}),
		c.command(ctx, workflows.UpdateEnable, c.stateCommand(job.CollectionEnabled)),
		c.command(ctx, workflows.UpdateDisable, c.stateCommand(job.CollectionDisabled)),
		c.command(ctx, workflows.UpdateDelete, func(ctx workflow.Context, _ *workflows.StateRequest) error { return c.remove(ctx) }),
	)
	c.noteShards(ctx)
	return err
}

// handleUpdate registers the handler of an update in [workflows.CollectionUpdates], and the validator that refuses it
// before it gets into the history, if there is one.
func handleUpdate(ctx workflow.Context, name string, handle, validate any) error {
	description := workflows.CollectionUpdates.Find(name).Description
	return workflow.SetUpdateHandlerWithOptions(ctx, name, handle,
		workflow.UpdateHandlerOptions{Validator: validate, Description: description})
}

// command registers an update and a signal of the same name. The update may have the generation of the properties that
// its caller read, and is refused if that is not the present one.
func (c *collection) command(
	ctx workflow.Context, name string, do func(workflow.Context, *workflows.StateRequest) error,
) error {
	description := workflows.CollectionUpdates.Find(name).Description + ", without an answer"
	signal := await.Signals(ctx, name, description)
	c.commands = append(c.commands, signal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			signal.Receive(ctx, nil)
			c.handling++
			if err := do(ctx, new(workflows.StateRequest)); err != nil {
				workflow.GetLogger(ctx).Warn("a signal was refused", "signal", name, "collection", c.Key.ARMID(), "error", err)
			}
			c.handling--
			c.note()
		}
	})
	return handleUpdate(ctx, name, func(ctx workflow.Context, r workflows.StateRequest) error {
		c.note() // also one that is refused, or changes nothing
		if r.Generation != 0 {
			if err := c.current(r.Generation); err != nil {
				return err
			}
		}
		return do(ctx, &r)
	}, nil)
}

// run verifies registrations and updates silent jobs again, each when its timer fires.
func (c *collection) run(ctx workflow.Context) error {
	for {
		c.changed = false
		c.describe(ctx)
		switch {
		case c.over(ctx):
			return nil
		case ctx.Err() == nil && c.idle(ctx) && c.long(ctx):
			c.Jobs = c.handOver()
			return workflow.NewContinueAsNewError(ctx, workflows.TypeCollection, c.CollectionInput)
		}
		c.again.timer.Set(ctx, c.again.at)
		c.pauseEnd.Set(ctx, c.pauseTimer(workflow.Now(ctx)))
		verify, err := c.wait(ctx, func() bool { return c.over(ctx) || c.again.timer.Fired() || c.pauseEnd.Fired() })
		switch {
		case err != nil:
		case c.pauseEnd.Fired():
			if err = c.exclusively(ctx, c.endPause); wfclient.IsRefused(err, workflows.ErrTypeSilent) {
				err = nil // updateSilent repeats it
			}
		case verify:
			err = c.verifyAndUpdate(ctx)
		case c.again.timer.Fired():
			err = c.exclusively(ctx, c.updateSilent)
		}
		if temporal.IsCanceledError(err) { // cancelling the workflow itself deletes the collection
			ctx, _ = workflow.NewDisconnectedContext(ctx) // until all jobs are gone
			err = c.remove(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// idle reports whether no update or signal is pending or being handled.
func (c *collection) idle(ctx workflow.Context) bool {
	waits := slices.ContainsFunc(c.commands, func(s workflow.ReceiveChannel) bool { return s.Len() > 0 })
	return !waits && c.handling == 0 && c.handlersFinished(ctx)
}

// over reports whether the collection is deleted and every request is answered.
func (c *collection) over(ctx workflow.Context) bool {
	return c.deleted && len(c.entries) == 0 && c.gone && c.idle(ctx)
}

// verifyAndUpdate verifies registrations, and sends the collection's state to jobs that were started since it
// changed.
func (c *collection) verifyAndUpdate(ctx workflow.Context) error {
	if err := c.verify(ctx, c.deleted); err != nil {
		return err
	}
	if c.deleted {
		return nil
	}
	return c.exclusively(ctx, func(ctx workflow.Context) error {
		err := c.updateJobs(ctx, c.outdated(false))
		if wfclient.IsRefused(err, workflows.ErrTypeSilent) { // updateSilent repeats it
			return nil
		}
		return err
	})
}

// exclusively runs do while nothing else can change the properties.
func (c *collection) exclusively(ctx workflow.Context, do func(workflow.Context) error) error {
	if err := c.order.Wait(ctx); err != nil {
		return err
	}
	defer c.order.End()
	return do(ctx)
}

// registered returns the collection's registration in its subscription.
func (c *collection) registered() workflows.Registration {
	return workflows.Registration{Name: c.Key.Path(), Number: c.Registration}
}

// status returns the collection, without secrets.
func (c *collection) status() (job.Collection, error) {
	shown := c.Collection
	shown.Properties = shown.Properties.Redacted()
	return shown, c.present()
}

func (c *collection) list() (workflows.JobList, error) {
	list := workflows.JobList{Collection: c.Key, Jobs: make([]workflows.Listed, len(c.entries))}
	for i, e := range c.entries {
		list.Jobs[i] = workflows.Listed{Name: e.Name, Sequence: e.Sequence}
	}
	return list, c.present()
}

// describe sets the details that the Temporal Web UI and CLI show.
func (c *collection) describe(ctx workflow.Context) {
	silent := ""
	if n := len(c.silent()); n > 0 {
		silent = fmt.Sprintf(", of which %d did not answer and may not know that the job collection is %s",
			n, c.Properties.State)
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s** (%s, %s)\n\n%d jobs%s",
		c.Key.Name, c.Properties.SKU.Name, c.Properties.State, len(c.entries), silent))
}

// confirmOwn asks the subscription whether the collection, which was started late, is still registered. The error says
// that it is not: then the collection ends.
func (c *collection) confirmOwn(ctx workflow.Context) error {
	c.asking = true
	defer func() { c.asking = false }()
	id := job.SubscriptionWorkflowID(c.Key.Subscription)
	asked := workflow.ExecuteActivity(withLookup(ctx, workflows.UpdateConfirm), lookups.TypeUpdate, id,
		workflows.UpdateConfirm, c.registered())
	err := asked.Get(ctx, nil)
	if temporal.IsCanceledError(err) { // the loop deletes the collection
		return nil
	}
	return workflows.Unregistered(err)
}

// present returns an error while the collection is being deleted, or not known to be registered.
func (c *collection) present() error {
	if c.asking {
		return workflows.Refuse(workflows.ErrTypeGone, "it is not known whether the job collection is registered")
	}
	if c.deleted {
		return workflows.Refuse(workflows.ErrTypeGone, "the job collection is being deleted")
	}
	return nil
}

// disabled reports whether the collection is not enabled, so that its jobs do not run.
func (c *collection) disabled() bool { return c.Properties.State != job.CollectionEnabled }

// current returns an error if the caller read another generation of the properties.
func (c *collection) current(generation int) error {
	if generation != 0 && generation != c.Generation {
		return workflows.Refuse(workflows.ErrTypeStale, "the job collection was changed meanwhile")
	}
	return c.present()
}

// mayPut refuses properties that violate the API's own checks, since they may not come from the API, and rules
// that existing jobs violate, before the update is written to the history. If a recount is possible, admit
// decides about the rules instead.
func (c *collection) mayPut(ctx workflow.Context, r workflows.PutRequest) error {
	err := input.CheckCollection(&r.Collection) //workflowcheck:ignore // a validator is not replayed
	if err != nil {
		return workflows.Refuse(workflows.ErrTypeInvalid, err.Error())
	}
	if err := c.current(r.Expected); err != nil || c.mayRecount(ctx) {
		return err
	}
	return c.violate(r.Limits)
}

// violate returns an error if existing jobs violate the rules.
func (c *collection) violate(limits *quota.Limits) error {
	if limits == nil {
		return nil
	}
	if why := limits.RefusesCount(c.Key.Name, len(c.entries)); why != "" {
		return workflows.Refuse(workflows.ErrTypeConflict, why)
	}
	for i := range c.entries {
		e := &c.entries[i]
		if why := limits.RefusesJob(c.Key.Name, e.Name, e.all().Requirements); why != "" {
			return workflows.Refuse(workflows.ErrTypeConflict, why)
		}
	}
	return nil
}

// admit refuses like mayPut, but first looks up whether the jobs that violate the rules still exist.
func (c *collection) admit(ctx workflow.Context, r workflows.PutRequest) error {
	if err := c.current(r.Expected); err != nil { // another change may have been applied before
		return err
	}
	return c.afterRecount(ctx, func() error {
		if err := c.present(); err != nil {
			return err
		}
		if grows := c.sizeWith(&r.Collection) - c.other; grows > 0 && c.size+c.other+grows > maxRegistryBytes {
			return workflows.Refusef(workflows.ErrTypeConflict,
				"The job collection '%s' is full: it has %d jobs, whose names leave no room for longer properties. "+
					"Shorten its notifications or tags, or delete jobs.", c.Key.Name, len(c.entries))
		}
		return c.violate(r.Limits)
	})
}

// put replaces the properties, and updates the jobs if that enables or disables the collection. An error
// of type [workflows.ErrTypeSilent] means that it was done but some jobs did not answer.
func (c *collection) put(ctx workflow.Context, r workflows.PutRequest) (job.Collection, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // finish even if the workflow is cancelled
	c.note()
	err := c.exclusively(ctx, func(ctx workflow.Context) error {
		if err := c.admit(ctx, r); err != nil {
			return err
		}
		var err error
		r.Properties, err = input.KeepCollectionSecrets(r.Properties, c.Properties, r.Retarget)
		if err != nil {
			return workflows.Refuse(workflows.ErrTypeInvalid, err.Error())
		}
		switch {
		case r.KeepBlackouts:
			r.Properties.Blackouts = c.Properties.Blackouts
		case len(r.Properties.Blackouts) == 0:
			r.Properties.Blackouts = nil
		}
		r.Disabling = c.Disabling
		if r.Properties.State != c.Properties.State { // by somebody who promises nothing
			r.Disabling, c.Recover = nil, nil
		}
		wasDisabled := c.disabled()
		if r.Limits == nil || r.Properties.SKU.Name == c.Properties.SKU.Name {
			c.replace(r.Collection)
		} else if err := c.changePlan(ctx, r); err != nil {
			return err
		}
		if wasDisabled == c.disabled() {
			return c.updateJobs(ctx, c.outdated(false))
		}
		return c.updateAll(ctx)
	})
	stored, _ := c.status()
	return stored, err
}

func (c *collection) replace(to job.Collection) {
	c.note()
	to.Key, to.Generation = c.Key, c.Generation+1
	wasDisabled := c.disabled()
	before, after := notification.Rules(c.Properties.Notifications), notification.Rules(to.Properties.Notifications)
	same := reflect.DeepEqual(before, after) //workflowcheck:ignore // of types without maps it is deterministic
	same = same && c.Properties.FlexibleWindow == to.Properties.FlexibleWindow
	same = same && reflect.DeepEqual(c.Properties.Blackouts, to.Properties.Blackouts) //workflowcheck:ignore // likewise
	c.Collection, c.other = to, c.sizeWith(&to)
	if !same || wasDisabled != c.disabled() {
		c.State++
	}
}

// sizeWith returns the size of what is handed over beside the registrations, if the properties are those of p.
func (c *collection) sizeWith(p *job.Collection) int {
	size := sizeOf(p)
	for i := range c.Owners {
		size += sizeOf(&c.Owners[i])
	}
	return size
}

// sizeOf returns the size of a value as JSON. It must not have maps of interfaces.
func sizeOf(c any) int {
	text, _ := json.Marshal(c) //workflowcheck:ignore // its maps are written in order of their keys, and it has no error
	return len(text)
}

// changePlan replaces the properties by those of another plan, if the subscription has a place for the collection under
// that plan. Until then, new jobs must satisfy the rules of both plans, and the subscription counts the collection for
// both.
func (c *collection) changePlan(ctx workflow.Context, r workflows.PutRequest) error {
	c.pending = r.Limits
	defer func() { c.pending = nil }()
	change := workflows.PlanChange{
		Registration: c.registered(), Plan: r.Limits.Plan, Limit: r.Limits.Collections, Generation: c.Generation + 1,
	}
	limited := workflow.WithScheduleToCloseTimeout(withLookup(ctx, workflows.UpdateReserve), reserveTimeout)
	subscription := job.SubscriptionWorkflowID(c.Key.Subscription)
	err := workflow.ExecuteActivity(limited, lookups.TypeUpdate, subscription, workflows.UpdateReserve, change).Get(ctx, nil)
	refused, isRefusal := errors.AsType[*temporal.ApplicationError](err)
	isRefusal = isRefusal && refused.NonRetryable()
	switch {
	case isRefusal && refused.Type() == workflows.ErrTypeGone:
		// a subscription without a workflow has no collections to count
		c.replace(r.Collection)
		return nil
	case isRefusal:
		return workflows.Refuse(refused.Type(), refused.Message()) // without the activity's own error text
	case err == nil:
		c.replace(r.Collection)
	default: // the subscription may count the new plan, or yet do so
		c.note()
		c.Generation++
		change.Plan = c.Properties.SKU.Name
		err = workflows.Refusef(workflows.ErrTypeConflict,
			"The subscription did not answer within %s, so it is not known whether it has room for another job "+
				"collection of plan %s. Nothing was changed; try again.", reserveTimeout, r.Limits.Plan)
	}
	workflow.SignalExternalWorkflow(ctx, subscription, "", workflows.SignalPlan, change)
	return err
}

// reserveTimeout is how long the subscription may take to answer. All other changes wait.
const reserveTimeout = 20 * time.Second

// setState enables or disables the collection. An error of type [workflows.ErrTypeSilent] means that it was done
// but some jobs did not answer.
func (c *collection) setState(ctx workflow.Context, s job.CollectionState, p *job.Promise) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return c.exclusively(ctx, func(ctx workflow.Context) error {
		if err := c.present(); err != nil {
			return err
		}
		p = c.carried(s, p)
		if !c.samePromise(s, p) {
			again := c.Properties.State == s
			c.replace(c.as(ctx, s, p))
			if c.Recover = nil; s == job.CollectionEnabled && *p != (job.Promise{}) {
				c.Recover = p
			}
			if again {
				c.State++ // its jobs have to know the other promise
			}
		}
		return c.updateAll(ctx)
	})
}

func (c *collection) remove(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	c.note()
	c.deleted = true
	return c.exclusively(ctx, func(ctx workflow.Context) error { // a second call takes over if the first was cancelled
		if err := c.dismiss(ctx); err != nil {
			return err
		}
		if !c.gone {
			c.leave(ctx)
		}
		c.gone = true
		return nil
	})
}

// leave unregisters the collection from its subscription, and ends the delivery of its jobs' alerts and its calendars.
func (c *collection) leave(ctx workflow.Context) {
	c.endShards(ctx)
	calendars := workflow.SignalExternalWorkflow(ctx, c.Key.CalendarsWorkflowID(), "", workflows.SignalEnd, nil)
	id := job.SubscriptionWorkflowID(c.Key.Subscription)
	if err := workflow.SignalExternalWorkflow(ctx, id, "", workflows.SignalRemoved, c.registered()).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("the subscription was not notified that the job collection is gone",
			"collection", c.Key.ARMID(), "error", err)
	}
	_ = calendars.Get(ctx, nil) // most collections have none
}
