package console

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A collectionsView is the page of all collections.
type collectionsView struct {
	Rows   []collectionRow
	Unread []*client.UnreadError
	Next   string // the link to the next page
	First  string // the link to the first page, unless this is it
	MayNew bool
}

// A collectionRow is a collection in a list.
type collectionRow struct {
	Mark, Word, Name, Link, Plan, State string
	Tags                                []string
}

func (s *Console) collections(p *page) error {
	q := p.r.URL.Query()
	found, err := s.client.CollectionsPage(p.ctx, client.List{Token: q.Get("after")})
	if err != nil {
		return err
	}
	v := collectionsView{Unread: found.Unread, MayNew: false}
	for _, c := range found.Value {
		v.Rows = append(v.Rows, p.collectionRow(c))
	}
	if found.Next != "" {
		v.Next = p.Link("/jobs?" + url.Values{"after": {found.Next}}.Encode())
	}
	if q.Get("after") != "" {
		v.First = p.Link("/jobs")
	}
	p.template, p.Title, p.Current, p.Main = "collections", "Jobs", "Jobs", v
	return nil
}

func (p *page) collectionRow(c client.Collection) collectionRow {
	row := collectionRow{Name: c.Name, Link: p.CollectionLink(c.Name), Plan: c.Properties.SKU.Name, State: "enabled"}
	if c.Properties.State != client.CollectionEnabled && c.Properties.State != "" {
		row.Mark, row.Word, row.State = "off", "Disabled", strings.ToLower(string(c.Properties.State))+": no occurrence runs"
	}
	for _, name := range slices.Sorted(keys(c.Tags)) {
		row.Tags = append(row.Tags, name+": "+c.Tags[name])
	}
	return row
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// A jobsView is the page of the jobs of a collection.
type jobsView struct {
	Collection collectionRow
	Notices    int // of the collection
	Rows       []jobRow
	Unread     []*client.UnreadError
	Query      string // of the filter by name
	Menus      []filterMenu
	Chips      []chip
	Next       string
	First      string
	Last       string // the last name of the page
	MayNew     bool
	Enable     bool // whether the caller may enable the collection, and it is not
	Disable    bool
	New        string // the link to a new job
	Filtered   bool
}

// A jobRow is a job in a list.
type jobRow struct {
	Mark, Word string
	Name, Link string
	Collection string
	When       string
	Next       next
	Target     string
	Last       *stamp // when its last execution ended
	LastMark   string
	LastWord   string
	Error      string
	Bars       template.HTML
}

// A next is what comes next of a job: a time, or why there is none.
type next struct {
	Rel, At *stamp
	Text    string // in place of a time
	Class   string
}

// A filterMenu is a choice of a filter.
type filterMenu struct {
	Label   string
	Entries []filterEntry
}

// A filterEntry is an entry of such a menu.
type filterEntry struct {
	Text, Link string
	Current    bool
}

// A chip is a filter that is set, and a link without it.
type chip struct{ Text, Without string }

func (s *Console) jobs(p *page) error {
	name := p.r.PathValue("collection")
	q := p.r.URL.Query()
	of, err := s.client.Collection(p.ctx, name)
	if err != nil {
		return err
	}
	found, err := s.client.JobsPage(p.ctx, name, client.List{Filter: jobFilter(q, p.Clock.Now), Token: q.Get("after")})
	if err != nil {
		return err
	}
	v := jobsView{
		Collection: p.collectionRow(of), Unread: found.Unread, Query: q.Get("name"), MayNew: false,
		New: p.Link("/new?" + url.Values{"collection": {of.Name}}.Encode()),
	}
	enabled := v.Collection.Mark == ""
	v.Enable = !enabled && p.May(access.EnableCollections, of.Name, "")
	v.Disable = enabled && p.May(access.DisableCollections, of.Name, "")
	for _, j := range found.Value {
		row, err := p.jobRow(j)
		if err != nil {
			return err
		}
		if !enabled && row.Next.At != nil {
			row.Next = next{Text: "its collection is disabled", Class: "mid"}
		}
		v.Rows = append(v.Rows, row)
	}
	if len(v.Rows) > 0 {
		v.Last = v.Rows[len(v.Rows)-1].Name
	}
	p.filters(&v, q, found.Next)
	p.template, p.Title, p.Current, p.Main = "jobs", of.Name, "Jobs", v
	p.Notice = doneNotice(p, of.Name, "")
	return nil
}

// filters adds the menus of the filters, those that are set, and the links to other pages.
func (p *page) filters(v *jobsView, q url.Values, token string) {
	base := "/jobs/" + url.PathEscape(v.Collection.Name)
	link := func(name, value string) string {
		changed := url.Values{}
		for _, known := range []string{"name", "state", "last", "next"} {
			if known != name && q.Get(known) != "" {
				changed.Set(known, q.Get(known))
			}
		}
		if value != "" {
			changed.Set(name, value)
		}
		if len(changed) == 0 {
			return p.Link(base)
		}
		return p.Link(base + "?" + changed.Encode())
	}
	menu := func(label, name string, choices ...[2]string) {
		m := filterMenu{Label: label}
		for _, c := range append([][2]string{{"", "any"}}, choices...) {
			m.Entries = append(m.Entries, filterEntry{c[1], link(name, c[0]), q.Get(name) == c[0]})
			if c[0] != "" && q.Get(name) == c[0] {
				v.Chips = append(v.Chips, chip{label + ": " + c[1], link(name, "")})
			}
		}
		v.Menus = append(v.Menus, m)
	}
	menu("State", "state", [2]string{"enabled", "enabled"}, [2]string{"disabled", "disabled"}, [2]string{"completed", "completed"}, [2]string{"faulted", "faulted"})
	menu("Last outcome", "last", [2]string{"Failed", "failed"}, [2]string{"Completed", "succeeded"})
	menu("Next run", "next", [2]string{"PT1H", "within an hour"}, [2]string{"P1D", "within a day"}, [2]string{"P7D", "within a week"})
	if v.Query != "" {
		v.Chips = append(v.Chips, chip{"name begins with " + v.Query, link("name", "")})
	}
	v.Filtered = len(v.Chips) > 0
	if token != "" {
		v.Next = withParameter(link("", ""), "after", token)
	}
	if q.Get("after") != "" {
		v.First = link("", "")
	}
}

func withParameter(link, name, value string) string {
	sign := "?"
	if strings.Contains(link, "?") {
		sign = "&"
	}
	return link + sign + url.Values{name: {value}}.Encode()
}

// horizons are the values of the filter by the next run.
var horizons = map[string]time.Duration{"PT1H": time.Hour, "P1D": 24 * time.Hour, "P7D": 7 * 24 * time.Hour}

// jobFilter returns the conditions of a query, in the language of the API.
func jobFilter(q url.Values, now time.Time) string {
	var all []string
	if name := q.Get("name"); name != "" {
		all = append(all, "startswith(name,"+quoted(name)+")")
	}
	if state := q.Get("state"); state != "" {
		all = append(all, "state eq "+quoted(state))
	}
	if last := q.Get("last"); last != "" {
		all = append(all, "lastOutcome eq "+quoted(last))
	}
	if within, ok := horizons[q.Get("next")]; ok {
		all = append(all, "nextExecutionTime le "+string(client.At(now.Add(within).Truncate(time.Second))))
	}
	return strings.Join(all, " and ")
}

// quoted returns a text in the language of filters.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// jobRow returns the row of a job.
func (p *page) jobRow(j client.Job) (jobRow, error) {
	collection, name := j.Names()
	kind := stateOf(&j.Properties)
	row := jobRow{Mark: kind, Word: words[kind], Name: name, Collection: collection, Link: p.JobLink(collection, name),
		Target: target(&j.Properties.Action)}
	clock := p.Clock.For(j.Properties.Recurrence)
	row.Next = clock.next(&j.Properties)
	if s := j.Properties.Status; s != nil {
		if s.LastOutcome != nil {
			row.Last, row.LastMark = clock.at(s.LastOutcome.EndTime), markOf(s.LastOutcome.Status)
			row.LastWord = words[row.LastMark]
		}
		if s.LastError != nil && s.ConsecutiveFailures > 0 {
			row.Error = s.LastError.Message
		}
	}
	when, err := p.when(&j.Properties)
	row.When = when
	return row, err
}

// stateOf returns the mark of a job.
func stateOf(j *client.JobProperties) string {
	s := j.Status
	switch {
	case j.State == client.JobDisabled:
		return "off"
	case s != nil && s.Retry != nil && s.Retry.NextAttemptTime.IsZero():
		return "run"
	case s != nil && s.Retry != nil:
		return "retry"
	case j.State == client.JobFaulted:
		return "fail"
	case j.State == client.JobCompleted:
		return "done"
	case s == nil || s.LastOutcome == nil:
		return "next"
	}
	return markOf(s.LastOutcome.Status)
}

// next returns what comes next of a job.
func (c clock) next(j *client.JobProperties) next {
	s := j.Status
	switch {
	case j.State == client.JobDisabled:
		return next{Text: "disabled", Class: "mid"}
	case s == nil:
		return next{Text: "unknown", Class: "mid"}
	case s.Retry != nil:
		text := "waits for a retry, " + ofMost(s.Retry.Attempt, s.Retry.MaxAttempts)
		if s.Retry.NextAttemptTime.IsZero() {
			return next{Text: "attempt " + ofMost(s.Retry.Attempt, s.Retry.MaxAttempts) + " runs", Class: "warn"}
		}
		return next{Text: text, Rel: c.rel(s.Retry.NextAttemptTime), Class: "warn"}
	case !s.NextExecutionTime.IsZero() && s.NextExecutionTime.Before(c.Now):
		return next{Text: "due now", At: c.at(s.NextExecutionTime), Class: "mid"}
	case !s.NextExecutionTime.IsZero():
		return next{Rel: c.rel(s.NextExecutionTime), At: c.at(s.NextExecutionTime)}
	case j.State == client.JobCompleted, j.State == client.JobFaulted:
		return next{Text: "over: no occurrence is left", Class: "mid"}
	}
	return next{Text: s.Reason, Class: "mid"}
}

func ofMost(n, most int) string { return count(n) + " of " + count(most) }

// target returns where an action sends to, for people.
func target(a *client.Action) string {
	switch {
	case a.Request != nil:
		if u, err := url.Parse(a.Request.URI); err == nil && u.Host != "" {
			return u.Host
		}
		return a.Request.URI
	case a.QueueMessage != nil:
		return "queue " + a.QueueMessage.QueueName
	case a.ServiceBusQueueMessage != nil:
		return "queue " + a.ServiceBusQueueMessage.QueueName
	case a.ServiceBusTopicMessage != nil:
		return "topic " + a.ServiceBusTopicMessage.TopicPath
	}
	return a.Type
}

// sends returns what an action does, for people.
func sends(a *client.Action) string {
	if r := a.Request; r != nil {
		method := strings.ToUpper(r.Method)
		if method == "" {
			method = http.MethodGet
		}
		return method + " " + r.URI
	}
	switch {
	case a.QueueMessage != nil:
		return "message to the queue " + a.QueueMessage.QueueName + " of " + a.QueueMessage.StorageAccount
	case a.ServiceBusQueueMessage != nil:
		return "message to the queue " + a.ServiceBusQueueMessage.QueueName + " of " + a.ServiceBusQueueMessage.Namespace
	case a.ServiceBusTopicMessage != nil:
		return "message to the topic " + a.ServiceBusTopicMessage.TopicPath + " of " + a.ServiceBusTopicMessage.Namespace
	}
	return a.Type
}

func (s *Console) enableCollection(p *page) (string, error) {
	return s.changeCollection(p, s.client.EnableCollection, "enabled")
}

func (s *Console) disableCollection(p *page) (string, error) {
	return s.changeCollection(p, s.client.DisableCollection, "disabled")
}
