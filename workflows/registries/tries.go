package registries

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// Limits of the actions of a collection that are tried: whoever may change a job chooses what is sent, and where.
const (
	maxTries  = 30 // within tryWindow
	tryWindow = 10 * time.Minute
)

// tries are when actions were tried within tryWindow, oldest first.
type tries []time.Time

// within returns those that count at a time.
func (t tries) within(now time.Time) tries {
	for len(t) > 0 && !now.Before(t[0].Add(tryWindow)) {
		t = t[1:]
	}
	return t
}

// admitTry counts an action that is to be tried, or refuses it. The name is that of the job, for the list of changes.
func (c *collection) admitTry(ctx workflow.Context, name string) error {
	c.note()
	if err := c.mayTry(ctx, name); err != nil {
		return err
	}
	now := workflow.Now(ctx)
	c.Tries = append(c.Tries.within(now), now)
	return nil
}

// mayTry refuses most of those that are too many before they are in the history.
func (c *collection) mayTry(ctx workflow.Context, _ string) error {
	now := workflow.Now(ctx)
	recent := c.Tries.within(now)
	if len(recent) < maxTries {
		return nil
	}
	wait := recent[len(recent)-maxTries].Add(tryWindow).Sub(now)
	return workflows.RefuseFor(wait, fmt.Sprintf(
		"Nothing was sent: within %g minutes at most %d actions of a job collection may be tried. "+
			"The next may be sent at %s.",
		tryWindow.Minutes(), maxTries, job.NewTime(now.Add(wait).Add(time.Second-1))))
}
