package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/internal/calls"
	"almanac/job"
)

// CollectionInput is everything that a run of [Collection] starts from.
type CollectionInput struct {
	Collection job.Collection `json:"collection"`
	Jobs       []Registration `json:"jobs,omitempty"`
	Sequence   int            `json:"seq,omitempty"`
	Pause      time.Duration  `json:"pause,omitempty"` // before jobs that did not answer are told again
}

// A PutRequest replaces a collection's properties.
type PutRequest struct {
	job.Collection
	Rules    *job.Rules `json:"rules,omitempty"`    // of the new properties
	Expected int        `json:"expected,omitempty"` // the generation that the caller read; 0 for whichever
}

// A RegisterRequest asks for names for new jobs.
type RegisterRequest struct {
	Jobs       []RegisterJob `json:"jobs"`
	Rules      job.Rules     `json:"rules"`
	Generation int           `json:"generation,omitempty"` // of the collection whose rules these are; 0 for whichever
}

// A RegisterJob is one of the jobs that names are asked for.
type RegisterJob struct {
	Name    string      `json:"name"`
	Demands job.Demands `json:"demands,omitzero"`
}

// A RegisterResult says what one of the names stands for.
type RegisterResult struct {
	Name    string    `json:"name"`              // as it was first written
	At      time.Time `json:"at,omitzero"`       // when it was registered, by the server's clock
	Resting bool      `json:"resting,omitempty"` // the collection is not enabled
	Refused string    `json:"refused,omitempty"` // why the rules do not allow it; the other members mean nothing then
}

// A ClaimRequest asks whether a job may demand more than it did, or tells that
// it demands less. A job that changes claims what its old and its new
// definition demand together before, and what the new one demands after.
type ClaimRequest struct {
	Name       string      `json:"name"`
	Demands    job.Demands `json:"demands,omitzero"`
	Job        int         `json:"job"`             // the generation of the job's new definition
	Final      bool        `json:"final,omitempty"` // it is in force
	Rules      *job.Rules  `json:"rules,omitempty"`
	Generation int         `json:"generation,omitempty"` // of the collection whose rules these are
}

// JobList is a collection and its jobs, in the order of their creation.
type JobList struct {
	Collection job.CollectionKey `json:"collection"` // as it was first written
	Jobs       []Listed          `json:"jobs"`
}

// Listed is a job in the list of its collection.
type Listed struct {
	Name     string `json:"name"`
	Sequence int    `json:"seq"` // of later jobs it is higher
}

// registrationBatch is for how long the registrations come that are verified together.
const registrationBatch = 10 * time.Second

// Collection is one job collection for as long as it exists.
func Collection(ctx workflow.Context, in CollectionInput) error {
	if in.Collection.Key.Name == "" || in.Collection.Generation == 0 {
		return errStranger
	}
	c := &collection{Collection: in.Collection, order: workflow.NewMutex(ctx)}
	c.registry = newRegistry(ctx, in.Jobs, in.Sequence, func(name string) string { return c.Key.Job(name).WorkflowID() })
	c.batch = registrationBatch
	c.resume(ctx, in.Pause)
	if err := c.handle(ctx); err != nil {
		return err
	}
	return c.run(ctx)
}

type collection struct {
	job.Collection
	*registry

	order   workflow.Mutex // held while the properties change, until all jobs know that answer
	again   again          // when the others are told again
	pending *job.Rules     // of properties that are about to be put in force
	deleted bool           // nothing is taken any more
	gone    bool           // and no job is left

	commands []workflow.ReceiveChannel
	handling int // signals that are being handled
}

func (c *collection) handle(ctx workflow.Context) error {
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, c.status,
			workflow.QueryHandlerOptions{Description: "the job collection's properties"}),
		workflow.SetQueryHandlerWithOptions(ctx, QueryJobs, c.list,
			workflow.QueryHandlerOptions{Description: "the names of the collection's jobs"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdatePut, c.put,
			workflow.UpdateHandlerOptions{Validator: c.mayPut, Description: "replace the properties"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateRegister, c.register,
			workflow.UpdateHandlerOptions{Validator: c.mayRegister, Description: "reserve names for new jobs"}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateClaim, c.claim,
			workflow.UpdateHandlerOptions{Validator: c.mayClaim, Description: "ask whether a job may demand more"}),
		c.command(ctx, UpdateEnable, "enable the job collection",
			func(ctx workflow.Context) error { return c.setState(ctx, job.CollectionEnabled) }),
		c.command(ctx, UpdateDisable, "disable the job collection: its jobs rest, whatever their own state",
			func(ctx workflow.Context) error { return c.setState(ctx, job.CollectionDisabled) }),
		c.command(ctx, UpdateDelete, "delete the job collection and all its jobs", c.remove),
	)
	return err
}

// command registers what both an update and a signal of that name do.
func (c *collection) command(ctx workflow.Context, name, description string, do func(workflow.Context) error) error {
	signal := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description + ", without an answer"})
	c.commands = append(c.commands, signal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			signal.Receive(ctx, nil)
			c.handling++
			if err := do(ctx); err != nil {
				workflow.GetLogger(ctx).Warn("a signal was not heeded", "signal", name, "collection", c.Key.ARMID(), "error", err)
			}
			c.handling--
			c.note()
		}
	})
	return workflow.SetUpdateHandlerWithOptions(ctx, name, do, workflow.UpdateHandlerOptions{Description: description})
}

// run verifies registrations, and tells jobs again that did not answer, when it is time to.
func (c *collection) run(ctx workflow.Context) error {
	for {
		c.changed = false
		c.describe(ctx)
		switch {
		case c.over(ctx):
			return nil
		case ctx.Err() == nil && c.idle(ctx) && c.long(ctx):
			return workflow.NewContinueAsNewError(ctx, TypeCollection,
				CollectionInput{Collection: c.Collection, Jobs: c.entries, Sequence: c.sequence, Pause: c.again.pause})
		}
		c.again.timer.set(ctx, c.again.at)
		verify, err := c.wait(ctx, func() bool { return c.over(ctx) || c.again.timer.fired() })
		switch {
		case err != nil:
		case verify:
			err = c.lookAfter(ctx)
		case c.again.timer.fired():
			err = c.alone(ctx, c.tellAgain)
		}
		if temporal.IsCanceledError(err) { // someone cancelled the workflow itself: as good as a delete
			ctx, _ = workflow.NewDisconnectedContext(ctx) // it goes on until all jobs are gone
			err = c.remove(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// idle reports whether no update and no signal is being handled or waits.
func (c *collection) idle(ctx workflow.Context) bool {
	waits := slices.ContainsFunc(c.commands, func(s workflow.ReceiveChannel) bool { return s.Len() > 0 })
	return !waits && c.handling == 0 && c.quiet(ctx)
}

// over reports whether the collection is deleted and nobody waits for an answer.
func (c *collection) over(ctx workflow.Context) bool {
	return c.deleted && len(c.entries) == 0 && c.gone && c.idle(ctx)
}

// lookAfter verifies registrations. Jobs that were not there yet when the
// collection's state changed are told.
func (c *collection) lookAfter(ctx workflow.Context) error {
	if err := c.verify(ctx, c.deleted); err != nil {
		return err
	}
	if c.deleted {
		return nil
	}
	return c.alone(ctx, func(ctx workflow.Context) error {
		err := c.inform(ctx, c.uninformed(false))
		if calls.IsRefused(err, ErrTypeSilent) { // they are told again
			return nil
		}
		return err
	})
}

// alone does what nothing else may change the properties during.
func (c *collection) alone(ctx workflow.Context, do func(workflow.Context) error) error {
	if err := c.order.Lock(ctx); err != nil {
		return err
	}
	defer c.order.Unlock()
	return do(ctx)
}

func (c *collection) status() (job.Collection, error) { return c.Collection, c.present() }

func (c *collection) list() (JobList, error) {
	list := JobList{Collection: c.Key, Jobs: make([]Listed, len(c.entries))}
	for i, e := range c.entries {
		list.Jobs[i] = Listed{Name: e.Name, Sequence: e.Sequence}
	}
	return list, c.present()
}

// describe tells the Temporal Web UI and CLI how the collection stands.
func (c *collection) describe(ctx workflow.Context) {
	silent := ""
	if n := len(c.silent()); n > 0 {
		silent = fmt.Sprintf(", of which %d did not answer and may not know that the job collection is %s", n, c.Properties.State)
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s** (%s, %s)\n\n%d jobs%s", c.Key.Name, c.Properties.SKU.Name, c.Properties.State, len(c.entries), silent))
}

// present refuses what comes while the collection is being deleted.
func (c *collection) present() error {
	if c.deleted {
		return refuse(ErrTypeGone, "the job collection is being deleted")
	}
	return nil
}

// resting reports whether the collection's jobs rest.
func (c *collection) resting() bool { return c.Properties.State != job.CollectionEnabled }

// current refuses what was decided by properties that are not in force any more.
func (c *collection) current(generation int) error {
	if generation != 0 && generation != c.Generation {
		return refuse(ErrTypeStale, "the job collection was changed meanwhile")
	}
	return c.present()
}

// mayPut refuses properties that the jobs that are there violate: that leaves nothing in
// the history.
func (c *collection) mayPut(ctx workflow.Context, r PutRequest) error {
	if err := c.current(r.Expected); err != nil || c.mayRecount(ctx) {
		return err
	}
	return c.violate(r.Rules)
}

// violate refuses rules that the jobs that are there violate.
func (c *collection) violate(rules *job.Rules) error {
	if rules == nil {
		return nil
	}
	if why := rules.RefusesCount(c.Key.Name, len(c.entries)); why != "" {
		return refuse(ErrTypeConflict, why)
	}
	for _, e := range c.entries {
		if why := rules.RefusesJob(c.Key.Name, e.Name, e.Demands); why != "" {
			return refuse(ErrTypeConflict, why)
		}
	}
	return nil
}

// admit refuses as mayPut does, but looks first whether the jobs are there because of
// which it would.
func (c *collection) admit(ctx workflow.Context, r PutRequest) error {
	if err := c.current(r.Expected); err != nil { // another change may have come before
		return err
	}
	if c.violate(r.Rules) != nil && c.mayRecount(ctx) {
		if err := c.recount(ctx); err != nil {
			return err
		}
		if err := c.present(); err != nil {
			return err
		}
	}
	return c.violate(r.Rules)
}

// put replaces the properties; the jobs are told if that enables or disables
// the collection. The error may be that some of them did not answer.
func (c *collection) put(ctx workflow.Context, r PutRequest) (job.Collection, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // it is finished although somebody cancels the workflow itself
	err := c.alone(ctx, func(ctx workflow.Context) error {
		if err := c.admit(ctx, r); err != nil {
			return err
		}
		if r.Rules != nil && r.Properties.SKU.Name != c.Properties.SKU.Name {
			if err := c.claimPlan(ctx, r); err != nil {
				return err
			}
		}
		rested := c.resting()
		c.replace(r.Collection)
		if rested == c.resting() {
			return c.inform(ctx, c.uninformed(false))
		}
		return c.tell(ctx)
	})
	return c.Collection, err
}

func (c *collection) replace(to job.Collection) {
	c.note()
	to.Key, to.Generation = c.Key, c.Generation+1
	c.Collection = to
}

// claimPlan asks the subscription for a place among the collections of the new
// plan. Meanwhile no job comes that it would not allow.
func (c *collection) claimPlan(ctx workflow.Context, r PutRequest) error {
	c.pending = r.Rules
	defer func() { c.pending = nil }()
	limited := workflow.WithScheduleToCloseTimeout(withLookup(ctx, UpdateRegister), claimTimeout)
	err := workflow.ExecuteActivity(limited, activities.TypeUpdate, job.SubscriptionWorkflowID(c.Key.Subscription), UpdateRegister,
		RegisterCollectionRequest{Name: c.Key.Path(), Plan: r.Rules.Plan, Limit: r.Rules.Collections, Claim: true}).Get(ctx, nil)
	refused, isRefusal := errors.AsType[*temporal.ApplicationError](err)
	isRefusal = isRefusal && refused.NonRetryable()
	switch {
	case isRefusal && refused.Type() == ErrTypeGone: // so none of its collections counts
		return nil
	case isRefusal:
		return refuse(refused.Type(), refused.Message()) // without the activity's part in it
	case err != nil && !temporal.IsCanceledError(err):
		return refuse(ErrTypeConflict, fmt.Sprintf("The subscription did not answer within %s, so nobody knows whether it has room for another job collection of plan %s. "+
			"Nothing was changed; try again.", claimTimeout, r.Rules.Plan))
	}
	return err
}

// claimTimeout is how long the subscription may take to answer: all other changes wait.
const claimTimeout = 20 * time.Second

// setState enables or disables the collection. The error may be that some jobs did
// not answer.
func (c *collection) setState(ctx workflow.Context, s job.CollectionState) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return c.alone(ctx, func(ctx workflow.Context) error {
		if err := c.present(); err != nil {
			return err
		}
		if c.Properties.State != s {
			to := c.Collection
			to.Properties.State = s
			c.replace(to)
		}
		return c.tell(ctx)
	})
}

// mayRegister refuses a single job that the rules do not allow: that leaves nothing in
// the history.
func (c *collection) mayRegister(ctx workflow.Context, r RegisterRequest) error {
	if err := c.current(r.Generation); err != nil {
		return err
	}
	if len(r.Jobs) != 1 || c.crowded(&r) && c.mayRecount(ctx) {
		return nil
	}
	if why := c.refuses(&r.Jobs[0], &r.Rules); why != "" {
		return refuse(ErrTypeConflict, why)
	}
	return nil
}

// refuses returns why the rules do not allow a job; "" if they do, or its name is
// registered.
func (c *collection) refuses(applicant *RegisterJob, rules *job.Rules) string {
	switch {
	case c.find(applicant.Name) >= 0:
		return ""
	case c.full(applicant.Name):
		return fmt.Sprintf("The job collection '%s' is full: it has %d jobs, whose names take as much as can be kept together. "+
			"Delete one, or use another job collection.", c.Key.Name, len(c.entries))
	}
	for _, rules := range []*job.Rules{rules, c.pending} {
		if rules == nil {
			continue
		}
		why := rules.RefusesAnother(c.Key.Name, applicant.Name, len(c.entries))
		if why == "" {
			why = rules.RefusesJob(c.Key.Name, applicant.Name, applicant.Demands)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// crowded reports whether there is no room for one of the new jobs, whatever else speaks
// against them.
func (c *collection) crowded(r *RegisterRequest) bool {
	have := len(c.entries)
	for _, applicant := range r.Jobs {
		if c.find(applicant.Name) >= 0 {
			continue
		}
		if c.full(applicant.Name) || r.Rules.RefusesAnother(c.Key.Name, applicant.Name, have) != "" {
			return true
		}
		have++
	}
	return false
}

// register returns a result for each of the jobs, in their order.
func (c *collection) register(ctx workflow.Context, r RegisterRequest) ([]RegisterResult, error) {
	if c.crowded(&r) && c.mayRecount(ctx) {
		if err := c.recount(ctx); err != nil {
			return nil, err
		}
		if err := c.current(r.Generation); err != nil { // another change may have come before
			return nil, err
		}
	}
	results := make([]RegisterResult, len(r.Jobs))
	for n := range r.Jobs {
		applicant, result := &r.Jobs[n], &results[n]
		if result.Refused = c.refuses(applicant, &r.Rules); result.Refused != "" {
			c.note()
			continue
		}
		result.Name, result.At, result.Resting = applicant.Name, workflow.Now(ctx), c.resting()
		if i := c.find(applicant.Name); i >= 0 {
			c.contest(ctx, i)
			result.Name = c.entries[i].Name
			continue
		}
		c.add(Registration{Name: applicant.Name, Unverified: workflow.Now(ctx), Resting: c.resting(), Demands: applicant.Demands, Generation: 1})
	}
	return results, nil
}

func (c *collection) mayClaim(_ workflow.Context, r ClaimRequest) error {
	if r.Final {
		return nil
	}
	if err := c.current(r.Generation); err != nil {
		return err
	}
	for _, rules := range []*job.Rules{r.Rules, c.pending} {
		if rules == nil {
			continue
		}
		if why := rules.RefusesJob(c.Key.Name, r.Name, r.Demands); why != "" {
			return refuse(ErrTypeConflict, why)
		}
	}
	return nil
}

// claim notes what a job demands. Of several that change it at the same time,
// only one will succeed; until it says so, what any of them demands counts.
func (c *collection) claim(_ workflow.Context, r ClaimRequest) error {
	i := c.find(r.Name)
	if i < 0 || r.Job < c.entries[i].Generation {
		return nil
	}
	c.note()
	e := &c.entries[i]
	if !r.Final && r.Job == e.Generation {
		r.Demands = r.Demands.And(e.Demands)
	}
	e.Demands, e.Generation = r.Demands, r.Job
	return nil
}

// remove deletes all jobs and then the collection.
func (c *collection) remove(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	c.note()
	c.deleted = true
	return c.alone(ctx, func(ctx workflow.Context) error { // who comes second goes on with what was cancelled
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

// leave tells the subscription that the collection is gone.
func (c *collection) leave(ctx workflow.Context) {
	id := job.SubscriptionWorkflowID(c.Key.Subscription)
	if err := workflow.SignalExternalWorkflow(ctx, id, "", SignalRemoved, c.Key.Path()).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("the subscription was not told that the job collection is gone", "collection", c.Key.ARMID(), "error", err)
	}
}
