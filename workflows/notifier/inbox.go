package notifier

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

// A held alert waits for the targets of the collection. More are the counts of further ones for which there was no
// room, by the same notifications.
type held struct {
	notification.Raised
	More []notification.Count `json:"more,omitempty"`
}

// moreBytes is an upper bound of the size of held.More, which has a count for each event.
const moreBytes = 300

func (h *held) size() int { return notification.SizeOf(&h.Raised) + moreBytes }

// count counts an alert.
func (h *held) count(e job.Event) {
	m := notification.Message{Counts: h.More}
	m.Count(e, 1)
	h.More = m.Counts
}

// gather takes up the alerts that have arrived, and those that follow within a short time.
func (n *notifier) gather(ctx workflow.Context) {
	if n.raised.Len() == 0 {
		return
	}
	n.last = workflow.Now(ctx)
	var some []notification.Raised
	for taken := range maxSignals {
		if !n.raised.ReceiveAsync(&some) {
			return
		}
		if taken == 0 && n.raised.Len() < maxSignals-1 {
			_ = workflow.Sleep(ctx, gatherFor(some, n.last)) // a cancelled workflow ends
		}
		for i := range some {
			n.take(ctx, &some[i])
		}
		some = nil
	}
}

// gatherFor returns how long to wait for more alerts after some that have arrived. Old ones were long on their way: many
// more come then, and the server is busy.
func gatherFor(some []notification.Raised, now time.Time) time.Duration {
	if len(some) > 0 && now.Sub(some[0].Alert.Time) > oldAlert {
		return busyGatherTime
	}
	return gatherTime
}

// take gives an alert to the channels of its own targets, or keeps it for those of the collection.
func (n *notifier) take(ctx workflow.Context, r *notification.Raised) {
	switch {
	case !n.seen.add(r.Alert.ID):
	case r.Lost > 0:
		n.recordLost(ctx, r.Lost, fmt.Sprintf("lost: job '%s' raised more alerts than it keeps while it cannot hand them over", r.Alert.Job.Name))
	case len(r.Inherit) > 0:
		n.hold(r)
	default:
		for k := range r.Own {
			n.add(&r.Own[k], notification.Key(&r.Own[k], k), &r.Alert)
		}
	}
}

// hold keeps an alert for the targets of the collection. If there is no room, it is counted beside one by the same
// notifications.
func (n *notifier) hold(r *notification.Raised) {
	h := &held{Raised: *r}
	if size := h.size(); n.fits(size) {
		n.Inbox = append(n.Inbox, h)
		n.bytes += size
		return
	}
	for _, other := range slices.Backward(n.Inbox) {
		if slices.Equal(other.Inherit, r.Inherit) {
			other.count(r.Alert.Event)
			return
		}
	}
	n.lose(1)
}

// fits reports whether so many bytes more can be held. If they cannot, it removes what messages list beyond their first
// alerts.
func (n *notifier) fits(size int) bool {
	if n.bytes+size > maxStateBytes && !n.short {
		n.short = true
		for _, c := range n.Channels {
			if c.Waiting.Shorten() {
				n.resize(c)
			}
		}
	}
	return n.bytes+size <= maxStateBytes
}

// add adds an alert to the channel of a notification's target. If there is no room, it is only counted, or lost if no
// message waits.
func (n *notifier) add(to *job.Notification, key string, a *notification.Alert) {
	c := n.channels[notification.TargetID(&to.Target)]
	size := a.Size()
	if c == nil {
		c = &Channel{Name: key, Target: to.Target}
		if !n.fits(size + c.size()) {
			n.lose(1)
			return
		}
		n.Channels = append(n.Channels, c)
		n.enter(c)
	}
	listed, open := len(c.Waiting.Alerts), len(c.Open)
	switch {
	case n.fits(size), notification.HasIncidents(&to.Target) && a.Event == job.EventRecovered:
		// of which little is kept
		c.add(to, a)
	case c.Waiting.Total() > 0:
		c.Waiting.Count(a.Event, 1)
	default:
		n.lose(1)
	}
	if len(c.Waiting.Alerts) != listed || len(c.Open) != open { // otherwise it was only counted
		n.short = false
		n.resize(c)
	}
	n.queue.place(c)
}

// assign asks for the targets of the collection if alerts wait for them.
func (n *notifier) assign(ctx workflow.Context) {
	if len(n.Inbox) == 0 || n.asking {
		return
	}
	n.asking = true
	asked := len(n.Inbox)
	workflow.Go(ctx, func(ctx workflow.Context) {
		list, err := targets(ctx, n.Collection)
		n.asking, n.changed = false, true
		if err == nil {
			n.inherit(list, asked)
		}
	})
}

// targets returns the notifications of a collection. While that does not answer, the server repeats the activity, at
// longer and longer intervals.
func targets(ctx workflow.Context, k job.CollectionKey) (list []job.Notification, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second, Summary: "targets of the job collection",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	err = workflow.ExecuteActivity(ctx, notify.TypeTargets, k.WorkflowID(), workflows.QueryNotifications).Get(ctx, &list)
	return list, err
}

// inherit gives the first alerts that wait, so many, to the channels of the collection's targets. The others may be by
// newer notifications.
func (n *notifier) inherit(list []job.Notification, asked int) {
	inbox := n.Inbox[:asked]
	n.Inbox = slices.Clone(n.Inbox[asked:])
	for _, h := range inbox {
		n.bytes -= h.size()
	}
	for _, h := range inbox {
		for k := range list {
			key := notification.Key(&list[k], k)
			if !slices.Contains(h.Inherit, key) {
				continue
			}
			n.add(&list[k], key, &h.Alert)
			n.addMore(&list[k], h.More)
		}
	}
}

// addMore counts alerts in the message that waits for a notification's target.
func (n *notifier) addMore(to *job.Notification, more []notification.Count) {
	c := n.channels[notification.TargetID(&to.Target)]
	for _, m := range more {
		if c != nil && c.Waiting.Total() > 0 {
			c.Waiting.Count(m.Event, m.Number)
		} else {
			n.lose(m.Number)
		}
	}
}

// maxSeen is the minimum number of the newest alerts that are recognized if they are handed over again: two storms of
// 10,000 jobs. Some more are kept, so that they need not be removed one by one.
const (
	maxSeen   = 20_000
	extraSeen = 1_000
)

// A seen is a set of the newest alerts, by hashes of their ids.
type seen struct {
	order []uint64
	known map[uint64]bool
}

func newSeen(hashes []byte) seen {
	s := seen{known: map[uint64]bool{}}
	for ; len(hashes) >= 8; hashes = hashes[8:] {
		s.order = append(s.order, binary.BigEndian.Uint64(hashes))
		s.known[s.order[len(s.order)-1]] = true
	}
	return s
}

// add adds an alert, and reports whether it is new.
func (s *seen) add(id string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	hash := h.Sum64()
	if s.known[hash] {
		return false
	}
	s.known[hash] = true
	s.order = append(s.order, hash)
	if len(s.order) > maxSeen+extraSeen {
		for _, old := range s.order[:extraSeen] {
			delete(s.known, old)
		}
		s.order = slices.Clone(s.order[extraSeen:])
	}
	return true
}

func (s *seen) bytes() []byte {
	hashes := make([]byte, 0, 8*len(s.order))
	for _, hash := range s.order {
		hashes = binary.BigEndian.AppendUint64(hashes, hash)
	}
	return hashes
}
