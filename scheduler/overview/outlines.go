package overview

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
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
	// outlinesFrom is the number of jobs from which on their outlines are read from Temporal's lists. Fewer are asked, each.
	outlinesFrom = 500
	// outlinesPerCall is the server's maximum.
	outlinesPerCall = 1000
	// listedFor is how long a first page uses outlines that were read before: of 10,000 jobs it takes 0.2 s to learn which have
	// changed. It is longer where Temporal's lists do not tell that, so that all are read, which takes 1 s.
	listedFor, allListedFor = 5 * time.Second, 15 * time.Second
	// listLag is how long a new outline may take to be in Temporal's lists, differences of clocks included. One that takes longer
	// is found when all are read again, allFor after the last time, beside the page that this is for.
	listLag, allFor = time.Minute, 10 * time.Minute
	// outlinesFor is how long outlines are kept that nothing needs.
	outlinesFor = 24 * time.Hour
	// relistTime is the time limit of reading all that nothing waits for.
	relistTime = time.Minute
	// touchedFor is how long a job that this process changed is asked, since Temporal's lists may not show the change yet.
	touchedFor = listLag
)

// An outline is that of a job, as Temporal's lists show it.
type outline struct {
	job.Outline
	run       string // that the list shows as running
	memo      []byte // from which it was decoded
	timetable *timetable.Timetable
	told      bool // Temporal's lists tell when it has changed
}

// Outlines are those of the jobs of a scope, by workflow ID, as of a time. A job that is not among them has to be asked.
type outlines struct {
	at   time.Time
	all  time.Time // when all were read
	jobs map[string]*outline
}

// outlineOf returns the outline of a job; nil if the job has to be asked.
func (v *Overview) outlineOf(known outlines, id string) *outline {
	if _, touched := v.touched.Get(id, touchedFor); touched {
		return nil
	}
	return known.jobs[id]
}

// readOutlines returns the outlines of the jobs of a scope, those of at most maxAge ago. Only those that have changed since they
// were read before are read, if Temporal's lists tell which these are. If the lists cannot be read, there are none.
func (v *Overview) readOutlines(ctx context.Context, s listing.Scope, jobs int, maxAge time.Duration) outlines {
	if jobs < outlinesFrom {
		return outlines{}
	}
	s, last, ok := v.knownOutlines(s)
	age := v.o.Now().Sub(last.at)
	if ok && age < maxAge {
		return last
	}
	var found outlines
	var err error
	if ok {
		if found, err = v.listChanged(ctx, s, last); err != nil && age < allListedFor {
			return last
		}
	}
	if !ok || err != nil {
		found, err = v.listOutlines(ctx, s, last)
	}
	if err != nil {
		v.o.Log.WarnContext(ctx, "Temporal's list of jobs could not be read, so each job is asked", slog.Any("error", err))
		return outlines{}
	}
	v.keep(s, found)
	if found.at.Sub(found.all) > allFor {
		v.relist(ctx, s, found)
	}
	return found
}

// Warm reads what lists across the jobs of a subscription need, so that the first one need not wait for it, unless the jobs
// are more than a list covers. It goes on until that has succeeded or ctx ends. It makes one call at a time, so that it takes
// little from jobs that are due meanwhile.
func (v *Overview) Warm(ctx context.Context, subscription string) {
	s := listing.Scope{Subscription: subscription}
	warm := func() error {
		n, err := v.o.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query(s)})
		if err != nil || n.GetCount() > maxJobs {
			return err
		}
		found, err := v.listOutlines(ctx, s, outlines{})
		if err != nil {
			return err
		}
		v.keep(s, found)
		keys, err := v.collectionKeys(ctx, s, listing.Page{})
		for _, k := range keys {
			v.readCollection(ctx, k, listing.Page{}, true) // what cannot be read is read for the page
		}
		return err
	}
	for pause := time.Second; warm() != nil && wfclient.Sleep(ctx, pause) == nil; {
		pause = min(2*pause, time.Minute)
	}
}

// keep remembers the outlines of a scope.
func (v *Overview) keep(s listing.Scope, found outlines) {
	v.outlines.Put(scopeKey(s), found, max(1, len(found.jobs)), maxKnown)
}

// knownOutlines returns the outlines that are remembered of the jobs of a scope, and of which scope they are: it may be a wider one.
func (v *Overview) knownOutlines(s listing.Scope) (listing.Scope, outlines, bool) {
	all := listing.Scope{Subscription: s.Subscription}
	if known, ok := v.outlines.Get(scopeKey(all), outlinesFor); ok {
		return all, known, true
	}
	known, ok := v.outlines.Get(scopeKey(s), outlinesFor)
	return s, known, ok
}

func scopeKey(s listing.Scope) string {
	return job.NormalizeName(s.Subscription + "/" + s.ResourceGroup + "/" + s.Collection)
}

// relist reads all outlines of a scope anew, while callers use what they have.
func (v *Overview) relist(ctx context.Context, s listing.Scope, last outlines) {
	key := scopeKey(s)
	if _, running := v.relisting.LoadOrStore(key, true); running {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), relistTime)
	go func() {
		defer v.relisting.Delete(key)
		defer cancel()
		if found, err := v.listOutlines(ctx, s, last); err == nil {
			v.keep(s, found)
		}
	}()
}

// listOutlines reads Temporal's list of the jobs of a scope. What was decoded before is not decoded again.
func (v *Overview) listOutlines(ctx context.Context, s listing.Scope, before outlines) (outlines, error) {
	found := outlines{at: v.o.Now(), jobs: map[string]*outline{}}
	found.all = found.at
	return found, v.list(ctx, query(s), found.jobs, before.jobs)
}

// listChanged returns the outlines of a scope: those of before, and in their place those that may have changed since, and those of new
// jobs. Jobs of which Temporal's lists do not tell when their outlines changed are left out.
func (v *Overview) listChanged(ctx context.Context, s listing.Scope, before outlines) (outlines, error) {
	since := before.at.Add(-listLag).UTC().Format(time.RFC3339)
	changed := fmt.Sprintf("%s > '%s' AND %s", workflows.AttributeOutlineTime, since, query(s))
	found, changes := outlines{at: v.o.Now(), all: before.all, jobs: maps.Clone(before.jobs)}, map[string]*outline{}
	if err := v.list(ctx, changed, changes, before.jobs); err != nil {
		return outlines{}, err
	}
	maps.Copy(found.jobs, changes)
	maps.DeleteFunc(found.jobs, func(_ string, o *outline) bool { return o != nil && !o.told })
	return found, nil
}

// list reads the outlines of the jobs that a query finds into found, nil for a job that it finds twice: one of the runs has ended.
func (v *Overview) list(ctx context.Context, query string, found, before map[string]*outline) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: outlinesPerCall, Query: query}
	twice := map[string]bool{}
	for {
		page, err := v.o.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return err
		}
		for _, e := range page.GetExecutions() {
			id := e.GetExecution().GetWorkflowId()
			_, twice[id] = found[id]
			found[id] = v.decode(id, e, before[id])
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	for id, again := range twice {
		if again {
			found[id] = nil
		}
	}
	return nil
}

// query returns the query for the jobs of a scope.
func query(s listing.Scope) string {
	conditions := []string{"WorkflowType = '" + workflows.TypeJob + "'", "ExecutionStatus = 'Running'"}
	for attribute, name := range map[string]string{
		workflows.AttributeSubscription: s.Subscription, workflows.AttributeResourceGroup: s.ResourceGroup, workflows.AttributeCollection: s.Collection,
	} {
		if name != "" {
			conditions = append(conditions, attribute+" = '"+strings.ReplaceAll(job.NormalizeName(name), "'", "''")+"'")
		}
	}
	return strings.Join(conditions, " AND ")
}

// decode returns the outline of a job from its memo; nil if it cannot be read, or planned here.
func (v *Overview) decode(id string, e *workflow.WorkflowExecutionInfo, before *outline) *outline {
	memo := e.GetMemo().GetFields()[workflows.MemoOutline]
	if memo == nil {
		return nil
	}
	run := e.GetExecution().GetRunId()
	if before != nil && bytes.Equal(before.memo, memo.GetData()) {
		same := *before
		same.run = run
		return &same
	}
	_, told := e.GetSearchAttributes().GetIndexedFields()[workflows.AttributeOutlineTime]
	o := &outline{run: run, memo: memo.GetData(), told: told}
	err := wfclient.ConverterFor(v.o.Converter, id).FromPayloads(&common.Payloads{Payloads: []*common.Payload{memo}}, &o.Outline)
	if err != nil || o.Created.IsZero() {
		return nil
	}
	if o.timetable, err = timetable.FromOutline(&o.Outline); err != nil {
		return nil
	}
	if _, rules := o.timetable.Zone(); rules != "" && o.ZoneRules != "" && rules != o.ZoneRules {
		return nil // the job was planned with time zones of another release, and is due at other times
	}
	return o
}

// irregular reports whether a filter selects no regular entry: see [job.Outline].
func irregular(f *listing.Filter) bool {
	return f.Status != "" && f.Status != job.OutcomeCompleted || f.Lateness.From > job.RegularDelay
}

// bound returns a time after which no entry of the job starts, of those that a filter selects and that start before a time.
// It returns false if the server may know an earlier one. asOf is when the outline was read; quiet says that no activity of the
// job was pending then.
func (o *outline) bound(f *listing.Filter, before, asOf time.Time, quiet bool) (time.Time, bool) {
	if o == nil {
		return before, false
	}
	bound := o.Irregular.Add(history.Skew)
	if before.Before(bound) {
		return before, false
	}
	settled := true
	if due, ok := o.timetable.Last(before); ok && !o.Inactive {
		settled = quiet || asOf.Sub(due) >= job.SettledAfter
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
