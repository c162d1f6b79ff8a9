package notifier

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"almanac/job"
	"almanac/job/notification"
)

// A Channel is a target and what is to be sent to it.
type Channel struct {
	Name    string                `json:"name"` // of a notification with this target
	Target  job.Target            `json:"target"`
	Waiting notification.Message  `json:"waiting"`
	Sending *notification.Message `json:"sending,omitempty"` // is being delivered
	Attempt int                   `json:"attempt,omitempty"` // attempts made to deliver it
	Posted  int                   `json:"posted,omitempty"`  // its posts that were accepted
	Again   time.Time             `json:"again,omitzero"`    // start of its next attempt
	Hung    bool                  `json:"hung,omitempty"`    // the target did not answer the last attempt in time

	Next  time.Time `json:"next"`           // start of the next message at the earliest
	Since time.Time `json:"since,omitzero"` // since when the messages that left at once are counted, for a window
	Left  int       `json:"left,omitempty"` // their number
	Used  time.Time `json:"used"`           // when the last message began that has an alert

	Open notification.Incidents `json:"open,omitempty"` // of a PagerDuty target
	// when recoveries that were not delivered are sent again, if no message is before
	Resolve time.Time     `json:"resolve,omitzero"`
	Pause   time.Duration `json:"pause,omitempty"` // until then, at the last failure

	number int  // in order of creation
	target int  // size of the target
	bytes  int  // size, as the notifier counts it
	flying bool // an activity makes an attempt
	due    time.Time
	index  int // in the queue
}

// Recoveries that were not delivered are sent again after firstPause, which is doubled each time up to maxPause.
const (
	firstPause = 10 * time.Minute
	maxPause   = 6 * time.Hour
)

// What a channel can grow by as JSON without another alert that is listed: by times, numbers, counts and ids, and for
// each incident by the recovery that a message has of it.
const (
	channelGrowth  = 600
	incidentGrowth = 500
)

// size returns an upper bound of the channel's size as JSON until another alert is listed.
func (c *Channel) size() int {
	return notification.SizeOf(c) + channelGrowth + incidentGrowth*len(c.Open)
}

// busy reports whether the channel sends something, or has to.
func (c *Channel) busy() bool { return c.Sending != nil || c.Waiting.Total() > 0 }

// add adds an alert by a notification with the channel's target.
func (c *Channel) add(to *job.Notification, a *notification.Alert) {
	c.Target = to.Target
	if notification.HasIncidents(&to.Target) {
		c.Open.Add(&c.Waiting, a)
	} else {
		c.Waiting.Add(a)
	}
}

// wakes returns when the channel has something to do: to begin a message or an attempt, or to be forgotten. It is not
// asked while an activity makes an attempt.
func (c *Channel) wakes() time.Time {
	switch {
	case c.Sending != nil:
		return c.Again
	case c.Waiting.Total() > 0:
		return c.Next
	case c.Open.Unresolved() && c.Resolve.Before(c.forgotten()):
		return latest(c.Resolve, c.Next)
	}
	return c.forgotten()
}

// forgotten returns when a channel that has nothing to send is forgotten.
func (c *Channel) forgotten() time.Time {
	if len(c.Open) > 0 {
		return c.Used.Add(keep)
	}
	return latest(c.Next, c.Since.Add(window))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// begin makes what waits the message that is sent, unless one is being sent. It reports whether there is one.
func (c *Channel) begin(now time.Time) bool {
	if c.Sending != nil {
		return true
	}
	m := c.Waiting
	if m.Total() == 0 && (!c.Open.Unresolved() || !now.Before(c.forgotten())) {
		return false
	}
	if m.Total() > 0 {
		c.Used = now
	}
	c.Open.Repeat(&m, now)
	m.ID = messageID(&m)
	c.Sending, c.Waiting = &m, notification.Message{}
	if !now.Before(c.Since.Add(window)) {
		c.Since, c.Left = now, 0
	}
	c.Left++
	if c.Next = now; m.Total() > 1 || c.Left >= atOnce {
		c.Next = now.Add(window)
	}
	return true
}

// messageID returns the id of a message: that of its only alert, or a hash of what it has.
func messageID(m *notification.Message) string {
	first := m.Alerts[0].ID
	if m.Total() == 1 {
		return first
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "digest of %d from %s", m.Total(), first)).String()
}

// ended notes that the message was delivered, or that no further attempt is made.
func (c *Channel) ended(delivered bool, now time.Time) {
	if delivered {
		c.Open.Delivered(c.Sending)
		c.Pause = 0
	} else if c.Open.Unresolved() {
		c.Pause = min(max(2*c.Pause, firstPause), maxPause)
		c.Resolve = now.Add(c.Pause)
	}
	c.Sending, c.Attempt, c.Posted, c.Again = nil, 0, 0, time.Time{}
}
