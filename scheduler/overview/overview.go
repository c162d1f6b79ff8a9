// Package overview reads what happened and what comes next across the jobs of a collection, a resource group or a
// subscription. It writes nothing, and keeps in memory only what it can check or what it may lose.
//
// Each page begins with the names of the jobs, which their collections answer completely. Everything else that
// concerns many jobs is in the index (index.go), as of a time that it knows:
//
//	Temporal's lists ──▶ index ──▶ past:     bounds ─▶ merge ─▶ page of entries, from the histories on it
//	  (outlines)           ▲  └──▶ upcoming: plans  ─▶ merge ─▶ page of occurrences
//	                       └────── jobs that a page had to ask
//
// The index has a job's outline ([job.Outline]): its timetable, a time before which its history may have entries off
// the timetable, and what became of its last occurrences. It is built from Temporal's lists, and brought up to date
// by what has changed since. It may be lost at any time, and each API has its own.
//
// A list is a merge of one stream for each job. Of a stream the first entry is known, or a time that it does not come
// before: an entry that an outline does not cover succeeded on the timetable. The past asks the server about a job,
// and then opens its history, only when the job's time is the first of all.
//
// What a list of thousands of jobs is to show, search or sort by belongs into the outline, or into the memo beside
// it, and from there into the index: no list asks each job.
package overview

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/recurrence/calendars"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
	"almanac/workflows"
)

const (
	// maxJobs and maxCollections are how much a list covers: twice the jobs of a full collection.
	maxJobs, maxCollections = 20_000, 1_000

	// After pageTime a page returns what it has, or an error if it has nothing. A job's own answer has jobTime.
	pageTime, jobTime = 22 * time.Second, 10 * time.Second
)

// Options configure an [Overview]. All members are required.
type Options struct {
	*core.Client
	History *history.Reader
	// Ask is [core.Client.AskOnce].
	Ask func(ctx context.Context, workflowID, query string, result any) error
	// Uses reads the calendars of a recurrence of a job in a collection; nil if it names none.
	Uses func(ctx context.Context, k job.CollectionKey, r *job.Recurrence) ([]calendars.Use, error)
}

// An Overview reads across jobs. It is safe for concurrent use.
type Overview struct {
	o     Options
	index index
}

// New returns an Overview.
func New(o Options) *Overview { return &Overview{o: o} }

// Forget removes what is known of a job, which was changed. Of other workflows nothing is known.
func (v *Overview) Forget(workflowID string) {
	if !strings.HasPrefix(workflowID, job.WorkflowIDPrefix) {
		return
	}
	now := v.o.Now()
	v.index.change(workflowID, now, func(e *entry) {
		if e.outline != nil {
			e.listed = e.outline
		}
		*e = entry{changed: now, listed: e.listed}
	})
}

// jobs returns the jobs of a scope that the page selects and may show, complete and consistent, and the collections
// that could not be read. With enabled, those of collections that are not enabled are left out.
func (v *Overview) jobs(
	ctx context.Context, s listing.Scope, p listing.Page, enabled bool,
) ([]job.Key, *failures, error) {
	keys, err := v.collections(ctx, s, p)
	if err != nil {
		return nil, nil, err
	}
	found, errs := make([][]job.Key, len(keys)), make([]error, len(keys))
	wfclient.Each(len(keys), func(i int) { found[i], errs[i] = v.jobsOf(ctx, keys[i], p, enabled) })
	if ctx.Err() != nil {
		return nil, nil, v.o.Error(ctx, ctx.Err(), nil)
	}
	if s.Collection != "" && errs[0] != nil {
		return nil, nil, v.o.Error(ctx, errs[0], core.MissingCollection(keys[0]))
	}
	failed := &failures{log: v.o.Log, all: map[string]failure{}}
	for i, k := range keys {
		failed.add(ctx, k.WorkflowID(), job.Key{Collection: k}, errs[i])
	}
	jobs := slices.Concat(found...)
	if len(jobs) > maxJobs {
		return nil, nil, tooMany("%d jobs; a list across jobs covers %d at most", len(jobs), maxJobs)
	}
	return jobs, failed, nil
}

// collections returns the collections of a scope of which the page may show jobs.
func (v *Overview) collections(
	ctx context.Context, s listing.Scope, p listing.Page,
) (keys []job.CollectionKey, err error) {
	if s.Collection != "" {
		k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: s.ResourceGroup, Name: s.Collection}
		return []job.CollectionKey{k}, k.Validate()
	}
	var paths []string
	err = v.o.Ask(ctx, job.SubscriptionWorkflowID(s.Subscription), workflows.QueryCollections, &paths)
	if err != nil && !wfclient.IsGone(err) {
		return nil, v.o.Error(ctx, err, nil)
	}
	for _, path := range paths {
		group, name, _ := strings.Cut(path, "/")
		k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: group, Name: name}
		if (s.ResourceGroup == "" || job.NormalizeName(group) == job.NormalizeName(s.ResourceGroup)) && p.ShowsWithin(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) > maxCollections {
		return nil, tooMany("%d job collections; a list across jobs covers %d at most", len(keys), maxCollections)
	}
	return keys, nil
}

// jobsOf is [Overview.jobs] for one collection.
func (v *Overview) jobsOf(
	ctx context.Context, k job.CollectionKey, p listing.Page, enabled bool,
) (jobs []job.Key, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	var list workflows.JobList
	if err := v.o.Ask(ctx, k.WorkflowID(), workflows.QueryJobs, &list); err != nil {
		return nil, err
	}
	var c job.Collection
	if enabled {
		err := v.o.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, &c)
		if err != nil || c.Properties.State != job.CollectionEnabled {
			return nil, err
		}
	}
	for _, l := range list.Jobs {
		if k := list.Collection.Job(l.Name); p.Filter.MatchesName(l.Name) && p.ShowsJob(k) {
			jobs = append(jobs, k)
		}
	}
	return jobs, nil
}

// Failures are what could not be read for a page. They are safe for concurrent use.
type failures struct {
	log *slog.Logger
	mu  sync.Mutex
	all map[string]failure // by workflow ID
}

// A failure is a job that could not be read or, with an empty name of the job, a collection.
type failure struct {
	id  string // of the workflow
	key job.Key
	why string
}

// add adds a job or a collection, if err is an error. One that is closed is none of the list, so it is left out.
func (f *failures) add(ctx context.Context, id string, key job.Key, err error) {
	if err == nil || wfclient.IsGone(err) {
		return
	}
	f.log.WarnContext(ctx, "a job or job collection in a list across jobs could not be read",
		slog.String("id", id), slog.Any("error", err))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[id] = failure{id, key, core.Why(err)} // once, though two parts of a page may have tried
}

// after returns what was added, sorted by ID, beyond an ID.
func (f *failures) after(id string) (list []failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, other := range slices.Sorted(maps.Keys(f.all)) {
		if other > id {
			list = append(list, f.all[other])
		}
	}
	return list
}

// notInTime returns the error of a page whose time is over.
func notInTime(read, all int) error {
	return &job.Error{
		Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: context.DeadlineExceeded,
		Message: fmt.Sprintf("%d of %d jobs were read in time. What was read is remembered for a while: try again, "+
			"or ask for fewer jobs or a shorter time.", read, all),
	}
}

func tooMany(format string, values ...any) error {
	return &job.Error{
		Kind: job.KindInvalid, Code: "TooManyJobs",
		Message: "There are " + fmt.Sprintf(format, values...) +
			". Ask for one job collection, or filter by the name of jobs.",
	}
}
