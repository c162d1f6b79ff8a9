package console

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"almanac/client"
)

// An activityView is the page of what happened across jobs.
type activityView struct {
	Collection string
	Link       string
	Scope      string // in words
	Menus      []filterMenu
	Chips      []chip
	Name       string
	Hidden     [][2]string
	Causes     []cause
	Causal     bool // by cause, and not by time
	Bad        int
	Late       int
	More       bool // there are more than were read
	Rows       []activityRow
	Unread     []*client.UnreadError
	Older      string
	First      string
	Order      []filterEntry
	Lost       string // why something could not be read
	Read       string // of how many jobs the entries were read; "" if that is not known
	Whole      bool   // all entries of all these jobs that did not go well were read

	unread unreadJobs
}

// unreadJobs are jobs that could not be read.
type unreadJobs struct {
	mu    sync.Mutex
	names map[string]bool
}

func (u *unreadJobs) add(job *client.UnreadError) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[job.Name] = true
}

// A cause is what several entries have in common.
type cause struct {
	Mark, Word string
	N          int
	More       bool // there may be more
	Text       string
	Host       string
	Jobs       int
	From, To   *stamp
	Where      string // how many of each collection
	Rows       []activityRow
	List       string // the link to all of them by time
	Rest       int    // beyond the rows

	first, last time.Time
	collections map[string]int
	jobs        map[string]bool
}

// An activityRow is an entry of the history of a job.
type activityRow struct {
	Mark, Word             string
	At                     *stamp
	Collection, Name, Link string
	Said                   said
	Attempt                string
	Late, Took             string
	VeryLate               bool
}

// kinds are what did not go well, the most urgent first, and the condition of each.
var kinds = []struct {
	mark, word, choice, filter string
}{
	{"fail", "Failed", "failed", "status eq Failed"}, {"miss", "Missed", "missed", "status eq Missed"}, {"warn", "Late", "late", "lateness gt PT5S"},
	{"skip", "Skipped", "skipped", "status eq Skipped"}, {"cancel", "Cancelled", "cancelled", "status eq Cancelled"},
}

// lateText is the cause of those that were late. The index of jobs covers those that were not by more than that, so
// their histories are not read.
const lateText = "began more than 5 s after it was due"

// veryLate is from which lateness on an entry is late.
const veryLate = 5 * time.Second

const (
	// readEntries is how many entries of a kind are read to group them.
	readEntries = 300

	// shownOfCause is how many entries of a cause are shown.
	shownOfCause = 8
)

// A selection says which jobs the page shows, and which outcome.
type selection struct{ collection, name, outcome string }

func (s selection) scope() client.Scope {
	if s.collection == "" {
		return client.Scope{}
	}
	return client.InCollection(s.collection)
}

// selected returns the link to the page of a selection.
func (p *page) selected(s selection, byTime bool) string {
	q := url.Values{}
	for name, value := range map[string]string{"collection": s.collection, "name": s.name, "outcome": s.outcome} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if byTime {
		q.Set("by", "time")
	}
	return p.Link("/activity?" + q.Encode())
}

func (s *Console) activity(p *page) error {
	defer p.limit()()
	q := p.r.URL.Query()
	v := &activityView{Collection: q.Get("collection"), Name: q.Get("name"), Link: p.Link("/activity"), Scope: "all jobs that you may see"}
	if v.Collection != "" {
		v.Scope = "the jobs of " + v.Collection
	}
	of := selection{v.Collection, v.Name, p.activityFilters(v, q)}
	v.Causal = q.Get("by") != "time" && q.Get("before") == ""
	jobs := -1
	errs := eachOf(3, func(i int) (err error) {
		switch {
		case i == 0:
			return p.addEntries(v, q, of)
		case !v.Causal:
			return nil
		case i == 1:
			return p.addCauses(v, of)
		}
		found, err := p.api().Summaries(p.ctx, of.scope(), client.Search{Filter: nameFilter(of.name), Top: 1})
		if err == nil {
			jobs = found.Matching
		}
		return err
	})
	if errs[0] != nil && (!v.Causal || errs[1] != nil) {
		return errs[0]
	}
	if err := firstOf(errs); err != nil {
		v.Lost = p.lost(err)
	}
	if v.Causal && jobs > 0 {
		v.Read = jobsRead(jobs, slices.Collect(maps.Keys(v.unread.names)))
		v.Whole = v.Lost == "" && !v.More && len(v.unread.names) == 0
	}
	if q.Get("before") == "" {
		p.Live = p.liveOf(p.below(), "")
		p.Live.Since = p.Clock.Now.UnixMilli()
	}
	p.template, p.Title, p.Current, p.Main = "activity", "Activity", "Activity", v
	return nil
}

// addCauses adds what did not go well, by cause.
func (p *page) addCauses(v *activityView, of selection) (err error) {
	v.Causes, err = p.causes(&v.unread, of)
	for i := range v.Causes {
		c := &v.Causes[i]
		if c.Mark == "warn" {
			v.Late += c.N
		} else {
			v.Bad += c.N
		}
		v.More = v.More || c.More
	}
	return err
}

// addEntries adds a page of entries, newest first.
func (p *page) addEntries(v *activityView, q url.Values, of selection) error {
	list := client.List{Filter: joinedFilter(filterOf(of.outcome), nameFilter(of.name)), Token: q.Get("before")}
	if list.Token != "" {
		v.First = p.activityLink(q, "", "")
	}
	found, err := p.api().HistoryAcrossPage(p.ctx, of.scope(), list)
	if err != nil {
		return err
	}
	v.Unread = found.Unread
	for _, job := range found.Unread {
		v.unread.add(job)
	}
	for i := range found.Value {
		v.Rows = append(v.Rows, p.activityRow(&found.Value[i]))
	}
	if v.Causal && len(v.Rows) > perCausalPage {
		v.Rows, v.Older = v.Rows[:perCausalPage], p.activityLink(q, "by", "time")
	} else if found.Next != "" {
		v.Older = withParameter(p.activityLink(q, "", ""), "before", found.Next)
	}
	return nil
}

// perCausalPage is how many of the newest entries stand below the causes.
const perCausalPage = 25

// filterOf returns the condition of a kind; "" for all.
func filterOf(choice string) string {
	if choice == "succeeded" {
		return "status eq Completed"
	}
	for _, k := range kinds {
		if k.choice == choice {
			return k.filter
		}
	}
	return ""
}

func nameFilter(name string) string {
	if name == "" {
		return ""
	}
	return "startswith(name," + quoted(name) + ")"
}

func joinedFilter(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " and ")
}

// activityLink returns the link to the page with another value of a parameter.
func (p *page) activityLink(q url.Values, name, value string) string {
	changed := url.Values{}
	for _, known := range []string{"collection", "outcome", "name", "by"} {
		if known != name && q.Get(known) != "" {
			changed.Set(known, q.Get(known))
		}
	}
	if value != "" {
		changed.Set(name, value)
	}
	if len(changed) == 0 {
		return p.Link("/activity")
	}
	return p.Link("/activity?" + changed.Encode())
}

// activityFilters adds the filters to the page, and returns the outcome that is chosen; "" for all.
func (p *page) activityFilters(v *activityView, q url.Values) (chosen string) {
	m := filterMenu{Label: "Outcome", Entries: []filterEntry{{Text: "any", Link: p.activityLink(q, "outcome", ""), Current: q.Get("outcome") == ""}}}
	add := func(choice, word string) {
		current := q.Get("outcome") == choice
		m.Entries = append(m.Entries, filterEntry{Text: word, Link: p.activityLink(q, "outcome", choice), Current: current})
		if current {
			chosen = choice
			v.Chips = append(v.Chips, chip{"Outcome: " + word, p.activityLink(q, "outcome", "")})
		}
	}
	for _, k := range kinds {
		word := k.choice
		if word == "late" {
			word = "late by more than 5 s"
		}
		add(k.choice, word)
	}
	add("succeeded", "succeeded")
	v.Menus = []filterMenu{m}
	if v.Name != "" {
		v.Chips = append(v.Chips, chip{"name begins with " + v.Name, p.activityLink(q, "name", "")})
	}
	if v.Collection != "" {
		v.Chips = append(v.Chips, chip{"Collection: " + v.Collection, p.activityLink(q, "collection", "")})
	}
	for _, name := range []string{"collection", "outcome", "by"} {
		if q.Get(name) != "" {
			v.Hidden = append(v.Hidden, [2]string{name, q.Get(name)})
		}
	}
	byTime := q.Get("by") == "time" || q.Get("before") != ""
	v.Order = []filterEntry{
		{Text: "By cause", Link: p.activityLink(q, "by", ""), Current: !byTime}, {Text: "By time", Link: p.activityLink(q, "by", "time"), Current: byTime},
	}
	return chosen
}

// causes returns what did not go well in the last 24 hours, by cause, the most urgent first, and adds the jobs that could
// not be read. With an error it is what was
// read before.
func (p *page) causes(without *unreadJobs, of selection) ([]cause, error) {
	byKind := make([][]cause, len(kinds))
	read := func(i int) error {
		if of.outcome != "" && of.outcome != kinds[i].choice {
			return nil
		}
		byKey, more, err := p.causesOf(without, of, i)
		of := of
		of.outcome = kinds[i].choice
		for _, c := range slices.SortedFunc(maps.Values(byKey), func(a, b *cause) int {
			return cmp.Or(b.N-a.N, b.last.Compare(a.last), cmp.Compare(a.Text, b.Text))
		}) {
			c.finish(p, of)
			c.More = more || err != nil
			byKind[i] = append(byKind[i], *c)
		}
		return err
	}
	err := read(0) // the API knows then of most jobs what the others need
	err = cmp.Or(err, each(len(kinds)-1, func(i int) error { return read(i + 1) }))
	return slices.Concat(byKind...), err
}

// causesOf groups the entries of a kind, and reports whether there may be more. With an error it is what was read before.
func (p *page) causesOf(without *unreadJobs, of selection, kind int) (map[string]*cause, bool, error) {
	k := kinds[kind]
	byKey, read := map[string]*cause{}, 0
	list := client.List{Filter: joinedFilter(k.filter, nameFilter(of.name)), Top: readEntries}
	for e, err := range p.api().HistoryAcross(p.ctx, of.scope(), list) {
		read++ // with the jobs that could not be read, which a list counts as well
		if unread, ok := errors.AsType[*client.UnreadError](err); ok {
			without.add(unread)
			continue
		}
		if err != nil {
			return byKey, true, err
		}
		row := p.activityRow(&e)
		text, host := row.Said.Cause(), row.Said.Host
		if k.mark == "warn" {
			text, host = lateText, ""
		}
		key := text + "\x00" + host
		c := byKey[key]
		if c == nil {
			c = &cause{Mark: k.mark, Word: k.word, Text: text, Host: host, collections: map[string]int{}, jobs: map[string]bool{}}
			byKey[key] = c
		}
		c.add(row, e.Properties.StartTime)
	}
	return byKey, read >= readEntries, nil
}

func (c *cause) add(row activityRow, at time.Time) {
	c.N++
	if c.first.IsZero() || at.Before(c.first) {
		c.first = at
	}
	if at.After(c.last) {
		c.last = at
	}
	c.collections[row.Collection]++
	c.jobs[row.Collection+"/"+row.Name] = true
	if len(c.Rows) < shownOfCause {
		c.Rows = append(c.Rows, row)
	}
}

func (c *cause) finish(p *page, of selection) {
	c.Jobs, c.From, c.To, c.Rest = len(c.jobs), p.Clock.at(c.first.Truncate(time.Second)), p.Clock.at(c.last.Truncate(time.Second)), c.N-len(c.Rows)
	names := slices.SortedFunc(maps.Keys(c.collections), func(a, b string) int { return cmp.Or(c.collections[b]-c.collections[a], cmp.Compare(a, b)) })
	var parts []string
	for i, name := range names {
		if i == 4 {
			parts = append(parts, plural(len(names)-i, "other collection", "other collections"))
			break
		}
		parts = append(parts, name+" "+count(c.collections[name]))
	}
	c.Where = strings.Join(parts, ", ")
	c.List = p.selected(of, true)
}

// activityRow returns the row of an entry.
func (p *page) activityRow(e *client.History) activityRow {
	q := &e.Properties
	collection, name := client.NamesOf(e.Name)
	kind := markOf(q.Status)
	row := activityRow{Mark: kind, Word: words[kind], At: p.Clock.at(q.StartTime.Truncate(time.Second)), Collection: collection, Name: name,
		Link: p.JobLink(collection, name) + "#history", Said: saidOf(q.Message)}
	ran := q.Status == client.OutcomeCompleted || q.Status == client.OutcomeFailed
	switch {
	case ran && q.ActionName == client.ErrorAction:
		row.Attempt = "error action"
	case ran && q.RetryCount > 0:
		row.Attempt = "attempt " + itoa(q.RetryCount+1)
	}
	if q.Caller != "" {
		row.Attempt = strings.TrimPrefix(row.Attempt+", by hand, by "+q.Caller, ", ")
	} else if late, ok := q.Lateness(); ok {
		row.Late, row.VeryLate = length(late), late > veryLate
	}
	if ran && !q.StartTime.IsZero() {
		row.Took = length(q.EndTime.Sub(q.StartTime))
	}
	return row
}
