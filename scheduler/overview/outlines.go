package overview

import (
	"bytes"
	"context"
	"log/slog"
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
	// listedFor is how long a first page uses outlines that were read before: reading those of 10,000 jobs takes 0.6 s.
	listedFor = 15 * time.Second
	// touchedFor is how long a job that this process changed is asked, since Temporal's lists may not show the change yet.
	touchedFor = time.Minute
)

// An outline is that of a job, as Temporal's lists show it.
type outline struct {
	job.Outline
	memo      []byte // from which it was decoded
	timetable *timetable.Timetable
}

// Outlines are those of the jobs of a scope, by workflow ID, as of a time. A job that is not among them has to be asked.
type outlines struct {
	at   time.Time
	jobs map[string]*outline
}

// outlineOf returns the outline of a job; nil if the job has to be asked.
func (v *Overview) outlineOf(known outlines, id string) *outline {
	if _, touched := v.touched.Get(id, touchedFor); touched {
		return nil
	}
	return known.jobs[id]
}

// readOutlines returns the outlines of the jobs of a scope, those of at most maxAge ago. If Temporal's lists cannot be
// read, there are none.
func (v *Overview) readOutlines(ctx context.Context, s listing.Scope, jobs int, maxAge time.Duration) outlines {
	if jobs < outlinesFrom {
		return outlines{}
	}
	key := job.NormalizeName(s.Subscription + "/" + s.ResourceGroup + "/" + s.Collection)
	last, ok := v.outlines.Get(key, markAge)
	if ok && v.o.Now().Sub(last.at) < maxAge {
		return last
	}
	found, err := v.listOutlines(ctx, s, last.jobs)
	if err != nil {
		v.o.Log.WarnContext(ctx, "Temporal's list of jobs could not be read, so each job is asked", slog.Any("error", err))
		return outlines{}
	}
	v.outlines.Put(key, found, len(found.jobs), maxKnown)
	return found
}

// listOutlines reads Temporal's list of the jobs of a scope. What was decoded before is not decoded again.
func (v *Overview) listOutlines(ctx context.Context, s listing.Scope, before map[string]*outline) (outlines, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: outlinesPerCall, Query: query(s)}
	found, twice := outlines{at: v.o.Now(), jobs: map[string]*outline{}}, map[string]bool{}
	for {
		page, err := v.o.Client.ListWorkflow(ctx, request)
		if err != nil {
			return outlines{}, err
		}
		for _, e := range page.GetExecutions() {
			id := e.GetExecution().GetWorkflowId()
			if _, again := found.jobs[id]; again { // one of the runs has ended
				twice[id] = true
			}
			found.jobs[id] = v.decode(id, e, before[id])
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	for id := range twice {
		delete(found.jobs, id)
	}
	return found, nil
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
	if before != nil && bytes.Equal(before.memo, memo.GetData()) {
		return before
	}
	o := &outline{memo: memo.GetData()}
	err := wfclient.ConverterFor(v.o.History.Converter, id).FromPayloads(&common.Payloads{Payloads: []*common.Payload{memo}}, &o.Outline)
	if err != nil || o.Created.IsZero() {
		return nil
	}
	if o.timetable, err = timetable.FromOutline(&o.Outline, v.o.Now()); err != nil {
		return nil
	}
	return o
}

// irregular reports whether a filter selects no regular entry: see [job.Outline].
func irregular(f *listing.Filter) bool {
	return f.Status != "" && f.Status != job.OutcomeCompleted || f.Lateness.From > job.RegularDelay
}

// bound returns a time after which no entry of the job starts, of those that a filter selects and that start before a time.
// It returns false if that is not known. asOf is when the outline was read; quiet says that no activity of the job was
// pending then.
func (o *outline) bound(f *listing.Filter, before, asOf time.Time, quiet bool) (time.Time, bool) {
	if o == nil {
		return before, false
	}
	bound := o.Irregular.Add(history.Skew)
	if before.Before(bound) {
		return before, false
	}
	if due, ok := o.timetable.Last(before.Add(history.Skew)); ok && !o.Inactive {
		if !quiet && asOf.Sub(due) < job.SettledAfter {
			return before, false
		}
		if regular := due.Add(job.RegularDelay); regular.After(bound) && !irregular(f) {
			bound = regular
		}
	}
	if bound.After(before) {
		bound = before
	}
	return bound, true
}
