package console

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"almanac/client"
)

// An explainView is the page that says why an occurrence was late or did not run, or whether one to come will run.
type explainView struct {
	Collection, Name, Path string
	At                     string // as it was asked
	Zone                   string
	Heading, Mark          string
	Sentence               string
	Facts                  []factRow
	Hazards, Unread        []string
	Split                  []splitRow
	Late                   string
	Before, After          string // links to the nearest occurrences
	BeforeAt, AfterAt      *stamp
	Execution              string // the link to it
	Other                  string
	Wrong                  string
}

// A factRow is a fact and its source.
type factRow struct {
	At           *stamp
	Text, Source string
	Link         string
}

// A splitRow is what an execution waited for.
type splitRow struct {
	Text, Length string
	Chart        template.HTML
}

// explainLink returns the link to why an occurrence was as it was.
func (p *page) explainLink(collection, job string, due time.Time) string {
	return p.JobLink(collection, job, "explain") + escapedQuery("at", string(client.At(due)))
}

func (s *Console) explain(p *page) error {
	collection, name := p.names()
	at := strings.Replace(strings.TrimSpace(p.r.URL.Query().Get("at")), " ", "T", 1)
	v := &explainView{Collection: collection, Name: name, Path: jobPath(collection, name), At: at, Heading: "Why?"}
	clock := p.Clock
	v.Zone = "the job’s zone"
	j, err := p.api().Job(p.ctx, collection, name)
	switch status := client.StatusOf(err); {
	case err == nil:
		v.Zone, clock = zoneOf(&j.Properties), p.Clock.For(j.Properties.Recurrence)
	case status == http.StatusNotFound, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return err
	} // otherwise it does not answer, and what is on record says why
	e, err := p.api().Explain(p.ctx, collection, name, at)
	if client.StatusOf(err) == http.StatusBadRequest {
		v.Wrong = err.Error()
		p.template, p.Title, p.Current, p.Main, p.status = "explain", v.Heading+" · "+name, "Jobs", v, http.StatusBadRequest
		return nil
	}
	if err != nil {
		return err
	}
	v.Collection, v.Name = client.NamesOf(e.Name)
	v.show(p, &e.Properties, clock)
	p.template, p.Title, p.Current, p.Main = "explain", v.Heading+" · "+v.Name, "Jobs", v
	return nil
}

// headings are the mark and the heading of each outcome.
var headings = map[string][2]string{
	"onTime": {"ok", "It ran on time"}, "late": {"warn", "Why was it late?"}, "failed": {"fail", "Why did it fail?"},
	"missed": {"miss", "Why did it not run?"}, "skipped": {"skip", "Why did it not run?"}, "cancelled": {"cancel", "Why did it not run?"},
	"didNotRun": {"off", "Why did it not run?"}, "notDue": {"next", "Nothing is due then"}, "pending": {"run", "It has not ended yet"},
	"willRun": {"next", "Will it run?"}, "willNotRun": {"off", "Why will it not run?"}, "notKnown": {"warn", "It is not known"},
}

// show adds what an explanation says.
func (v *explainView) show(p *page, e *client.ExplanationProperties, clock clock) {
	v.Sentence, v.Hazards, v.Unread = e.Sentence, e.Hazards, e.Unread
	if h, ok := headings[e.Outcome]; ok {
		v.Mark, v.Heading = h[0], h[1]
	}
	if !e.PreviousExecutionTime.IsZero() {
		v.Before, v.BeforeAt = p.explainLink(v.Collection, v.Name, e.PreviousExecutionTime), clock.at(e.PreviousExecutionTime)
	}
	if !e.NextExecutionTime.IsZero() {
		v.After, v.AfterAt = p.explainLink(v.Collection, v.Name, e.NextExecutionTime), clock.at(e.NextExecutionTime)
	}
	v.Execution, v.Other = p.executionLink(v, e.Execution), p.executionLink(v, e.OtherExecution)
	for _, f := range e.Facts {
		v.Facts = append(v.Facts, factRow{At: clock.at(f.Time), Text: f.Text, Source: f.Source, Link: p.sourceLink(v, f.ID)})
	}
	if e.Split != nil {
		v.Late, v.Split = length(seconds(e.Split.Lateness)), splitRows(e.Split)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (p *page) executionLink(v *explainView, id string) string {
	if id == "" {
		return ""
	}
	return p.JobLink(v.Collection, v.Name, "executions", id[strings.LastIndex(id, "/")+1:])
}

// sourceLink returns where the source of a fact is shown; "" if no page shows it.
func (p *page) sourceLink(v *explainView, id string) string {
	switch {
	case strings.Contains(id, "/history/"):
		return p.JobLink(v.Collection, v.Name) + "#history"
	case strings.Contains(id, "/jobs/") && strings.Contains(id, "/changes/"):
		return p.JobLink(v.Collection, v.Name) + "#changes"
	case strings.Contains(id, "/executions/"):
		return p.executionLink(v, id)
	}
	return ""
}

// splitRows are what an execution waited for, each where it was in the whole.
func splitRows(s *client.Split) (rows []splitRow) {
	parts := []struct {
		text, class string
		seconds     float64
	}{
		{"an earlier attempt", "c-rb", s.EarlierAttempts}, {"waited for a worker", "c-w", s.Worker}, {"waited for Temporal", "c-w", s.Server},
		{"waited for a place", "c-p", s.Place}, {"until it was sent", "c-t", s.Send},
	}
	whole := 0.0
	for _, part := range parts {
		whole += part.seconds
	}
	x := 0.0
	for _, part := range parts {
		if part.seconds == 0 {
			continue
		}
		var out svg
		out.add(`<svg class="chart" height="12" aria-hidden="true"><line class="rule" x1="0" x2="100%%" y1="11.5" y2="11.5"/><rect class="%s" x="%s" y="0" width="%s" height="12"/></svg>`,
			part.class, percent(min(100*x/whole, 99.5)), percent(max(100*part.seconds/whole, .5)))
		x += part.seconds
		rows = append(rows, splitRow{part.text, length(seconds(part.seconds)), out.html()})
	}
	return rows
}

// whyOf returns the words of the link to why an occurrence was as it was; "" for one that needs none.
func whyOf(kind, late string, isLate bool) string {
	switch {
	case kind != "ok" && kind != "run":
		return "Why?"
	case late != "" && isLate:
		return "Why late?"
	}
	return ""
}
