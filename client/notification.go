package client

import (
	"context"
	"net/http"
	"time"
)

// A Notification says which events of a job are sent, and where.
type Notification struct {
	Name   string             `json:"name,omitempty"`
	On     []string           `json:"on"` // failed, recovered, missed, late, disabled, quiet, horizon
	After  int                `json:"after,omitempty"`
	LateBy Duration           `json:"lateBy,omitempty"`
	Within Duration           `json:"within,omitempty"`
	Target NotificationTarget `json:"target"`
}

// A NotificationTarget is where events are sent: one of its first six members is set, the one that Type names.
type NotificationTarget struct {
	Request                *Request           `json:"request,omitempty"`
	QueueMessage           *QueueMessage      `json:"queueMessage,omitempty"`
	ServiceBusQueueMessage *ServiceBusMessage `json:"serviceBusQueueMessage,omitempty"`
	ServiceBusTopicMessage *ServiceBusMessage `json:"serviceBusTopicMessage,omitempty"`
	Email                  *Email             `json:"email,omitempty"`
	PagerDuty              *PagerDuty         `json:"pagerDuty,omitempty"`
	Format                 string             `json:"format,omitempty"` // cloudEvents, slack or teams
	Type                   string             `json:"type"`
	RetryPolicy            *RetryPolicy       `json:"retryPolicy,omitempty"`
}

// An Email is a mail.
type Email struct {
	To []string `json:"to"`
}

// PagerDuty is an integration of a service of PagerDuty.
type PagerDuty struct {
	RoutingKey string `json:"routingKey,omitempty"` // never answered
	URI        string `json:"uri,omitempty"`
}

// A Delivery is what became of a message about events.
type Delivery struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`   // of the notification
	Status   string    `json:"status"` // Delivered, Failed or Delivering
	Target   string    `json:"target"`
	Time     time.Time `json:"time"`
	Alerts   int       `json:"alerts"`
	Attempts int       `json:"attempts"`
	Message  string    `json:"message,omitempty"`
}

// Deliveries returns what became of the newest messages about events of the jobs of a job collection.
func (c *Client) Deliveries(ctx context.Context, collection string) ([]Delivery, error) {
	p, err := page[Delivery](ctx, c, http.MethodGet, c.collectionAt(collection, "notifications"), nil)
	return p.Value, err
}

// TestNotifications sends a test once to each target of a job collection, and returns the results.
func (c *Client) TestNotifications(ctx context.Context, collection string) ([]Delivery, error) {
	p, err := page[Delivery](ctx, c, http.MethodPost, c.collectionAt(collection, "testNotification"), nil)
	return p.Value, err
}

// TestJobNotifications sends a test once to each target of the notifications that apply to a job.
func (c *Client) TestJobNotifications(ctx context.Context, collection, name string) ([]Delivery, error) {
	p, err := page[Delivery](ctx, c, http.MethodPost, c.jobAt(collection, name, "testNotification"), nil)
	return p.Value, err
}
