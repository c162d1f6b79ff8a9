package job

import "cmp"

// A Notification says which events of a job are sent, and where. Those of a collection apply to its jobs that have
// none of their own.
type Notification struct {
	Name   string   `json:"name,omitempty" field:"rule=notificationName"` // in the record of what was sent
	On     []Event  `json:"on" field:"required,enum=failed|recovered|missed|late|disabled|quiet"`
	After  int      `json:"after,omitempty" field:"min=1,max=1000,quoted"` // failures in a row until failed, and before recovered; 0 means 1
	LateBy Duration `json:"lateBy,omitempty" field:"rule=lateBy"`          // required for late
	Within Duration `json:"within,omitempty" field:"rule=within"`          // required for quiet
	Target Action   `json:"target" field:"required,as=target"`             // its content is Almanac's
}

// An Event is something that happened to a job, of which people are notified.
type Event string

// The events.
const (
	EventFailed    Event = "failed"    // so many executions in a row failed; once until one succeeds
	EventRecovered Event = "recovered" // an execution succeeded after so many had failed, or after quiet was raised
	EventMissed    Event = "missed"    // occurrences were missed or skipped
	EventLate      Event = "late"      // an execution began later than it was due
	EventDisabled  Event = "disabled"  // the job was disabled after failures in a row
	EventQuiet     Event = "quiet"     // no execution succeeded for so long; once until one does
)

// An Email is a mail to some addresses.
type Email struct {
	To []string `json:"to" field:"required,rule=address"`

	Subject string `json:"-"` // of one message; never stored
	Text    string `json:"-"` // likewise
}

// PagerDuty is an integration of a service of PagerDuty. RoutingKey is a secret.
type PagerDuty struct {
	RoutingKey string `json:"routingKey,omitempty" field:"secret,rule=routingKey"`
	URI        string `json:"uri,omitempty" field:"rule=uri"` // of the Events API v2
}

// pagerDutyURI is the address of the Events API v2 in PagerDuty's documentation, "Send an Alert Event".
const pagerDutyURI = "https://events.pagerduty.com/v2/enqueue"

// Address returns the URI to which events are posted.
func (p *PagerDuty) Address() string { return cmp.Or(p.URI, pagerDutyURI) }

// A Format is the form in which a notification is sent by a web request.
type Format string

// The formats. The zero value means FormatCloudEvents.
const (
	FormatCloudEvents Format = "cloudEvents" // CloudEvents 1.0, structured JSON
	FormatSlack       Format = "slack"       // of an incoming webhook of Slack
	FormatTeams       Format = "teams"       // of a workflow of Microsoft Teams that takes an adaptive card
)

// CloneNotifications returns a copy of notifications whose secrets can be changed without changing the list.
func CloneNotifications(list []Notification) []Notification {
	if list == nil {
		return nil
	}
	copied := make([]Notification, len(list)) // an empty list differs from none
	for i, n := range list {
		n.Target = n.Target.Clone()
		copied[i] = n
	}
	return copied
}

// redacted returns a copy of notifications without secrets.
func redacted(list []Notification) []Notification {
	copied := CloneNotifications(list)
	for i := range copied {
		for _, secret := range copied[i].Target.secrets() {
			*secret = ""
		}
	}
	return copied
}

// Redacted returns a copy of the properties without secrets.
func (p CollectionProperties) Redacted() CollectionProperties {
	p.Notifications = redacted(p.Notifications)
	return p
}
