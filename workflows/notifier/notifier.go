// Package notifier holds the workflow that delivers the alerts of a collection's jobs. A collection has several, its
// shards ([notification.Shard]), so that a storm is shared among them.
//
// Alerts arrive as signals. Those that arrive within a short time are looked at together, and their message leaves
// then. After a message about several alerts, and after a few about one each, what follows within a minute is one
// digest. Each target has a channel with its messages. Attempts to deliver them are made by activities, each with one
// attempt for one or several channels.
//
// notifier.go is the loop, inbox.go gives the alerts to channels, channel.go says what a channel does when, queue.go
// finds the channels that have something to do, delivery.go sends, and try.go sends a test.
package notifier

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

const (
	// gatherTime is how long the first alert waits for others that have the same cause.
	gatherTime = 500 * time.Millisecond
	// busyGatherTime is how long one that is older than oldAlert does.
	busyGatherTime = 5 * time.Second
	oldAlert       = 5 * time.Second
	// window is the time from the beginning of a message about several alerts to a target until the next. Alerts wait
	// for it together. As many as atOnce messages about one alert each leave at once in that time, and the next one
	// after it.
	window = time.Minute
	atOnce = 5
	// keep is how long the workflow runs after its last alert, so that its deliveries can be read.
	keep = 60 * 24 * time.Hour

	// maxSignals is the maximum number of signals that one workflow task takes up, each of at most 256 KiB.
	maxSignals = 4

	// maxStateBytes is the limit of the alerts and targets that a run holds, as JSON. With maxSeen ids, which take 225
	// kB, and maxDeliveries deliveries of at most 6 kB, the input of the next run is below the server's limit of 2 MiB,
	// encryption included.
	maxStateBytes = 1_500_000
	maxDeliveries = 50
)

// A run continues as new when it is long and nothing is being sent: a server suggests that after 4,096 events or 4 MiB.
// At full events or bytes it begins no more deliveries, which end within seconds. At most events or bytes it continues
// as new in any case, and what is being sent is sent again. A server takes 10,000 signals to a run, and ends one with
// 51,200 events or 50 MB; what arrives during one task comes on top.
const (
	fullEvents = 8_000
	fullBytes  = 12 << 20
	mostEvents = 9_000
	mostBytes  = 16 << 20
)

// Input is the input of a run of [Workflow].
type Input struct {
	notification.Shard
	Channels []*Channel `json:"channels,omitempty"` // in order of creation
	// alerts that wait for the targets of the collection
	Inbox []*held `json:"inbox,omitempty"`
	// hashes of the ids of the newest alerts, oldest first
	Seen       []byte                  `json:"seen,omitempty"`
	Deliveries []notification.Delivery `json:"deliveries,omitempty"` // newest last
}

// Workflow delivers the alerts of the jobs of one collection, or of the targets that belong to one shard.
func Workflow(ctx workflow.Context, in Input) error {
	if in.Collection.Name == "" {
		return workflows.ErrForeign
	}
	n := newNotifier(ctx, in)
	err := workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryDeliveries, n.deliveries,
		workflow.QueryHandlerOptions{Description: "the newest deliveries, newest first"})
	if err != nil {
		return err
	}
	if workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		// The collection ends this workflow when it is deleted.
		err := workflow.SignalExternalWorkflow(ctx, in.Collection.WorkflowID(), "", workflows.SignalNotifying, in.Number).Get(ctx, nil)
		if _, gone := errors.AsType[*temporal.UnknownExternalWorkflowExecutionError](err); gone {
			return nil
		}
		if err != nil {
			workflow.GetLogger(ctx).Warn("the job collection was not notified that alerts are delivered", "collection", in.Collection.ARMID(), "error", err)
		}
	}
	return n.run(ctx)
}

type notifier struct {
	Input
	seen     seen
	channels map[string]*Channel // by the ids of their targets
	queue    queue
	bytes    int  // size of the channels and the inbox
	short    bool // no message can be made shorter

	raised, end workflow.ReceiveChannel
	last        time.Time // when something was raised last
	changed     bool      // wakes the loop
	timer       await.Timer

	asking  bool // the collection is being asked for its targets
	pending int  // activities that deliver
	sending int  // messages in them
	lost    int  // alerts that were lost since the loop last ran
}

func newNotifier(ctx workflow.Context, in Input) *notifier {
	n := &notifier{Input: in, last: workflow.Now(ctx), seen: newSeen(in.Seen), channels: map[string]*Channel{}}
	n.raised = await.Signals(ctx, workflows.SignalRaise, "alerts to be delivered")
	n.end = await.Signals(ctx, workflows.SignalEnd, "the job collection is gone")
	for _, c := range n.Channels {
		n.enter(c)
	}
	for _, h := range n.Inbox {
		n.bytes += h.size()
	}
	return n
}

// enter begins to watch a channel.
func (n *notifier) enter(c *Channel) {
	c.number = n.queue.created
	n.queue.created++
	c.target = notification.SizeOf(&c.Target)
	n.channels[notification.TargetID(&c.Target)] = c
	n.queue.place(c)
	n.resize(c)
}

// resize notes that a channel has changed in size.
func (n *notifier) resize(c *Channel) {
	n.bytes -= c.bytes
	c.bytes = c.size()
	n.bytes += c.bytes
}

// run looks at what was raised, delivers what may be delivered now, and sleeps.
func (n *notifier) run(ctx workflow.Context) error {
	for {
		n.changed = false
		n.gather(ctx)
		n.assign(ctx)
		n.noteLost(ctx)
		now := workflow.Now(ctx)
		if n.end.ReceiveAsync(nil) || ctx.Err() != nil {
			return nil
		}
		long, full := n.length(ctx)
		switch {
		case n.raised.Len() > 0: // more than one task takes up; a run must not end before
		case long:
			n.handOver(ctx)
			return workflow.NewContinueAsNewError(ctx, workflows.TypeNotifications, n.Input)
		case !now.Before(n.last.Add(keep)) && len(n.Inbox) == 0 && !slices.ContainsFunc(n.Channels, (*Channel).busy):
			return nil
		}
		wake := n.last.Add(keep)
		if !full {
			wake = earlier(wake, n.start(ctx, now))
		}
		n.sleep(ctx, wake)
	}
}

// maxInput is the size limit of the input of the next run as JSON, in bytes: the server's of 2 MiB without what
// encryption adds.
const maxInput = 2_060_000

// handOver prepares the input of the next run. The state is bounded so that it fits. In case that is wrong, it drops
// the newest channels: a run that cannot continue as new would deliver nothing any more.
func (n *notifier) handOver(ctx workflow.Context) {
	n.Seen = n.seen.bytes()
	for len(n.Channels) > 0 && notification.SizeOf(&n.Input) > maxInput {
		kept := len(n.Channels) * 3 / 4
		for _, c := range n.Channels[kept:] {
			n.lose(c.Waiting.Total())
			if c.Sending != nil {
				n.lose(c.Sending.Total())
			}
		}
		n.Channels = n.Channels[:kept]
		n.noteLost(ctx)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// length reports whether the run is to continue as new, and whether it is so long that it begins no deliveries.
func (n *notifier) length(ctx workflow.Context) (long, full bool) {
	info := workflow.GetInfo(ctx)
	events, bytes := info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	full = events >= fullEvents || bytes >= fullBytes
	long = events >= mostEvents || bytes >= mostBytes || n.sending == 0 && (full || info.GetContinueAsNewSuggested())
	return long, full
}

// sleep waits until a time, or until something arrives or changes.
func (n *notifier) sleep(ctx workflow.Context, wake time.Time) {
	if n.raised.Len() > 0 { // another task takes up the rest
		wake = workflow.Now(ctx).Add(time.Millisecond)
		n.timer.Set(ctx, wake)
		_ = workflow.Await(ctx, n.timer.Fired)
		return
	}
	n.timer.Set(ctx, wake)
	// a cancelled workflow ends
	_ = workflow.Await(ctx, func() bool { return n.changed || n.raised.Len() > 0 || n.end.Len() > 0 || n.timer.Fired() })
}

// lose counts alerts for which there is no room.
func (n *notifier) lose(count int) { n.lost += count }

// noteLost records the alerts that were lost.
func (n *notifier) noteLost(ctx workflow.Context) {
	if n.lost == 0 {
		return
	}
	n.recordLost(ctx, n.lost, "lost: more alerts waited than can be held until their targets have taken earlier ones")
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"where": "notifications"}).Counter(notify.LostCounter).Inc(int64(n.lost))
	n.lost = 0
}

// recordLost records alerts that were lost as a delivery that failed. Alerts that were lost for the same reason just
// before belong to the same delivery.
func (n *notifier) recordLost(ctx workflow.Context, alerts int, why string) {
	workflow.GetLogger(ctx).Warn("alerts are lost", "collection", n.Collection.ARMID(), "alerts", alerts, "error", why)
	d := notification.Delivery{Name: "(all)", Target: "(several)", Time: workflow.Now(ctx), Alerts: alerts, Outcome: notification.Failed, Message: why}
	if i := len(n.Deliveries) - 1; i >= 0 && n.Deliveries[i].Name == d.Name && n.Deliveries[i].Message == why && d.Time.Sub(n.Deliveries[i].Time) < window {
		d.Alerts += n.Deliveries[i].Alerts
		n.Deliveries[i] = d
		return
	}
	n.record(d)
}
