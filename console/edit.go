package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

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
	Full   string // how many others are due in the same second; "" if those are few, or the job is spread
	Runs   []nextRow
	Diff   *runsDiff
	Done   bool // there are no more runs
	Notes  []string
	Stored bool // a password is stored
	Copied string

	English    string // a text that is not read yet
	ReadAs     string // what was read; "" for nothing
	Ambiguous  string // the words that may mean several things
	Candidates []client.RecurrenceReading
	Calendars  []string // names that a job may have

	MayTry bool
	Tried  *tried // what became of the action, if it was sent

	Forgotten bool // a secret was written, which the page does not show: it has to be written again

	fresh bool // nobody has written anything yet: only when it runs is shown
}

// A listedError is an error, the field that it is about, and the member of the body.
type listedError struct{ Field, Message, Target string }

// An otherChange is a change that somebody made while the job was edited.
type otherChange struct {
	Who  string
	At   *stamp
	What changeRow
}

func (s *Console) editJob(p *page) error {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
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
		j, err := p.api().Job(p.ctx, v.Collection, from)
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
	for c, err := range p.api().Collections(p.ctx, client.List{}) {
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
	if do := p.r.PostForm.Get("do"); do != "check" && p.refused == nil {
		v.Calendars = p.calendarNames(v.Collection)
	}
	v.MayTry = p.refused == nil && p.May(access.TryJobs, v.Collection, v.Name)
	title := "Edit " + v.Name
	if v.New {
		title = "New job"
	}
	p.template, p.Title, p.Current, p.Main = "edit", title, "Jobs", v
	return nil
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
	if window := form.Get("spread"); window != "" {
		object, name := at(body, "flexibleWindow", true)
		object[name] = window
	}
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
	if isRead(form) {
		return "", s.readEnglish(p, v, text)
	}
	if do := form.Get("do"); do == "check" || do == "read" || form.Has("spread") {
		if v.Replaces = form.Get("replaces"); v.Replaces != "" {
			if err := s.addOther(p, v); err != nil {
				return "", err
			}
		}
		return "", s.showEdit(p, v, text)
	}
	if form.Get("do") == "try" {
		return s.try(p, v, text)
	}
	_, err = p.api().PutJobBody(p.ctx, collection, name, json.RawMessage(text), client.IfMatch(v.ETag))
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
	j, err := p.api().Job(p.ctx, v.Collection, v.Name)
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
	found, err := p.api().ChangesPage(p.ctx, v.Collection, v.Name, client.List{Top: 1})
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
	if isRead(form) {
		return "", s.readEnglish(p, v, text)
	}
	if do := form.Get("do"); do == "check" || do == "read" || form.Has("spread") {
		return "", s.showEdit(p, v, text)
	}
	if v.Name == "" {
		return s.notSaved(p, v, text, wrongField("name", "name: required; allowed: a name that no job of the collection has"))
	}
	if form.Get("do") == "try" {
		return s.try(p, v, text)
	}
	_, err = p.api().PutJobBody(p.ctx, v.Collection, v.Name, json.RawMessage(text), client.IfAbsent())
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
