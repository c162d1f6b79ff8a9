// Package notification decides of which events of a job people are notified, and writes what they get. It is pure:
// it reads no clock and sends nothing.
package notification

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"almanac/internal/redact"
	"almanac/job"
)

// An Alert is an event of a job that is to be sent.
type Alert struct {
	ID    string    `json:"id"` // the same however often it is raised or sent
	Event job.Event `json:"event"`
	Job   job.Key   `json:"job"` // without a name in an alert of all of a collection
	Time  time.Time `json:"time"`
	Text  string    `json:"text"` // what happened, for people, without the error
	// of which it is; for a job that is disabled or quiet, the last one, if that failed
	Execution   string      `json:"execution,omitempty"`
	Due         time.Time   `json:"due,omitzero"`         // of the execution
	Attempts    int         `json:"attempts,omitempty"`   // of the execution's action
	Failures    int         `json:"failures,omitempty"`   // in a row
	Error       string      `json:"error,omitempty"`      // of the last failure; without secrets
	Late        string      `json:"late,omitempty"`       // how late an execution began, as an ISO 8601 duration
	Outcome     job.Outcome `json:"outcome,omitempty"`    // of occurrences that did not run
	Count       int         `json:"count,omitempty"`      // of occurrences that did not run
	First       time.Time   `json:"first,omitzero"`       // due time of the first of them
	Last        time.Time   `json:"last,omitzero"`        // due time of the last of them
	LastSuccess time.Time   `json:"lastSuccess,omitzero"` // zero: never
	// keys of the incidents that end with this one; for PagerDuty only
	Resolves []string `json:"resolves,omitempty"`
}

// EventTest is the event of an alert that was asked for to test notifications.
const EventTest job.Event = "test"

// Identify sets the id of an alert: a hash of the job, its first run, and what distinguishes the alert from others of
// the job.
func (a *Alert) Identify(firstRun, what string) {
	name := a.Job.WorkflowID() + "\n" + firstRun + "\n" + string(a.Event) + "\n" + what
	a.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}

// Describe sets the text of an alert, and cuts its error.
func (a *Alert) Describe(why string) {
	a.Error = redact.Cut(a.Error, job.MaxError)
	name := fmt.Sprintf("Job '%s'", a.Job.Name)
	switch a.Event {
	case job.EventFailed:
		a.Text = name + " failed" + times(a.Failures)
	case job.EventRecovered:
		a.Text = name + " succeeded again"
		if a.Failures > 0 {
			a.Text = name + " succeeded after it had failed" + times(a.Failures)
		}
	case job.EventMissed:
		a.Text = fmt.Sprintf("%s did not run %s: %s", name, a.occurrences(), why)
		if a.Count == 0 {
			a.Text = fmt.Sprintf("%s is planned no further, although what is planned runs: %s", name, why)
		}
	case job.EventLate:
		a.Text = fmt.Sprintf("%s began %s late; it was due at %s", name, a.Late, a.Due.UTC().Format(time.RFC3339))
	case job.EventDisabled:
		a.Text = name + " was disabled, because it failed" + times(a.Failures)
	case job.EventQuiet:
		a.Text = fmt.Sprintf("%s has had no success for %s", name, why)
	case job.EventHorizon:
		a.Text = why
	case EventTest:
		a.Text = "This is a test of the notifications of job collection '" + a.Job.Collection.Name + "'"
		if a.Job.Name != "" {
			a.Text = "This is a test of the notifications of job '" + a.Job.Name + "' in job collection '" + a.Job.Collection.Name + "'"
		}
	}
}

// Sentence returns what happened and why, in one sentence for people.
func (a *Alert) Sentence() string {
	if a.Error == "" {
		return a.Text
	}
	return a.Text + ": " + a.Error
}

// facts returns when the execution of an alert was due and how many attempts it had, as far as there are any.
func (a *Alert) facts() (list []string) {
	if !a.Due.IsZero() {
		list = append(list, "due "+a.Due.UTC().Format(time.RFC3339))
	}
	switch {
	case a.Attempts == 1:
		list = append(list, "1 attempt")
	case a.Attempts > 1:
		list = append(list, fmt.Sprintf("%d attempts", a.Attempts))
	}
	return list
}

func times(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(" %d times in a row", n)
}

// occurrences names the occurrences that did not run.
func (a *Alert) occurrences() string {
	first := a.First.UTC().Format(time.RFC3339)
	if a.Count == 1 {
		return "at " + first
	}
	return fmt.Sprintf("%d times from %s to %s", a.Count, first, a.Last.UTC().Format(time.RFC3339))
}

// Size returns the size of an alert as JSON, in bytes.
func (a *Alert) Size() int { return SizeOf(a) }

// SizeOf returns the size of a value as JSON, in bytes.
func SizeOf(v any) int {
	text, _ := json.Marshal(v) //workflowcheck:ignore // of types without maps it is deterministic, and has no error
	return len(text)
}

// MaxDelivering is the maximum number of messages of a shard that are listed while they are being sent.
const MaxDelivering = 100

// A Delivery is what became of one message.
type Delivery struct {
	ID       string         `json:"id"`   // of the message
	Name     string         `json:"name"` // of the notification
	Target   string         `json:"target"`
	Time     time.Time      `json:"time"`   // when its last attempt ended
	Alerts   int            `json:"alerts"` // in the message
	Outcome  DeliveryResult `json:"outcome"`
	Message  string         `json:"message"` // what the receiver answered, or the error; without secrets
	Attempts int            `json:"attempts"`
}

// A DeliveryResult is the result of a delivery.
type DeliveryResult string

// The results.
const (
	Delivered  DeliveryResult = "Delivered"
	Failed     DeliveryResult = "Failed"     // no attempt succeeded, or there was no room for the alerts: they are lost
	Delivering DeliveryResult = "Delivering" // attempts are being made
)
