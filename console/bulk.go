package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"almanac/access"
	"almanac/client"
)

// A bulkView is the page that asks before many jobs are changed, and the one that says what became of each.
type bulkView struct {
	Collection, Path string
	Action           string
	Verb             string // such as Disable
	Changes          int
	AtOnce           int
	Unchanged        int
	Refused          int
	Missing          []string
	Rows             []bulkRow
	Rest             int // beyond the rows
	Selection        string
	Promise          *promiseForm // of enabling and disabling
	Held             heldView
	Asked            []string // the names that are selected; nil if All is set
	All              bool
	Query, Filter    string
	TypeNumber       bool // the number has to be typed

	Done    bool
	Working bool // an operation goes on
	Counts  []bulkCount
	Undo    string   // the action that undoes it; "" if none does
	Names   []string // of the jobs that were changed
	Problem string
}

// A bulkRow is a job in such a page.
type bulkRow struct {
	Mark, Word, Name, Link, Text string
	Run                          string // the link to its run
	At                           *stamp // of the first run that is held
}

// A bulkCount is how many jobs have a result.
type bulkCount struct {
	Mark, Word string
	N          int
}

// A bulkChoice is a button of the list.
type bulkChoice struct {
	Action client.BulkAction
	Text   string
	Class  string
	needs  access.Action
	undo   client.BulkAction
}

// bulkChoices are what can be done to many jobs.
var bulkChoices = []bulkChoice{
	{client.BulkRun, "Run now", "btn", access.RunJobs, ""}, {client.BulkRerun, "Rerun failed", "btn", access.RunJobs, ""},
	{client.BulkEnable, "Enable…", "btn", access.EnableJobs, client.BulkDisable}, {client.BulkDisable, "Pause…", "btn", access.DisableJobs, client.BulkEnable},
	{client.BulkSkip, "Skip next", "btn", access.SkipJobs, ""}, {client.BulkDelete, "Delete…", "btn btn-x", access.DeleteJobs, ""},
}

// shownOfBulk is how many jobs such a page lists.
const shownOfBulk = 200

// mayBulk returns what the caller may do to many jobs of a collection.
func (p *page) mayBulk(collection string) (all []bulkChoice) {
	for _, c := range bulkChoices {
		if p.May(c.needs, collection, "") {
			all = append(all, c)
		}
	}
	return all
}

// choiceOf returns the choice that a form names; nil if there is none.
func choiceOf(form url.Values) *bulkChoice {
	for i := range bulkChoices {
		if string(bulkChoices[i].Action) == form.Get("action") {
			return &bulkChoices[i]
		}
	}
	return nil
}

func badForm(message string) error {
	return &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: message + " Nothing was done."}
}

// askBulk shows what an action would do to the jobs that a form selects.
func (s *Console) askBulk(p *page) (string, error) {
	collection, form := p.r.PathValue("collection"), p.r.PostForm
	choice := choiceOf(form)
	if choice == nil {
		return "", badForm("The form does not say what to do.")
	}
	q := client.BulkQuestion{Action: choice.Action, Names: form["job"]}
	var promise *promiseForm
	if choice.Action == client.BulkEnable || choice.Action == client.BulkDisable {
		f := p.promiseOf(form, p.Clock, choice.Action == client.BulkEnable)
		if promise = &f; f.Wrong == "" {
			q.Note, q.Until, q.Recover, q.AtOnce = f.promise.Note, client.At(f.promise.Until), f.promise.Recover, f.promise.AtOnce
			q.Held = true
		}
		promise.offer()
	}
	if form.Get("all") != "" {
		q.Names, q.Search, q.Filter = nil, form.Get("q"), form.Get("filter")
		if q.Search == "" && q.Filter == "" {
			var err error
			if q.Names, err = s.allNames(p, collection); err != nil {
				return "", err
			}
		}
	} else if len(q.Names) == 0 {
		return "", badForm("No job is selected.")
	}
	found, err := p.api().PreviewBulk(p.ctx, collection, q)
	if err != nil {
		return "", err
	}
	v := &bulkView{Collection: collection, Path: "/jobs/" + url.PathEscape(collection), Action: string(choice.Action), Verb: choice.verb(), Promise: promise,
		Asked: form["job"], All: form.Get("all") != "", Query: form.Get("q"), Filter: form.Get("filter"), Changes: found.Changes, AtOnce: found.RunAtOnce, Missing: found.Missing, Selection: found.Selection, TypeNumber: choice.Action == client.BulkDelete}
	for _, j := range found.Jobs {
		row := p.bulkRow(j.Name)
		switch j.Effect {
		case "unchanged":
			v.Unchanged++
			row.Mark, row.Word, row.Text = "cancel", "Unchanged", "stays as it is"
		case "refused":
			v.Refused++
			row.Mark, row.Word, row.Text = "fail", "Refused", j.Reason
		default:
			row.Mark, row.Word = "next", changes
			if j.RunsAtOnce {
				row.Mark, row.Text = "run", "would run at once"
			}
		}
		if len(v.Rows) < shownOfBulk {
			v.Rows = append(v.Rows, row)
		} else {
			v.Rest++
		}
	}
	p.template, p.Title, p.Current, p.Main = "bulk", v.Verb+"?", "Jobs", v
	p.addHeld(v, found.Jobs)
	return "", nil
}

// addHeld says in the rows what a pause of the jobs that change holds, or what runs if they are enabled.
func (p *page) addHeld(v *bulkView, jobs []client.BulkJob) {
	f := v.Promise
	if f == nil || f.Wrong != "" {
		return
	}
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j client.BulkJob) bool { return j.Effect != "changes" })
	if len(jobs) == 0 {
		v.Held = heldView{Shown: true, Sentence: "Nothing changes."}
		return
	}
	of := map[string]*bulkRow{}
	for i := range v.Rows {
		of[v.Rows[i].Name] = &v.Rows[i]
	}
	v.Held = p.heldOfJobs(v.Collection, jobs, f)
	for _, held := range v.Held.Rows {
		if row := of[held.Name]; row != nil {
			row.Mark, row.Text, row.At = held.Mark, held.Text, held.At
		}
	}
	v.Held.Rows = nil
}

// verb returns what is done, such as Pause.
func (c *bulkChoice) verb() string { return strings.TrimSuffix(c.Text, "…") }

// changes is the word for a job that an action changes.
const changes = "Changes"

// allNames returns the names of all jobs of a collection, as long as an action takes so many.
func (s *Console) allNames(p *page, collection string) (names []string, err error) {
	const most = 1000
	for list := (client.Search{}); ; {
		found, err := p.api().Summaries(p.ctx, client.InCollection(collection), list)
		if err != nil {
			return nil, err
		}
		for _, j := range found.Value {
			_, name := client.NamesOf(j.Name)
			names = append(names, name)
		}
		if list.Token = found.Next; list.Token == "" || len(names) > most {
			return names, nil
		}
	}
}

func (p *page) bulkRow(name string) bulkRow {
	collection, job := client.NamesOf(name)
	return bulkRow{Name: job, Link: p.JobLink(collection, job)}
}

// doBulk changes the jobs of a selection, and shows the result for each. It may be repeated.
func (s *Console) doBulk(p *page) (string, error) {
	collection, form := p.r.PathValue("collection"), p.r.PostForm
	choice := choiceOf(form)
	if choice == nil || form.Get("selection") == "" {
		return "", badForm("The form is not complete.")
	}
	if choice.Action == client.BulkDelete && strings.TrimSpace(form.Get("number")) != form.Get("changes") {
		return "", badForm("The number that was typed is not that of the jobs.")
	}
	if form.Has("listed") {
		if f := p.promiseOf(form, p.Clock, choice.Action == client.BulkEnable); !f.mayGoOn() {
			return s.askBulk(p)
		}
	}
	all, operation, err := p.api().StartBulk(p.ctx, collection, choice.Action, form.Get("selection"))
	if operation != "" {
		return "/bulk/" + url.PathEscape(collection) + "/" + url.PathEscape(operation) + "?action=" + url.QueryEscape(string(choice.Action)), nil
	}
	if err != nil && len(all) == 0 {
		return "", err
	}
	v := bulkDone(collection, choice)
	if err != nil {
		v.Problem = err.Error()
	}
	v.addResults(p, choice, all)
	p.template, p.Title, p.Current, p.Main = "bulk", v.Verb, "Jobs", v
	return "", nil
}

// bulkDone returns the page of what became of each job.
func bulkDone(collection string, of *bulkChoice) *bulkView {
	return &bulkView{Collection: collection, Path: "/jobs/" + url.PathEscape(collection), Action: string(of.Action), Verb: of.verb(), Done: true}
}

// addResults adds the results, and the action that undoes them.
func (v *bulkView) addResults(p *page, of *bulkChoice, all []client.BulkResult) {
	counts := map[string]int{}
	for i := range all {
		counts[all[i].Properties.Status]++
		v.addResult(p, &all[i])
	}
	for _, c := range resultWords {
		if counts[c.status] > 0 {
			v.Counts = append(v.Counts, bulkCount{c.mark, c.word, counts[c.status]})
		}
	}
	if len(v.Names) > 0 && of.undo != "" && p.May(undoNeeds(of.undo), v.Collection, "") {
		v.Undo = string(of.undo)
	}
}

// undoNeeds returns what the caller has to be allowed to do.
func undoNeeds(action client.BulkAction) access.Action {
	for i := range bulkChoices {
		if bulkChoices[i].Action == action {
			return bulkChoices[i].needs
		}
	}
	return ""
}

// bulkOperation is the page of many jobs that are changed by an operation: it is loaded again until the results are there.
func (s *Console) bulkOperation(p *page) error {
	collection := p.r.PathValue("collection")
	choice := choiceOf(p.r.URL.Query())
	if choice == nil {
		return errNoPage
	}
	all, done, err := p.api().BulkResults(p.ctx, collection, p.r.PathValue("operation"))
	if status := client.StatusOf(err); status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		p.Refresh = 5
	}
	if err != nil {
		return err
	}
	v := bulkDone(collection, choice)
	if v.Working = !done; v.Working {
		p.Refresh = 2
	}
	v.addResults(p, choice, all)
	p.template, p.Title, p.Current, p.Main = "bulk", v.Verb, "Jobs", v
	return nil
}

// resultWords are the results for a job.
var resultWords = []struct{ status, mark, word string }{
	{"Done", "ok", "done"}, {"Unchanged", "cancel", "unchanged"}, {"ChangedSince", "edit", "changed since, and left alone"}, {"Missing", "miss", "not there any more"},
	{"Refused", "fail", "refused"},
}

// addResult adds the result for a job.
func (v *bulkView) addResult(p *page, r *client.BulkResult) {
	row := p.bulkRow(r.Name)
	for _, c := range resultWords {
		if c.status == r.Properties.Status {
			row.Mark, row.Word, row.Text = c.mark, c.word, c.word
		}
	}
	if e := r.Properties.Error; e != nil {
		row.Text = e.Message
	}
	if id := r.Properties.Execution; id != "" {
		row.Run = row.Link + "/executions/" + url.PathEscape(id[strings.LastIndex(id, "/")+1:])
	}
	if r.Properties.Status == "Done" {
		v.Names = append(v.Names, row.Name)
		if v.Action == string(client.BulkDelete) {
			row.Link = ""
		}
	}
	if len(v.Rows) < shownOfBulk {
		v.Rows = append(v.Rows, row)
	} else {
		v.Rest++
	}
}
