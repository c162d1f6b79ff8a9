package resource

import (
	"almanac/access"
	"almanac/job"
	"almanac/job/notification"
)

// A Delivery is what became of one message of a notification.
type Delivery struct {
	ID       string                      `json:"id"`
	Name     string                      `json:"name"`
	Status   notification.DeliveryResult `json:"status"`
	Target   string                      `json:"target"`
	Time     *job.Time                   `json:"time"`
	Alerts   int                         `json:"alerts"`
	Attempts int                         `json:"attempts"`
	Message  string                      `json:"message,omitempty"`
}

// Delivery returns the form of a delivery of a notification of that scope.
func (s Shown) Delivery(of access.Scope, d notification.Delivery) Delivery {
	return Delivery{
		d.ID, d.Name, d.Outcome, d.Target, job.NewTime(d.Time), d.Alerts, d.Attempts, s.message(of, d.Message),
	}
}
