package jobloop_test

import (
	"fmt"
	"strings"
	"time"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
)

// A fakeCourier is the courier of a jobEnv's workers.
type fakeCourier struct {
	raising time.Duration        // how long it takes to hand an alert over
	offered map[string]time.Time // when an alert was offered first, by its id
	arrived map[string]bool
	again   time.Duration // when it says to ask again; 0: after a second
	lose    func(notification.Raised) bool

	exchanges int
	askedAt   []string
}

// Exchange implements [alerts.Courier].
func (w *jobEnv) Exchange(workflowID string, k job.CollectionKey, offered []notification.Raised) (e notify.Exchanged) {
	if workflowID != "default-test-workflow-id" || k != key.Collection {
		panic("it is not the workflow of the job") //nolint:forbidigo // a test
	}
	c := &w.courier
	c.exchanges++
	c.askedAt = append(c.askedAt, clock(w.env.Now()))
	for i := range offered {
		switch id, now := offered[i].Alert.ID, w.env.Now(); {
		case c.arrived[id]:
			e.HandedOver = append(e.HandedOver, i)
		case c.offered[id].IsZero():
			c.offered[id] = now
			w.arrive(&offered[i], now)
		case w.arrive(&offered[i], now):
			e.HandedOver = append(e.HandedOver, i)
		}
	}
	if len(e.HandedOver) < len(offered) {
		e.Again = max(c.again, time.Second)
	}
	return e
}

// arrive notes that an alert arrives, if it is time, and reports whether it is.
func (w *jobEnv) arrive(r *notification.Raised, now time.Time) bool {
	c := &w.courier
	if now.Before(c.offered[r.Alert.ID].Add(c.raising)) || c.lose != nil && c.lose(*r) {
		return false
	}
	c.arrived[r.Alert.ID] = true
	w.lost += r.Lost
	keys := r.Inherit
	for i := range r.Own {
		keys = append(keys, "own "+notification.Key(&r.Own[i], i))
	}
	w.alerts = append(w.alerts, fmt.Sprintf("%s %s: %s", clock(r.Alert.Time), strings.Join(keys, ","), r.Alert.Sentence()))
	w.alertIDs = append(w.alertIDs, r.Alert.ID)
	w.raised = append(w.raised, r.Alert)
	return true
}
