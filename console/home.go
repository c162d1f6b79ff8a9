package console

import (
	"errors"
	"slices"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A homeView is the page that is open all day.
type homeView struct {
	Total, Failing int
	Missed, Late   int
	MissedMore     bool // there are more than were counted
	Reading        bool // the causes are being read
	LateMore       bool
	Due            int // occurrences in the next hour
	DueMore        bool
	AsOf           *stamp
	NotReady       string
	Lost           map[string]string // why a section could not be read, or not whole

	Groups      []failingGroup
	FailingRest int // beyond those that are listed
	Hour        []heatPiece
	Key         []heatPiece
	Fullest     []fullCell
	HourTo      string
	Unspread    int // how many would be due in the fullest second without flexible windows; 0 if there are none
	Causes      []cause
	Paused      []pausedRow
	PausedRest  int
	Collections []collectionRow

	CollectionsRest int
	New             string

	disabled []pausedRow // collections
}

// A failingGroup is jobs that fail for one cause.
type failingGroup struct {
	Text, Host string
	Rows       []failingRow
}

// A failingRow is a job that fails.
type failingRow struct {
	jobRow
	Attempts string
	Since    *stamp
	Ago      *stamp
}

// A fullCell is a second in which many are due.
type fullCell struct {
	From string
	Due  int
	Host string // how many of them send to one host
}

// A pausedRow is a job or a collection that is disabled.
type pausedRow struct {
	Collection, Name, Link string // Name is "" for a collection
	By                     string
	Since, Ago             *stamp
	Pause                  *pauseInfo
}

// A collectionRow is a collection in a list.
type collectionRow struct {
	Mark, Word, Name, Link, Plan string
	Jobs, Failing                int
	Next                         *stamp
	FailingLink                  string
}

const (
	listedFailing     = 24
	listedPaused      = 8
	listedCollections = 20

	// readCollections is how many collections are read for the page at most.
	readCollections = 500
)

func (s *Console) home(p *page) error {
	defer p.limit()()
	failing, err := p.api().Summaries(p.ctx, client.Scope{}, client.Search{Filter: "lastOutcome eq Failed", Top: listedFailing, OrderBy: "name"})
	if err != nil {
		return err
	}
	if failing.Total == 0 {
		if p.moved = p.elsewhere(); p.moved != "" {
			return nil
		}
		return s.first(p)
	}
	v := &homeView{Total: failing.Total, Failing: failing.Matching, AsOf: p.Clock.at(failing.AsOf), FailingRest: failing.Matching - len(failing.Value)}
	if day := failing.Counts.LastDay; day != nil {
		v.Late = day.Late
	}
	if p.May(access.WriteJobs, "", "") {
		v.New = p.Link("/new")
	}
	v.Lost = p.sections(v, &failing)
	p.Live = p.liveOf("", versionOfHome(&failing))
	p.template, p.Title, p.Current, p.Main = "home", "Home", "Home", v
	return nil
}

// sections adds the sections of the page, and returns why some could not be read.
func (p *page) sections(v *homeView, failing *client.Summaries) map[string]string {
	listed := make(chan struct{}) // the collections
	sections := []struct {
		name string
		add  func() error
	}{
		{"ready", func() error { return p.addReady(v) }},
		{"failing", func() error { return p.addFailing(v, failing.Value) }},
		{"hour", func() error { return p.addHour(v) }},
		{"missed", func() error { return p.addLost(v, failing.Counts.LastDay) }},
		{"collections", func() error {
			defer close(listed)
			return p.addCollections(v, &failing.Counts)
		}},
		{"paused", func() error {
			<-listed
			return p.addPaused(v, failing.Counts.States[client.JobDisabled])
		}},
	}
	lost := map[string]string{}
	for i, err := range eachOf(len(sections), func(i int) error { return sections[i].add() }) {
		if err != nil {
			lost[sections[i].name] = p.lost(err)
		}
	}
	return lost
}

// readyAgain is after what time it is asked again whether jobs can be run, if they cannot.
const readyAgain = 250 * time.Millisecond

func (p *page) addReady(v *homeView) error {
	ready, err := p.api().Ready(p.ctx)
	if err == nil && ready.Status != "ready" { // one call of it may have failed on a busy machine
		select {
		case <-time.After(readyAgain):
		case <-p.ctx.Done():
		}
		ready, err = p.api().Ready(p.ctx)
	}
	if err == nil && ready.Status != "ready" {
		v.NotReady = ready.Missing
	}
	return err
}

// addFailing adds the jobs that fail, by cause.
func (p *page) addFailing(v *homeView, jobs []client.Summary) error {
	found := make([]client.Job, len(jobs))
	err := each(len(jobs), func(i int) error {
		collection, name := client.NamesOf(jobs[i].Name)
		j, err := p.api().Job(p.ctx, collection, name)
		if err == nil {
			found[i] = j
		} // otherwise it was deleted meanwhile, or does not answer: it is listed without a reason
		return nil
	})
	if err != nil {
		return err
	}
	byCause := map[string]*failingGroup{}
	var order []*failingGroup
	for i := range jobs {
		row := failingRow{jobRow: p.summaryRow(&jobs[i])}
		text := "the reason is not known now"
		if s := found[i].Properties.Status; s != nil {
			row.Mark = stateOf(&found[i].Properties)
			row.Word, row.Next = words[row.Mark], p.Clock.next(&found[i].Properties)
			row.Attempts, text = attemptsText(&found[i].Properties), "failed"
			if s.LastError != nil {
				text = causeOfReason(s.LastError.Message)
			}
			row.Since, row.Ago = p.Clock.at(s.FailingSince.Truncate(time.Second)), p.Clock.rel(s.FailingSince)
			if s.FailingSince.IsZero() {
				row.Since, row.Ago = nil, nil
			}
		}
		key := text + "\x00" + row.Target
		if byCause[key] == nil {
			byCause[key] = &failingGroup{Text: text, Host: row.Target}
			order = append(order, byCause[key])
		}
		byCause[key].Rows = append(byCause[key].Rows, row)
	}
	slices.SortStableFunc(order, func(a, b *failingGroup) int { return len(b.Rows) - len(a.Rows) })
	for _, g := range order {
		v.Groups = append(v.Groups, *g)
	}
	return nil
}

// causeOfReason returns what is the same in the reasons of one cause: of an answer its status, without its words.
func causeOfReason(reason string) string {
	if _, why, ok := strings.Cut(reason, "' failed: "); ok && strings.HasPrefix(reason, "Request to host '") {
		reason = why
	}
	if m := answeredWith.FindString(reason); m != "" {
		return strings.TrimSuffix(m, ":")
	}
	text, _ := shortened(reason)
	return text
}

func attemptsText(j *client.JobProperties) string {
	most := j.Action.RetryPolicy.Attempts()
	if r := j.Status.Retry; r != nil {
		return ofMost(r.Attempt-1, r.MaxAttempts) + " attempts"
	}
	if most == 1 {
		return "1 attempt, no retries"
	}
	return ofMost(most, most) + " attempts"
}

// cell is the step of the chart of the next hour.
const cell = 10 * time.Second

// addHour adds what is due in the next hour.
func (p *page) addHour(v *homeView) error {
	start := p.Clock.Now.Truncate(10 * time.Minute)
	cells := make([]int, 360)
	past := int(p.Clock.Now.Sub(start) / cell)
	window := client.Window{From: start.Add(time.Duration(past) * cell), Until: start.Add(time.Hour), Step: "PT10S"}
	found, err := p.console.hours.of(p, window)
	if err != nil {
		return err
	}
	for _, step := range found.Steps {
		if at := int(step.Time.Sub(start) / cell); at >= 0 && at < len(cells) {
			cells[at] = step.Due
		}
	}
	v.Due, v.DueMore = found.Due, !found.Complete
	if found.Unspread != nil {
		v.Unspread = found.Unspread.Due
	}
	v.Hour, v.HourTo = heat(cells, start, past), start.Add(time.Hour).Format("15:04")
	for _, second := range found.Fullest {
		full := fullCell{From: second.Time.In(start.Location()).Format("15:04:05"), Due: second.Due}
		if h := second.Host; h != nil && h.Due > 1 {
			full.Host = count(h.Due) + " to " + h.Name
		}
		v.Fullest = append(v.Fullest, full)
	}
	v.Key = heatKey()
	return nil
}

// addLost adds what was missed, late or skipped since yesterday, by cause. How much it is, is in the summaries; the
// causes are in the histories, which are read if there are any.
func (p *page) addLost(v *homeView, day *client.Day) error {
	read := losses{}
	if day == nil || day.Missed+day.Skipped > 0 {
		read = p.console.losses.of(p, day)
	}
	for _, k := range kinds {
		all, list := read.byKind[k.choice], p.selected(selection{outcome: k.choice}, true)
		number := 0
		switch {
		case k.choice == "missed" && day != nil:
			number = day.Missed
		case k.choice == "skipped" && day != nil:
			number = day.Skipped
		case k.choice == "late":
			number = v.Late
		}
		if len(all) == 0 && number > 0 {
			text := lateText
			if k.choice != "late" {
				text = "the causes are in Activity"
			}
			all = []cause{{Mark: k.mark, Word: k.word, N: number, Text: text, List: list}}
		}
		for _, c := range all {
			if k.choice == "missed" && day == nil {
				v.Missed, v.MissedMore = v.Missed+c.N, v.MissedMore || c.More
			}
			v.Causes = append(v.Causes, c)
		}
	}
	if day != nil {
		v.Missed = day.Missed
	}
	if read.under {
		v.Reading, p.Refresh = true, 2
	}
	return read.err
}

// addCollections adds the collections with the most jobs, in the order of their names, with what the counts have of them.
func (p *page) addCollections(v *homeView, counts *client.SummaryCounts) error {
	of := map[string]*client.CollectionJobs{}
	for i := range counts.Collections {
		c := &counts.Collections[i]
		_, name, _ := strings.Cut(c.Name, "/")
		of[strings.ToLower(name)] = c
	}
	var all []collectionRow
	for c, err := range p.api().Collections(p.ctx, client.List{Top: readCollections}) {
		if _, unread := errors.AsType[*client.UnreadError](err); unread {
			continue
		}
		if err != nil {
			return err
		}
		row := collectionRow{Name: c.Name, Link: p.CollectionLink(c.Name), Plan: c.Properties.SKU.Name, FailingLink: p.CollectionLink(c.Name) + "?state=failing"}
		if c.Properties.State != client.CollectionEnabled && c.Properties.State != "" {
			row.Mark, row.Word = "off", words["off"]
			v.disabled = append(v.disabled, pausedRow{Collection: c.Name, Link: row.Link, Pause: p.Clock.pauseOf(c.Properties.Disabled)})
		}
		if n := of[strings.ToLower(c.Name)]; n != nil {
			if row.Jobs, row.Failing = n.Jobs, n.Failing; row.Mark == "" && !n.NextExecutionTime.IsZero() {
				row.Next = p.Clock.at(n.NextExecutionTime)
			}
		}
		all = append(all, row)
	}
	if len(all) > listedCollections {
		v.CollectionsRest = len(all) - listedCollections
		most := slices.Clone(all)
		slices.SortStableFunc(most, func(a, b collectionRow) int { return b.Jobs - a.Jobs })
		least := most[listedCollections-1].Jobs
		all = slices.DeleteFunc(all, func(c collectionRow) bool { return c.Jobs < least })[:listedCollections]
	}
	v.Collections = all
	return nil
}

// addPaused adds collections and jobs that are disabled, and by whom.
func (p *page) addPaused(v *homeView, jobs int) (err error) {
	v.Paused = slices.Clone(v.disabled)
	off := client.Summaries{}
	if jobs > 0 {
		off, err = p.api().Summaries(p.ctx, client.Scope{}, client.Search{Filter: "state eq disabled", Top: listedPaused})
	}
	for i := range off.Value {
		collection, name := client.NamesOf(off.Value[i].Name)
		v.Paused = append(v.Paused, pausedRow{Collection: collection, Name: name, Link: p.JobLink(collection, name), Pause: p.Clock.pauseOf(off.Value[i].Properties.Disabled)})
	}
	all := len(v.disabled) + off.Matching
	v.Paused = v.Paused[:min(len(v.Paused), listedPaused)]
	v.PausedRest = all - len(v.Paused)
	return errors.Join(err, each(len(v.Paused), func(i int) error {
		row := &v.Paused[i]
		if row.Pause != nil {
			row.By, row.Since, row.Ago = row.Pause.By, row.Pause.Since, row.Pause.Ago
		}
		if row.Since == nil {
			p.whoDisabled(row)
		}
		return nil
	}))
}

// whoDisabled says who disabled a job or a collection, if it can be read and the caller may know it.
func (p *page) whoDisabled(row *pausedRow) {
	if !p.May(access.ReadChanges, row.Collection, row.Name) {
		return
	}
	changes := p.api().CollectionChanges(p.ctx, row.Collection, client.List{Top: 20})
	if row.Name != "" {
		changes = p.api().Changes(p.ctx, row.Collection, row.Name, client.List{Top: 20})
	}
	for c, err := range changes {
		if err != nil {
			return
		}
		q := &c.Properties
		created := strings.HasSuffix(q.OperationName, "/write") && len(q.Differences) == 0
		if q.Status != client.ChangeFailed && (strings.HasSuffix(q.OperationName, "/disable/action") || created || disables(q)) {
			row.By, row.Since, row.Ago = who(q), p.Clock.at(q.EventTimestamp.Truncate(time.Second)), p.Clock.rel(q.EventTimestamp)
			return
		}
	}
}

// disables reports whether a change of the definition disabled a job.
func disables(c *client.ChangeProperties) bool {
	return slices.ContainsFunc(c.Differences, func(d client.Difference) bool {
		return d.Path == "properties.state" && strings.EqualFold(string(d.To), `"disabled"`)
	})
}

// A firstView is the page of an installation without jobs.
type firstView struct {
	Ready      client.Health
	Build      client.Build
	Collection string
	May        bool
	Choices    []choice
	Others     []groupEntry // other resource groups
}

// firsts are the recurrences that the first job may have.
var firsts = []struct {
	value, words string
	recurrence   client.Recurrence
}{
	{"minute", "every minute", client.Recurrence{Frequency: "minute"}},
	{"day", "every day at 09:00", client.Recurrence{Frequency: "day", Schedule: &client.Schedule{Hours: []int{9}, Minutes: []int{0}}}},
	{"week", "every week on Monday at 07:30",
		client.Recurrence{Frequency: "week", Schedule: &client.Schedule{WeekDays: []string{"monday"}, Hours: []int{7}, Minutes: []int{30}}}},
	{"month", "the last Friday of every month at 17:15", client.Recurrence{Frequency: "month",
		Schedule: &client.Schedule{MonthlyOccurrences: []client.MonthlyOccurrence{{Day: "friday", Occurrence: -1}}, Hours: []int{17}, Minutes: []int{15}}}},
}

// firstCollection returns the collection that the first job goes to, and whether there is one.
func (s *Console) firstCollection(p *page) (name string, there bool, err error) {
	for c, err := range p.api().Collections(p.ctx, client.List{}) {
		if _, unread := errors.AsType[*client.UnreadError](err); unread {
			continue
		}
		if err != nil {
			return "", false, err
		}
		if p.May(access.WriteJobs, c.Name, "") {
			return c.Name, true, nil
		}
	}
	return client.DefaultResourceGroup, false, nil
}

func (s *Console) first(p *page) error {
	ready, err := p.api().Ready(p.ctx)
	if err != nil {
		return err
	}
	alive, err := p.api().Health(p.ctx)
	if err != nil {
		return err
	}
	v := &firstView{Ready: ready, Others: p.others()}
	if alive.Build != nil {
		v.Build = *alive.Build
	}
	name, there, err := s.firstCollection(p)
	if err != nil {
		return err
	}
	v.Collection = name
	v.May = p.May(access.WriteJobs, name, "") && p.May(access.RunJobs, name, "") && (there || p.May(access.WriteCollections, name, ""))
	for _, f := range firsts {
		v.Choices = append(v.Choices, choice{f.value, f.words})
	}
	p.template, p.Title, p.Current, p.Main = "first", "First job", "Home", v
	return nil
}

// start creates the first job, runs it once, and shows that run.
func (s *Console) start(p *page) (string, error) {
	form := p.r.PostForm
	collection, there, err := s.firstCollection(p)
	if err != nil {
		return "", err
	}
	if !there {
		of := client.Collection{Properties: client.CollectionProperties{SKU: client.SKU{Name: "Standard"}}}
		if _, err := p.api().PutCollection(p.ctx, collection, of, client.IfAbsent()); err != nil && !client.IsChanged(err) {
			return "", err
		}
	}
	// Without a start, its creation would be the first occurrence, beside the run below.
	j := client.JobProperties{StartTime: client.At(p.Clock.Now.Truncate(time.Second)), Action: client.Action{Type: "Http", Request: &client.Request{URI: form.Get("uri"), Method: form.Get("method")}}}
	for _, f := range firsts {
		if f.value == form.Get("when") {
			r := f.recurrence
			if p.Clock.Zone != "UTC" && f.value != "minute" {
				r.TimeZone = p.Clock.Zone
			}
			j.Recurrence = &r
		}
	}
	name := strings.TrimSpace(form.Get("name"))
	if name == "" {
		return "", wrongField("name", "name: required; allowed: a name for the job")
	}
	if _, err := p.api().PutJob(p.ctx, collection, name, j, client.IfAbsent()); err != nil {
		return "", err
	}
	execution, err := p.api().RunJob(p.ctx, collection, name)
	if err != nil { // the job is there: its page has the button to run it, and a second try would find the name taken
		return jobPath(collection, name), nil
	}
	return jobPath(collection, name, "executions", execution), nil
}
