package notification

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"almanac/job"
	"almanac/job/kind"
)

// Limits of PagerDuty's Events API v2, in characters, by its documentation "Send an Alert Event". The limit of a
// request, 512 KB by "Events API v2 Overview", is never reached.
const (
	maxSummary  = 1024
	maxDedupKey = 255
)

// MaxIncidents is the maximum number of open incidents that are known of a target.
const MaxIncidents = 100

// An Incident is open by Almanac's records.
type Incident struct {
	Key     string `json:"key"`
	Resolve string `json:"resolve,omitempty"` // id of the recovery that ends it, until PagerDuty has accepted that
}

// Incidents are the open incidents of one PagerDuty target, oldest first.
type Incidents []Incident

// ended are the events whose incidents end when the job recovers. Missed and late ones happened once, and nothing ends
// them.
var ended = []job.Event{job.EventFailed, job.EventQuiet, job.EventDisabled}

// Add adds an alert to a message for PagerDuty. The message lists the first incidents as [Message.Add], and counts
// further ones. Of the recoveries it lists each that ends a listed incident of this or an earlier message, and has no
// others. Beyond MaxIncidents the oldest open incident is forgotten. An incident stays open until
// [Incidents.Delivered].
func (open *Incidents) Add(m *Message, a *Alert) {
	if a.Event == job.EventRecovered {
		if keys := open.resolve(a); len(keys) > 0 {
			m.resolve(a.ID, a.Job.Name, a.Time, keys)
		}
		return
	}
	m.Count(a.Event, 1)
	if m.triggers() >= MaxListed || !m.fits(a) {
		return
	}
	m.list(a)
	if slices.Contains(ended, a.Event) {
		open.begin(incidentKey(a, a.Event))
	}
}

// resolve lists a recovery that ends incidents. It keeps the members of the alert that the requests need.
func (m *Message) resolve(id, name string, at time.Time, keys []string) {
	m.list(&Alert{ID: id, Event: job.EventRecovered, Job: job.Key{Name: name}, Time: at, Resolves: keys})
	m.Count(job.EventRecovered, 1)
}

// begin notes that an incident is open. One that was to be resolved stays open.
func (open *Incidents) begin(key string) {
	for i := range *open {
		if (*open)[i].Key == key {
			(*open)[i].Resolve = ""
			return
		}
	}
	*open = append(*open, Incident{Key: key})
	*open = (*open)[max(0, len(*open)-MaxIncidents):]
}

// resolve notes that the recovery of a job ends its incidents, and returns their keys: those that no earlier recovery
// ends.
func (open Incidents) resolve(a *Alert) (keys []string) {
	for _, e := range ended {
		key := incidentKey(a, e)
		for i := range open {
			if open[i].Key == key && open[i].Resolve == "" {
				open[i].Resolve = a.ID
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Delivered forgets the incidents that a delivered message has resolved.
func (open *Incidents) Delivered(m *Message) {
	*open = slices.DeleteFunc(*open, func(i Incident) bool {
		return i.Resolve != "" && slices.ContainsFunc(m.Alerts, func(a Alert) bool { return a.ID == i.Resolve })
	})
}

// Unresolved reports whether ends of incidents still have to be sent to PagerDuty.
func (open Incidents) Unresolved() bool {
	return slices.ContainsFunc(open, func(i Incident) bool { return i.Resolve != "" })
}

// Repeat adds to a message the recoveries of earlier messages that were not delivered.
func (open Incidents) Repeat(m *Message, now time.Time) {
	var ids []string
	keys := map[string][]string{}
	for _, i := range open {
		listed := slices.ContainsFunc(m.Alerts, func(a Alert) bool { return a.ID == i.Resolve })
		if i.Resolve == "" || listed {
			continue
		}
		if keys[i.Resolve] == nil {
			ids = append(ids, i.Resolve)
		}
		keys[i.Resolve] = append(keys[i.Resolve], i.Key)
	}
	for _, id := range ids {
		m.resolve(id, "", now, keys[id])
	}
}

// triggers returns the number of incidents that the message lists.
func (m *Message) triggers() (n int) {
	for i := range m.Alerts {
		if m.Alerts[i].Event != job.EventRecovered {
			n++
		}
	}
	return n
}

// incidentKey returns the key of the incident of an event of an alert's job: the same for each alert of the job and the
// event.
func incidentKey(a *Alert, e job.Event) string {
	id := a.Job.Collection.WorkflowID()
	if a.Job.Name != "" {
		id = a.Job.WorkflowID()
	}
	if key := "almanac/" + string(e) + "/" + id; len(key) <= maxDedupKey {
		return key
	}
	return "almanac/" + string(e) + "/" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(id)).String()
}

// severities are how bad the events are, in PagerDuty's words.
var severities = map[job.Event]string{
	job.EventDisabled: "critical", // it runs no more
	job.EventFailed:   "error", job.EventQuiet: "error", job.EventMissed: "error",
	job.EventLate: "warning", job.EventHorizon: "warning",
	EventTest: "info",
}

// A pagerDutyEvent is the body of a request to the Events API v2.
type pagerDutyEvent struct {
	RoutingKey string            `json:"routing_key"`
	Action     string            `json:"event_action"` // trigger or resolve
	Key        string            `json:"dedup_key"`
	Client     string            `json:"client,omitempty"`
	ClientURL  string            `json:"client_url,omitempty"`
	Links      []pagerDutyLink   `json:"links,omitempty"`
	Payload    *pagerDutyPayload `json:"payload,omitempty"` // of a trigger
}

type pagerDutyLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

type pagerDutyPayload struct {
	Summary   string    `json:"summary"`
	Source    string    `json:"source"`
	Severity  string    `json:"severity"`
	Timestamp time.Time `json:"timestamp"`
	Component string    `json:"component,omitempty"`
	Group     string    `json:"group"`
	Class     string    `json:"class"`
	Details   any       `json:"custom_details"`
}

// triggered returns what an incident says of an alert.
func (m *Message) triggered(a *Alert) *pagerDutyPayload {
	p := &pagerDutyPayload{
		Summary: oneLine(a.Sentence(), maxSummary), Source: a.Job.Collection.ARMID(), Severity: severities[a.Event], Timestamp: a.Time.UTC(),
		Component: a.Job.Name, Group: a.Job.Collection.Name, Class: string(a.Event), Details: m.dataOf(a),
	}
	if a.Job.Name != "" {
		p.Source = a.Job.ARMID()
	}
	return p
}

// digested returns what the incident of so many alerts says that have none of their own.
func (m *Message) digested(more int) *pagerDutyPayload {
	return &pagerDutyPayload{
		Summary: oneLine(fmt.Sprintf("%d more of %s", more, m.Subject()), maxSummary), Source: m.Collection.ARMID(), Severity: "error",
		Timestamp: m.Alerts[len(m.Alerts)-1].Time.UTC(), Group: m.Collection.Name, Class: "digest", Details: map[string]any{"counts": m.Counts},
	}
}

type pagerDuty struct{ one }

func (pagerDuty) kind() kind.Type { return kind.Duty }

// identity implements [writer]. An integration is the same whatever the target's retry policy is: its open incidents
// are known by it.
func (pagerDuty) identity(t *job.Target) any { return t.PagerDuty }

func (pagerDuty) hasIncidents() bool { return true }

func (pagerDuty) count(m *Message) int {
	n := m.triggers()
	for i := range m.Alerts {
		n += len(m.Alerts[i].Resolves)
	}
	if m.Total() > len(m.Alerts) {
		n++
	}
	return n
}

// posts returns a request for each incident that begins or ends, oldest first, and one for those that are not listed.
func (pagerDuty) posts(m *Message, t *job.Target) ([]Post, error) {
	if t.PagerDuty == nil {
		return nil, errors.New("the target has no pagerDuty")
	}
	w := postWriter{to: t.PagerDuty, retry: t.RetryPolicy}
	for i := range m.Alerts {
		a := &m.Alerts[i]
		if a.Event != job.EventRecovered {
			begin := pagerDutyEvent{Action: "trigger", Key: incidentKey(a, a.Event), Payload: m.triggered(a), Client: "Almanac"}
			if link := m.link(a); link != "" {
				begin.ClientURL, begin.Links = m.PublicURL, []pagerDutyLink{{link, "Job history"}}
			}
			w.add(a.ID, begin)
		}
		for _, key := range a.Resolves {
			id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(a.ID+"\n"+key)).String()
			w.add(id, pagerDutyEvent{Action: "resolve", Key: key})
		}
	}
	if more := m.Total() - len(m.Alerts); more > 0 {
		rest := Alert{Job: m.Collection.Job("")}
		key := incidentKey(&rest, "digest")
		w.add(m.ID, pagerDutyEvent{Action: "trigger", Key: key, Payload: m.digested(more), Client: "Almanac"})
	}
	return w.all, w.err
}

// A postWriter collects requests to one integration.
type postWriter struct {
	to    *kind.PagerDuty
	retry *job.RetryPolicy
	all   []Post
	err   error
}

// add adds a request. PagerDuty never accepts an event that it answered with 400, by its documentation "Events API v2
// Overview".
func (w *postWriter) add(id string, e pagerDutyEvent) {
	e.RoutingKey = w.to.RoutingKey
	body, err := encoded(e)
	if err != nil {
		w.err = err
	}
	request := &kind.Request{
		URI: w.to.Address(), Method: http.MethodPost, Body: body,
		Headers: job.Members{{Name: "Content-Type", Value: jsonType}},
	}
	w.all = append(w.all, Post{ID: id, Type: kind.HTTP, FinalStatus: http.StatusBadRequest, Action: job.Action{
		Type: kind.HTTP, Content: kind.Content{Request: request}, RetryPolicy: w.retry,
		Hidden: []string{w.to.RoutingKey},
	}})
}
