package notifier

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/internal/redact"
	"almanac/job/notification"
)

// Limits of the activities that deliver.
const (
	// maxSending is the maximum number of messages that are being sent at once, which take at most maxPending
	// activities: one each if they are few, and otherwise batchSize together. The server limits pending activities to
	// 2,000.
	maxSending = 500
	maxPending = 100
	maxAlone   = 3
	batchSize  = 25

	// maxStart is the size limit of the messages and targets whose delivery begins in one workflow task, as JSON, and
	// batchBytes that of one activity with several of them. The server limits a task to 4 MiB.
	maxStart   = 512 << 10
	batchBytes = 256 << 10
)

// start begins the deliveries that may begin now, and forgets channels that have nothing to do. It returns when it is
// to be called again if nothing changes; zero for never.
func (n *notifier) start(ctx workflow.Context, now time.Time) (wake time.Time) {
	var ready []*Channel
	bytes, forgot := 0, false
	for {
		c, due := n.queue.next()
		if c == nil || due.After(now) {
			wake = due
			break
		}
		if n.sending+len(ready) >= maxSending || n.pending >= maxPending { // until a delivery has ended
			break
		}
		if bytes >= maxStart { // another workflow task continues
			wake = now.Add(time.Millisecond)
			break
		}
		if !c.begin(now) {
			n.queue.remove(c)
			n.bytes -= c.bytes
			delete(n.channels, notification.TargetID(&c.Target))
			c.number, forgot = -1, true
			continue
		}
		c.flying = true
		n.queue.place(c)
		n.resize(c)
		ready, bytes = append(ready, c), bytes+c.sendBytes()
	}
	if forgot {
		n.Channels = slices.DeleteFunc(n.Channels, func(c *Channel) bool { return c.number < 0 })
	}
	for _, batch := range batches(ready) {
		n.deliver(ctx, batch)
	}
	return wake
}

// sendBytes returns the size of the message that is sent and its target.
func (c *Channel) sendBytes() int { return c.target + c.Sending.Size() + channelGrowth }

// batches divides channels among activities. Targets that did not answer the last attempt are not together with others,
// which would wait for them, nor are those that get several posts.
func batches(ready []*Channel) (all [][]*Channel) {
	if len(ready) <= maxAlone {
		for _, c := range ready {
			all = append(all, []*Channel{c})
		}
		return all
	}
	var kinds [3][]*Channel
	for _, c := range ready {
		kind := 0
		switch {
		case c.Sending.PostCount(&c.Target) > 1:
			kind = 1
		case c.Hung:
			kind = 2
		}
		kinds[kind] = append(kinds[kind], c)
	}
	for _, some := range kinds {
		var batch []*Channel
		bytes := 0
		for _, c := range some {
			if len(batch) == batchSize || len(batch) > 0 && bytes+c.sendBytes() > batchBytes {
				all = append(all, batch)
				batch, bytes = nil, 0
			}
			batch, bytes = append(batch, c), bytes+c.sendBytes()
		}
		if len(batch) > 0 {
			all = append(all, batch)
		}
	}
	return all
}

// deliver makes an attempt for each channel.
func (n *notifier) deliver(ctx workflow.Context, batch []*Channel) {
	items := make([]notify.Item, len(batch))
	for i, c := range batch {
		m := *c.Sending
		m.Collection = n.Collection
		items[i] = notify.Item{
			Name: c.Name, Target: c.Target, Message: m, Attempt: c.Attempt + 1, Last: c.Attempt+1 >= c.Target.RetryPolicy.Attempts(), Posted: c.Posted,
		}
	}
	n.pending++
	n.sending += len(batch)
	workflow.Go(ctx, func(ctx workflow.Context) {
		reports := send(ctx, items)
		n.pending--
		n.sending -= len(batch)
		n.changed = true
		for i, c := range batch {
			n.attempted(ctx, c, &items[i], &reports[i])
		}
	})
}

// attempted notes the result of an attempt.
func (n *notifier) attempted(ctx workflow.Context, c *Channel, in *notify.Item, r *notify.Report) {
	now := workflow.Now(ctx)
	c.flying, c.Hung, c.Attempt, c.Posted = false, r.Hung, in.Attempt, max(in.Posted, r.Posted)
	if r.Delivered || r.Final || in.Last {
		n.record(delivery(in, r, now))
		c.ended(r.Delivered, now)
	} else {
		c.Again = now.Add(max(c.Target.RetryPolicy.Pause(in.Attempt), r.Pause))
	}
	n.resize(c)
	n.queue.place(c)
}

// send makes an attempt to deliver each of some messages, in one activity, and returns a report of each. An attempt
// that is lost with its worker is one that failed.
func send(ctx workflow.Context, items []notify.Item) []notify.Report {
	posts := 1
	for i := range items {
		posts = max(posts, items[i].Message.PostCount(&items[i].Target))
	}
	summary := fmt.Sprintf("%d messages", len(items))
	if len(items) == 1 {
		summary = fmt.Sprintf("%d alerts: %s", items[0].Message.Total(), items[0].Target.Text())
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: (notify.SendTimeout + 5*time.Second) * time.Duration(posts),
		HeartbeatTimeout:    notify.HeartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	})
	var reports []notify.Report
	err := workflow.ExecuteActivity(ctx, notify.TypeSend, notify.SendInput{Items: items}).Get(ctx, &reports)
	if err != nil {
		if lost, ok := errors.AsType[*temporal.TimeoutError](err); ok && lost.HasLastHeartbeatDetails() {
			_ = lost.LastHeartbeatDetails(&reports) // what cannot be read is not known
		}
	}
	reports = slices.Grow(reports, len(items))[:len(items)]
	for i := range reports {
		if r := &reports[i]; !r.Done {
			r.Message = "no worker recorded the outcome; the message may have been sent"
			if items[i].Last {
				logFailed(ctx, &items[i], r)
			}
		}
	}
	return reports
}

// logFailed logs and counts a message that no worker logged and counted, as a worker does.
func logFailed(ctx workflow.Context, in *notify.Item, r *notify.Report) {
	text := "notification failed; its alerts are lost"
	if in.IsTest() {
		text = "test of a notification failed"
	}
	workflow.GetLogger(ctx).Warn(text, "collection", in.Message.Collection.Name, "notification", in.Name,
		"target", in.Target.Text(), "message", in.Message.ID, "alerts", in.Message.Total(), "error", r.Message)
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"kind": string(in.Target.Type.Kind()), "outcome": "failed"}).Counter(notify.Counter).Inc(1)
}

// maxTargetText is the size limit of the target of a delivery, in bytes.
const maxTargetText = 300

// delivery returns what became of a message after its last attempt.
func delivery(in *notify.Item, r *notify.Report, now time.Time) notification.Delivery {
	d := notification.Delivery{
		ID: in.Message.ID, Name: in.Name, Target: redact.Cut(in.Target.Text(), maxTargetText), Alerts: in.Message.Total(), Outcome: notification.Failed,
		Time: r.Time, Message: r.Message, Attempts: in.Attempt,
	}
	if r.Delivered {
		d.Outcome = notification.Delivered
	}
	if d.Time.IsZero() {
		d.Time = now
	}
	return d
}

func (n *notifier) record(d notification.Delivery) {
	n.Deliveries = append(n.Deliveries, d)
	n.Deliveries = n.Deliveries[max(0, len(n.Deliveries)-maxDeliveries):]
}

// deliveries returns some of those that are being made, and the newest that ended, newest first.
func (n *notifier) deliveries() ([]notification.Delivery, error) {
	list := []notification.Delivery{}
	for _, c := range n.Channels {
		if m := c.Sending; m != nil && len(list) < notification.MaxDelivering {
			list = append(list, notification.Delivery{
				ID: m.ID, Name: c.Name, Target: redact.Cut(c.Target.Text(), maxTargetText), Time: m.Alerts[len(m.Alerts)-1].Time, Alerts: m.Total(), Outcome: notification.Delivering,
			})
		}
	}
	for _, d := range slices.Backward(n.Deliveries) {
		list = append(list, d)
	}
	return list, nil
}
