package job

import "almanac/job/kind"

// A Notification says which events of a job are sent, and where. Those of a collection apply to its jobs that have
// none of their own.
type Notification struct {
	Name string  `json:"name,omitempty" field:"rule=notificationName"` // in the record of what was sent
	On   []Event `json:"on" field:"required,enum=failed|recovered|missed|late|disabled|quiet|horizon"`
	// failures in a row until failed, and before recovered; 0 means 1
	After  int      `json:"after,omitempty" field:"min=1,max=1000,quoted"`
	LateBy Duration `json:"lateBy,omitempty" field:"rule=lateBy"` // required for late
	Within Duration `json:"within,omitempty" field:"rule=within"` // required for quiet
	Target Target   `json:"target" field:"required"`              // its content is Almanac's
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
	EventHorizon   Event = "horizon"   // the days of a calendar that jobs of a collection use are known for few days more
)

// A Target is where a notification is sent: what an action has, without what Almanac writes, or what only targets
// have. Exactly one member of Content and Own is set.
type Target struct {
	kind.Content
	Type kind.Type `json:"type" field:"required,rule=targetType"`
	kind.Own
	Format      Format       `json:"format,omitempty" field:"enum=cloudEvents|slack|teams"`
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
}

// Text describes the target for logs and records, without secrets. The path of a web request is left out.
func (t *Target) Text() string {
	if sent := t.Sent(); sent != nil {
		return Shorten(sent.TargetText(), 200)
	}
	for _, p := range t.Own.Parts() {
		return Shorten(p.Parameters.Text(), 200)
	}
	return string(t.Type)
}

// Parts returns the members of Content and Own that are set.
func (t *Target) Parts() (all []kind.Part[kind.Parameters]) {
	for _, p := range t.Content.Parts() {
		all = append(all, kind.Part[kind.Parameters]{Name: p.Name, Parameters: p.Parameters})
	}
	return append(all, t.Own.Parts()...)
}

// Action returns a copy of the target as an action.
func (t *Target) Action() Action {
	return Action{Content: t.Content.Clone(), Type: t.Type, RetryPolicy: t.RetryPolicy}
}

// Clone returns a copy of the target that can be changed without changing t, but for its retry policy.
func (t Target) Clone() Target {
	t.Content, t.Own = t.Content.Clone(), t.Own.Clone()
	return t
}

// secrets returns the secret members of the target, set or not.
func (t *Target) secrets() (all []kind.Secret) {
	for _, p := range t.Parts() {
		all = append(all, p.Parameters.Secrets(nil)...)
	}
	return all
}

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
