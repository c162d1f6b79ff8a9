package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
	"almanac/job/notification"
)

// A deliveryResource is what became of one message of a notification.
type deliveryResource struct {
	ID       string                      `json:"id"`
	Name     string                      `json:"name"`
	Status   notification.DeliveryResult `json:"status"`
	Target   string                      `json:"target"`
	Time     *job.Time                   `json:"time"`
	Alerts   int                         `json:"alerts"`
	Attempts int                         `json:"attempts"`
	Message  string                      `json:"message,omitempty"`
}

func newDeliveries(all []notification.Delivery) list[deliveryResource] {
	page := list[deliveryResource]{Value: make([]deliveryResource, len(all))}
	for i, d := range all {
		page.Value[i] = deliveryResource{d.ID, d.Name, d.Outcome, d.Target, job.NewTime(d.Time), d.Alerts, d.Attempts, d.Message}
	}
	return page
}

func (s *server) listNotifications(c *gin.Context, k job.CollectionKey) error {
	all, err := s.scheduler.Deliveries(c.Request.Context(), k)
	return replyOrFail(c, http.StatusOK, newDeliveries, all, err)
}

func (s *server) testNotifications(c *gin.Context, k job.Key) error {
	all, err := s.scheduler.TestNotifications(c.Request.Context(), k)
	return replyOrFail(c, http.StatusOK, newDeliveries, all, err)
}
