// Package overview reads what happened and what comes next across the jobs of a collection, a resource group or a
// subscription. It writes nothing, and keeps in memory only what it can check or what it may lose.
package overview

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
	"almanac/scheduler/internal/cache"
	"almanac/workflows"
)

const (
	// maxJobs is the maximum number of jobs that a list covers: twice the jobs of a full collection.
	maxJobs = 20_000
	// maxCollections is the maximum number of collections that a list covers.
	maxCollections = 1_000

	// After pageTime a page returns what it has, or an error if it has nothing. A job's own answer has jobTime.
	pageTime = 22 * time.Second
	jobTime  = 10 * time.Second

	// maxKnown is the maximum number of jobs that are remembered, for each kind of list.
	maxKnown = 50_000
)

// Options configure an [Overview]. All members are required.
type Options struct {
	*core.Client
	History *history.Reader
	// Ask is [core.Client.AskOnce].
	Ask func(ctx context.Context, workflowID, query string, result any) error
}

// An Overview reads across jobs. It is safe for concurrent use.
type Overview struct {
	o     Options
	plans cache.Cache[planned]  // by the workflow ID of the job
	marks cache.Cache[lastSeen] // likewise

	outlines  cache.Cache[outlines] // by scope
	relisting sync.Map              // scopes of which all are being read anew
	touched   cache.Cache[struct{}] // changed by this process, by workflow ID

	changes atomic.Int64 // calls of Forget
}

// New returns an Overview.
func New(o Options) *Overview { return &Overview{o: o} }

// Forget removes what is remembered of a workflow, which was changed. Of a collection it removes nothing: its state
// and the names of its jobs are read for every page.
func (v *Overview) Forget(workflowID string) {
	v.changes.Add(1)
	v.plans.Forget(workflowID)
	v.touched.Put(workflowID, struct{}{}, 1, maxKnown)
}

// A collection is a job collection, the jobs in it, and what kept it from being read.
type collection struct {
	key     job.CollectionKey
	enabled bool
	jobs    []job.Key
	err     error
}

// readCollections reads the collections of a scope, and the names of their jobs that the page selects and may show. They are complete and
// consistent. Closed collections are left out. withState says whether enabled is needed.
func (v *Overview) readCollections(ctx context.Context, s listing.Scope, p listing.Page, withState bool) ([]collection, error) {
	keys, err := v.collectionKeys(ctx, s, p)
	if err != nil {
		return nil, err
	}
	found := make([]collection, len(keys))
	wfclient.Each(len(keys), func(i int) { found[i] = v.readCollection(ctx, keys[i], p, withState) })
	if ctx.Err() != nil {
		return nil, v.o.Error(ctx, ctx.Err(), nil)
	}
	if s.Collection != "" && found[0].err != nil {
		return nil, v.o.Error(ctx, found[0].err, core.MissingCollection(keys[0]))
	}
	found = slices.DeleteFunc(found, func(f collection) bool { return wfclient.IsGone(f.err) })
	jobs := 0
	for _, f := range found {
		jobs += len(f.jobs)
	}
	if jobs > maxJobs {
		return nil, tooMany(fmt.Sprintf("%d jobs; a list across jobs covers %d at most", jobs, maxJobs))
	}
	return found, nil
}

// collectionKeys returns the keys of the collections of a scope of which the page may show jobs.
func (v *Overview) collectionKeys(ctx context.Context, s listing.Scope, p listing.Page) ([]job.CollectionKey, error) {
	if s.Collection != "" {
		k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: s.ResourceGroup, Name: s.Collection}
		return []job.CollectionKey{k}, k.Validate()
	}
	var paths []string
	err := v.o.Ask(ctx, job.SubscriptionWorkflowID(s.Subscription), workflows.QueryCollections, &paths)
	if err != nil && !wfclient.IsGone(err) {
		return nil, v.o.Error(ctx, err, nil)
	}
	var keys []job.CollectionKey
	for _, path := range paths {
		group, name, _ := strings.Cut(path, "/")
		k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: group, Name: name}
		if (s.ResourceGroup == "" || job.NormalizeName(group) == job.NormalizeName(s.ResourceGroup)) && p.ShowsWithin(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) > maxCollections {
		return nil, tooMany(fmt.Sprintf("%d job collections; a list across jobs covers %d at most", len(keys), maxCollections))
	}
	return keys, nil
}

// readCollection reads one collection.
func (v *Overview) readCollection(ctx context.Context, k job.CollectionKey, p listing.Page, withState bool) collection {
	found := collection{key: k, enabled: true}
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	var list workflows.JobList
	if found.err = v.o.Ask(ctx, k.WorkflowID(), workflows.QueryJobs, &list); found.err != nil {
		return found
	}
	found.key = list.Collection
	for _, l := range list.Jobs {
		if k := found.key.Job(l.Name); p.Filter.MatchesName(l.Name) && p.ShowsJob(k) {
			found.jobs = append(found.jobs, k)
		}
	}
	if withState {
		var c job.Collection
		found.err = v.o.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, &c)
		found.enabled = c.Properties.State == job.CollectionEnabled
	}
	return found
}

// An unread is what could not be read for a page: a job, or a collection with an empty job name.
type unread struct {
	id  string // of the workflow
	key job.Key
	why string
}

// An unreadSet collects what could not be read. It is safe for concurrent use.
type unreadSet struct {
	v    *Overview
	mu   sync.Mutex
	list []unread
}

// add adds a job or a collection. One that is closed is none of the list, so it is left out.
func (p *unreadSet) add(ctx context.Context, id string, key job.Key, err error) {
	if err == nil || wfclient.IsGone(err) {
		return
	}
	p.v.o.Log.WarnContext(ctx, "a job or job collection in a list across jobs could not be read", slog.String("id", id), slog.Any("error", err))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, unread{id, key, core.Why(err)})
}

// after returns what was collected, sorted by ID, beyond an ID.
func (p *unreadSet) after(id string) []unread {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortFunc(p.list, func(a, b unread) int { return strings.Compare(a.id, b.id) })
	return slices.DeleteFunc(slices.Clone(p.list), func(u unread) bool { return u.id <= id })
}

// addCollections adds the collections that could not be read, and returns the others.
func (p *unreadSet) addCollections(ctx context.Context, found []collection) (readable []collection) {
	for _, s := range found {
		if s.err != nil {
			p.add(ctx, s.key.WorkflowID(), job.Key{Collection: s.key}, s.err)
			continue
		}
		readable = append(readable, s)
	}
	return readable
}

// notInTime returns the error of a page whose time is over.
func notInTime(read, all int) error {
	return &job.Error{
		Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: context.DeadlineExceeded,
		Message: fmt.Sprintf("%d of %d jobs were read in time. What was read is remembered for a while: try again, or ask for fewer jobs or a shorter time.", read, all),
	}
}

func tooMany(what string) error {
	return &job.Error{
		Kind: job.KindInvalid, Code: "TooManyJobs",
		Message: "There are " + what + ". Ask for one job collection, or filter by the name of jobs.",
	}
}
