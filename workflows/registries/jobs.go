package registries

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"almanac/job/notification"
	"almanac/job/quota"
	"almanac/workflows"
)

// mayRegister refuses a single job that the rules do not allow, before the update is written to the
// history. If a recount could make room, register decides instead.
func (c *collection) mayRegister(ctx workflow.Context, r workflows.RegisterRequest) error {
	if err := c.present(); err != nil {
		return err
	}
	if len(r.Jobs) != 1 || c.taken(&r.Jobs[0]) || c.crowded(&r) && c.mayRecount(ctx) {
		return nil
	}
	if why := c.refuses(&r.Jobs[0], r.Tiers); why != "" {
		return workflows.Refuse(workflows.ErrTypeConflict, why)
	}
	return nil
}

// taken reports whether the name of a job is registered already, and is to be registered only if it is not.
func (c *collection) taken(j *workflows.RegisterJob) bool { return j.IfNew && c.find(j.Name) >= 0 }

// refuses returns why the rules do not allow a job; "" if they do. A name that is registered already takes no further
// room, but the requirements of the new job are checked like any other's.
func (c *collection) refuses(j *workflows.RegisterJob, tiers quota.Tiers) string {
	if c.full(j.Name) {
		return fmt.Sprintf("The job collection '%s' is full: it has %d jobs, whose names take as much as can be kept together. "+
			"Delete one, or use another job collection.", c.Key.Name, len(c.entries))
	}
	another := c.find(j.Name) < 0
	for _, limits := range c.rules(tiers) {
		why := ""
		if another {
			why = limits.RefusesAnother(c.Key.Name, j.Name, len(c.entries))
		}
		if why = cmp.Or(why, limits.RefusesJob(c.Key.Name, j.Name, j.Requirements)); why != "" {
			return why
		}
	}
	return ""
}

// rules returns the rules in force, and those about to be put in force. The plan and the quota are the collection's
// own; the API sends what the plans allow, since that is configured with it.
func (c *collection) rules(tiers quota.Tiers) []quota.Limits {
	rules := []quota.Limits{tiers.LimitsOf(&c.Properties)}
	if c.pending != nil {
		rules = append(rules, *c.pending)
	}
	return rules
}

// crowded reports whether the quota or the registry's size leaves no room for one of the new jobs.
func (c *collection) crowded(r *workflows.RegisterRequest) bool {
	have, limits := len(c.entries), r.Tiers.LimitsOf(&c.Properties)
	for _, j := range r.Jobs {
		if c.taken(&j) {
			continue
		}
		if c.full(j.Name) {
			return true
		}
		if c.find(j.Name) >= 0 {
			continue
		}
		if limits.RefusesAnother(c.Key.Name, j.Name, have) != "" {
			return true
		}
		have++
	}
	return false
}

// register registers the names of new jobs. All that decides about them is the collection's own at that moment, and the
// answer has the state with which the jobs start.
func (c *collection) register(ctx workflow.Context, r workflows.RegisterRequest) (workflows.RegisterAnswer, error) {
	if c.crowded(&r) && c.mayRecount(ctx) {
		if err := c.recount(ctx); err != nil {
			return workflows.RegisterAnswer{}, err
		}
		if err := c.present(); err != nil { // it may have been deleted meanwhile
			return workflows.RegisterAnswer{}, err
		}
	}
	c.confirmStarted(ctx, r.Started)
	answer := workflows.RegisterAnswer{Collection: c.forJobs(), Jobs: make([]workflows.RegisterResult, len(r.Jobs))}
	for n := range r.Jobs {
		j, result := &r.Jobs[n], &answer.Jobs[n]
		if result.Taken = c.taken(j); result.Taken {
			c.note()
			continue
		}
		if result.Refused = c.refuses(j, r.Tiers); result.Refused != "" {
			c.note()
			continue
		}
		result.Registration = c.registry.register(ctx, j.Name, Claim{Requirements: j.Requirements, Applied: c.State})
	}
	return answer, nil
}

// confirmStarted records that the workflows of registrations were started, so that they need no lookup. A job that
// started with an earlier state of the collection stays unverified, since the verification updates it.
func (c *collection) confirmStarted(ctx workflow.Context, started []workflows.Registration) {
	for _, s := range started {
		if i := c.find(s.Name); i >= 0 && c.entries[i].Applied == c.State {
			c.seen(ctx, i, s.Number)
		}
	}
}

// forJobs returns what jobs have to know of the collection.
func (c *collection) forJobs() workflows.CollectionState {
	s := workflows.CollectionState{Generation: c.Generation, Disabled: c.disabled(), Rules: notification.Rules(c.Properties.Notifications),
		FlexibleWindow: c.Properties.FlexibleWindow, Blackouts: c.Properties.Blackouts}
	if s.Disabled {
		s.Pause = c.Disabling
	} else {
		s.Recover = c.Recover
	}
	return s
}

func (c *collection) confirm(ctx workflow.Context, asks workflows.Registration) error {
	if err := c.present(); err != nil {
		c.note()
		return err
	}
	return c.registry.confirm(ctx, asks)
}

func (c *collection) mayReserve(_ workflow.Context, r workflows.ReserveRequest) error {
	if r.Final {
		return nil
	}
	if err := c.present(); err != nil {
		return err
	}
	if i := c.find(r.Name); i < 0 || c.entries[i].of(r.Job) == nil {
		return workflows.Refuse(workflows.ErrTypeStale, "the job that was read is not the registered one")
	}
	for _, limits := range c.rules(r.Tiers) {
		if why := limits.RefusesJob(c.Key.Name, r.Name, r.Requirements); why != "" {
			return workflows.Refuse(workflows.ErrTypeConflict, why)
		}
	}
	return nil
}

// reserve records a job's requirements. If several changes of the job reserve at once, only one will be
// applied; until its final reservation, the requirements of all of them count together.
func (c *collection) reserve(ctx workflow.Context, r workflows.ReserveRequest) error {
	c.note()
	i := c.find(r.Name)
	if i < 0 {
		return nil
	}
	e := &c.entries[i]
	claim := e.of(r.Job)
	if claim == nil {
		return nil
	}
	claim.reserve(r.Job, Claim{Requirements: r.Requirements}, r.Final)
	if claim == &e.Claim && e.Before != nil && isOld(ctx, e.Before.Number) {
		// the new job was read, so the old one is gone
		c.setBefore(e, nil)
	}
	return nil
}
