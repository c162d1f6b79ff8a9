package console

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"almanac/client"
)

// An incidentView is the report of a time: what was due, what became of it, and what happened meanwhile.
type incidentView struct {
	Heading  string
	Link     string // of the page without its window
	From, To string // as the fields have them
	Scope    string // the collection; "" for all
	Scopes   []string
	Wrong    string // why the window is none

	Say       []piece
	Parts     []part // their sum is what was due
	Due       int
	Manual    int
	Notes     []string // what is not in the report
	Night     template.HTML
	Bands     bool // the chart has times without a worker
	Lanes     []lane
	Step      string
	Cells     []nightRow
	Facts     []incidentFact
	FactsCut  int // beyond those that are shown
	Groups    []incidentGroup
	Changes   []incidentChange
	NoChange  string
	Jobs      int    // of the scope
	JobsRead  int    // of which the changes were read
	More      int    // changes beyond those
	OfSome    string // of how many collections changes and alerts were read; "" for all
	Read      string // of how many jobs the histories were read
	Whole     bool   // all of them, and all entries
	Workers   []workerRow
	MoreCame  int    // workers beyond those
	NoWorkers string // why they could not be read, or what is known instead
	Alerts    []alertRow
	NoAlerts  string
	Markdown  string
	AsText    string // the link to it
}

// A piece is a piece of a sentence. Its class is "" if it is nothing bad.
type piece struct{ Text, Class string }

// A part is a part of what was due.
type part struct {
	N                 int
	Mark, Text, Class string
	Link              string // where on the page it is listed
}

// A lane is a line below the chart.
type lane struct {
	Name  string
	Chart template.HTML
}

// A nightRow is a row of the table behind the chart.
type nightRow struct {
	From                                      string
	Ran, Late, Failed, Missed, Skipped, Other int
}

// An incidentFact is something that happened at a time.
type incidentFact struct {
	At                 *stamp
	Mark, Text, Source string
	Link               string

	at         time.Time
	gone, back time.Time // no worker was there between
}

// An incidentGroup is all of one outcome, by cause.
type incidentGroup struct {
	ID, Heading, Note, Mark string
	Rows                    []incidentRow
	Still                   bool // the rows say how many jobs still fail
}

// An incidentRow is what has one cause.
type incidentRow struct {
	N, Jobs, Still int
	Text, Host     string
	From, To       *stamp
	Which          []jobLink
	Rest           int    // jobs beyond those
	Example, Why   string // one of them, and the link to why
	Sentence       string // what that says; "" if it was not read
}

// A jobLink is the name of a job and its link.
type jobLink struct{ Name, Link string }

// An incidentChange is a change of a job or a collection.
type incidentChange struct {
	changeRow
	Subject, Link string // the job or the collection
	More          int    // others of which the same caller did the same, soon after
	at            time.Time
}

// A workerRow is a worker that was there.
type workerRow struct {
	Name, Version string
	Came, Went    *stamp // nil if it was there before, or still is
	Mark, How     string
	Gaps          string
}

// An alertRow is a message about events that was sent.
type alertRow struct {
	At                       *stamp
	To, Status, Mark, Answer string
	Collection               string

	at time.Time
}

const (
	// incidentTime is how long a report may be read.
	incidentTime = 30 * time.Second

	// usualWindow is the length of a report that says no window.
	usualWindow = 12 * time.Hour

	// longestWindow is that of the longest.
	longestWindow = 7 * 24 * time.Hour
)

func (s *Console) incident(p *page) error {
	q := p.r.URL.Query()
	v := &incidentView{Link: p.Link("/incident"), Scope: q.Get("scope"), From: q.Get("from"), To: q.Get("to"), Heading: "Incident"}
	p.template, p.Title, p.Current, p.Main = "incident", "Incident", "Incident", v
	from, to, problem := p.Clock.window(v.From, v.To)
	if problem != "" {
		v.Wrong, p.status = problem, http.StatusBadRequest
		return nil
	}
	whole := url.Values{"from": {string(client.At(from))}, "to": {string(client.At(to))}}
	if v.Scope != "" {
		whole.Set("scope", v.Scope)
	}
	if v.From != whole.Get("from") || v.To != whole.Get("to") { // so that the address says the same to everyone
		if as := q.Get("as"); as != "" {
			whole.Set("as", as)
		}
		p.moved = "/incident?" + whole.Encode()
		return nil
	}
	v.From, v.To = p.Clock.field(from), p.Clock.field(to)
	v.Heading = p.Clock.heading(from, to)
	p.Title = v.Heading
	defer p.limitTo(incidentTime)()
	found, err := p.readIncident(v, from, to)
	if err != nil {
		return err
	}
	found.show(p, v)
	v.Markdown = v.markdown(p, p.base()+root+p.at.path()+"/incident?"+whole.Encode())
	whole.Set("as", "markdown")
	v.AsText = p.Link("/incident?" + whole.Encode())
	if q.Get("as") == "markdown" {
		p.text = v.Markdown
	}
	return nil
}

// base returns the address of the API, for texts.
func (p *page) base() string {
	base := "http://" + p.r.Host
	if p.console.PublicURL != nil {
		base = strings.TrimSuffix(p.console.PublicURL.String(), "/")
	} else if p.r.TLS != nil {
		base = "https://" + p.r.Host
	}
	return base
}

// windowForms are the forms of a time in the fields of a window.
var windowForms = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

// window returns the window that two fields name, or what is wrong with them. Without an offset a time is in the zone of
// the page.
func (c clock) window(fromText, toText string) (from, to time.Time, problem string) {
	read := func(name, text string) (at time.Time) {
		text = strings.TrimSpace(text)
		if text == "" {
			return at
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return at.Truncate(time.Second)
		}
		for _, form := range windowForms {
			if at, err := time.ParseInLocation(form, text, c.Now.Location()); err == nil {
				return at
			}
		}
		problem = name + ": must be a date and a time, such as 2026-11-26 02:00 or 2026-11-26T01:00:00Z"
		return at
	}
	from, to = read("from", fromText), read("to", toText)
	if problem != "" {
		return from, to, problem
	}
	now := c.Now.Truncate(time.Minute).Add(time.Minute) // what failed just now belongs to the report
	switch {
	case from.IsZero() && to.IsZero():
		from, to = now.Add(-usualWindow), now
	case from.IsZero():
		from = to.Add(-usualWindow)
	case to.IsZero():
		to = from.Add(usualWindow)
	}
	switch {
	case !from.Before(to):
		problem = "to: must be after from"
	case to.Sub(from) > longestWindow:
		problem = "from and to: must be at most 7 days apart"
	case from.After(c.Now):
		problem = "from: must not be in the future; what is to come is on the page of each job"
	}
	return from, to, problem
}

// field returns a time as the field of a window has it.
func (c clock) field(t time.Time) string {
	t = t.In(c.Now.Location())
	form := "2006-01-02 15:04"
	if t.Second() != 0 {
		form = "2006-01-02 15:04:05"
	}
	text := t.Format(form)
	if same, err := time.ParseInLocation(form, text, t.Location()); err != nil || !same.Equal(t) { // this hour is there twice
		return t.Format(time.RFC3339)
	}
	return text
}

// heading returns a window, for people.
func (c clock) heading(from, to time.Time) string {
	from, to = from.In(c.Now.Location()), to.In(c.Now.Location())
	form := "15:04"
	if from.Second()+to.Second() > 0 {
		form = "15:04:05"
	}
	if from.Format("-07") != to.Format("-07") { // the clock changes between
		form += " MST"
	}
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return from.Format("Monday 2 January 2006, "+form) + " to " + to.Format(form)
	}
	return from.Format("Monday 2 January 2006, "+form) + " to " + to.Format("Monday 2 January, "+form)
}
