package overview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/timetable"
	"almanac/scheduler/history"
	"almanac/workflows"
)

const (
	// listedPerCall is the server's maximum.
	listedPerCall = 1000
	// listedFor is how long a first page uses what was listed before, and followFor how long the pages after it do.
	listedFor, followFor = 5 * time.Second, 10 * time.Minute
	// A list that says as of when it is waits for listPatience until Temporal's lists are read again, and then has what
	// was listed within staleFor: Temporal's lists take seconds while many jobs run.
	listPatience, staleFor = 100 * time.Millisecond, time.Minute
	// listLag is how long a change may take to be in Temporal's lists, differences of clocks included. One that takes
	// longer is found when all jobs are listed again, allFor after the last time.
	listLag, allFor = 5 * time.Minute, time.Hour
	// changedFor is how long a job that this process changed is asked, since Temporal's lists may not show the change
	// yet.
	changedFor = time.Minute
	// maxKnown is the maximum number of jobs in the index.
	maxKnown = 50_000
)

// listedFrom is the number of jobs from which on Temporal's lists are read. Fewer are asked, each. Tests lower it.
var listedFrom = 500

// An index has what is known of jobs without asking them. It is safe for concurrent use.
type index struct {
	mu    sync.Mutex
	jobs  map[string]*entry // by workflow ID
	lists map[listing.Scope]asOf
	turns map[listing.Scope]*turn // of lists that are being read
	// how often all was forgotten for lack of room
	emptied int
}

// A turn is one reading of Temporal's lists of the jobs of a scope, for all that ask meanwhile.
type turn struct {
	over chan struct{}
	as   asOf // when it is over; zero if its caller gave up
}

// An asOf says when Temporal's lists of the jobs of a scope were read: those that have changed, and all.
type asOf struct{ at, all time.Time }

// unlisted is as of never.
var unlisted = asOf{all: time.Unix(1<<40, 0)}

// An entry is what is known of a job.
type entry struct {
	*outline           // nil if the job has to be asked
	listed   *outline  // as Temporal's lists had it last, perhaps before a change by this process; nil if they did not
	read     time.Time // when it was that
	strange  bool      // it has a memo that could not be decoded then
	quiet    time.Time // when the server said last that no activity of the job was pending
	changed  time.Time // by this process
	seen     struct {  // when its history was read, no entry in it started after newest
		at, newest time.Time
	}
	plan    *plan // when it is due, for jobs whose outlines do not suffice
	planned time.Time
}

// An outline is that of a job, as Temporal shows it.
type outline struct {
	job.Outline
	memo      []byte               // from which it was decoded
	timetable *timetable.Timetable // of a job with calendars without them: see [Overview.byCalendars]
	glanced   atomic.Pointer[glance]
	dated     atomic.Pointer[dated]
}

// get returns what is known of a job as of a time.
func (x *index) get(id string, as asOf) (e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.jobs[id]; known != nil {
		e = *known
	}
	if e.read.Before(as.all) {
		e.outline, e.strange = nil, false
	}
	if e.read.Before(as.at) {
		e.read = as.at
	}
	return e
}

// change changes what is known of a job, unless this process changed the job after since.
func (x *index) change(id string, since time.Time, change func(*entry)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.jobs[id]
	if e == nil {
		x.makeRoom(1, since)
		e = &entry{}
		x.jobs[id] = e
	}
	if !since.Before(e.changed) {
		change(e)
	}
}

// makeRoom makes room for n more jobs, and returns how often all was forgotten for that. What this process changed lately
// is kept, since Temporal's lists may not show it yet. x.mu is held.
func (x *index) makeRoom(n int, since time.Time) int {
	if x.jobs == nil || len(x.jobs)+n > maxKnown {
		x.emptied++
		x.lists = map[listing.Scope]asOf{}
		kept := map[string]*entry{}
		for id, e := range x.jobs {
			if e.changed.After(since.Add(-changedFor)) && len(kept) < maxKnown/2 {
				kept[id] = &entry{changed: e.changed}
			}
		}
		x.jobs = kept
	}
	return x.emptied
}

// listed returns when Temporal's lists of the jobs of a scope were read, and of which scope these are: it may be a
// wider one.
func (x *index) listed(s listing.Scope) (listing.Scope, asOf) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.Subscription, s.ResourceGroup = job.NormalizeName(s.Subscription), job.NormalizeName(s.ResourceGroup)
	s.Collection = job.NormalizeName(s.Collection)
	group := listing.Scope{Subscription: s.Subscription, ResourceGroup: s.ResourceGroup}
	for _, wider := range []listing.Scope{{Subscription: s.Subscription}, group} {
		if as, ok := x.lists[wider]; ok {
			return wider, as
		}
	}
	return s, x.lists[s]
}

// readBy notes when Temporal's lists of the jobs of a scope were read, and forgets lists that nobody has asked for
// lately. x.mu is held.
func (x *index) readBy(s listing.Scope, as asOf) {
	maps.DeleteFunc(x.lists, func(_ listing.Scope, other asOf) bool { return as.at.Sub(other.at) > allFor })
	x.lists[s] = as
}

// turn returns the reading of a scope that is under way, or begins one, which the caller ends.
func (x *index) turn(s listing.Scope) (t *turn, begun bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t = x.turns[s]; t != nil {
		return t, false
	}
	if x.turns == nil {
		x.turns = map[listing.Scope]*turn{}
	}
	t = &turn{over: make(chan struct{})}
	x.turns[s] = t
	return t, true
}

// end ends a turn.
func (x *index) end(s listing.Scope, t *turn, as asOf) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t.as = as
	delete(x.turns, s)
	close(t.over)
}

// refresh brings what is known of the jobs of a scope up to maxAge ago. If Temporal's lists cannot be read, nothing is
// known.
func (v *Overview) refresh(ctx context.Context, s listing.Scope, jobs int, maxAge time.Duration) asOf {
	if jobs < listedFrom {
		return unlisted
	}
	return v.relist(ctx, s, maxAge)
}

// listed is relist for readers that are to have all that was so listedFor ago.
func (v *Overview) listed(ctx context.Context, s listing.Scope) asOf {
	return v.relist(ctx, s, listedFor)
}

// relist is refresh for any number of jobs. Callers that ask at the same time share what one of them reads.
func (v *Overview) relist(ctx context.Context, s listing.Scope, maxAge time.Duration) asOf {
	for {
		s, last := v.index.listed(s)
		if v.o.Now().Sub(last.at) < maxAge {
			return last
		}
		t, begun := v.index.turn(s)
		if begun {
			as := asOf{}
			defer func() { v.index.end(s, t, as) }()
			if found := v.readLists(ctx, s, last); found != unlisted || ctx.Err() == nil {
				as = found
			}
			return cmp.Or(as, unlisted)
		}
		select {
		case <-t.over:
		case <-ctx.Done():
			return unlisted
		}
		if t.as != (asOf{}) {
			return t.as
		}
	}
}

// recent is relist for readers that say as of when they are: they wait for listPatience at most if what is known is not
// older than staleFor. Temporal's lists are read all the same, for those who ask next.
func (v *Overview) recent(ctx context.Context, s listing.Scope) asOf {
	if _, last := v.index.listed(s); v.o.Now().Sub(last.at) < staleFor {
		read := make(chan asOf, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime)
			defer cancel()
			read <- v.relist(ctx, s, listedFor)
		}()
		select {
		case as := <-read:
			return as
		case <-time.After(listPatience):
			return last
		}
	}
	return v.relist(ctx, s, listedFor)
}

// readLists reads Temporal's lists of the jobs of a scope into the index, which has them as of last.
func (v *Overview) readLists(ctx context.Context, s listing.Scope, last asOf) asOf {
	if v.o.Now().Sub(last.all) < allFor {
		if as, err := v.readList(ctx, s, last); err == nil {
			return as
		} // Temporal's lists may not tell what has changed
	}
	as, err := v.readList(ctx, s, asOf{})
	if err != nil {
		v.o.Log.WarnContext(ctx, "Temporal's list of jobs could not be read, so each job is asked",
			slog.Any("error", err))
		return unlisted
	}
	return as
}

// readList reads Temporal's list of the jobs of a scope into the index: of those that may have changed since last or,
// if that is zero, of all.
func (v *Overview) readList(ctx context.Context, s listing.Scope, last asOf) (asOf, error) {
	as := asOf{at: v.o.Now(), all: last.all}
	q := query(s)
	if last == (asOf{}) {
		as.all = as.at
	} else { // a job that was started when the namespace lacked the attribute never has it
		q += fmt.Sprintf(" AND (%[1]s > '%[2]s' OR %[1]s IS NULL)",
			workflows.AttributeOutlineTime, last.at.Add(-listLag).UTC().Format(time.RFC3339))
	}
	// nil for a job that is listed twice: one of the runs has ended
	found := map[string]*workflow.WorkflowExecutionInfo{}
	err := v.list(ctx, q, listedPerCall, nil, func(id string, e *workflow.WorkflowExecutionInfo) {
		if _, twice := found[id]; twice {
			e = nil
		}
		found[id] = e
	})
	if err != nil {
		return asOf{}, err
	}
	v.index.mu.Lock()
	before := v.index.emptied
	emptied := v.index.makeRoom(len(found), as.at)
	v.index.mu.Unlock()
	if emptied != before && last != (asOf{}) {
		return asOf{}, errForgotten
	}
	for id, e := range found {
		v.index.change(id, unlisted.all, func(known *entry) {
			o, lately := v.decode(id, e, known.outline), known.changed.After(as.at.Add(-changedFor))
			switch {
			// it was changed since, by others or with its collection
			case o != nil && known.outline != nil && known.olderThan(o),
				!lately && (o == nil || known.outline == nil || !o.olderThan(known.outline)):
				known.show(o, e, as.at)
			}
			if known.listed = known.outline; known.listed == nil {
				known.listed = v.decode(id, e, nil)
			}
		})
	}
	v.index.mu.Lock()
	defer v.index.mu.Unlock()
	if v.index.emptied == emptied {
		v.index.readBy(s, as)
	}
	return as, nil
}

// errForgotten means that a list of what has changed is of no use.
var errForgotten = errors.New("what was known of the jobs is forgotten")

// list calls each for the workflows that a query finds, and rest, unless it is nil, between calls of Temporal.
func (v *Overview) list(
	ctx context.Context, query string, perCall int32, rest func(took time.Duration) error,
	each func(id string, e *workflow.WorkflowExecutionInfo),
) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: perCall, Query: query}
	for {
		start := time.Now()
		page, err := v.o.Temporal.ListWorkflow(ctx, request)
		for _, e := range page.GetExecutions() {
			each(e.GetExecution().GetWorkflowId(), e)
		}
		request.NextPageToken = page.GetNextPageToken()
		if err != nil || len(request.NextPageToken) == 0 {
			return err
		}
		if rest != nil {
			if err := rest(time.Since(start)); err != nil {
				return err
			}
		}
	}
}

// Warm reads what lists across the jobs of a subscription need, so that the first one need not wait for it, unless the
// jobs are more than a list covers. It goes on until that has succeeded or ctx ends.
func (v *Overview) Warm(ctx context.Context, subscription string) {
	s := listing.Scope{Subscription: subscription}
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		jobs, _, err := v.jobs(ctx, s, listing.Page{}, true)
		read := err == nil && (len(jobs) < listedFrom || v.refresh(ctx, s, len(jobs), 0) != unlisted)
		if read || job.KindOf(err) == job.KindInvalid || wfclient.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// query returns the query for the jobs of a scope.
func query(s listing.Scope) string {
	conditions := []string{"WorkflowType = '" + workflows.TypeJob + "'", "ExecutionStatus = 'Running'"}
	for _, is := range [][2]string{
		{workflows.AttributeSubscription, s.Subscription},
		{workflows.AttributeResourceGroup, s.ResourceGroup},
		{workflows.AttributeCollection, s.Collection},
	} {
		if is[1] != "" {
			value := strings.ReplaceAll(job.NormalizeName(is[1]), "'", "''")
			conditions = append(conditions, is[0]+" = '"+value+"'")
		}
	}
	return strings.Join(conditions, " AND ")
}

// show notes what Temporal showed of a job at a time, and the outline in it; nil if it has none that can be decoded.
func (e *entry) show(o *outline, info *workflow.WorkflowExecutionInfo, at time.Time) {
	e.outline, e.read = o, at
	e.strange = o == nil && info.GetMemo().GetFields()[workflows.MemoOutline] != nil
}

// decode returns the outline of a job from its memo; nil if it cannot be read, or planned here. What was decoded before
// is not decoded again.
func (v *Overview) decode(id string, e *workflow.WorkflowExecutionInfo, before *outline) *outline {
	memo := e.GetMemo().GetFields()[workflows.MemoOutline]
	if memo == nil {
		return nil
	}
	if before != nil && bytes.Equal(before.memo, memo.GetData()) {
		return before
	}
	o := &outline{memo: memo.GetData()}
	payloads := &common.Payloads{Payloads: []*common.Payload{memo}}
	err := wfclient.ConverterFor(v.o.Converter, id).FromPayloads(payloads, &o.Outline)
	if err != nil || o.Created.IsZero() {
		return nil
	}
	if o.timetable, err = timetable.NominalFromOutline(&o.Outline); err != nil {
		return nil
	}
	if _, rules := o.timetable.Zone(); rules != "" && o.ZoneRules != "" && rules != o.ZoneRules {
		return nil // the job was planned with time zones of another release, and is due at other times
	}
	return o
}

// olderThan reports whether o certainly is an earlier outline than another of the same job.
func (o *outline) olderThan(other *outline) bool {
	return o.Created.Before(other.Created) || o.Created.Equal(other.Created) && o.Irregular.Before(other.Irregular)
}

// bound returns a time after which no entry of the job's history starts, of those that a filter selects and that start
// before a time. It returns false if the server may know an earlier one.
func (e *entry) bound(f *listing.Filter, before time.Time) (time.Time, bool) {
	if e.outline == nil || e.ByDays() || before.Before(e.Irregular.Add(history.Skew)) {
		return before, false
	}
	bound, settled := e.Irregular.Add(history.Skew), true
	if due, ok := e.timetable.Last(before); ok && !e.Inactive {
		const begun = job.RegularDelay + history.Skew // an attempt that begins later is not regular
		settled = e.quiet.Sub(due) >= begun || e.read.Sub(due) >= job.SettledAfter
		last := due.Add(job.RegularDelay)
		if !settled {
			last = due.Add(job.LastAttempt)
		}
		if last.After(bound) && (!settled || !irregular(f)) {
			bound = last
		}
	}
	if bound.After(before) {
		bound = before
	}
	return bound, settled
}

// irregular reports whether a filter selects only entries that outlines cover; see [job.Outline].
func irregular(f *listing.Filter) bool {
	return f.Status != "" && !f.Status.Succeeded() || f.Lateness.From > job.RegularDelay
}
