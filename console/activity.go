package console

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
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
	urgency     int
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
	{"fail", "Failed", "failed", "status eq Failed"}, {"miss", "Missed", "missed", "status eq Missed"}, {"warn", "Late", "late", "lateness ge PT1S"},
	{"skip", "Skipped", "skipped", "status eq Skipped"}, {"cancel", "Cancelled", "cancelled", "status eq Cancelled"},
}

const (
	// readEntries is how many entries of a kind are read to group them.
	readEntries = 300

	// shownOfCause is how many entries of a cause are shown.
	shownOfCause = 8
)

func (s *Console) activity(p *page) error {
	q := p.r.URL.Query()
	v := &activityView{Collection: q.Get("collection"), Name: q.Get("name"), Link: p.Link("/activity"), Scope: "all jobs that you may see"}
	scope := client.Scope{}
	if v.Collection != "" {
		scope, v.Scope = client.InCollection(v.Collection), "the jobs of "+v.Collection
	}
	chosen := p.activityFilters(v, q)
	v.Causal = q.Get("by") != "time" && q.Get("before") == ""
	if v.Causal {
		causes, err := p.causes(p.ctx, scope, chosen, v.Name)
		if err != nil {
			return err
		}
		v.Causes = causes
		for i := range causes {
			if causes[i].Mark == "warn" {
				v.Late += causes[i].N
			} else {
				v.Bad += causes[i].N
			}
			v.More = v.More || causes[i].More
		}
	}
	list := client.List{Filter: joinedFilter(filterOf(chosen), nameFilter(v.Name)), Token: q.Get("before")}
	found, err := s.client.HistoryAcrossPage(p.ctx, scope, list)
	if err != nil {
		return err
	}
	v.Unread = found.Unread
	for i := range found.Value {
		v.Rows = append(v.Rows, p.activityRow(&found.Value[i]))
	}
	if v.Causal && len(v.Rows) > perCausalPage {
		v.Rows, found.Next = v.Rows[:perCausalPage], ""
		v.Older = withParameter(p.activityLink(q, "by", "time"), "outcome", chosen)
	} else if found.Next != "" {
		v.Older = withParameter(p.activityLink(q, "", ""), "before", found.Next)
	}
	if list.Token != "" {
		v.First = p.activityLink(q, "", "")
	}
	p.template, p.Title, p.Current, p.Main = "activity", "Activity", "Activity", v
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
			word = "late by 1 s or more"
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

// causes returns what did not go well in the last 24 hours, by cause, the most urgent first. chosen is a kind; "" for all.
func (p *page) causes(ctx context.Context, scope client.Scope, chosen, name string) (all []cause, err error) {
	byKind := make([][]cause, len(kinds))
	err = each(len(kinds), func(i int) error {
		k := kinds[i]
		if chosen != "" && chosen != k.choice {
			return nil
		}
		byKey, more, err := p.causesOf(ctx, scope, i, name)
		for _, c := range slices.SortedFunc(maps.Values(byKey), func(a, b *cause) int {
			return cmp.Or(b.N-a.N, b.last.Compare(a.last), cmp.Compare(a.Text, b.Text))
		}) {
			c.finish(p, k.choice)
			c.More = more
			byKind[i] = append(byKind[i], *c)
		}
		return err
	})
	return slices.Concat(byKind...), err
}

// causesOf groups the entries of a kind.
func (p *page) causesOf(ctx context.Context, scope client.Scope, kind int, name string) (map[string]*cause, bool, error) {
	k := kinds[kind]
	byKey, read := map[string]*cause{}, 0
	for e, err := range p.api().HistoryAcross(ctx, scope, client.List{Filter: joinedFilter(k.filter, nameFilter(name)), Top: readEntries}) {
		if _, unread := err.(*client.UnreadError); unread { //nolint:errorlint // it is not wrapped
			continue
		}
		if err != nil {
			return nil, false, err
		}
		read++
		row := p.activityRow(&e)
		text, host := row.Said.Cause(), row.Said.Host
		if k.mark == "warn" {
			text, host = "began a second or more after it was due", ""
		}
		key := text + "\x00" + host
		c := byKey[key]
		if c == nil {
			c = &cause{Mark: k.mark, Word: k.word, Text: text, Host: host, urgency: kind, collections: map[string]int{}, jobs: map[string]bool{}}
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

func (c *cause) finish(p *page, choice string) {
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
	c.List = p.Link("/activity" + escapedQuery("outcome", choice, "by", "time"))
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
		row.Late, row.VeryLate = length(late), late >= time.Second
	}
	if ran && !q.StartTime.IsZero() {
		row.Took = length(q.EndTime.Sub(q.StartTime))
	}
	return row
}
