package console

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A jobView is the page of a job.
type jobView struct {
	Collection, Name string
	Path             string // of the job, without the console's own
	Row              jobRow
	Zone             string // of the job
	Suffix           string // the zone, where the words do not have it
	Sends            string
	Numbers          []number
	Trouble          *trouble
	Why              string // why nothing is next
	Pause            *pauseInfo
	PruneAt, PruneIn *stamp // when it deletes itself, of a pruned job
	Owner            string // the id of its directory of job files
	Restore          bool

	History     history
	Runs        nextRuns
	Lateness    latenessView
	Changes     []changeRow
	NoChanges   string // why they are not shown
	MoreChanges bool
	Definition  template.HTML
	Secrets     []string
	Curl        string
	Commands    string

	Skip                                                         *skipButton
	Run, Rerun, Enable, Disable, Promise, Edit, Delete, MayWrite bool
	Skips                                                        bool
}

// A number is a figure at the top of a page.
type number struct {
	Value template.HTML
	Text  string
	Times []*stamp // after the text
}

// A trouble is why a job fails.
type trouble struct {
	Kind, Mark string
	Lead       string
	At         *stamp
	After      string // in bold, after the time
	Text       string
	Row        string // how many in a row
	Since      *stamp
}

// A skipButton skips an occurrence.
type skipButton struct{ Due, Text string }

func (s *Console) job(p *page) error {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
	if err != nil {
		return err
	}
	v := &jobView{Path: jobPath(collection, name)}
	v.Collection, v.Name = j.Names()
	if v.Row, err = p.jobRow(j); err != nil {
		return err
	}
	v.Zone, v.Sends = zoneOf(&j.Properties), sends(&j.Properties.Action)
	if j.Properties.Recurrence != nil && !strings.Contains(v.Row.When, ", "+v.Zone) {
		v.Suffix = v.Zone
	}
	clock := p.Clock.For(j.Properties.Recurrence)
	if err := p.readJob(v, &j, clock); err != nil {
		return err
	}
	v.numbers(&j, clock)
	v.trouble(&j, clock)
	p.allow(v, &j, clock)
	v.Definition, v.Secrets = definition(&j.Properties), secretsOf(&j.Properties)
	v.Curl, v.Commands = curl(p, collection, name, &j), commands(p, collection, name)
	p.template, p.Title, p.Current, p.Main = "job", v.Name+" · "+v.Collection, "Jobs", v
	p.Notice = doneNotice(p, v.Collection, v.Name)
	return nil
}

// readJob reads the parts of the page of a job, all at once.
func (p *page) readJob(v *jobView, j *client.Job, clock clock) error {
	var found client.Summaries
	var unlisted error
	parts := []func() error{
		func() (err error) { v.History, err = p.history(v, j, clock); return err },
		func() (err error) { v.Runs, err = p.nextRuns(v, j, clock); return err },
		func() (err error) { v.Lateness, err = p.lateness(v, clock); return err },
		func() error { return p.changes(v, clock) },
		func() error {
			found, unlisted = p.api().Summaries(p.ctx, client.InCollection(v.Collection), oneJob(v.Name))
			return nil // without it, the page does not learn whether it has changed
		},
	}
	if err := each(len(parts), func(i int) error { return parts[i]() }); err != nil {
		return err
	}
	var stopped *client.Disabled
	if unlisted == nil {
		if p.r.URL.Query().Get("before") == "" {
			p.Live = p.liveOf(p.below(), versionOfJobs(&found))
		}
		if len(found.Value) == 1 {
			stopped = found.Value[0].Properties.Disabled
		}
	}
	if s := j.Properties.Status; s != nil && s.Disabled != nil {
		stopped = s.Disabled
	}
	if j.Properties.State == client.JobDisabled || stopped != nil && stopped.Collection {
		v.Pause = clock.pauseOf(stopped)
	}
	return nil
}

func zoneOf(j *client.JobProperties) string {
	if j.Recurrence == nil || j.Recurrence.TimeZone == "" {
		return "UTC"
	}
	return j.Recurrence.TimeZone
}

// allow says which buttons the page has.
func (p *page) allow(v *jobView, j *client.Job, clock clock) {
	may := func(a access.Action) bool { return p.May(a, v.Collection, v.Name) }
	state, status := j.Properties.State, j.Properties.Status
	v.Run, v.Edit, v.Delete = may(access.RunJobs), may(access.WriteJobs), may(access.DeleteJobs)
	v.MayWrite = p.May(access.WriteJobs, v.Collection, "") // another job of the collection
	v.Skips = state == client.JobEnabled && j.Properties.Recurrence != nil && may(access.SkipJobs)
	v.Rerun = v.Run && v.Trouble != nil && status.Retry == nil
	v.Enable = state == client.JobDisabled && may(access.EnableJobs)
	v.Promise = state == client.JobDisabled && may(access.DisableJobs) // another one
	v.Disable = state == client.JobEnabled && may(access.DisableJobs)
	if status != nil && !status.PruneAt.IsZero() {
		v.PruneAt, v.PruneIn, v.Pause, v.Why = clock.at(status.PruneAt), clock.end(status.PruneAt), nil, ""
		v.Restore, v.Enable, v.Promise = may(access.WriteJobs), false, false
	}
	if status != nil {
		v.Owner = status.Owner
	}
	if state == client.JobEnabled && status != nil && status.NextExecutionTime.Sub(clock.Now) > latestSkip && may(access.SkipJobs) {
		due := status.NextExecutionTime
		v.Skip = &skipButton{string(client.At(due)), clock.short(due)}
	}
}

// short returns a day, or the time of day for today.
func (c clock) short(t time.Time) string {
	t = t.In(c.Now.Location())
	if t.Format(time.DateOnly) == c.Now.Format(time.DateOnly) {
		return c.text(t, "")
	}
	return t.Format("2 Jan")
}

// numbers are the figures of a job.
func (v *jobView) numbers(j *client.Job, clock clock) {
	s := j.Properties.Status
	if s == nil {
		s = &client.JobStatus{}
	}
	add := func(value, text string, times ...*stamp) {
		v.Numbers = append(v.Numbers, number{template.HTML("<b>" + escape(value) + "</b>"), text, times}) //nolint:gosec // escaped
	}
	addRel := func(at time.Time, text string) {
		rel := clock.rel(at)
		v.Numbers = append(v.Numbers, number{template.HTML(`<b><time datetime="` + rel.UTC + `" data-rel="` + rel.Rel + `">` + escape(rel.Text) + "</time></b>"), //nolint:gosec // escaped
			text, []*stamp{clock.at(at)}})
	}
	if !s.NextExecutionTime.IsZero() && j.Properties.State == client.JobEnabled && !s.NextExecutionTime.Before(clock.Now) {
		addRel(s.NextExecutionTime, "next run,")
	}
	switch {
	case s.ConsecutiveFailures > 0 && !s.LastSuccessTime.IsZero():
		add(count(s.ConsecutiveFailures), "failed in a row, last success", clock.at(s.LastSuccessTime))
	case s.ConsecutiveFailures > 0:
		add(count(s.ConsecutiveFailures), "failed in a row, none succeeded before")
	case !s.LastSuccessTime.IsZero():
		addRel(s.LastSuccessTime, "last success,")
	}
	if late := v.History.late; len(late) > 0 {
		of := ", last " + plural(len(late), "execution", "executions")
		add(length(quantile(late, .5)), "late p50"+of)
		add(length(quantile(late, .99)), "late p99")
	}
	if took := v.History.took; len(took) > 0 {
		add(length(quantile(took, .5)), "takes, median")
	}
	if v.History.pattern != "" {
		v.Numbers = append(v.Numbers, number{bars(v.History.pattern, 20, "Last"), "last 20", nil})
	}
	if s.ExecutionCount > 0 {
		add(count(s.ExecutionCount), "executions, "+count(s.FailureCount)+" failed")
	}
}

// quantile returns the value below which a part of all are.
func quantile(all []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

// trouble says why a job fails, or why nothing is next.
func (v *jobView) trouble(j *client.Job, clock clock) {
	s := j.Properties.Status
	if s == nil {
		return
	}
	v.Why = s.Reason
	if s.ConsecutiveFailures == 0 && s.Retry == nil {
		return
	}
	t := &trouble{Kind: "fail", Mark: "fail", Lead: "Failed"}
	if s.LastError != nil {
		t.Text, t.At = s.LastError.Message, clock.at(s.LastError.EndTime)
	}
	if r := s.Retry; r != nil {
		t.Kind, t.Mark, t.Lead, t.At = "warn", "retry", "Waits for attempt "+ofMost(r.Attempt, r.MaxAttempts)+" at", clock.at(r.NextAttemptTime)
		if r.NextAttemptTime.IsZero() {
			t.Lead = "Attempt " + ofMost(r.Attempt, r.MaxAttempts) + " is being made"
		}
		if r.LastError != nil {
			t.Text = r.LastError.Message
		}
	} else if t.At != nil {
		t.Lead = "Failed at"
	}
	if s.ConsecutiveFailures > 1 {
		t.Row, t.Since = count(s.ConsecutiveFailures)+" executions in a row failed, since", clock.at(s.FailingSince)
	}
	v.Trouble = t
}

// curl returns lines of a shell that do the same as the page.
func curl(p *page, collection, name string, j *client.Job) string {
	path := p.base() + p.at.apiPath() + "/jobCollections/" + url.PathEscape(collection) + "/jobs/" + url.PathEscape(name)
	auth := ""
	if p.Caller.Name != "" {
		auth = `-H "Authorization: Bearer $TOKEN" `
	}
	below := func(path, query string) string { // a word of the shell
		if p.at != (group{}) { // the path of Azure Resource Manager
			query = strings.TrimSuffix("api-version=2016-03-01&"+query, "&")
		}
		if query == "" {
			return "$J" + path
		}
		return `"$J` + path + "?" + query + `"`
	}
	lines := []string{"J=" + shellQuoted(path), "curl " + auth + below("", ""), "curl " + auth + below("/history", ""), "curl " + auth + "-X POST " + below("/run", "")}
	if s := j.Properties.Status; s != nil && !s.NextExecutionTime.IsZero() {
		lines = append(lines, "curl "+auth+"-X POST "+below("/skip", "due="+string(client.At(s.NextExecutionTime))))
	}
	return strings.Join(lines, "\n")
}

// commands returns those of almanac that do the same as the page.
func commands(p *page, collection, name string) string {
	lines := []string{"export ALMANAC_URL=" + shellQuoted(p.base())}
	if g := p.at; g != (group{}) {
		lines = append(lines, "export ALMANAC_SUBSCRIPTION="+shellQuoted(g.Subscription), "export ALMANAC_RESOURCE_GROUP="+shellQuoted(g.Name))
	}
	for _, command := range []string{"get", "history", "run"} {
		lines = append(lines, "almanac job "+command+" "+shellQuoted(collection+"/"+name))
	}
	return strings.Join(lines, "\n")
}

// shellQuoted returns a text as one word of a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// changeRow is a change in a list.
type changeRow struct {
	At      *stamp
	Who     string
	What    string
	Message string
	Failed  bool
	Diffs   []difference
}

// A difference is a member with another value.
type difference struct {
	Path, From, To string
	Hidden         bool
}

// shownChanges is how many changes the page of a job has.
const shownChanges = 20

func (p *page) changes(v *jobView, clock clock) error {
	if !p.May(access.ReadChanges, v.Collection, v.Name) {
		v.NoChanges = "You may not see who changed the job."
		return nil
	}
	list := client.List{Top: shownChanges}
	if p.r.URL.Query().Get("changes") == "all" {
		list.Top = 100
	}
	found, err := p.api().ChangesPage(p.ctx, v.Collection, v.Name, list)
	if client.StatusOf(err) == http.StatusForbidden {
		v.NoChanges = "You may not see who changed the job."
		return nil
	}
	if err != nil {
		return err
	}
	v.MoreChanges = list.Top == shownChanges && len(found.Value) == shownChanges
	for _, c := range found.Value {
		v.Changes = append(v.Changes, rowOfChange(&c.Properties, clock))
	}
	return nil
}

// deeds are the operations, in words.
var deeds = map[string]string{
	"jobs/delete": "deleted it", "jobs/run/action": "ran it by hand", "jobs/skip/action": "left out occurrences", "jobs/unskip/action": "had occurrences run that were left out",
	"jobs/enable/action": "enabled it", "jobs/disable/action": "disabled it", "jobs/plan/action": "planned it anew, by newer time zones",
	"delete": "deleted its collection", "enable/action": "enabled its collection", "disable/action": "disabled its collection",
	"write": "changed its collection",
}

func rowOfChange(c *client.ChangeProperties, clock clock) changeRow {
	row := changeRow{At: clock.at(c.EventTimestamp), Who: who(c), Message: c.Message, Failed: c.Status == client.ChangeFailed}
	deed := strings.TrimPrefix(c.OperationName, "Microsoft.Scheduler/jobCollections/")
	row.What = deeds[deed]
	if deed == "jobs/write" {
		row.What = "changed " + plural(len(c.Differences), "member", "members")
		if len(c.Differences) == 0 {
			row.What = "created it"
		}
	}
	if row.What == "" {
		row.What = deed
	}
	if c.Status == client.ChangeStarted {
		row.What += ", not finished yet"
	}
	if row.Failed {
		row.What = "tried, and was refused: " + row.What
	}
	for _, d := range c.Differences {
		row.Diffs = append(row.Diffs, difference{
			Path: strings.TrimPrefix(d.Path, "properties."), From: string(d.From), To: string(d.To), Hidden: d.Hidden,
		})
	}
	return row
}

// who returns who made a change.
func who(c *client.ChangeProperties) string {
	switch {
	case c.Caller != "":
		return c.Caller
	case c.ClientIPAddress != "":
		return c.ClientIPAddress
	case c.Client != "":
		return c.Client
	}
	return "not known"
}

// doneNotice returns what a form did that has just led to the page; nil for nothing.
func doneNotice(p *page, collection, job string) *notice {
	n := &notice{Kind: "ok", Mark: "ok"}
	undo := func(collectionAction, jobAction access.Action, word string) string {
		path, action := "/jobs/"+url.PathEscape(collection), collectionAction
		if job != "" {
			path, action = jobPath(collection, job), jobAction
		}
		if !p.May(action, collection, job) {
			return ""
		}
		return path + word
	}
	switch p.done() {
	case "paused":
		n.Lead, n.Text = "Paused.", "Nothing runs on the schedule until then. Runs by hand still do."
		n.Undo = undo(access.EnableCollections, access.EnableJobs, "/enable")
	case "resumed":
		n.Lead, n.Text = "Enabled.", "What was to run of what was held begins now."
	case "restored":
		n.Lead, n.Text = "Restored.", "It is in the state that it had before it was pruned."
	case "enabled":
		n.Lead = "Enabled."
		n.Text = "Occurrences that came due while it was disabled are not run; a job that runs once is, at once."
		n.Undo = undo(access.DisableCollections, access.DisableJobs, "/disable")
	case "disabled":
		n.Lead, n.Text = "Disabled.", "No occurrence runs until someone enables it. Runs by hand still do."
		n.Undo = undo(access.EnableCollections, access.EnableJobs, "/enable")
	case "skipped":
		n.Lead, n.Text = "Left out.", "It does not run, and the history has it as skipped by hand when it has come due."
		if due := p.r.URL.Query().Get("due"); due != "" && job != "" && p.May(access.SkipJobs, collection, job) {
			n.Undo = jobPath(collection, job) + "/unskip?due=" + url.QueryEscape(due)
		}
	case "skippedall":
		n.Lead, n.Text = "Left out.", "What is due in that time does not run. The list below has the time, and may end it."
	case "settings":
		n.Lead = "Saved."
	case "collection":
		n.Lead, n.Text = "Created.", "Its jobs will be here."
	case "unskipped":
		n.Lead, n.Text = "It runs after all.", "The list below has it."
	case "saved":
		n.Lead, n.Text = "Saved.", "Nothing runs by the old definition any more."
	case "created":
		n.Lead = "Created."
	case "deleted":
		n.Lead, n.Text = "Deleted.", "The job and its history are gone."
	case "collectionchanges":
		n.Kind, n.Mark, n.Lead, n.Text = "info", "run", "It is being done.", "That may take a while in a large collection. Load the page again to see how it stands."
	case "notfailed":
		n.Kind, n.Mark, n.Lead, n.Text = "info", "next", "Nothing was started.", "The execution that ended last succeeded, or none has ended."
	case "underway":
		n.Kind, n.Mark, n.Lead, n.Text = "info", "run", "Nothing was started.", "A manual run of it runs or waits already."
	default:
		return nil
	}
	return n
}

// pageLink returns a link with a parameter.
func pageLink(path, name, value string) string { return withParameter(path, name, value) }

func itoa(n int) string { return strconv.Itoa(n) }
