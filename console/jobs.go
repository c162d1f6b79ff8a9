package console

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// perPage is how many jobs a page of a list has.
const perPage = 50

// A jobsView is the page of the jobs of a collection, or of all.
type jobsView struct {
	Collection string // "": all
	Link       string // of the page without its filters
	Paused     string // why nothing of the collection runs
	Pause      *pauseInfo
	Others     []groupEntry // resource groups, where this one has no job
	Plan       string
	Total      int
	Failing    int
	Off        int
	Matching   int
	AsOf       *stamp

	Rows   []jobRow
	Unread []*client.UnreadError
	Query  string
	Hidden [][2]string // what else the form keeps
	Menus  []filterMenu
	Chips  []chip
	Sorts  map[string]sortLink
	Next   string
	First  string
	Last   string // the last name of the page
	New    string // the link to a new job; "" if the caller may create none
	Bulk   []bulkChoice
	Filter string // what is selected, in the language of the API
	Settings, NewCollection,
	Enable, Disable, Promise,
	Filtered bool
}

// A jobRow is a job in a list.
type jobRow struct {
	Mark, Word             string
	Collection, Name, Link string
	When                   string
	Next                   next
	Target                 string
	Bars                   template.HTML
	Late                   string
	Pruned                 bool
	VeryLate               bool
}

// A next is what comes next of a job: a time, or why there is none.
type next struct {
	Rel, At *stamp
	Text    string // in place of a time
	Note    string // why it is paused
	Class   string
}

// A filterMenu is a choice of a filter.
type filterMenu struct {
	Label   string
	Entries []filterEntry
}

// A filterEntry is an entry of such a menu.
type filterEntry struct {
	Text, Link, Count string
	Current           bool
}

// A chip is a filter that is set, and a link without it.
type chip struct{ Text, Without string }

// A sortLink sorts a list by a column.
type sortLink struct{ Link, Sign, Sorted string }

// Escaped returns the name of the collection for a path.
func (v *jobsView) Escaped() string { return url.PathEscape(v.Collection) }

func (s *Console) allJobs(p *page) error { return s.list(p, "") }

func (s *Console) jobs(p *page) error { return s.list(p, p.r.PathValue("collection")) }

func (s *Console) list(p *page, collection string) error {
	v := &jobsView{Link: p.Link("/jobs")}
	scope, title := client.Scope{}, "Jobs"
	if collection != "" {
		of, err := p.api().Collection(p.ctx, collection)
		switch status := client.StatusOf(err); {
		case err == nil:
			p.describe(v, &of)
		case status == http.StatusNotFound || status == http.StatusForbidden: // the caller may see some of its jobs only
			v.Collection, v.Link = collection, p.CollectionLink(collection)
		default:
			return err
		}
		scope, title = client.InCollection(collection), v.Collection
	}
	if p.May(access.WriteJobs, collection, "") {
		v.New = p.Link("/new" + escapedQuery("collection", v.Collection))
	}
	v.NewCollection = collection == "" && p.May(access.WriteCollections, "", "")
	f := p.filter(v)
	v.Filter = f.list.Filter
	if collection != "" {
		v.Bulk = p.mayBulk(collection)
	}
	found, err := p.api().Summaries(p.ctx, scope, f.list)
	if err != nil {
		return err
	}
	if collection != "" && v.Plan == "" && found.Total == 0 {
		return noCollection(collection)
	}
	v.Unread, v.Total, v.Matching, v.AsOf = found.Unread, found.Total, found.Matching, p.Clock.at(found.AsOf)
	v.Failing, v.Off = found.Counts.LastOutcomes[client.OutcomeFailed], found.Counts.States[client.JobDisabled]
	for i := range found.Value {
		v.Rows = append(v.Rows, p.summaryRow(&found.Value[i]))
	}
	if n := len(v.Rows); n > 0 {
		v.Last = v.Rows[n-1].Name
	}
	if found.Total == 0 && collection == "" {
		v.Others = p.others()
	}
	f.menus(v, &found)
	p.Live = p.liveOf(p.below(), versionOfJobs(&found))
	p.template, p.Title, p.Current, p.Main = "jobs", title, "Jobs", v
	p.Notice = doneNotice(p, v.Collection, "")
	return nil
}

// noCollection returns the error of a collection that does not exist, or whose jobs the caller may not see.
func noCollection(name string) error {
	return &client.Error{Status: http.StatusNotFound, Code: "ResourceNotFound", Message: fmt.Sprintf(
		"There is no job collection '%.100s', or you may see nothing of it.", name)}
}

// describe adds what the page says of a collection.
func (p *page) describe(v *jobsView, of *client.Collection) {
	v.Collection, v.Link, v.Plan = of.Name, p.CollectionLink(of.Name), of.Properties.SKU.Name
	enabled := of.Properties.State == client.CollectionEnabled || of.Properties.State == ""
	if !enabled {
		v.Paused, v.Pause = strings.ToLower(string(of.Properties.State)), p.Clock.pauseOf(of.Properties.Disabled)
	}
	v.Settings = p.May(access.WriteCollections, of.Name, "")
	v.Enable = !enabled && p.May(access.EnableCollections, of.Name, "")
	v.Promise = !enabled && p.May(access.DisableCollections, of.Name, "")
	v.Disable = enabled && p.May(access.DisableCollections, of.Name, "")
}

// summaryRow returns the row of a job.
func (p *page) summaryRow(j *client.Summary) jobRow {
	collection, name := client.NamesOf(j.Name)
	q := &j.Properties
	row := jobRow{Collection: collection, Name: name, Link: p.JobLink(collection, name), When: q.When, Target: q.Host, Mark: summaryMark(q)}
	row.Word = words[row.Mark]
	switch {
	case !q.PruneAt.IsZero():
		row.Pruned, row.Next = true, next{Text: "pruned: deletes itself", Rel: p.Clock.end(q.PruneAt), Class: "mid"}
	case q.State == client.JobDisabled:
		row.Next = p.Clock.stopped(q.Disabled, "disabled")
	case q.CollectionDisabled:
		row.Next = p.Clock.stopped(q.Disabled, "its collection is disabled")
	case q.NextExecutionTime.IsZero():
		row.Next = next{Text: "over: no occurrence is left", Class: "mid"}
	case q.NextExecutionTime.Before(p.Clock.Now):
		row.Next = next{Text: "due now", Class: "mid", At: p.Clock.at(q.NextExecutionTime)}
	default:
		row.Next = next{Rel: p.Clock.rel(q.NextExecutionTime), At: p.Clock.at(q.NextExecutionTime)}
	}
	row.Bars = bars(patternOf(q.Recent), 20, "Last")
	if late := client.Duration(q.Lateness).Length(); late > 0 {
		row.Late, row.VeryLate = length(late), late >= time.Second
	}
	return row
}

func summaryMark(q *client.SummaryProperties) string {
	switch {
	case q.State == client.JobDisabled || q.CollectionDisabled:
		return "off"
	case q.State == client.JobFaulted:
		return "fail"
	case q.State == client.JobCompleted:
		return "done"
	case q.LastOutcome == "":
		return "next"
	}
	return markOf(q.LastOutcome)
}

// signs are those of outcomes in a row of bars.
var signs = map[client.Outcome]byte{
	client.OutcomeCompleted: 's', client.OutcomeFailed: 'f', client.OutcomeMissed: 'm', client.OutcomeSkipped: 'k', client.OutcomeCancelled: 'c',
}

func patternOf(recent []client.Mark) string {
	pattern := make([]byte, 0, len(recent))
	for _, r := range recent {
		sign := signs[r.Status]
		if r.Assumed {
			sign = 'a'
		}
		pattern = append(pattern, sign)
	}
	return string(pattern)
}

// A filter is what a query selects of a list.
type filter struct {
	page *page
	q    url.Values
	list client.Search
	base string // of links
}

// kept are the parameters of the query that a filter consists of.
var kept = []string{"q", "state", "next", "late", "host", "sort"}

// states are the choices of the state, and their conditions.
var states = [][3]string{
	{"failing", "failing", "lastOutcome eq Failed"}, {"missed", "missed last", "lastOutcome eq Missed"}, {"skipped", "skipped last", "lastOutcome eq Skipped"},
	{"enabled", "enabled", "state eq enabled"}, {"disabled", "disabled", "state eq disabled"}, {"completed", "completed", "state eq completed"},
	{"faulted", "faulted", "state eq faulted"},
}

// horizons are the choices of the next run.
var horizons = map[string]time.Duration{"PT1H": time.Hour, "P1D": 24 * time.Hour, "P7D": 7 * 24 * time.Hour}

// lates are those of the lateness.
var lates = [][2]string{{"PT5S", "over 5 s"}, {"PT1M", "over 1 min"}, {"PT1H", "over 1 h"}}

// sorts are the columns that a list is sorted by, and their names in the API.
var sorts = map[string]string{"name": "name", "next": "nextExecutionTime", "late": "lateness", "target": "host"}

// filter returns what the query of a page selects.
func (p *page) filter(v *jobsView) *filter {
	f := &filter{page: p, q: p.r.URL.Query(), base: v.Link}
	v.Query = strings.TrimSpace(f.q.Get("q"))
	var all []string
	for _, state := range states {
		if f.q.Get("state") == state[0] {
			all = append(all, state[2])
		}
	}
	if within, ok := horizons[f.q.Get("next")]; ok {
		all = append(all, "nextExecutionTime le "+string(client.At(p.Clock.Now.Add(within).Truncate(time.Second))))
	}
	for _, late := range lates {
		if f.q.Get("late") == late[0] {
			all = append(all, "lateness ge "+late[0])
		}
	}
	if host := f.q.Get("host"); host != "" {
		all = append(all, "host eq "+quoted(host))
	}
	f.list = client.Search{Words: v.Query, Filter: strings.Join(all, " and "), Top: perPage, Token: f.q.Get("after")}
	column, down := strings.CutPrefix(f.q.Get("sort"), "-")
	if name := sorts[column]; name != "" {
		f.list.OrderBy = name
		if down {
			f.list.OrderBy += " desc"
		}
	}
	for _, name := range kept {
		if value := f.q.Get(name); value != "" && name != "q" {
			v.Hidden = append(v.Hidden, [2]string{name, value})
		}
	}
	return f
}

// link returns the link to the list with another value of a parameter.
func (f *filter) link(name, value string) string {
	changed := url.Values{}
	for _, known := range kept {
		if known != name && f.q.Get(known) != "" {
			changed.Set(known, f.q.Get(known))
		}
	}
	if value != "" {
		changed.Set(name, value)
	}
	if len(changed) == 0 {
		return f.base
	}
	return f.base + "?" + changed.Encode()
}

// menus adds the menus of the filters with the counts of a page, those that are set, and the links to other pages.
func (f *filter) menus(v *jobsView, found *client.Summaries) {
	c := &found.Counts
	menu := func(label, name string, choices ...[3]string) {
		m := filterMenu{Label: label}
		for _, choice := range append([][3]string{{"", "any", count(v.Total)}}, choices...) {
			current := f.q.Get(name) == choice[0]
			m.Entries = append(m.Entries, filterEntry{Text: choice[1], Link: f.link(name, choice[0]), Count: choice[2], Current: current})
			if choice[0] != "" && current {
				v.Chips = append(v.Chips, chip{label + ": " + choice[1], f.link(name, "")})
			}
		}
		v.Menus = append(v.Menus, m)
	}
	var ofState, ofHost [][3]string
	for _, s := range states {
		n := c.States[client.JobState(s[0])]
		if outcome, ok := strings.CutPrefix(s[2], "lastOutcome eq "); ok {
			n = c.LastOutcomes[client.Outcome(outcome)]
		}
		ofState = append(ofState, [3]string{s[0], s[1], count(n)})
	}
	for _, h := range c.Hosts {
		ofHost = append(ofHost, [3]string{h.Host, h.Host, count(h.Jobs)})
	}
	if host := f.q.Get("host"); host != "" && !hasChoice(ofHost, host) {
		ofHost = append(ofHost, [3]string{host, host, ""})
	}
	menu("State", "state", ofState...)
	menu("Next run", "next", [3]string{"PT1H", "within an hour", count(c.NextHour)}, [3]string{"P1D", "within a day", count(c.NextDay)}, [3]string{"P7D", "within a week", ""})
	menu("Late", "late", [3]string{lates[0][0], lates[0][1], ""}, [3]string{lates[1][0], lates[1][1], ""}, [3]string{lates[2][0], lates[2][1], ""})
	menu("Target", "host", ofHost...)
	if v.Query != "" {
		v.Chips = append(v.Chips, chip{"has the words " + v.Query, f.link("q", "")})
	}
	v.Filtered = len(v.Chips) > 0
	f.sorts(v)
	if found.Next != "" {
		v.Next = withParameter(f.link("", ""), "after", found.Next)
	}
	if f.list.Token != "" {
		v.First = f.link("", "")
	}
}

func hasChoice(all [][3]string, value string) bool {
	for _, one := range all {
		if one[0] == value {
			return true
		}
	}
	return false
}

// sorts adds the links of the heads of columns.
func (f *filter) sorts(v *jobsView) {
	v.Sorts = map[string]sortLink{}
	now, down := strings.CutPrefix(f.q.Get("sort"), "-")
	if now == "" {
		now = "name"
	}
	for column := range sorts {
		link := sortLink{Link: f.link("sort", column)}
		switch {
		case column != now:
			if column == "late" { // the latest first
				link.Link = f.link("sort", "-late")
			}
		case down:
			link.Sign, link.Sorted = " ↓", "descending"
		default:
			link.Link, link.Sign, link.Sorted = f.link("sort", "-"+column), " ↑", "ascending"
		}
		v.Sorts[column] = link
	}
}

func withParameter(link, name, value string) string {
	sign := "?"
	if strings.Contains(link, "?") {
		sign = "&"
	}
	return link + sign + url.Values{name: {value}}.Encode()
}

// quoted returns a text in the language of filters.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (s *Console) enableCollection(p *page) (string, error) {
	return s.changeCollection(p, p.api().EnableCollection, "enabled")
}

func (s *Console) disableCollection(p *page) (string, error) {
	return s.changeCollection(p, p.api().DisableCollection, "disabled")
}
