// Package notifier holds the workflow that delivers the alerts of a collection's jobs.
//
// Alerts arrive as signals. Those that arrive within a short time are looked at together, and their message leaves then. After
// a message about several alerts, and after a few about one each, what follows within a minute is one digest. Each target has
// a delivery of its own, so that one that does not answer delays no other.
package notifier

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/internal/timer"
)

const (
	// gatherTime is how long the first alert waits for others that have the same cause.
	gatherTime = 500 * time.Millisecond
	// window is the time from the beginning of a message about several alerts to a target until the next. Alerts wait for it
	// together. As many as atOnce messages about one alert each leave at once in that time, and the next one after it.
	window = time.Minute
	atOnce = 5
	// keep is how long the workflow runs after its last alert, so that its deliveries can be read.
	keep = 60 * 24 * time.Hour

	maxSeen       = 1000 // ids that are kept to recognize alerts that were raised twice
	maxDeliveries = 50

	// A run continues as new after so many events: when nothing is being sent, and at last in any case. What was being sent
	// is then sent again. A server takes 10,000 signals to a run by default, and those that arrive during one round of the
	// loop come on top.
	calmEvents = 4_000
	mostEvents = 8_000

	// maxHandedOver is the maximum number of alerts without a channel that a run hands over, so that the input of the next
	// is well below the server's limit of 2 MiB. With more, they are given to channels first.
	maxHandedOver = 500
)

// Input is the input of a run of [Workflow].
type Input struct {
	Collection job.CollectionKey       `json:"collection"`
	Channels   []*Channel              `json:"channels,omitempty"`
	Inbox      []notification.Raised   `json:"inbox,omitempty"`      // alerts that were not given to channels yet
	Seen       []string                `json:"seen,omitempty"`       // ids of the newest alerts, oldest first
	Deliveries []notification.Delivery `json:"deliveries,omitempty"` // newest last
}

// A Channel is a target and what is to be sent to it.
type Channel struct {
	Name    string                `json:"name"` // of a notification with this target
	Target  job.Action            `json:"target"`
	Waiting notification.Message  `json:"waiting"`
	Sending *notification.Message `json:"sending,omitempty"` // is being delivered
	Next    time.Time             `json:"next"`              // start of the next message at the earliest
	Since   time.Time             `json:"since,omitzero"`    // since when the messages that left at once are counted, for a window
	Left    int                   `json:"left,omitempty"`    // their number

	Open notification.Incidents `json:"open,omitempty"` // of a PagerDuty target
}

// busy reports whether the channel sends something, or has to.
func (c *Channel) busy() bool { return c.Sending != nil || c.Waiting.Total() > 0 }

// rest returns until when a channel that sends nothing does nothing, unless there is something new.
func (c *Channel) rest() time.Time {
	switch counted := c.Since.Add(window); {
	case c.Waiting.Total() > 0:
		return c.Next
	case len(c.Open) > 0:
		return c.Next.Add(keep)
	case counted.After(c.Next):
		return counted
	}
	return c.Next
}

// begin notes that a message about so many alerts begins.
func (c *Channel) begin(now time.Time, alerts int) {
	if !now.Before(c.Since.Add(window)) {
		c.Since, c.Left = now, 0
	}
	c.Left++
	if c.Next = now; alerts > 1 || c.Left >= atOnce {
		c.Next = now.Add(window)
	}
}

// Workflow delivers the alerts of the jobs of one collection.
func Workflow(ctx workflow.Context, in Input) error {
	if in.Collection.Name == "" {
		return workflows.ErrForeign
	}
	n := &notifier{Input: in, last: workflow.Now(ctx)}
	n.raised = workflow.GetSignalChannelWithOptions(ctx, workflows.SignalRaise, workflow.SignalChannelOptions{Description: "alerts to be delivered"})
	n.end = workflow.GetSignalChannelWithOptions(ctx, workflows.SignalEnd, workflow.SignalChannelOptions{Description: "the job collection is gone"})
	err := workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryDeliveries, n.deliveries,
		workflow.QueryHandlerOptions{Description: "the newest deliveries, newest first"})
	if err != nil {
		return err
	}
	if workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		// The collection ends this workflow when it is deleted.
		if workflow.SignalExternalWorkflow(ctx, in.Collection.WorkflowID(), "", workflows.SignalNotifying, nil).Get(ctx, nil) != nil {
			return nil // the collection is gone
		}
	}
	for _, c := range n.Channels {
		if c.Sending != nil { // by the run before
			n.deliver(ctx, c)
		}
	}
	return n.run(ctx)
}

type notifier struct {
	Input
	raised, end workflow.ReceiveChannel
	last        time.Time // when something was raised or delivered last
	changed     bool
	timer       timer.Timer
}

// run looks at what was raised, delivers what may be delivered now, and sleeps. A long run continues as new even
// while alerts keep arriving: those that have arrived by then are handed over.
func (n *notifier) run(ctx workflow.Context) error {
	for {
		n.changed = false
		n.gather(ctx)
		n.assign(ctx)
		now := workflow.Now(ctx)
		if n.end.ReceiveAsync(nil) || ctx.Err() != nil {
			return nil
		}
		if n.isLong(ctx) {
			if n.receive(); len(n.Inbox) <= maxHandedOver {
				return workflow.NewContinueAsNewError(ctx, workflows.TypeNotifications, n.Input)
			}
			continue
		}
		if !slices.ContainsFunc(n.Channels, (*Channel).busy) && n.raised.Len() == 0 && !now.Before(n.last.Add(keep)) {
			return nil
		}
		n.start(ctx, now)
		n.sleep(ctx)
	}
}

// isLong reports whether the run is to continue as new.
func (n *notifier) isLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	events := info.GetCurrentHistoryLength()
	if events > mostEvents {
		return true
	}
	busy := slices.ContainsFunc(n.Channels, func(c *Channel) bool { return c.Sending != nil })
	return !busy && (events > calmEvents || info.GetContinueAsNewSuggested())
}

// gather takes up the alerts that have arrived, and those that follow within a short time.
func (n *notifier) gather(ctx workflow.Context) {
	if n.raised.Len() == 0 {
		return
	}
	n.last = workflow.Now(ctx)
	_ = workflow.Sleep(ctx, gatherTime) // a cancelled workflow ends
	n.receive()
}

// receive takes up the alerts that have arrived.
func (n *notifier) receive() {
	var some []notification.Raised
	for n.raised.ReceiveAsync(&some) {
		for _, r := range some {
			if !slices.Contains(n.Seen, r.Alert.ID) {
				n.Seen = append(n.Seen, r.Alert.ID)
				n.Inbox = append(n.Inbox, r)
			}
		}
		some = nil
	}
	n.Seen = n.Seen[max(0, len(n.Seen)-maxSeen):]
}

// assign gives the alerts to the channels of their targets.
func (n *notifier) assign(ctx workflow.Context) {
	inherits := func(r notification.Raised) bool { return len(r.Inherit) > 0 }
	var inherited []job.Notification
	if slices.ContainsFunc(n.Inbox, inherits) {
		inherited = n.targets(ctx)
	}
	for i := range n.Inbox {
		r := &n.Inbox[i]
		for k := range r.Own {
			n.add(&r.Own[k], notification.Key(&r.Own[k], k), &r.Alert)
		}
		for k := range inherited {
			if key := notification.Key(&inherited[k], k); slices.Contains(r.Inherit, key) {
				n.add(&inherited[k], key, &r.Alert)
			}
		}
	}
	n.Inbox = nil
}

// targets returns the collection's notifications; none if they cannot be read.
func (n *notifier) targets(ctx workflow.Context) (list []job.Notification) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, ScheduleToCloseTimeout: time.Minute, Summary: "targets of the job collection",
	})
	err := workflow.ExecuteActivity(ctx, notify.TypeTargets, n.Collection.WorkflowID(), workflows.QueryNotifications).Get(ctx, &list)
	if err != nil {
		workflow.GetLogger(ctx).Warn("alerts are lost: the job collection did not answer", "collection", n.Collection.ARMID(), "alerts", len(n.Inbox), "error", err)
		countFailed(ctx, "unknown")
		n.record(notification.Delivery{
			Name: "(all)", Target: "(unknown)", Time: workflow.Now(ctx), Alerts: len(n.Inbox), Outcome: notification.Failed,
			Message: "the job collection did not answer, so its notifications are not known",
		})
	}
	return list
}

// add adds an alert to the channel of a notification's target.
func (n *notifier) add(to *job.Notification, key string, a *notification.Alert) {
	i := slices.IndexFunc(n.Channels, func(c *Channel) bool { return same(&c.Target, &to.Target) })
	if i < 0 {
		i = len(n.Channels)
		n.Channels = append(n.Channels, &Channel{Name: key})
	}
	c := n.Channels[i]
	c.Target, c.Waiting.Collection = to.Target, n.Collection
	if to.Target.PagerDuty != nil {
		c.Open.Add(&c.Waiting, a)
	} else {
		c.Waiting.Add(a)
	}
}

// same reports whether two targets get their messages together. An integration of PagerDuty is the same whatever its retry policy
// is: its open incidents are known by its channel.
func same(a, b *job.Action) bool {
	if a.PagerDuty != nil && b.PagerDuty != nil {
		return *a.PagerDuty == *b.PagerDuty
	}
	return reflect.DeepEqual(a, b) //workflowcheck:ignore // of types without maps it is deterministic
}

// start begins the deliveries that may begin now, and forgets channels that have nothing to send.
func (n *notifier) start(ctx workflow.Context, now time.Time) {
	n.Channels = slices.DeleteFunc(n.Channels, func(c *Channel) bool {
		return !c.busy() && !now.Before(c.rest())
	})
	for _, c := range n.Channels {
		if c.Sending != nil || c.Waiting.Total() == 0 || now.Before(c.Next) {
			continue
		}
		m := c.Waiting
		m.ID = messageID(&m)
		c.Sending, c.Waiting = &m, notification.Message{}
		c.begin(now, m.Total())
		n.deliver(ctx, c)
	}
}

// messageID returns the id of a message: that of its only alert, or a hash of what it has.
func messageID(m *notification.Message) string {
	first := m.Alerts[0].ID
	if m.Total() == 1 {
		return first
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "digest of %d from %s", m.Total(), first)).String()
}

func (n *notifier) deliver(ctx workflow.Context, c *Channel) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		d := send(ctx, c.Name, &c.Target, c.Sending, c.Target.RetryPolicy.Attempts())
		c.Sending = nil
		n.record(d)
		n.last, n.changed = workflow.Now(ctx), true
	})
}

func (n *notifier) record(d notification.Delivery) {
	n.Deliveries = append(n.Deliveries, d)
	n.Deliveries = n.Deliveries[max(0, len(n.Deliveries)-maxDeliveries):]
}

// deliveries returns those that are being made, and the newest that ended, newest first.
func (n *notifier) deliveries() ([]notification.Delivery, error) {
	list := []notification.Delivery{}
	for _, c := range n.Channels {
		if m := c.Sending; m != nil {
			list = append(list, notification.Delivery{
				ID: m.ID, Name: c.Name, Target: notification.TargetText(&c.Target), Time: m.Alerts[len(m.Alerts)-1].Time, Alerts: m.Total(), Outcome: notification.Delivering,
			})
		}
	}
	for _, d := range slices.Backward(n.Deliveries) {
		list = append(list, d)
	}
	return list, nil
}

// sleep waits until something arrives or changes, or a channel may send.
func (n *notifier) sleep(ctx workflow.Context) {
	wake := n.last.Add(keep)
	for _, c := range n.Channels {
		if c.Sending == nil && c.rest().Before(wake) {
			wake = c.rest()
		}
	}
	n.timer.Set(ctx, wake)
	_ = workflow.Await(ctx, func() bool { return n.changed || n.raised.Len() > 0 || n.end.Len() > 0 || n.timer.Fired() }) // a cancelled workflow ends
}

// send delivers a message, in as many attempts as allowed.
func send(ctx workflow.Context, name string, target *job.Action, m *notification.Message, attempts int) notification.Delivery {
	const limit = notify.SendTimeout + 5*time.Second
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit * time.Duration(m.PostCount(target)),
		HeartbeatTimeout:    limit,
		RetryPolicy:         retryPolicy(target.RetryPolicy, attempts),
		Summary:             fmt.Sprintf("%d alerts: %s", m.Total(), notification.TargetText(target)),
	})
	var r notify.Report
	d := notification.Delivery{ID: m.ID, Name: name, Target: notification.TargetText(target), Alerts: m.Total(), Outcome: notification.Delivered}
	err := workflow.ExecuteActivity(ctx, notify.TypeSend, notify.SendInput{Name: name, Target: *target, Message: *m}).Get(ctx, &r)
	if err != nil {
		d.Outcome, r = notification.Failed, notify.Failure(err)
		if _, silent := errors.AsType[*temporal.TimeoutError](err); silent { // otherwise a worker has logged and counted it
			workflow.GetLogger(ctx).Warn("notification failed; its alerts are lost", "collection", m.Collection.Name, "notification", name, "target", d.Target,
				"message", m.ID, "alerts", d.Alerts, "error", r.Message)
			countFailed(ctx, string(target.Type.Kind()))
		}
	}
	d.Time, d.Message, d.Attempts = r.Time, r.Message, r.Attempt
	if d.Time.IsZero() {
		d.Time = workflow.Now(ctx)
	}
	return d
}

// countFailed counts a message that no worker counted, as a worker does.
func countFailed(ctx workflow.Context, kind string) {
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"kind": kind, "outcome": "failed"}).Counter(notify.Counter).Inc(1)
}

// Raise hands alerts over to the workflow of their collection. It returns when that has them, or the job's workflow is cancelled.
func Raise(ctx workflow.Context, k job.CollectionKey, raised []notification.Raised) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second, Summary: "raise " + string(raised[0].Alert.Event)})
	err := workflow.ExecuteActivity(ctx, notify.TypeRaise, notify.RaiseInput{
		Workflow: k.NotificationsWorkflowID(), Type: workflows.TypeNotifications, Summary: "notifications of job collection " + k.Name,
		Start: Input{Collection: k}, Signal: workflows.SignalRaise, Raised: raised,
	}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("alerts are lost", "collection", k.ARMID(), "alerts", len(raised), "error", err)
	}
}

// Test sends a test to the targets of notifications, once to each, and returns the results in the order of the list.
func Test(ctx workflow.Context, collection job.CollectionKey, name string, list []job.Notification) ([]notification.Delivery, error) {
	a := notification.Alert{Event: notification.EventTest, Job: collection.Job(name), Time: workflow.Now(ctx).UTC()}
	a.Identify(workflow.GetInfo(ctx).WorkflowExecution.RunID, a.Time.Format(time.RFC3339Nano))
	a.Describe("")
	m := notification.Message{ID: a.ID, Collection: collection}
	m.Add(&a)
	results := make([]notification.Delivery, len(list))
	left := len(list)
	for i := range list {
		workflow.Go(ctx, func(ctx workflow.Context) {
			results[i] = send(ctx, notification.Key(&list[i], i), &list[i].Target, &m, 1)
			left--
		})
	}
	err := workflow.Await(ctx, func() bool { return left == 0 })
	return results, err
}

// retryPolicy returns a target's retry policy with another number of attempts.
func retryPolicy(p *job.RetryPolicy, attempts int) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: p.Interval(), MaximumInterval: p.Interval(), BackoffCoefficient: 1, MaximumAttempts: int32(attempts)}
}
