package overview

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
)

const (
	// historyWindow is how far a history goes back if the filter does not say it.
	historyWindow = 24 * time.Hour
	// maxStep is how many jobs are asked or histories opened together, and leastOpened how many histories at least,
	// though fewer entries may be missing on the page: some have none that is on it.
	maxStep, leastOpened = 256, 16
	// firstChunk is how many entries of a job are read at first, and maxChunk how many at most at once.
	firstChunk, maxChunk = 4, 100
)

// HistoryAcross returns a page of the histories of all jobs of a scope, newest first, and its continuation, which is
// empty on the last page. Jobs and collections that could not be read for the page come first. Without a start in the
// filter it goes back historyWindow from the first page. An entry that is added meanwhile and started after the last
// entry of the page before is not on the pages after.
func (v *Overview) HistoryAcross(
	ctx context.Context, s listing.Scope, p listing.Page,
) ([]listing.JobRecord, string, error) {
	of := listOf("history", s)
	t, err := parseToken(of, p)
	if err != nil || p.Filter.Status.Never() {
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
	jobs, failed, err := v.jobs(ctx, s, p, false)
	if err != nil {
		return nil, "", err
	}
	r := &reading{Overview: v, token: t, filter: p.Filter, failed: failed, begin: v.o.Now()}
	merged, top := r.merge(ctx, r.streams(jobs, r.refreshed(ctx, s, jobs)), p.Top+1), p.Top
	if ctx.Err() != nil { // the last entry that was found shows that the list goes on
		if len(merged) < 2 {
			return nil, "", notInTime(r.opened, len(jobs))
		}
		top = min(top, len(merged)-1)
	}
	page, next := paged(t, top, failed, merged,
		func(f failure) listing.JobRecord { return listing.JobRecord{Key: f.key, Unread: f.why} },
		func(e *listing.JobRecord) place { return place{e.Start, e.Key.WorkflowID(), e.Ordinal()} })
	return page, core.Token(of, next), nil
}

// A reading is the work on one page of a history across jobs.
type reading struct {
	*Overview
	token  token
	filter listing.Filter
	failed *failures
	opened int // histories
	begin  time.Time
}

// refreshed returns as of when the index is used. While Temporal's list of what has changed is read for a first page,
// jobs that the page certainly gets to are asked, which takes about as long.
func (r *reading) refreshed(ctx context.Context, s listing.Scope, jobs []job.Key) asOf {
	if !r.token.At.IsZero() {
		return r.refresh(ctx, s, len(jobs), followFor)
	}
	var ahead sync.WaitGroup
	defer ahead.Wait()
	_, last := r.index.listed(s)
	if len(jobs) >= listedFrom && last != (asOf{}) && r.begin.Sub(last.at) >= listedFor {
		due := slices.DeleteFunc(r.streams(jobs, last), func(s *stream) bool {
			return s.sure || s.bound.Before(r.begin)
		})
		ask := *r
		ask.failed = &failures{log: r.o.Log, all: map[string]failure{}} // those that fail are asked again
		ahead.Go(func() { wfclient.Each(len(due), func(i int) { ask.describe(ctx, due[i]) }) })
	}
	return r.refresh(ctx, s, len(jobs), listedFor)
}

// described is what the server says of a job without asking its workflow.
type described = workflowservice.DescribeWorkflowExecutionResponse

// A stream is the history of one job, from the token on. Before it is open, only a bound of its first entry is known.
type stream struct {
	key       job.Key
	id        string
	before    time.Time  // entries start earlier; zero for any
	tie       int64      // those that start when the token's did have a smaller ordinal; 0 for any
	bound     time.Time  // no entry starts later
	sure      bool       // the server knows no earlier bound
	described *described // for the first reading; nil if it was not asked

	isOpen  bool
	records []job.Record // sorted; the first one is the first of all that are left
	oldest  time.Time    // of what was read
	next    string       // where to continue
	ended   bool         // everything was read
	failed  bool
	chunk   int
}

// latest returns a time after which no entry starts.
func (s *stream) latest() time.Time {
	if len(s.records) > 0 {
		return s.records[0].Start
	}
	return s.bound
}

// comes reports whether a stream is taken up before another. One that is not open is before those that it may be
// before.
func (s *stream) comes(other *stream) bool {
	if s.isOpen != other.isOpen && s.latest().Equal(other.latest()) {
		return other.isOpen
	}
	return before(other.latest(), s.latest(), s.id, other.id)
}

// streams returns the jobs that may have an entry after the token, as far as it is known.
func (r *reading) streams(jobs []job.Key, as asOf) (all queue[*stream]) {
	t, now := &r.token, r.o.Now().Add(history.Skew)
	for _, k := range jobs {
		s := &stream{key: k, id: k.WorkflowID(), before: r.filter.Start.Before, chunk: firstChunk}
		if !t.At.IsZero() {
			if s.before = t.At; s.id >= t.ID {
				s.before = t.At.Add(1) // others that start at the same time come after, by their ID
			}
			if s.id == t.ID {
				s.tie = t.Ordinal
			}
		}
		if s.bound = now; !s.before.IsZero() && s.before.Before(now) {
			s.bound = s.before
		}
		e := r.index.get(s.id, as)
		if r.begin.Sub(e.quiet) < listedFor && irregular(&r.filter) { // it was asked for another list
			e.quiet = e.quiet.Add(job.SettledAfter)
		}
		s.bound, s.sure = e.bound(&r.filter, s.bound)
		if s.sure && e.seen.at.Sub(s.bound) >= job.SettledAfter && e.seen.newest.Before(s.bound) {
			s.bound = e.seen.newest // all up to the bound was in the history then
		}
		if !s.bound.Before(t.From) {
			all = append(all, s)
		}
	}
	return all
}

// merge returns the first n entries of streams.
func (r *reading) merge(ctx context.Context, all queue[*stream], n int) (merged []listing.JobRecord) {
	heap.Init(&all)
	for len(merged) < n && r.open(ctx, &all, n-len(merged)) {
		first := all[0]
		merged = append(merged, listing.JobRecord{Key: first.key, Record: first.records[0]})
		first.records = first.records[1:]
		if r.fill(ctx, first) {
			heap.Fix(&all, 0)
		} else {
			heap.Pop(&all)
		}
	}
	return merged
}

// open asks about jobs and opens histories until the first entry of all is known. It returns false if there is none.
// missing is how many entries the page lacks.
func (r *reading) open(ctx context.Context, all *queue[*stream], missing int) bool {
	for all.Len() > 0 && !(*all)[0].isOpen {
		var batch []*stream
		histories := max(missing, leastOpened)
		for all.Len() > 0 && !(*all)[0].isOpen && len(batch) < maxStep && histories > 0 {
			s := heap.Pop(all).(*stream)
			if batch = append(batch, s); s.sure {
				histories--
				r.opened++
			}
		}
		left := make([]bool, len(batch))
		wfclient.Each(len(batch), func(i int) { left[i] = ctx.Err() == nil && r.step(ctx, batch[i]) })
		if ctx.Err() != nil {
			return false
		}
		for i, s := range batch {
			if left[i] {
				heap.Push(all, s)
			}
		}
	}
	return all.Len() > 0 && ctx.Err() == nil // otherwise a stream that could not be read may be missing
}

// step asks the server about a job or, if that was done or is of no use, opens its history. It reports whether the job
// may have an entry.
func (r *reading) step(ctx context.Context, s *stream) bool {
	if !s.sure {
		return r.describe(ctx, s)
	}
	s.isOpen = true
	left := r.fill(ctx, s)
	all := listing.Filter{Name: r.filter.Name, NamePrefix: r.filter.NamePrefix}
	all.Start.From = r.token.From
	if s.before.IsZero() && r.filter == all && !s.failed {
		newest := r.token.From
		if left {
			newest = s.records[0].Start
		}
		r.index.change(s.id, r.begin, func(e *entry) { e.seen.at, e.seen.newest = r.begin, newest })
	}
	return left
}

// describe asks the server about a job, but not its workflow.
func (r *reading) describe(ctx context.Context, s *stream) bool {
	jobCtx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	now := r.o.Now()
	found, err := r.o.Temporal.DescribeWorkflowExecution(jobCtx, s.id, "")
	info := found.GetWorkflowExecutionInfo()
	if err != nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return r.fail(ctx, s, err)
	}
	s.described, s.sure = found, true
	if found.GetPendingWorkflowTask() != nil || !r.unsent(s.id, found) {
		return true // the memo may not show what the history has
	}
	e := entry{read: now, quiet: now.Add(job.SettledAfter)} // what has begun is over
	r.index.change(s.id, now, func(known *entry) {
		known.show(r.decode(s.id, info, known.outline), info, now)
		known.quiet = now
		e.outline = known.outline
	})
	if bound, certain := e.bound(&r.filter, s.bound); certain {
		s.bound = bound
	}
	return !s.bound.Before(r.token.From)
}

// unsent reports whether none of the activities of a job that have not ended has sent anything: they are held until
// they are due, so that nothing of them is in the history.
func (r *reading) unsent(id string, found *described) bool {
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != activities.TypeAction {
			return false
		}
		p, err := lookups.ProgressOf(r.o.Converter, id, a)
		if err != nil || p.Sent > 0 || len(p.Attempts) > 0 {
			return false
		}
	}
	return true
}

// fail notes that a job could not be read, unless the time of the page is over, which is not the job's fault. It
// returns false.
func (r *reading) fail(ctx context.Context, s *stream, err error) bool {
	if s.failed, s.records = true, nil; ctx.Err() == nil {
		r.failed.add(ctx, s.id, s.key, err)
	}
	return false
}

// fill reads until the first record of a stream is certain to be the first of all that are left. It returns false if
// none is left.
func (r *reading) fill(ctx context.Context, s *stream) bool {
	jobCtx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	for !s.ended && !s.failed && (len(s.records) == 0 || s.records[0].Start.Before(s.oldest.Add(history.Skew))) {
		found, err := r.read(jobCtx, s)
		if err != nil {
			return r.fail(ctx, s, err)
		}
		for _, e := range found {
			if s.oldest.IsZero() || e.Start.Before(s.oldest) {
				s.oldest = e.Start
			}
			if s.tie == 0 || !e.Start.Equal(r.token.At) || e.Ordinal() < s.tie {
				s.records = append(s.records, e)
			}
		}
		slices.SortStableFunc(s.records, func(a, b job.Record) int {
			return cmp.Or(b.Start.Compare(a.Start), cmp.Compare(b.Ordinal(), a.Ordinal()))
		})
	}
	return len(s.records) > 0
}

// read reads the next entries of a stream.
func (r *reading) read(ctx context.Context, s *stream) (found []job.Record, err error) {
	if s.described == nil {
		if s.described, err = r.o.Temporal.DescribeWorkflowExecution(ctx, s.id, ""); err != nil {
			return nil, err
		}
	}
	p := listing.Page{Top: s.chunk, After: s.next, Filter: r.filter}
	p.Filter.Start.Before = s.before
	found, s.next, err = r.o.History.ReadDescribed(ctx, s.described, p)
	s.described, s.ended, s.chunk = nil, s.next == "", min(2*s.chunk, maxChunk)
	return found, err
}
