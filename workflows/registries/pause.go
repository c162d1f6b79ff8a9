package registries

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// A collection can be disabled with a promise: until when, and what its jobs do with what comes due meanwhile. Each job
// gets the promise and ends the pause by itself, so that nothing has to reach thousands of jobs at that moment. The
// collection notes then that it is enabled, and updates only jobs that did not have the promise.

// stateCommand returns what enables or disables the collection, by an update or a signal.
func (c *collection) stateCommand(s job.CollectionState) func(workflow.Context, *workflows.StateRequest) error {
	return func(ctx workflow.Context, r *workflows.StateRequest) error {
		if wrong := r.Check(workflow.Now(ctx)); wrong != "" {
			return workflows.Refuse(workflows.ErrTypeInvalid, wrong)
		}
		return c.setState(ctx, s, &r.Promise)
	}
}

// as returns the state of the collection with which its jobs are disabled or enabled by a request.
func (c *collection) as(ctx workflow.Context, s job.CollectionState, p *job.Promise) job.Collection {
	to := c.Collection
	to.Properties.State, to.Disabling = s, nil
	if s != job.CollectionEnabled && *p != (job.Promise{}) {
		to.Disabling = &job.Disabling{At: workflow.Now(ctx).UTC(), By: audit.ActorOf(ctx).Name(), Promise: *p}
		if d := c.Disabling; d != nil {
			to.Disabling.At = d.At
		}
	}
	return to
}

// carried returns a promise with what was promised before of what is held, if a request that changes a pause says nothing
// of that.
func (c *collection) carried(s job.CollectionState, p *job.Promise) *job.Promise {
	if s == job.CollectionEnabled || c.Properties.State != s || c.Disabling == nil || p.Recover != "" {
		return p
	}
	carried := *p
	carried.Recover = c.Disabling.Recover
	if p.AtOnce == 0 {
		carried.AtOnce = c.Disabling.AtOnce
	}
	return &carried
}

// samePromise reports whether the collection is in a state already, with that promise.
func (c *collection) samePromise(s job.CollectionState, p *job.Promise) bool {
	if c.Properties.State != s {
		return false
	}
	if s == job.CollectionEnabled || c.Disabling == nil {
		return s == job.CollectionEnabled || *p == (job.Promise{})
	}
	return c.Disabling.Promise == *p
}

// pauseEnds returns when the collection is enabled by itself; zero for never.
func (c *collection) pauseEnds() time.Time {
	if c.Disabling == nil || !c.disabled() || c.deleted {
		return time.Time{}
	}
	return c.Disabling.Until
}

// longestTimer is how long the timer of a pause runs at most; then it is set again.
const longestTimer = 365 * 24 * time.Hour

// pauseTimer returns when the collection looks again whether its pause is over; zero for never.
func (c *collection) pauseTimer(now time.Time) time.Time {
	at := c.pauseEnds()
	if limit := now.Truncate(longestTimer).Add(2 * longestTimer); at.After(limit) {
		return limit
	}
	return at
}

// endPause enables the collection if the time that was promised has come. Jobs that have the promise have done so.
func (c *collection) endPause(ctx workflow.Context) error {
	at := c.pauseEnds()
	if at.IsZero() || workflow.Now(ctx).Before(at) {
		return nil
	}
	workflow.SideEffect(ctx, func(workflow.Context) any {
		return plan.Plan{Released: &plan.Released{Collection: true, Until: at}}
	})
	promised, before := c.Disabling.Promise, c.State
	c.replace(c.as(ctx, job.CollectionEnabled, new(job.Promise)))
	c.Recover = &promised
	for i := range c.entries {
		if e := &c.entries[i]; e.Applied == before && !e.Silent && e.Before == nil {
			e.Applied = c.State
		}
	}
	return c.updateJobs(ctx, c.outdated(false))
}
