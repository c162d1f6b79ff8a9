package overview

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
)

const (
	// historyWindow is how far a history goes back if the filter does not say it.
	historyWindow = 24 * time.Hour
	// markAge is how long a page after the first uses what is known of a job without asking the server.
	markAge = 10 * time.Minute
	// maxOpened is how many jobs are asked or histories opened together, and leastOpened how many histories at least, though fewer
	// entries may be missing on the page: some have none that is on it.
	maxOpened, leastOpened = 256, 16

	firstChunk = 4   // entries of a job to read at first
	maxChunk   = 100 // and at most at once
)

// A lastSeen is what is remembered of the history of a job at a time and, if the server was asked, in a version.
type lastSeen struct {
	at      time.Time
	version core.Version // zero if it is not known
	newest  time.Time    // no entry starts later
	quiet   *outline     // of the job, if the server said that no activity was pending; otherwise nil
}

// HistoryAcross returns a page of the histories of all jobs of a scope, newest first, and its continuation, which is empty on
// the last page. Jobs and collections that could not be read for the page come first. Without a start in the filter it
// goes back historyWindow from the first page.
//
// The first page asks the server about each job whose newest entry may belong on the page, without a query, and reads the
// histories of those alone that changed since that was seen or that does belong on the page. The pages after it open only histories
// whose next entry belongs on the page, as far as it is known. An entry that is added meanwhile and started after the
// last entry of the page before is not on the pages after.
func (v *Overview) HistoryAcross(ctx context.Context, s listing.Scope, p listing.Page) ([]listing.JobRecord, string, error) {
	t, err := parseToken(p.After)
	if err != nil || p.Filter.Status == job.OutcomePostponed {
		return nil, "", err
	}
	if t.From.IsZero() {
		if t.From = p.Filter.Start.From; t.From.IsZero() {
			t.From = v.o.Now().Add(-historyWindow)
		}
	}
	p.Filter.Start.From = t.From
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	found, err := v.readCollections(ctx, s, p, false)
	if err != nil {
		return nil, "", err
	}
	r := &reading{Overview: v, token: t, filter: p.Filter, unreadable: &unreadSet{v: v}, begin: v.o.Now()}
	var jobs []job.Key
	for _, c := range r.unreadable.addCollections(ctx, found) {
		jobs = append(jobs, c.jobs...)
	}
	maxAge := markAge
	if t.At.IsZero() {
		maxAge = listedFor
		r.describeAhead(ctx, s, jobs)
	}
	r.known = v.readOutlines(ctx, s, len(jobs), maxAge)
	page, next := r.page(ctx, r.streams(ctx, jobs), p.Top)
	if ctx.Err() != nil && len(page) == 0 {
		return nil, "", notInTime(r.opened, len(jobs))
	}
	return page, next, nil
}

// A reading is the work on one page of a history across jobs.
type reading struct {
	*Overview
	token      token
	filter     listing.Filter
	known      outlines                      // Temporal's list
	ahead      map[string]func() description // of jobs that are being asked already, by workflow ID
	unreadable *unreadSet
	opened     int // histories
	begin      time.Time
}

// page merges the entries of streams.
func (r *reading) page(ctx context.Context, merge merge, top int) (page []listing.JobRecord, next string) {
	heap.Init(&merge)
	t := r.token
	var merged []listing.JobRecord
	for len(merged) <= top && r.open(ctx, &merge, top+1-len(merged)) {
		first := merge[0]
		merged = append(merged, listing.JobRecord{Key: first.key, Record: first.records[0]})
		first.records = first.records[1:]
		first.fill(ctx, r)
		if first.over() {
			heap.Pop(&merge)
		} else {
			heap.Fix(&merge, 0)
		}
	}
	if ctx.Err() != nil { // the last entry that was found shows that the list goes on
		if len(merged) < 2 {
			return nil, ""
		}
		top = min(top, len(merged)-1)
	}
	for _, u := range r.unreadable.after(t.Unread) {
		if len(page) == top {
			return page, t.String()
		}
		page, t.Unread = append(page, listing.JobRecord{Key: u.key, Unread: u.why}), u.id
	}
	for _, e := range merged {
		if len(page) >= top {
			return page, t.String()
		}
		page = append(page, e)
		t.At, t.ID, t.Ordinal, t.Unread = e.Start, e.Key.WorkflowID(), e.Ordinal(), ""
	}
	return page, ""
}

// streams returns the jobs that may have an entry after the token. Those are asked whose outline leaves open how new their newest
// entry is: at once if it may be as new as any, otherwise when the page gets there.
func (r *reading) streams(ctx context.Context, jobs []job.Key) (all merge) {
	var ask merge
	for _, k := range jobs {
		s := r.stream(k)
		before := r.before(s)
		bound, ok := r.expect(s, before)
		switch {
		case ok:
			if s.settled = true; s.limit(bound, r.token.From) && r.recall(s) {
				all = append(all, s)
			}
		case bound.Before(r.token.From):
		case bound.Before(before):
			s.unasked = bound
			all = append(all, s)
		default:
			ask = append(ask, s)
		}
	}
	relevant := make([]bool, len(ask))
	wfclient.Each(len(ask), func(i int) { relevant[i] = ctx.Err() == nil && r.ask(ctx, ask[i]) })
	for i, s := range ask {
		if relevant[i] {
			all = append(all, s)
		}
	}
	return all
}

// stream returns the stream of a job, which is not open.
func (r *reading) stream(k job.Key) *stream {
	return (&stream{key: k, id: k.WorkflowID(), bound: r.filter.Start.Before, chunk: firstChunk}).after(&r.token)
}

// expect returns a bound as [outline.bound] does, by Temporal's list and by what was seen before.
func (r *reading) expect(s *stream, before time.Time) (time.Time, bool) {
	known := r.outlineOf(r.known, s.id)
	bound, ok := known.bound(&r.filter, before, r.known.at, false)
	if !ok {
		return r.rested(s, known, before, bound)
	}
	return bound, true
}

// describeAhead begins to ask the server about jobs that have come due lately, if their outlines are to be read anew: that takes
// as long as some hundred of these calls, and will hardly tell anything else of these jobs. What is not needed is not used.
func (r *reading) describeAhead(ctx context.Context, s listing.Scope, jobs []job.Key) {
	_, last, _ := r.knownOutlines(s)
	if len(jobs) < outlinesFrom || r.o.Now().Sub(last.at) < listedFor {
		return
	}
	r.known, r.ahead = last, map[string]func() description{}
	var calls []func() description
	for _, k := range jobs {
		s := r.stream(k)
		before, known := r.before(s), r.outlineOf(last, s.id)
		if bound, ok := r.expect(s, before); known != nil && !ok && !bound.Before(before) {
			r.ahead[s.id] = sync.OnceValue(func() description { return r.describe(ctx, s.id, known) })
			calls = append(calls, r.ahead[s.id])
		}
	}
	go wfclient.Each(len(calls), func(i int) { calls[i]() })
}

// rested returns a bound as [outline.bound] does, of a job that was quiet when the server was asked and has not been due since. What
// ran manually or was tried again since is in its outline in Temporal's list. Otherwise it returns the bound that it is given, and false.
func (r *reading) rested(s *stream, known *outline, before, bound time.Time) (time.Time, bool) {
	seen, ok := r.marks.Get(s.id, job.SettledAfter)
	if !ok || seen.quiet == nil || known == nil {
		return bound, false
	}
	const started = job.RegularDelay + history.Skew // one that begins later is not regular
	if due, ok := known.timetable.Last(before); ok && !known.Inactive && seen.at.Sub(due) < started {
		return bound, false
	}
	then, ok := seen.quiet.bound(&r.filter, before, seen.at, true)
	now, certain := known.bound(&r.filter, before, r.known.at, true)
	if !ok || !certain {
		return bound, false
	}
	s.quiet = seen.quiet
	if then.After(now) {
		now = then
	}
	return now, true
}

// recall limits a stream of which the bound is known by the newest entry that was seen, if all entries up to the bound were in
// the history then. It returns false if all start before what is listed.
func (r *reading) recall(s *stream) bool {
	seen, ok := r.marks.Get(s.id, markAge)
	return !ok || seen.at.Sub(s.bound) < job.SettledAfter || s.limit(seen.newest, r.token.From)
}

// before returns a time before which all entries of a stream start.
func (r *reading) before(s *stream) time.Time {
	if latest := r.o.Now().Add(history.Skew); s.bound.IsZero() || s.bound.After(latest) {
		return latest
	}
	return s.bound
}

// ask asks the server about a job, unless this is not the first page and the job is known. It reports whether the job may
// have an entry.
func (r *reading) ask(ctx context.Context, s *stream) bool {
	s.unasked = time.Time{}
	seen, ok := r.marks.Get(s.id, markAge)
	if !r.token.At.IsZero() && ok && !seen.at.Before(r.known.at) {
		return s.limit(seen.newest, r.token.From)
	}
	describe := r.ahead[s.id]
	if describe == nil {
		describe = func() description { return r.describe(ctx, s.id, r.known.jobs[s.id]) }
	}
	d := describe()
	if d.closed {
		return false
	}
	s.version, s.described, s.quiet = d.version, d.found, d.outline
	now := r.o.Now()
	newest, certain := d.outline.bound(&listing.Filter{}, now.Add(history.Skew), now, true)
	if same := ok && d.version != (core.Version{}) && seen.version == d.version; same && (!certain || seen.newest.Before(newest)) {
		newest, certain = seen.newest, true
	}
	if !certain {
		r.marks.Forget(s.id) // a page after this one must not use it
		return true
	}
	r.marks.Put(s.id, lastSeen{r.begin, s.version, newest, s.quiet}, 1, maxKnown)
	if bound, ok := d.outline.bound(&r.filter, r.before(s), now, true); ok && !s.limit(bound, r.token.From) {
		return false
	}
	return s.limit(newest, r.token.From)
}

// A description is what the server says of a job without asking its workflow.
type description struct {
	closed  bool
	found   *workflowservice.DescribeWorkflowExecutionResponse // nil if it did not answer
	version core.Version                                       // zero if the history may change without it, or if it is not known
	outline *outline                                           // nil likewise
}

// describe asks the server about a job. If it does not answer, the history will report it.
func (r *reading) describe(ctx context.Context, id string, listed *outline) description {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	found, err := r.describeRun(ctx, id, listed)
	if wfclient.IsNotFound(err) {
		return description{closed: true}
	}
	info := found.GetWorkflowExecutionInfo()
	if err != nil || len(found.GetPendingActivities()) > 0 || found.GetPendingWorkflowTask() != nil {
		return description{found: found}
	}
	return description{
		found:   found,
		closed:  info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		version: core.VersionOf(info),
		outline: r.decode(id, info, listed),
	}
}

// describeRun asks the server about the run that Temporal's list shows, or the current one if that is over. To find out which run is
// the current one takes the server a read of its database.
func (r *reading) describeRun(ctx context.Context, id string, listed *outline) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if listed != nil {
		found, err := r.o.Temporal.DescribeWorkflowExecution(ctx, id, listed.run)
		running := found.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		if err == nil && running || err != nil && !wfclient.IsNotFound(err) {
			return found, err
		}
	}
	return r.o.Temporal.DescribeWorkflowExecution(ctx, id, "")
}

// open asks about jobs and opens histories until the first entry of all is known. It returns false if there is none. missing is
// how many entries the page lacks.
func (r *reading) open(ctx context.Context, m *merge, missing int) bool {
	for m.Len() > 0 && !(*m)[0].isOpen {
		var batch []*stream
		for histories := 0; m.Len() > 0 && !(*m)[0].isOpen && len(batch) < maxOpened && histories < max(missing, leastOpened); {
			s := heap.Pop(m).(*stream)
			if batch = append(batch, s); s.unasked.IsZero() {
				histories++
			}
		}
		left := make([]bool, len(batch))
		wfclient.Each(len(batch), func(i int) {
			if s := batch[i]; !s.unasked.IsZero() {
				left[i] = r.ask(ctx, s)
			} else {
				s.isOpen = true
				s.fill(ctx, r)
				left[i] = !s.over()
			}
		})
		if ctx.Err() != nil {
			return false
		}
		for i, s := range batch {
			if s.isOpen {
				r.opened++
				r.remember(s)
			}
			if left[i] {
				heap.Push(m, s)
			}
		}
	}
	return m.Len() > 0 && ctx.Err() == nil
}

// remember notes the newest entry of a job, if all entries were read for it.
func (r *reading) remember(s *stream) {
	all := listing.Filter{Start: listing.Period{From: r.token.From}, Name: r.filter.Name, NamePrefix: r.filter.NamePrefix}
	if s.failed || s.filter != all || s.version == (core.Version{}) && !s.settled {
		return
	}
	newest := r.token.From
	if len(s.records) > 0 {
		newest = s.records[0].Start
	}
	r.marks.Put(s.id, lastSeen{r.begin, s.version, newest, s.quiet}, 1, maxKnown)
}
