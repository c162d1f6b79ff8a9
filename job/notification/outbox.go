package notification

import "slices"

// MaxOutbox is the size limit of the alerts in an [Outbox] as JSON, in bytes. At most two notices come on top, of at
// most 6 KiB each.
const MaxOutbox = 64 << 10

// An Outbox holds the alerts of a job of which it is not known yet that they were handed over, oldest first, and notices
// of how many were dropped since there was no room.
//
// Notices are offered when no alert is left, one by one. So there are at most two: one that may have been handed over,
// and one that still counts.
type Outbox struct {
	Alerts  []Raised `json:"alerts,omitempty"`
	Notices []Raised `json:"notices,omitempty"`
	Taken   int      `json:"taken,omitempty"` // notices that may have arrived, the first ones
}

// Add adds an alert. If there is no room, it counts the alert in a notice and reports false.
func (o *Outbox) Add(r Raised) bool {
	if o.Fits(&r) {
		o.Alerts = append(o.Alerts, r)
		return true
	}
	if last := len(o.Notices) - 1; last >= o.Taken {
		o.Notices[last].Lost++
		return false
	}
	notice := Raised{Alert: Alert{Job: r.Alert.Job, Time: r.Alert.Time}, Lost: 1}
	notice.Alert.Identify(r.Alert.ID, "lost")
	o.Notices = append(o.Notices, notice)
	return false
}

// Fits reports whether there is room for an alert.
func (o *Outbox) Fits(r *Raised) bool { return SizeOf(o.Alerts)+SizeOf(r) <= MaxOutbox }

// Offer returns what is to be handed over next, and may have been: all alerts or, if there are none, a notice; nil for
// nothing.
func (o *Outbox) Offer() []Raised {
	switch {
	case len(o.Alerts) > 0:
		return o.Alerts
	case len(o.Notices) > 0:
		o.Taken = 1
		return o.Notices[:1]
	}
	return nil
}

// HandedOver removes what was handed over of that which Offer returned last, by position.
func (o *Outbox) HandedOver(positions []int) {
	from := &o.Alerts
	if len(o.Alerts) == 0 && len(positions) > 0 {
		from, o.Taken = &o.Notices, 0
	}
	var left []Raised
	for i, r := range *from {
		if !slices.Contains(positions, i) {
			left = append(left, r)
		}
	}
	*from = left
}

// Empty reports whether nothing is left.
func (o *Outbox) Empty() bool { return len(o.Alerts)+len(o.Notices) == 0 }

// All returns everything of which it is not known that it was handed over.
func (o *Outbox) All() []Raised { return slices.Concat(o.Alerts, o.Notices) }
