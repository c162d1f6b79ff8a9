package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"almanac/client"
)

const (
	// incidentEntries is how many entries of histories a report reads of its window at most, and of each kind after it.
	incidentEntries = 5000

	// incidentAfter is how long after its window a report reads all entries: executions that began late, and retries.
	incidentAfter = time.Hour

	// incidentExamples is how many occurrences are explained at most, two of a cause.
	incidentExamples = 8

	// incidentJobs is of how many jobs a report reads who changed them, incidentCollections of how many collections.
	incidentJobs, incidentCollections = 200, 50
)

// incidentChanges are how many changes of each are read.
var incidentChanges = client.List{Top: 100}

// An incident is what was read for a report.
type incident struct {
	page     *page
	scope    client.Scope
	from, to time.Time
	until    time.Time // the end of what was read of all entries

	all     map[string]*dueEntry
	manual  map[string]bool
	cut     time.Time // entries before it were not read, since there are too many; zero: all were
	cutLate bool      // so it is with what became of occurrences long after the window
	unread  map[string]string
	broken  error           // why not all entries were read
	failing map[string]bool // jobs whose last execution failed
	failed  bool            // whether failing was read

	collections []string
	readOf      int  // collections whose changes and alerts were read
	allOf       int  // collections of the scope, as far as they are known
	uncounted   bool // how many jobs there are is not known
	jobs        int  // of the scope
	jobsRead    int  // of which the changes were read
	changes     []incidentChange
	noChanges   string
	alerts      []alertRow
	noAlerts    string
	workers     []incidentFact // that came, went or were not there
	explained   []incidentFact // what explanations say of them
	rows        []workerRow
	noWorkers   string
	sentences   map[string]string // why, by the link to it

	mu sync.Mutex
}

// A dueEntry is an occurrence that was due in the window, and what became of it.
type dueEntry struct {
	collection, name string
	due, began, last time.Time // last is when its last attempt began
	outcome          client.Outcome
	late             time.Duration
	attempt          int // the number of the last one that is known, from 0 on
	said             said
	open             bool // it waits for a retry, or runs
	repeat           int
}

func (d *dueEntry) job() string { return d.collection + "/" + d.name }

// isLate reports whether an execution began late.
func (d *dueEntry) isLate() bool { return d.late > veryLate }

// readIncident reads what a report has.
func (p *page) readIncident(v *incidentView, from, to time.Time) (*incident, error) {
	f := &incident{page: p, from: from, to: to, all: map[string]*dueEntry{}, manual: map[string]bool{}, unread: map[string]string{},
		failing: map[string]bool{}, sentences: map[string]string{}}
	if v.Scope != "" {
		f.scope = client.InCollection(v.Scope)
	}
	var listed error
	for c, err := range p.api().Collections(p.ctx, client.List{Top: readCollections}) {
		if _, unread := errors.AsType[*client.UnreadError](err); unread {
			f.allOf++
			continue
		}
		if listed = err; err != nil {
			break
		}
		f.allOf++
		v.Scopes = append(v.Scopes, c.Name)
	}
	if f.collections = slices.Clone(v.Scopes); v.Scope != "" {
		f.collections, f.allOf, listed = []string{v.Scope}, 1, nil
		if !slices.Contains(v.Scopes, v.Scope) {
			v.Scopes = append(v.Scopes, v.Scope)
		}
	}
	if err := f.readEntries(); err != nil {
		return nil, err
	}
	f.urgentFirst()
	if listed != nil {
		f.uncounted = true
		v.Notes = append(v.Notes, "Not all job collections could be listed, so their changes and alerts are not all here: "+p.lost(listed))
	}
	names := f.readJobs(v)
	_ = eachOf(5, func(i int) error { // each says itself what could not be read
		[]func(){func() { f.readChanges(names) }, f.readAlerts, f.readExamples, f.readWorkers, f.readLateSuccess}[i]()
		return nil
	})
	f.sortWorkers()
	return f, nil
}

// urgentFirst brings the collections in an order in which those come first that have something that did not go well.
func (f *incident) urgentFirst() {
	bad := map[string]int{}
	for _, d := range f.all {
		if d.outcome != client.OutcomeCompleted || d.isLate() {
			bad[d.collection]++
		}
	}
	slices.SortStableFunc(f.collections, func(a, b string) int { return bad[b] - bad[a] })
}

// skippedBefore is how long before a window occurrences of it can have been skipped for a report to have them.
const skippedBefore = 7 * 24 * time.Hour

// readEntries reads the entries of the histories. Those of the window and for a while after it are read whole; later ones
// only where they may be about what was due in it, and earlier ones where it was cancelled beforehand. What is read is
// kept if not all can be.
func (f *incident) readEntries() error {
	p := f.page
	whole := p.ctx
	ctx, cancel := context.WithTimeout(whole, incidentTime*2/3) // the rest of the time is for all else
	defer func() { cancel(); p.ctx = whole }()
	p.ctx = ctx
	since := "startTime ge " + string(client.At(f.from))
	f.until = f.to.Add(incidentAfter)
	filters := []string{
		joinedFilter(since, "startTime lt "+string(client.At(f.until))),
		joinedFilter("startTime ge "+string(client.At(f.from.Add(-skippedBefore))), "startTime lt "+string(client.At(f.from)), "status eq Cancelled"),
	}
	if f.until.Before(p.Clock.Now) {
		after := "startTime ge " + string(client.At(f.until))
		for _, kind := range []string{"status eq Missed", "status eq Skipped", "status eq Cancelled", "status eq Failed", "lateness ge PT1H"} {
			filters = append(filters, joinedFilter(after, kind))
		}
	}
	errs := eachOf(len(filters), func(i int) error { return f.readList(filters[i], i == 0) })
	for _, err := range errs {
		if err == nil {
			continue
		}
		if status := client.StatusOf(err); status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest || status == http.StatusNotFound {
			return err
		}
		f.broken = err
	}
	return nil
}

// readList reads the entries of a filter, newest first. Of those of the window it notes from when on they were read.
func (f *incident) readList(filter string, window bool) error {
	read := 0 // with the jobs that could not be read, which a list counts as well
	var at time.Time
	for e, err := range f.page.api().HistoryAcross(f.page.ctx, f.scope, client.List{Filter: filter, Top: incidentEntries}) {
		unread, isUnread := errors.AsType[*client.UnreadError](err)
		f.mu.Lock()
		switch {
		case isUnread:
			f.unread[unread.Name] = unread.Reason
		case err == nil:
			f.take(&e)
			at = e.Properties.StartTime
		}
		read++
		cut := err != nil && !isUnread || read >= incidentEntries
		switch {
		case cut && window && at.IsZero():
			f.cut = f.until
		case cut && window:
			f.cut = at.Truncate(time.Second).Add(time.Second)
		case cut:
			f.cutLate = true
		}
		f.mu.Unlock()
		if err != nil && !isUnread {
			return err
		}
	}
	return nil
}

// lateSuccess is for how long after a window retries are looked for that succeeded.
const lateSuccess = 24 * time.Hour

// readLateSuccess reads whether executions that had failed when the reading of all entries ended have succeeded since.
func (f *incident) readLateSuccess() {
	if !f.until.Before(f.page.Clock.Now) {
		return
	}
	byJob, names := map[string]*dueEntry{}, []string{}
	for _, d := range f.sorted() {
		if d.outcome == client.OutcomeFailed && !d.open && byJob[d.job()] == nil && len(names) < incidentJobs {
			byJob[d.job()], names = d, append(names, d.job())
		}
	}
	filter := joinedFilter("startTime ge "+string(client.At(f.until)), "startTime lt "+string(client.At(f.until.Add(lateSuccess))), "status eq Completed")
	errs := eachOf(len(names), func(i int) error {
		d := byJob[names[i]]
		for e, err := range f.page.api().History(f.page.ctx, d.collection, d.name, client.List{Filter: filter, Top: 3 * perPage}) {
			if err != nil {
				return err
			}
			e.Name = d.job()
			f.mu.Lock()
			f.take(&e)
			f.mu.Unlock()
		}
		return nil
	})
	for _, err := range errs {
		if err != nil && !client.IsNotFound(err) {
			f.mu.Lock()
			f.broken = err
			f.mu.Unlock()
		}
	}
}

// take takes an entry into the balance, if it is of an occurrence that was due in the window.
func (f *incident) take(e *client.History) {
	q := &e.Properties
	if q.ActionName == client.ErrorAction || q.ExpectedExecutionTime.Before(f.from) || !q.ExpectedExecutionTime.Before(f.to) {
		return
	}
	collection, name := client.NamesOf(e.Name)
	key := strings.Join([]string{collection, name, strconv.FormatInt(q.ExpectedExecutionTime.UnixMilli(), 10)}, "/")
	if q.Caller != "" {
		f.manual[key+"/"+itoa(q.RepeatCount)] = true
		return
	}
	d := f.all[key]
	if d == nil {
		d = &dueEntry{collection: collection, name: name, due: q.ExpectedExecutionTime, attempt: -1, repeat: q.RepeatCount}
		f.all[key] = d
	}
	if late, ok := q.Lateness(); ok {
		d.late = late
	}
	if d.began.IsZero() || q.StartTime.Before(d.began) {
		d.began = q.StartTime
	}
	if at := q.StartTime.Compare(d.last); d.last.IsZero() || at > 0 || at == 0 && q.RetryCount > d.attempt {
		d.attempt, d.last, d.outcome, d.said = q.RetryCount, q.StartTime, q.Status, saidOf(q.Message)
	}
}

// readJobs finds which jobs fail now and which executions have not ended, and returns the jobs whose changes are read:
// those that did not go well first.
func (f *incident) readJobs(v *incidentView) (names []string) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] && len(names) < incidentJobs {
			seen[name] = true
			names = append(names, name)
		}
	}
	var failed []*dueEntry
	for _, d := range f.sorted() {
		if d.outcome == client.OutcomeFailed {
			failed = append(failed, d)
		}
		if d.outcome != client.OutcomeCompleted || d.isLate() {
			add(d.job())
		}
	}
	found, err := f.page.summariesOf(f.scope, client.Search{}, incidentJobs)
	if err != nil {
		f.uncounted = true
		v.Notes = append(v.Notes, "The jobs could not be read: "+f.page.lost(err))
	}
	for i := range found.Value {
		collection, name := client.NamesOf(found.Value[i].Name)
		add(collection + "/" + name)
	}
	f.jobs = max(found.Total, len(names))
	f.readFailing(failed)
	return names
}

// readFailing finds which of the jobs that failed still fail, and which executions wait for a retry.
func (f *incident) readFailing(failed []*dueEntry) {
	byJob := map[string][]*dueEntry{}
	for _, d := range failed {
		byJob[d.job()] = append(byJob[d.job()], d)
	}
	var names []string
	for name := range byJob {
		names = append(names, name)
	}
	slices.Sort(names)
	f.failed = len(names) <= incidentJobs
	names = names[:min(len(names), incidentJobs)]
	errs := eachOf(len(names), func(i int) error {
		of := byJob[names[i]]
		j, err := f.page.api().Job(f.page.ctx, of[0].collection, of[0].name)
		s := j.Properties.Status
		if err != nil || s == nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failing[names[i]] = s.ConsecutiveFailures > 0
		for _, d := range of {
			d.open = s.Retry != nil && d.repeat > 0 && strings.HasSuffix(s.Retry.Execution, "-"+itoa(d.repeat))
		}
		return nil
	})
	f.failed = f.failed && !slices.ContainsFunc(errs, func(err error) bool { return err != nil && !client.IsNotFound(err) })
}

// summariesOf returns up to n jobs of a scope.
func (p *page) summariesOf(of client.Scope, s client.Search, n int) (all client.Summaries, err error) {
	s.Top = min(n, perPage)
	for {
		found, err := p.api().Summaries(p.ctx, of, s)
		if err != nil {
			return all, err
		}
		all.Total, all.Matching, all.AsOf = found.Total, found.Matching, found.AsOf
		all.Value = append(all.Value, found.Value...)
		if s.Token = found.Next; s.Token == "" || len(all.Value) >= n {
			return all, nil
		}
	}
}

// readChanges reads who changed collections and jobs in the window.
func (f *incident) readChanges(names []string) {
	p := f.page
	collections := f.collections[:min(len(f.collections), incidentCollections)]
	f.readOf = len(collections)
	read := func(i int) error {
		if i < len(collections) {
			name := collections[i]
			return f.addChanges(name, p.CollectionLink(name), p.api().CollectionChanges(p.ctx, name, incidentChanges))
		}
		name := names[i-len(collections)]
		collection, job, _ := strings.Cut(name, "/")
		err := f.addChanges(name, p.JobLink(collection, job)+"#changes", p.api().Changes(p.ctx, collection, job, incidentChanges))
		if err == nil {
			f.mu.Lock()
			f.jobsRead++
			f.mu.Unlock()
		}
		return err
	}
	for _, err := range eachOf(len(collections)+len(names), read) {
		switch {
		case err == nil, client.IsNotFound(err):
		case client.StatusOf(err) == http.StatusForbidden:
			f.noChanges = "You may not see all changes."
		default:
			f.noChanges = "Not all changes could be read: " + p.lost(err)
		}
	}
	f.changes = together(f.changes)
}

// together returns changes in the order of time, those that one caller made one after another to many as one.
func together(all []incidentChange) (fewer []incidentChange) {
	slices.SortFunc(all, func(a, b incidentChange) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Subject, b.Subject)) })
	for _, c := range all {
		if n := len(fewer); n > 0 {
			last := &fewer[n-1]
			if same := last.Who == c.Who && last.What == c.What && last.Message == c.Message; same && len(c.Diffs)+len(last.Diffs) == 0 && c.at.Sub(last.at) < time.Minute {
				last.More++
				continue
			}
		}
		fewer = append(fewer, c)
	}
	return fewer
}

// addChanges adds the changes of the window from a list, newest first.
func (f *incident) addChanges(what, link string, all iter.Seq2[client.Change, error]) error {
	read := 0
	for c, err := range all {
		if err != nil {
			return err
		}
		read++
		q := &c.Properties
		if q.EventTimestamp.Before(f.from) {
			return nil
		}
		if q.EventTimestamp.Before(f.to) {
			row := incidentChange{changeRow: rowOfChange(q, f.page.Clock), Subject: what, Link: link, at: q.EventTimestamp}
			if !strings.Contains(what, "/") {
				row.What = strings.Replace(row.What, "its collection", "the collection", 1)
			}
			f.mu.Lock()
			f.changes = append(f.changes, row)
			f.mu.Unlock()
		}
	}
	if read >= incidentChanges.Top {
		return fmt.Errorf("only the newest %d of %s are read", incidentChanges.Top, what)
	}
	return nil
}

// readAlerts reads which messages about events were sent in the window.
func (f *incident) readAlerts() {
	collections := f.collections[:min(len(f.collections), incidentCollections)]
	errs := eachOf(len(collections), func(i int) error {
		sent, err := f.page.api().Deliveries(f.page.ctx, collections[i])
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, d := range sent {
			if d.Time.Before(f.from) || !d.Time.Before(f.to) {
				continue
			}
			row := alertRow{At: f.page.Clock.at(d.Time.Truncate(time.Second)), To: cmp.Or(d.Name, "a notification") + ", " + d.Target, Status: strings.ToLower(d.Status), Answer: d.Message, Collection: collections[i], at: d.Time}
			row.Mark = map[string]string{"delivered": "ok", "failed": "fail"}[row.Status]
			f.alerts = append(f.alerts, row)
		}
		return err
	})
	for _, err := range errs {
		if err != nil && !client.IsNotFound(err) {
			f.noAlerts = "Not all could be read: " + f.page.lost(err)
		}
	}
	slices.SortFunc(f.alerts, func(a, b alertRow) int { return a.at.Compare(b.at) })
}

// sorted returns what was due, by due time and name, without what lies before the cut.
func (f *incident) sorted() []*dueEntry {
	all := make([]*dueEntry, 0, len(f.all))
	for _, d := range f.all {
		if !d.due.Before(f.cut) {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b *dueEntry) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.collection, b.collection), cmp.Compare(a.name, b.name))
	})
	return all
}
