package registries

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/notifier"
)

// test sends a test to the targets of the collection's notifications, for a job if it has a name.
func (c *collection) test(ctx workflow.Context, name string) ([]notification.Delivery, error) {
	if err := c.admitTest(ctx, notification.Addresses(c.Properties.Notifications)); err != nil {
		return nil, err
	}
	return notifier.Test(ctx, c.Key, name, c.Properties.Notifications)
}

// mayTest refuses most of the tests that are too many before they are in the history.
func (c *collection) mayTest(ctx workflow.Context, _ string) error {
	return c.mayAdmitTest(ctx, notification.Addresses(c.Properties.Notifications))
}

// admitTest counts a test to so many addresses, or refuses it.
func (c *collection) admitTest(ctx workflow.Context, addresses int) error {
	c.note()
	if err := c.mayAdmitTest(ctx, addresses); err != nil {
		return err
	}
	c.Tests.Add(workflow.Now(ctx), addresses)
	return nil
}

func (c *collection) mayAdmitTest(ctx workflow.Context, addresses int) error {
	now := workflow.Now(ctx)
	wait := c.Tests.Wait(now, addresses)
	if wait == 0 {
		return nil
	}
	return workflows.RefuseFor(wait, fmt.Sprintf("Nothing was sent: within %g minutes there are at most %d tests of the notifications of a job collection and its jobs, to at most %d addresses. The next may be sent at %s.",
		notification.TestWindow.Minutes(), notification.MaxTests, notification.MaxTestAddresses, job.NewTime(now.Add(wait).Add(time.Second-1))))
}
