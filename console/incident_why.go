package console

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"almanac/client"
)

// readExamples has the API explain some of what was missed or late.
func (f *incident) readExamples() {
	ofCause := map[string][]*dueEntry{}
	var causes []string
	for _, d := range f.sorted() {
		if d.outcome != client.OutcomeMissed && !d.isLate() {
			continue
		}
		cause := string(d.outcome) + d.said.Cause()
		if len(ofCause[cause]) == 0 {
			causes = append(causes, cause)
		}
		ofCause[cause] = append(ofCause[cause], d)
	}
	var asked []*dueEntry
	for _, cause := range causes {
		all := ofCause[cause]
		if asked = append(asked, all[0]); len(all) > 1 {
			asked = append(asked, all[len(all)-1])
		}
	}
	asked = asked[:min(len(asked), incidentExamples)]
	_ = eachOf(len(asked), func(i int) error { // what cannot be explained now is not in the report
		d := asked[i]
		e, err := f.page.api().Explain(f.page.ctx, d.collection, d.name, string(client.At(d.due)))
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sentences[f.page.explainLink(d.collection, d.name, d.due)] = f.page.Clock.inZone(e.Properties.Sentence)
		for _, fact := range e.Properties.Facts {
			if fact.Source == "workers" {
				f.explained = append(f.explained, f.workerFact(&fact))
			}
		}
		return nil
	})
}

// workerFact returns a fact about workers, with its times in the zone of the page.
func (f *incident) workerFact(of *client.Fact) incidentFact {
	clock := f.page.Clock
	fact := incidentFact{At: clock.at(of.Time.Truncate(time.Second)), Mark: "off", Source: of.Source, at: of.Time}
	if strings.Contains(of.Text, "for the first time") {
		fact.Mark = "run"
	}
	if m := absence.FindStringSubmatch(of.Text); m != nil {
		fact.gone, fact.back = client.Time(m[1]).Instant(), client.Time(m[2]).Instant()
	}
	fact.Text = clock.inZone(of.Text)
	return fact
}

// inZone returns a text of the API with its points in time in the zone of the page.
func (c clock) inZone(text string) string {
	return instants.ReplaceAllStringFunc(text, func(at string) string { return c.text(client.Time(at).Instant().Truncate(time.Second), "") })
}

// instants matches the points in time in a text of the API.
var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

const (
	// shownWorkers is how many workers a report lists.
	shownWorkers = 50

	// cameAndWent is how many of them are facts.
	cameAndWent = 20
)

// readWorkers reads which workers came and went.
func (f *incident) readWorkers() {
	found, err := f.page.api().Workers(f.page.ctx, f.from, f.to)
	switch {
	case client.StatusOf(err) == http.StatusForbidden:
		f.noWorkers = "They are those of the whole installation, which you may not see."
		return
	case err != nil:
		f.noWorkers = "They could not be read: " + f.page.lost(err)
		return
	}
	if found.Since.After(f.from) {
		f.noWorkers = "Nothing is known of the time before " + f.page.Clock.text(found.Since.Truncate(time.Second), "") + "."
	}
	for _, span := range found.Absences {
		f.workers = append(f.workers, f.absent(span))
	}
	for i := range found.Value {
		row := f.workerRow(&found.Value[i])
		f.rows = append(f.rows, row)
		if i < cameAndWent {
			f.addCameAndWent(&row, &found.Value[i])
		}
	}
}

// absent returns the fact that no worker was there.
func (f *incident) absent(span client.TimeSpan) incidentFact {
	clock := f.page.Clock
	from, to := span.From.Truncate(time.Second), span.To.Truncate(time.Second)
	return incidentFact{At: clock.at(from), Mark: "off", Source: "workers", at: span.From, gone: span.From, back: span.To,
		Text: "No worker checked in between " + clock.text(from, "") + " and " + clock.text(to, "") + ", for " + length(to.Sub(from)) + "."}
}

// workerRow returns the row of a worker.
func (f *incident) workerRow(w *client.Worker) workerRow {
	clock := f.page.Clock
	row := workerRow{Name: w.Name, Version: w.Version, Mark: "ok", How: "was there"}
	if w.ZoneInfo != "" {
		row.Version = strings.TrimPrefix(row.Version+", time zones "+w.ZoneInfo, ", ")
	}
	if !w.FirstCheckIn.Before(f.from) {
		row.Came = clock.at(w.FirstCheckIn.Truncate(time.Second))
	}
	if w.End != "" && w.LastCheckIn.Before(f.to) {
		row.Went, row.Mark, row.How = clock.at(w.LastCheckIn.Truncate(time.Second)), "off", w.End
	}
	n, sum := 0, time.Duration(0)
	for _, gap := range w.Gaps {
		if gap.From.Before(f.to) && gap.To.After(f.from) {
			n, sum = n+1, sum+gap.To.Sub(gap.From)
		}
	}
	if n > 0 {
		row.Gaps = plural(n, "gap", "gaps") + ", " + length(sum.Round(time.Second)) + " in all"
	}
	return row
}

// addCameAndWent adds that a worker came, and that it went.
func (f *incident) addCameAndWent(row *workerRow, w *client.Worker) {
	if row.Came != nil {
		f.workers = append(f.workers, incidentFact{At: row.Came, Mark: "run", Text: "The worker " + w.Name + " checked in for the first time", Source: cmp.Or(row.Version, "workers"), at: w.FirstCheckIn})
	}
	if row.Went != nil {
		text := "The worker " + w.Name + " stopped"
		if w.End == "lost" {
			text = "The worker " + w.Name + " checked in for the last time, and was lost"
		}
		f.workers = append(f.workers, incidentFact{At: row.Went, Mark: "off", Text: text, Source: "workers", at: w.LastCheckIn})
	}
}

// sortWorkers brings the facts about workers in the order of time. Those of explanations stand in for what the caller may
// not see.
func (f *incident) sortWorkers() {
	if len(f.rows)+len(f.workers) == 0 {
		f.workers = f.explained
	}
	slices.SortFunc(f.workers, func(a, b incidentFact) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Text, b.Text)) })
	f.workers = slices.CompactFunc(f.workers, func(a, b incidentFact) bool { return a.at.Equal(b.at) && a.Text == b.Text })
}
