package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Runs that began before [changeUpdates] tell their jobs by signals, and end
// like this.

// tellBySignal tells every job that does not know yet whether the collection
// is enabled. One that cannot be told, since it is not there yet, is told when
// it was verified.
func (c *collection) tellBySignal(ctx workflow.Context) {
	resting := c.resting()
	var names []string
	for i := range c.entries {
		if e := &c.entries[i]; e.Resting != resting {
			e.Resting = resting
			names = append(names, e.Name)
		}
	}
	for _, name := range c.signal(ctx, names, UpdateCollection, !resting) {
		if i := c.find(name); i >= 0 {
			c.entries[i].Resting = !c.resting()
		}
	}
}

// signal signals jobs and returns the names of those that were not there.
func (c *collection) signal(ctx workflow.Context, names []string, signal string, argument any) []string {
	sent := make([]workflow.Future, len(names))
	for i, name := range names {
		sent[i] = workflow.SignalExternalWorkflow(ctx, c.id(name), "", signal, argument)
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

// removeBySignal deletes all jobs. Each says when it is gone; those that do
// not are asked again, until they are known not to exist.
func (c *collection) removeBySignal(ctx workflow.Context) error {
	c.note()
	c.deleted, c.closing = true, true
	for len(c.entries) > 0 {
		c.signal(ctx, c.names(), UpdateDelete, nil)
		ok, err := workflow.AwaitWithTimeout(ctx, time.Second, func() bool { return len(c.entries) == 0 })
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
