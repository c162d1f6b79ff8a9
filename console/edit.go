package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// An editView is the page at which a job is changed or created. Its form and its JSON are one definition.
type editView struct {
	New              bool
	Collection, Name string
	Path             string // of what the forms are sent to
	Back             string // the link to where the page was opened
	Collections      []string
	ETag             string // of the definition that the page was opened with

	Fields fields
	JSON   string
	Rows   int // of the text area
	Errors map[string][]string
	Listed []listedError // all errors, in the order of the API
	Wrong  string        // what is wrong with the whole
	Other  *otherChange  // somebody else's change meanwhile
	LogIn  string        // the link to the login page, if nobody is logged in any more

	// Replaces is not empty if saving replaces a change that somebody else made meanwhile, until the form is saved.
	Replaces string

	Text   string // the recurrence in English
	Runs   []nextRow
	Diff   *runsDiff
	Done   bool // there are no more runs
	Notes  []string
	Stored bool // a password is stored
	Copied string

	Forgotten bool // a secret was written, which the page does not show: it has to be written again

	fresh bool // nobody has written anything yet: only when it runs is shown
}

// A listedError is an error, and the field that it is about.
type listedError struct{ Field, Message string }

// An otherChange is a change that somebody made while the job was edited.
type otherChange struct {
	Who  string
	At   *stamp
	What changeRow
}

func (s *Console) editJob(p *page) error {
	collection, name := p.names()
	j, err := s.client.Job(p.ctx, collection, name)
	if err != nil {
		return err
	}
	if !p.May(access.WriteJobs, collection, name) {
		return forbidden("change this job")
	}
	v := &editView{Path: jobPath(collection, name, "edit"), Back: p.Link(jobPath(collection, name)), ETag: j.ETag}
	v.Collection, v.Name = j.Names()
	return s.showEdit(p, v, definitionJSON(&j.Properties))
}

// presets are what a new job begins with.
const preset = `{
  "properties": {
    "action": {
      "request": {
        "uri": "https://",
        "method": "POST"
      },
      "type": "Http"
    },
    "recurrence": {
      "frequency": "day",
      "interval": 1,
      "schedule": {
        "minutes": [0],
        "hours": [9]
      },
      "timeZone": "UTC"
    },
    "state": "enabled"
  }
}`

func (s *Console) newJob(p *page) error {
	q := p.r.URL.Query()
	v, err := s.newView(p, q.Get("collection"))
	if err != nil {
		return err
	}
	if len(v.Collections) == 0 && !p.May(access.WriteJobs, v.Collection, "") {
		return forbidden("create jobs")
	}
	text := preset
	v.fresh = true
	if from := q.Get("from"); from != "" {
		j, err := s.client.Job(p.ctx, v.Collection, from)
		if err != nil {
			return err
		}
		text, v.Copied = definitionJSON(&j.Properties), from
	}
	if p.Clock.Zone != "UTC" && v.Copied == "" {
		zone, _ := json.Marshal(p.Clock.Zone) // a text
		text = strings.Replace(text, `"UTC"`, string(zone), 1)
	}
	return s.showEdit(p, v, text)
}

// newView returns the page of a new job.
func (s *Console) newView(p *page, collection string) (*editView, error) {
	v := &editView{New: true, Path: "/new", Collection: collection, Back: p.Link("/jobs")}
	if collection != "" {
		v.Back = p.CollectionLink(collection)
	}
	for c, err := range s.client.Collections(p.ctx, client.List{}) {
		if _, unread := errors.AsType[*client.UnreadError](err); unread {
			continue
		}
		if err != nil {
			return nil, err
		}
		if p.May(access.WriteJobs, c.Name, "") {
			v.Collections = append(v.Collections, c.Name)
		}
	}
	if v.Collection == "" && len(v.Collections) > 0 {
		v.Collection = v.Collections[0]
	}
	return v, nil
}

// showEdit shows a definition, its next runs, and what is wrong in it.
func (s *Console) showEdit(p *page, v *editView, text string) error {
	v.JSON = text
	if body, err := objectOf(text); err == nil {
		if v.Forgotten = dropSecrets(body); v.Forgotten {
			v.JSON = indented(body)
		}
		v.Fields = fieldsOf(body)
		v.Stored = !v.New && strings.EqualFold(v.Fields["auth"], "Basic")
	}
	v.Rows = min(max(strings.Count(v.JSON, "\n")+2, 24), 60)
	if v.Wrong == "" && len(v.Listed) == 0 {
		if err := s.previewInto(p, v, text); err != nil {
			return err
		}
	}
	title := "Edit " + v.Name
	if v.New {
		title = "New job"
	}
	p.template, p.Title, p.Current, p.Main = "edit", title, "Jobs", v
	return nil
}

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
	found, err := s.client.PreviewBody(p.ctx, asked)
	if client.StatusOf(err) == http.StatusBadRequest {
		v.fail(err)
		if v.dropStored(); v.Wrong != "" {
			return nil
		}
		asked.Properties = whenOf(whole) // all else is right
		found, err = s.client.PreviewBody(p.ctx, asked)
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
		v.Runs = append(v.Runs, nextRow{At: clock.at(t), Rel: clock.rel(t)})
	}
	var typed client.Job
	if json.Unmarshal([]byte(`{"properties":`+string(whole)+`}`), &typed) != nil {
		return nil
	}
	if v.New {
		return p.crowded(v, &typed)
	}
	return p.compare(v, &typed, clock)
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
	found, err := p.api().ForecastBeside(p.ctx, client.Scope{}, client.Window{}, ask)
	if err != nil {
		return err
	}
	for i := range v.Runs {
		if i < len(found.Occurrences) {
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
	for _, run := range found.Runs {
		row := diffRow{Was: clock.timeOfDay(run.Was), WillBe: clock.timeOfDay(run.WillBe), Others: othersOf(run.Others), Crowded: run.Others >= crowd}
		at := run.WillBe
		if at.IsZero() {
			at = run.Was
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

// dropStored leaves out that a secret is missing: a preview does not know what is stored.
func (v *editView) dropStored() {
	var left []listedError
	for _, e := range v.Listed {
		if !v.New && isSecret(e.Field[strings.LastIndex(e.Field, ".")+1:]) {
			delete(v.Errors, e.Field)
			continue
		}
		left = append(left, e)
	}
	v.Listed = left
	if len(left) == 0 {
		v.Wrong = ""
	}
}

// fail adds what is wrong, in the words of the API.
func (v *editView) fail(err error) {
	v.Errors = map[string][]string{}
	v.Wrong = err.Error()
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return
	}
	for _, d := range e.Details {
		field := fieldOf(d.Target)
		v.Errors[field] = append(v.Errors[field], d.Message)
		v.Listed = append(v.Listed, listedError{field, d.Message})
	}
}

// Anchor returns the id of the field of the form that an error is about; that of the JSON if it is in no field.
func (v *editView) Anchor(field string) string {
	var there bool
	switch field {
	case "name":
		there = v.New
	case "uri", "method", "body", "username", "headers", "password":
		there = v.Fields["isHTTP"] != ""
	case "weekDays", "occurrences", "frequency":
		there = true
	default:
		there = slices.ContainsFunc(members, func(m member) bool { return m.field == field })
	}
	if there {
		return "f-" + field
	}
	return "f-json"
}

// submitted returns the definition that a form sent: its text, or its fields in the definition that the page had.
func submitted(form url.Values) (string, error) {
	if form.Get("from") == "json" {
		return form.Get("json"), nil
	}
	body, err := objectOf(form.Get("definition"))
	if err != nil {
		return "", &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: "The form is not complete. Nothing was done."}
	}
	applyFields(body, form)
	return indented(body), nil
}

// notSaved answers a form that was refused: its page says what is wrong, and has what was written.
func (s *Console) notSaved(p *page, v *editView, text string, err error) (string, error) {
	e := s.told(p, err)
	p.status = e.Status
	if v.Wrong == "" {
		v.fail(e)
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		v.Wrong = e.Message + " Nothing was saved. What you wrote is below: log in in another tab, then save again."
		if s.Login {
			v.LogIn = p.Top("/login")
		}
	case e.Status == http.StatusForbidden, e.Status == http.StatusTooManyRequests,
		e.Status >= http.StatusInternalServerError:
		v.Wrong += " Nothing was saved. What you wrote is below."
	}
	return "", s.showEdit(p, v, text)
}

func (s *Console) saveJob(p *page) (string, error) {
	collection, name := p.names()
	form := p.r.PostForm
	text, err := submitted(form)
	if err != nil {
		return "", err
	}
	v := &editView{Path: jobPath(collection, name, "edit"), Back: p.Link(jobPath(collection, name)), Collection: collection, Name: name, ETag: form.Get("etag")}
	if _, err := objectOf(text); err != nil {
		return s.notSaved(p, v, text, err)
	}
	if p.refused != nil {
		return s.notSaved(p, v, text, p.refused)
	}
	if form.Get("do") == "check" {
		if v.Replaces = form.Get("replaces"); v.Replaces != "" {
			if err := s.addOther(p, v); err != nil {
				return "", err
			}
		}
		return "", s.showEdit(p, v, text)
	}
	_, err = s.client.PutJobBody(p.ctx, collection, name, json.RawMessage(text), client.IfMatch(v.ETag))
	if err == nil {
		return jobPath(collection, name) + "?done=saved", nil
	}
	if client.IsChanged(err) {
		if err := s.meanwhile(p, v); err != nil {
			return "", err
		}
	}
	return s.notSaved(p, v, text, err)
}

// meanwhile says who changed a job while it was edited, and has the next save replace that change.
func (s *Console) meanwhile(p *page, v *editView) error {
	j, err := s.client.Job(p.ctx, v.Collection, v.Name)
	if client.IsNotFound(err) {
		v.Wrong = "The job was deleted while you were editing. Nothing was saved."
		return nil
	}
	if err != nil {
		return err
	}
	v.ETag, v.Replaces = j.ETag, "other"
	v.Wrong = "The job was changed while you were editing. Nothing was saved. Save again to replace that change with what is below."
	return s.addOther(p, v)
}

// addOther says who changed a job while it was edited, as far as the caller may see that.
func (s *Console) addOther(p *page, v *editView) error {
	if !p.May(access.ReadChanges, v.Collection, v.Name) {
		return nil
	}
	found, err := s.client.ChangesPage(p.ctx, v.Collection, v.Name, client.List{Top: 1})
	if err != nil || len(found.Value) == 0 {
		return err
	}
	row := rowOfChange(&found.Value[0].Properties, p.Clock)
	v.Other = &otherChange{Who: row.Who, At: row.At, What: row}
	return nil
}

func (s *Console) createJob(p *page) (string, error) {
	form := p.r.PostForm
	text, err := submitted(form)
	if err != nil {
		return "", err
	}
	v := &editView{
		New: true, Path: "/new", Collection: form.Get("collection"), Collections: form["collection"], Back: p.Link("/jobs"),
	}
	err = p.refused
	if err == nil {
		var full *editView
		if full, err = s.newView(p, v.Collection); err == nil {
			v = full
		}
	}
	v.Name, v.Copied = strings.TrimSpace(form.Get("name")), form.Get("copied")
	if err != nil {
		return s.notSaved(p, v, text, err)
	}
	if _, err := objectOf(text); err != nil {
		return s.notSaved(p, v, text, err)
	}
	if form.Get("do") == "check" {
		return "", s.showEdit(p, v, text)
	}
	if v.Name == "" {
		return s.notSaved(p, v, text, wrongField("name", "name: required; allowed: a name that no job of the collection has"))
	}
	_, err = s.client.PutJobBody(p.ctx, v.Collection, v.Name, json.RawMessage(text), client.IfAbsent())
	switch {
	case err == nil:
		return jobPath(v.Collection, v.Name) + "?done=created", nil
	case client.IsChanged(err):
		err = wrongField("name", "name: there is a job of this name already; choose another one. Nothing was changed.")
	case client.CodeOf(err) == "InvalidResourceName":
		err = wrongField("name", err.Error())
	}
	return s.notSaved(p, v, text, err)
}

func wrongField(field, message string) error {
	return &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: message,
		Details: []client.ErrorDetail{{Code: "Invalid", Target: field, Message: message}}}
}

// objectOf returns the JSON object that a text is. If it is none, the error says where.
func objectOf(text string) (map[string]any, error) {
	var body map[string]any
	err := json.Unmarshal([]byte(text), &body)
	if err == nil && body != nil {
		return body, nil
	}
	message := "The JSON is no object"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := strings.Count(text[:min(int(syntax.Offset), len(text))], "\n") + 1
		message = "The JSON cannot be read in line " + itoa(line) + ": " + syntax.Error()
	}
	return nil, wrongField("json", message+". Nothing was saved.")
}
