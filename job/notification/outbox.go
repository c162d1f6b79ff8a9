package notification

import "slices"

// MaxOutbox is the size limit of the alerts in an [Outbox] as JSON, in bytes. At most two notices come on top, of at
// most 6 KiB each.
const MaxOutbox = 64 << 10

// An Outbox holds the alerts of a job that were not handed over yet, oldest first, and notices of how many were dropped
// since there was no room.
//
// Notices are handed over when no alert is left, one by one. So there are at most two: one that is being handed over,
// or may have been, and one that still counts.
type Outbox struct {
	Alerts  []Raised `json:"alerts,omitempty"`
	Notices []Raised `json:"notices,omitempty"`
	Taken   int      `json:"taken,omitempty"` // notices that may have arrived, the first ones

	alerts, notices int // that are being handed over, the first ones
}

// Add adds an alert. If there is no room, it counts the alert in a notice and reports false.
func (o *Outbox) Add(r Raised) bool {
	if SizeOf(o.Alerts)+SizeOf(r) <= MaxOutbox {
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

// Take returns what is to be handed over next; nil for nothing, or while something is.
func (o *Outbox) Take() []Raised {
	switch {
	case o.alerts+o.notices > 0:
		return nil
	case len(o.Alerts) > 0:
		o.alerts = len(o.Alerts)
		return o.Alerts
	case len(o.Notices) > 0:
		o.notices, o.Taken = 1, 1
		return o.Notices[:1]
	}
	return nil
}

// HandedOver removes what Take returned, if it was handed over. In any case Take may return something again.
func (o *Outbox) HandedOver(ok bool) {
	if ok {
		o.Alerts, o.Notices = slices.Clone(o.Alerts[o.alerts:]), slices.Clone(o.Notices[o.notices:])
		o.Taken -= o.notices
	}
	o.alerts, o.notices = 0, 0
}

// All returns everything that was not handed over.
func (o *Outbox) All() []Raised { return slices.Concat(o.Alerts, o.Notices) }
