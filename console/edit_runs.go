package console

import (
	"encoding/json"
	"net/http"
	"time"

	"almanac/client"
)

// previewInto adds the next runs of a definition to a page, or what is wrong with it.
func (s *Console) previewInto(p *page, v *editView, text string) error {
	var asked struct {
		Properties json.RawMessage `json:"properties"`
		Take       int             `json:"take"`
	}
	asked.Take = most
	if err := json.Unmarshal([]byte(text), &asked); err != nil || len(asked.Properties) == 0 {
		asked.Properties = json.RawMessage(text)
	}
	if !json.Valid(asked.Properties) {
		return nil // saving says what is wrong
	}
	whole := asked.Properties
	if v.fresh {
		asked.Properties = whenOf(whole)
	}
	asked.Take = most
	found, err := s.previewOf(p, v, asked)
	if client.StatusOf(err) == http.StatusBadRequest {
		v.fail(err)
		if v.dropStored(); v.Wrong != "" {
			return nil
		}
		asked.Properties = whenOf(whole) // all else is right
		found, err = s.previewOf(p, v, asked)
	}
	if err != nil {
		return err
	}
	clock := p.Clock
	if clock.Own {
		clock = clock.in(v.Fields["timeZone"])
	}
	v.Text, v.Notes, v.Done = found.Text, found.Notes, found.Done
	for _, t := range found.Occurrences {
		v.Runs = append(v.Runs, nextRow{At: clock.at(t), Rel: clock.rel(t), due: t})
	}
	var typed client.Job
	if json.Unmarshal([]byte(`{"properties":`+string(whole)+`}`), &typed) != nil {
		return nil
	}
	if v.New {
		err = p.crowded(v, &typed)
		v.Runs = clock.adjusted(v.Runs, found.Adjustments, found.Done)
		return err
	}
	return p.compare(v, &typed, clock)
}

// previewOf returns when a definition would run, by the calendars of its job collection.
func (s *Console) previewOf(p *page, v *editView, asked any) (client.PreviewResult, error) {
	if v.Collection == "" {
		return p.api().PreviewBody(p.ctx, asked)
	}
	return p.api().PreviewBodyIn(p.ctx, v.Collection, asked)
}

// full offers to spread a job that is due at a time at which many others are.
func (v *editView) full(at time.Time, others int, clock clock) {
	if others >= crowd && v.Full == "" && v.Fields["flexibleWindow"] == "" {
		v.Full = count(others) + " are due at " + at.In(clock.Now.Location()).Format(time.TimeOnly) + " already."
	}
}

// whenOf returns of the properties of a job only when it runs.
func whenOf(properties json.RawMessage) json.RawMessage {
	var when struct {
		StartTime  json.RawMessage `json:"startTime,omitempty"`
		Recurrence json.RawMessage `json:"recurrence,omitempty"`
	}
	if json.Unmarshal(properties, &when) != nil {
		return properties
	}
	text, _ := json.Marshal(when) // it was JSON
	return text
}

// crowded adds how many others are due with each run of a new job.
func (p *page) crowded(v *editView, j *client.Job) error {
	ask := client.Preview{Take: most, Properties: &client.PreviewProperties{StartTime: j.Properties.StartTime, Recurrence: j.Properties.Recurrence}}
	scope := client.Scope{}
	if j.Properties.Recurrence != nil && len(j.Properties.Recurrence.Calendars) > 0 { // they have their names there
		scope = client.InCollection(v.Collection)
	}
	found, err := p.api().ForecastBeside(p.ctx, scope, client.Window{}, ask)
	if err != nil {
		return err
	}
	for i := range v.Runs {
		if i < len(found.Occurrences) {
			v.full(found.Occurrences[i].Time, found.Occurrences[i].Due, p.Clock.in(v.Fields["timeZone"]))
			v.Runs[i].Others, v.Runs[i].Crowded = othersOf(found.Occurrences[i].Due), found.Occurrences[i].Due >= crowd
		}
	}
	return nil
}

// A runsDiff is what a change does to the next runs of a job.
type runsDiff struct {
	Moves, New, Goes, Same int
	Rows                   []diffRow
	First                  *stamp
}

// A diffRow is a run before and after a change.
type diffRow struct {
	Day         string // "" for the day of the row before
	Was, WillBe string // times of day
	Kind, What  string // the tag; "" if nothing changes
	Others      string
	Crowded     bool
	Moved       string // from where calendars move the run that will be, and why
	Gap         string // what they skip, if the row is about that
}

// compare adds what a change does to the next runs of a job.
func (p *page) compare(v *editView, j *client.Job, clock clock) error {
	j.Properties.Status = nil
	found, err := p.api().PreviewChange(p.ctx, v.Collection, v.Name, most, j.Properties)
	if client.StatusOf(err) == http.StatusBadRequest {
		v.fail(err)
		return nil
	}
	if err != nil {
		return err
	}
	d := &runsDiff{Moves: found.Moves, New: found.New, Goes: found.Goes, Same: found.Same}
	if !found.NextExecutionTime.IsZero() {
		d.First = clock.at(found.NextExecutionTime)
	}
	day := ""
	var after time.Time
	for _, run := range found.Runs {
		if text := clock.left(found.Adjustments, after, run.WillBe); !run.WillBe.IsZero() && text != "" {
			d.Rows = append(d.Rows, diffRow{Gap: text})
		}
		if !run.WillBe.IsZero() {
			after = run.WillBe
		}
		row := diffRow{Moved: clock.moved(found.Adjustments, run.WillBe), Was: clock.timeOfDay(run.Was), WillBe: clock.timeOfDay(run.WillBe), Others: othersOf(run.Others), Crowded: run.Others >= crowd}
		at := run.WillBe
		if at.IsZero() {
			at = run.Was
		}
		if !run.WillBe.IsZero() {
			v.full(run.WillBe, run.Others, clock)
		}
		if row.Day = at.In(clock.Now.Location()).Format("Mon 2 Jan"); row.Day == day {
			row.Day = ""
		} else {
			day = row.Day
		}
		switch run.Change {
		case "moves":
			row.Kind, row.What = "move", "later"
			if by := run.WillBe.Sub(run.Was); by < 0 {
				row.What = length(-by) + " earlier"
			} else {
				row.What = length(by) + " later"
			}
		case "new":
			row.Kind, row.What = "new", "new"
		case "goes":
			row.Kind, row.What = "gone", "goes"
		}
		d.Rows = append(d.Rows, row)
	}
	if text := clock.left(found.Adjustments, after, time.Time{}); found.Done && text != "" {
		d.Rows = append(d.Rows, diffRow{Gap: text})
	}
	v.Diff = d
	return nil
}

// timeOfDay returns the time of day; "" for none.
func (c clock) timeOfDay(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(c.Now.Location())
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}
