package overview

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
)

const (
	// Jobs that Temporal's lists lack, and those that this process has just changed, are described, for describeTime at
	// most, and describeMost of them at most.
	describeTime, describeMost = 8 * time.Second, 2000
	// notYet is why a job beyond these is not shown, and strange why another is not.
	notYet  = "it was not read in time: Temporal's lists do not have it as it is now, or cannot be read; try again"
	strange = "what Temporal shows of it cannot be read by this API; read the job itself"
)

// Summaries returns a page of the jobs of a scope with what lists search and sort by, from the index. The names of the
// jobs are complete and those of the moment; the rest is as of Summaries.AsOf, but that jobs which this process changed
// are shown as they are.
//
// A page begins after the last job of the page before, by what the list is sorted by, so that jobs which come or go
// meanwhile shift nothing. A job whose lateness or state changes meanwhile may be on two pages of a list that is sorted by
// it, or on none.
func (v *Overview) Summaries(
	ctx context.Context, s listing.Scope, q listing.SummaryQuery,
) (listing.Summaries, error) {
	of := fmt.Sprint(listOf("summaries", s), " ", q.Sort, " ", q.Descending)
	t, err := parseSummaryToken(of, &q)
	if err != nil {
		return listing.Summaries{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	r, err := v.survey(ctx, s, q.View, v.recent)
	if err != nil {
		return listing.Summaries{}, err
	}
	if t.From.IsZero() {
		t.From = r.now
	}
	r.date(ctx, r.rows())
	found := listing.Summaries{AsOf: r.asOf, Total: len(r.jobs), Counts: newCounts()}
	hosts, groups := map[string]int{}, map[job.CollectionKey]*listing.CollectionCount{}
	var left queue[*row]
	for i := range r.jobs {
		w := &r.jobs[i]
		g := w.look(r.now, &found.Counts, hosts)
		if w.Key.Name != "" { // otherwise its collection could not be read
			count := groups[w.Key.Collection]
			if count == nil {
				count = &listing.CollectionCount{Key: w.Key.Collection}
				groups[w.Key.Collection] = count
			}
			count.Add(&w.Summary)
		}
		if !w.matches(&q, g) {
			continue
		}
		found.Matching++
		if w.sort(&q, r.now, t.From); t.ID == "" || t.row(&q).comes(w) {
			left = append(left, w)
		}
	}
	found.Counts.Hosts, found.Counts.Collections = topHosts(hosts), topCollections(groups)
	found.Page, found.Next = r.page(ctx, left, q.Top, t.From)
	found.Next = core.Token(of, found.Next)
	return found, nil
}

// A survey is what is known of all jobs of a scope.
type survey struct {
	*Overview
	now, asOf time.Time
	jobs      []row
}

// A row is a job in a survey.
type row struct {
	listing.Summary
	id       string // of the workflow
	*outline        // nil if it is not known
	stale    bool   // this process has changed the job since
	old      bool   // it is of a time before the lists that were asked for

	last bool   // it is after those that have what the list is sorted by
	n    int64  // what it is sorted by: n, then text, then name, then id
	text string // likewise
	name string
	down bool // in descending order of n and text
}

// survey reads what is known of all jobs of a scope, and describes those of which nothing is. list is [Overview.recent]
// or [Overview.listed].
func (v *Overview) survey(
	ctx context.Context, s listing.Scope, view listing.View, list func(context.Context, listing.Scope) asOf,
) (*survey, error) {
	keys, failed, err := v.jobs(ctx, s, listing.Page{View: view}, false)
	if err != nil {
		return nil, err
	}
	r := &survey{Overview: v, now: v.o.Now(), jobs: make([]row, len(keys))}
	r.asOf = r.now
	if len(keys) == 0 { // a scope that has no jobs, or is made up, gets no list
		r.addUnread(failed)
		return r, nil
	}
	as := list(ctx, s)
	old := as == unlisted // what was read before is shown, and described on the page
	if old {
		_, last := v.index.listed(s)
		as = asOf{at: last.at}
	} else {
		r.asOf = as.at
	}
	var unknown, stale []*row
	for i, k := range keys {
		w := &r.jobs[i]
		w.Key, w.id = k, k.WorkflowID()
		e := v.index.get(w.id, as)
		w.outline, w.old = e.outline, old
		switch {
		case w.outline != nil && old:
			r.asOf = minTime(r.asOf, e.read)
		case w.outline != nil:
		case e.listed != nil:
			w.outline, w.stale = e.listed, true
			stale = append(stale, w)
		case e.strange:
			w.Unread = strange
		default:
			w.Unread = notYet
			unknown = append(unknown, w)
		}
	}
	unknown = append(unknown, stale...)
	r.describe(ctx, unknown[:min(len(unknown), describeMost)])
	r.jobs = slices.DeleteFunc(r.jobs, func(w row) bool { return w.id == "" })
	r.addUnread(failed)
	return r, nil
}

// addUnread adds what could not be read.
func (r *survey) addUnread(failed *failures) {
	for _, f := range failed.after("") {
		r.jobs = append(r.jobs, row{Summary: listing.Summary{Key: f.key, Unread: f.why}, id: f.id})
	}
}

// describe asks the server about jobs, but not their workflows. It removes the id of one that is gone, and the outline
// of one that was changed and could not be described.
func (r *survey) describe(ctx context.Context, jobs []*row) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	wfclient.Each(len(jobs), func(i int) {
		if ctx.Err() != nil {
			return
		}
		w := jobs[i]
		found, err := r.o.Temporal.DescribeWorkflowExecution(ctx, w.id, "")
		info := found.GetWorkflowExecutionInfo()
		switch {
		case wfclient.IsGone(err), err == nil && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
			w.id = ""
			return
		case err != nil && w.outline != nil && !w.stale:
			return
		case err != nil:
			w.outline, w.Unread = nil, core.Why(err)
			return
		}
		o := r.decode(w.id, info, w.outline)
		r.index.change(w.id, r.now, func(known *entry) {
			known.show(o, info, r.now)
			known.listed = o
		})
		w.outline, w.stale, w.old, w.Unread = o, false, false, ""
		if o == nil {
			w.Unread = strange
		}
	})
	for _, w := range jobs {
		if w.stale && w.outline != nil { // there was no time
			w.outline, w.Unread = nil, notYet
		}
	}
}

// page returns the first jobs of a list, and the continuation.
func (r *survey) page(ctx context.Context, left queue[*row], top int, from time.Time) ([]listing.Summary, string) {
	heap.Init(&left)
	var rows, stale []*row
	for len(rows) < top && len(left) > 0 {
		w := heap.Pop(&left).(*row)
		if rows = append(rows, w); w.stale || w.old {
			stale = append(stale, w)
		}
	}
	next := ""
	if len(left) > 0 {
		next = rows[len(rows)-1].token(from)
	}
	r.describe(ctx, stale)
	r.date(ctx, stale)
	page := make([]listing.Summary, 0, len(rows))
	for _, w := range rows {
		if w.id == "" {
			continue
		}
		if w.outline != nil {
			w.Summary, _ = w.summary(w.Key, r.now)
			w.Recent = w.marks(r.now)
		}
		page = append(page, w.Summary)
	}
	return page, next
}

// look fills in what is searched and sorted by, and counts it.
func (w *row) look(now time.Time, c *listing.Counts, hosts map[string]int) (g *glance) {
	w.name = job.NormalizeName(w.Key.Name)
	if w.outline == nil {
		c.Unread++
		return nil
	}
	w.Summary, g = w.summary(w.Key, now)
	c.States[w.State]++
	if w.State == job.StateEnabled {
		c.Outcomes[w.Last]++
	}
	c.LastDay.Add(w.Day)
	hosts[w.Host]++
	switch in := w.Next.Sub(now); {
	case w.Next.IsZero():
		c.None++
	case in <= time.Hour:
		c.Hour++
		c.Day++
	case in <= 24*time.Hour:
		c.Day++
	}
	return g
}

func (w *row) matches(q *listing.SummaryQuery, g *glance) bool {
	if !q.Filter.MatchesSummary(&w.Summary) {
		return false
	}
	if len(q.Search) == 0 {
		return true
	}
	when := ""
	if g != nil {
		when = g.search
	}
	return q.Finds(&w.Summary, job.NormalizeName(w.Key.Collection.Name)+"/"+w.name, when)
}

// sort fills in what the job is sorted by. Next occurrences are those after from, so that one which comes due while
// somebody reads page after page does not move.
func (w *row) sort(q *listing.SummaryQuery, now, from time.Time) {
	w.down = q.Descending
	if w.last = w.outline == nil && q.Sort != listing.SortName; w.last {
		return
	}
	switch q.Sort {
	case listing.SortNext:
		next := w.Next
		if from.Before(now) && !w.Inactive {
			next, _ = w.timetable.After(from)
		}
		w.last, w.n = next.IsZero(), next.Unix()
	case listing.SortLateness:
		w.n = w.Late.Milliseconds()
	case listing.SortState:
		w.text = string(w.State)
	case listing.SortHost:
		w.text = w.Host
	default:
		w.text = w.name
	}
}

// comes reports whether a job comes before another.
func (w *row) comes(other *row) bool {
	if w.last != other.last {
		return other.last
	}
	by := 0
	if !w.last {
		by = cmp.Or(cmp.Compare(w.n, other.n), strings.Compare(w.text, other.text))
	}
	if w.down {
		by = -by
	}
	return cmp.Or(by, strings.Compare(w.name, other.name), strings.Compare(w.id, other.id)) < 0
}

// A summaryToken is where a page ended. Its text is opaque to callers.
type summaryToken struct {
	From time.Time `json:"from,omitzero"` // when the first page was read
	Last bool      `json:"last,omitempty"`
	N    int64     `json:"n,omitempty"`
	Text string    `json:"text,omitempty"`
	Name string    `json:"name,omitempty"`
	ID   string    `json:"id,omitempty"`
}

func (w *row) token(from time.Time) string {
	text, _ := json.Marshal(summaryToken{from, w.last, w.n, w.text, w.name, w.id}) // it has no value that JSON lacks
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseSummaryToken(list string, q *listing.SummaryQuery) (t summaryToken, err error) {
	if err := core.Open(list, &q.Page); err != nil || q.After == "" {
		return t, err
	}
	plain, err := base64.RawURLEncoding.DecodeString(q.After)
	if err == nil {
		err = json.Unmarshal(plain, &t)
	}
	if err != nil || t.From.IsZero() || t.ID == "" || t.N == math.MinInt64 {
		return t, core.BadToken()
	}
	return t, nil
}

// row returns the last job of the page that the token is of.
func (t *summaryToken) row(q *listing.SummaryQuery) *row {
	return &row{last: t.Last, n: t.N, text: t.Text, name: t.Name, id: t.ID, down: q.Descending}
}

func newCounts() listing.Counts {
	return listing.Counts{States: map[job.State]int{}, Outcomes: map[job.Outcome]int{}}
}

// topHosts returns the most frequent hosts.
func topHosts(hosts map[string]int) []listing.HostCount {
	var all []listing.HostCount
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		all = append(all, listing.HostCount{Host: h, Jobs: hosts[h]})
	}
	slices.SortStableFunc(all, func(a, b listing.HostCount) int { return b.Jobs - a.Jobs })
	return all[:min(len(all), listing.MaxHosts)]
}

// topCollections returns the collections with the most jobs.
func topCollections(groups map[job.CollectionKey]*listing.CollectionCount) (all []listing.CollectionCount) {
	for _, c := range groups {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b listing.CollectionCount) int {
		return cmp.Or(b.Jobs-a.Jobs, strings.Compare(a.Key.WorkflowID(), b.Key.WorkflowID()))
	})
	return all[:min(len(all), listing.MaxHosts)]
}
