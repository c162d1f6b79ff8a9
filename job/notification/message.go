package notification

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"almanac/job"
)

// Limits of the alerts that a message lists, so that it fits into a storage queue, which takes 64 KiB.
const (
	MaxListed      = 20
	MaxListedBytes = 40 << 10 // as JSON
)

// A Count is a number of alerts of one event.
type Count struct {
	Event  job.Event `json:"event"`
	Number int       `json:"number"`
}

// A Message is one alert, or a digest of several, for one target.
type Message struct {
	ID         string            `json:"id"`
	Collection job.CollectionKey `json:"collection"`
	// the first MaxListed, or fewer if they are long; oldest first, and at least one
	Alerts []Alert `json:"alerts"`
	Counts []Count `json:"counts"` // of all alerts

	// PublicURL begins the links to jobs; "" means that there are none. The sender sets it.
	PublicURL string `json:"-"`

	listed int // size of the alerts, from the first call of Size on
}

// Add adds an alert, and lists it if there is room.
func (m *Message) Add(a *Alert) {
	if len(m.Alerts) < MaxListed && m.fits(a) {
		m.list(a)
	}
	m.Count(a.Event, 1)
}

// fits reports whether another alert can be listed. One alert always can.
func (m *Message) fits(a *Alert) bool {
	return len(m.Alerts) == 0 || m.Size()+a.Size() <= MaxListedBytes
}

func (m *Message) list(a *Alert) {
	m.listed = m.Size() + a.Size()
	m.Alerts = append(m.Alerts, *a)
}

// Size returns the size of the listed alerts as JSON, in bytes.
func (m *Message) Size() int {
	if m.listed == 0 {
		for i := range m.Alerts {
			m.listed += m.Alerts[i].Size()
		}
	}
	return m.listed
}

// Shorten removes all listed alerts but the first and those that resolve incidents, and reports whether there were any.
// They are still counted.
func (m *Message) Shorten() bool {
	kept := 0
	for i := range m.Alerts {
		if i == 0 || len(m.Alerts[i].Resolves) > 0 {
			if kept < i {
				m.Alerts[kept] = m.Alerts[i]
			}
			kept++
		}
	}
	if kept == len(m.Alerts) {
		return false
	}
	m.Alerts, m.listed = m.Alerts[:kept], 0
	return true
}

// Count counts alerts of an event that are not listed, or were listed before.
func (m *Message) Count(e job.Event, number int) {
	for i := range m.Counts {
		if m.Counts[i].Event == e {
			m.Counts[i].Number += number
			return
		}
	}
	m.Counts = append(m.Counts, Count{e, number})
}

// Total returns the number of alerts, listed or not.
func (m *Message) Total() (n int) {
	for _, c := range m.Counts {
		n += c.Number
	}
	return n
}

// Subject returns one line for people.
func (m *Message) Subject() string {
	if m.Total() == 1 {
		return m.Alerts[0].Sentence()
	}
	var counts []string
	for _, c := range m.Counts {
		counts = append(counts, fmt.Sprintf("%d %s", c.Number, c.Event))
	}
	return fmt.Sprintf("%d events in job collection '%s': %s", m.Total(), m.Collection.Name, strings.Join(counts, ", "))
}

// Text returns the message for people: the subject, then the job collection and what else is known of the execution,
// then a link. A digest has a line for each of the first alerts instead.
func (m *Message) Text() string {
	var b strings.Builder
	b.WriteString(m.Subject())
	if m.Total() == 1 {
		a := &m.Alerts[0]
		if a.Event != EventTest { // which names the collection
			fmt.Fprintf(&b, "\n%s", strings.Join(append([]string{"Job collection '" + m.Collection.Name + "'"}, a.facts()...), ", "))
		}
		if link := m.link(a); link != "" {
			fmt.Fprintf(&b, "\n%s", link)
		}
		return b.String()
	}
	for i := range m.Alerts {
		a := &m.Alerts[i]
		fmt.Fprintf(&b, "\n- %s %s", a.Time.UTC().Format(time.RFC3339), a.Sentence())
		if facts := a.facts(); len(facts) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(facts, ", "))
		}
		if link := m.link(a); link != "" {
			fmt.Fprintf(&b, " %s", link)
		}
	}
	if more := m.Total() - len(m.Alerts); more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// link returns the address of the history of an alert's job, or of the collection in an alert about all of it; ""
// without a public URL. It is a long path, which leads to the job whatever the defaults of the API are.
func (m *Message) link(a *Alert) string {
	const version = "?api-version=2016-03-01" // which long paths need
	switch {
	case m.PublicURL == "":
		return ""
	case a.Job.Name == "":
		return m.PublicURL + asURI(m.Collection.ARMID()) + version
	}
	return m.PublicURL + asURI(m.Collection.Job(a.Job.Name).ARMID()) + "/history" + version
}

// An event is a CloudEvent 1.0 in JSON.
type event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            any       `json:"data"`
}

// A digest is the data of an event about several alerts.
type digest struct {
	JobCollection string  `json:"jobCollection"`
	Text          string  `json:"text"`
	Total         int     `json:"total"`
	Counts        []Count `json:"counts"`
	Alerts        []data  `json:"alerts"` // those that the message lists
}

// data is the data of an event about one alert.
type data struct {
	Event         job.Event   `json:"event"`
	Text          string      `json:"text"`
	Job           string      `json:"job,omitempty"`
	JobCollection string      `json:"jobCollection"`
	JobID         string      `json:"jobId,omitempty"`
	Time          time.Time   `json:"time"`
	ExecutionID   string      `json:"executionId,omitempty"`
	Due           *job.Time   `json:"due,omitempty"`
	Attempts      int         `json:"attempts,omitempty"`
	Failures      int         `json:"failures,omitempty"`
	Error         string      `json:"error,omitempty"`
	Late          string      `json:"late,omitempty"`
	Outcome       job.Outcome `json:"outcome,omitempty"`
	Count         int         `json:"count,omitempty"`
	First         *job.Time   `json:"first,omitempty"`
	Last          *job.Time   `json:"last,omitempty"`
	LastSuccess   *job.Time   `json:"lastSuccess,omitempty"`
	Link          string      `json:"link,omitempty"` // to the history of the job
}

func (m *Message) dataOf(a *Alert) data {
	d := data{
		Event: a.Event, Text: a.Sentence(), Job: a.Job.Name, JobCollection: a.Job.Collection.Name, Time: a.Time.UTC(), ExecutionID: a.Execution,
		Due: job.NewTime(a.Due), Attempts: a.Attempts, Failures: a.Failures, Error: a.Error, Late: a.Late, Outcome: a.Outcome, Count: a.Count,
		First: job.NewTime(a.First), Last: job.NewTime(a.Last), LastSuccess: job.NewTime(a.LastSuccess),
		Link: m.link(a),
	}
	if a.Job.Name != "" {
		d.JobID = a.Job.ARMID()
	}
	return d
}

// cloudEvent returns the message as a CloudEvent.
func (m *Message) cloudEvent() event {
	e := event{SpecVersion: "1.0", ID: m.ID, DataContentType: "application/json"}
	last := m.Alerts[len(m.Alerts)-1]
	e.Time, e.Source = last.Time.UTC(), asURI(m.Collection.ARMID())
	if m.Total() == 1 {
		e.Type, e.Data = "io.almanac.job."+string(last.Event), m.dataOf(&last)
		if last.Job.Name != "" {
			e.Source, e.Subject = asURI(last.Job.ARMID()), last.Job.Name
		}
		return e
	}
	d := digest{JobCollection: m.Collection.Name, Text: m.Subject(), Total: m.Total(), Counts: m.Counts}
	for i := range m.Alerts {
		d.Alerts = append(d.Alerts, m.dataOf(&m.Alerts[i]))
	}
	e.Type, e.Subject, e.Data = "io.almanac.digest", m.Collection.Name, d
	return e
}

// asURI escapes a path for use as the source of an event, which is a URI reference.
func asURI(path string) string { return (&url.URL{Path: path}).EscapedPath() }

const jsonType = "application/json; charset=utf-8"

const cloudEventsType = "application/cloudevents+json; charset=utf-8"

// oneLine returns a text as one line of at most so many characters.
func oneLine(text string, most int) string {
	return job.Shorten(strings.Join(strings.Fields(text), " "), most)
}

// content returns the message in a format, and its media type.
func (m *Message) content(f job.Format) (content, contentType string, err error) {
	var v any
	contentType = jsonType
	switch f {
	case job.FormatSlack:
		v = slackMessage(m.Text())
	case job.FormatTeams:
		v = teamsCard(m.Text())
	default:
		v, contentType = m.cloudEvent(), cloudEventsType
	}
	content, err = encoded(v)
	return content, contentType, err
}

// encoded returns a value in JSON without escapes for HTML.
func encoded(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
