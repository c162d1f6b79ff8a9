// Package registries holds the workflows of job collections and of subscriptions. Both are registries of
// names: collection.go is a job collection, whose names are its jobs' and which fanout.go updates when it is
// enabled, disabled or deleted; subscription.go is a subscription, whose names are its collections'.
// registry.go is what they share.
package registries

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/job"
	"almanac/job/quota"
	"almanac/workflows"
	"almanac/workflows/internal/timer"
)

// A Registration is a registered name: a job's in its [Collection], a collection's in its [Subscription].
//
// A name is registered before its workflow is started, so that quotas hold under concurrent creates. A
// lookup 30 s later forgets names whose workflow was never started.
type Registration struct {
	Name       string    `json:"name"`                // as first written
	Sequence   int       `json:"seq,omitempty"`       // number of the registration, from 1
	Unverified time.Time `json:"unverified,omitzero"` // time of registration until the workflow was seen, then zero
	Contested  bool      `json:"contested,omitempty"` // registered again while it existed: only a lookup can tell whether the workflow is gone

	CollectionDisabled bool               `json:"collectionDisabled,omitempty"` // the collection's state that the job applied last: not enabled
	Rules              int                `json:"r,omitempty"`                  // number of the rules of notifications that the job applied last
	Silent             bool               `json:"silent,omitempty"`             // a later update was not answered; the job may have applied it or not
	Requirements       quota.Requirements `json:"requirements,omitzero"`        // of the job
	Generation         int                `json:"generation,omitempty"`         // generation of the job's definition with these requirements
	Plan               string             `json:"plan,omitempty"`               // of the collection
}

// verifyAfter is how long after its registration a workflow that is not there is assumed never to start.
// It has to be started within [workflows.StartWithin].
const verifyAfter = 30 * time.Second

// changesPerRun is the number of changes after which a run of a registry continues as new, if the
// server does not suggest it before.
const changesPerRun = 1000

// Temporal limits the input of the next run to 2 MiB, encryption included. A registration takes up to
// entryBytes beside its name.
const (
	maxRegistryBytes = 2_060_000
	entryBytes       = 188
)

// A registry holds the names of the workflows that belong to a collection or subscription.
type registry struct {
	entries  []Registration // in order of creation
	numbers  map[string]int // sequence by folded name
	size     int            // upper bound of the entries' size when they are handed over
	sequence int            // the last one given
	id       func(name string) string

	changes int  // in this run
	changed bool // since the loop last ran
	timer   timer.Timer
	removed workflow.ReceiveChannel
	counted time.Time     // last recount
	looking bool          // a recount is running
	batch   time.Duration // how long a name due for verification waits for later ones, to be looked up with them
}

// newRegistry returns a registry that forgets names on the signal [workflows.SignalRemoved].
func newRegistry(ctx workflow.Context, entries []Registration, sequence int, id func(name string) string) *registry {
	r := &registry{sequence: sequence, id: id, removed: workflow.GetSignalChannelWithOptions(ctx, workflows.SignalRemoved,
		workflow.SignalChannelOptions{Description: "forget a name, whose workflow is gone"})}
	r.set(entries)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var name string
			r.removed.Receive(ctx, &name)
			r.note()
			if i := r.find(name); i >= 0 && !r.entries[i].Contested {
				r.forget(name)
			}
		}
	})
	return r
}

func (r *registry) note() { r.changes, r.changed = r.changes+1, true }

// set replaces the registrations. They must be in order of sequence.
func (r *registry) set(entries []Registration) {
	r.entries, r.numbers, r.size = nil, map[string]int{}, 0
	for _, e := range entries {
		r.append(e)
	}
}

// find returns the index of a name's registration; -1 if there is none.
func (r *registry) find(name string) int {
	number, ok := r.numbers[job.NormalizeName(name)]
	if !ok {
		return -1
	}
	i, _ := slices.BinarySearchFunc(r.entries, number, func(e Registration, number int) int { return e.Sequence - number })
	return i
}

func (r *registry) full(name string) bool { return r.size+bytesOf(name) > maxRegistryBytes }

// bytesOf returns an upper bound of a registration's size as JSON.
func bytesOf(name string) int {
	text, _ := json.Marshal(name) //workflowcheck:ignore // of a string it is deterministic, and has no error
	return entryBytes + len(text)
}

func (r *registry) names() []string {
	names := make([]string, len(r.entries))
	for i, e := range r.entries {
		names[i] = e.Name
	}
	return names
}

func (r *registry) add(e Registration) {
	r.note()
	r.sequence++
	e.Sequence = r.sequence
	r.append(e)
}

func (r *registry) append(e Registration) {
	r.entries = append(r.entries, e)
	r.numbers[job.NormalizeName(e.Name)] = e.Sequence
	r.size += bytesOf(e.Name)
}

// contest records that a workflow is about to be started under a registered name: the existing one may
// be about to end.
func (r *registry) contest(ctx workflow.Context, i int) {
	r.note()
	r.entries[i].Contested = true
	r.entries[i].Unverified = workflow.Now(ctx)
}

func (r *registry) forget(name string) {
	r.note()
	if i := r.find(name); i >= 0 {
		r.entries = slices.Delete(r.entries, i, i+1)
		delete(r.numbers, job.NormalizeName(name))
		r.size -= bytesOf(name)
	}
}

// quiet reports whether no update or signal is pending or being handled.
func (r *registry) quiet(ctx workflow.Context) bool {
	return r.removed.Len() == 0 && workflow.AllHandlersFinished(ctx)
}

// long reports whether the run should continue as new.
func (r *registry) long(ctx workflow.Context) bool {
	return r.changes >= changesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// wait returns when something changed, a name is to be verified, or over returns true. verify reports
// whether a name is to be verified.
func (r *registry) wait(ctx workflow.Context, over func() bool) (verify bool, err error) {
	r.timer.Set(ctx, r.verifyAt())
	err = workflow.Await(ctx, func() bool { return r.changed || r.timer.Fired() || over() })
	return err == nil && r.timer.Fired(), err
}

// verifyAt returns when the oldest unverified registration is to be verified; zero if there is none.
func (r *registry) verifyAt() time.Time {
	var oldest time.Time
	for _, e := range r.entries {
		if u := e.Unverified; !u.IsZero() && (oldest.IsZero() || u.Before(oldest)) {
			oldest = u
		}
	}
	if oldest.IsZero() {
		return oldest
	}
	return oldest.Add(verifyAfter + r.batch)
}

// recountAfter is the minimum time between two recounts.
const recountAfter = time.Minute

// mayRecount reports whether a recount may begin, or is running and can be waited for.
func (r *registry) mayRecount(ctx workflow.Context) bool {
	return r.looking || !workflow.Now(ctx).Before(r.counted.Add(recountAfter))
}

// afterRecount returns the error of check, which refuses something because of registered names. If there is
// one and a recount may begin, check is asked again after it.
func (r *registry) afterRecount(ctx workflow.Context, check func() error) error {
	err := check()
	if err == nil || !r.mayRecount(ctx) {
		return err
	}
	if err := r.recount(ctx); err != nil {
		return err
	}
	return check()
}

// recount looks up all names and forgets those whose workflows were terminated, which sends no signal.
// Concurrent calls wait for the same recount.
func (r *registry) recount(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if r.looking {
		return workflow.Await(ctx, func() bool { return !r.looking })
	}
	r.looking, r.counted = true, workflow.Now(ctx)
	defer func() { r.looking = false }()
	return r.verify(ctx, true)
}

// verify looks up registrations older than verifyAfter and forgets those without a workflow: of all
// names, or only of those whose workflow was not seen yet.
func (r *registry) verify(ctx workflow.Context, all bool) error {
	now := workflow.Now(ctx)
	var asked []Registration
	for _, e := range r.entries {
		if old := !now.Before(e.Unverified.Add(verifyAfter)); old && (all || !e.Unverified.IsZero()) {
			asked = append(asked, e)
		}
	}
	for some := range slices.Chunk(asked, namesPerLookup) {
		if err := r.lookUp(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// namesPerLookup is the maximum number of workflows per lookup activity.
const namesPerLookup = 1000

func (r *registry) lookUp(ctx workflow.Context, asked []Registration) error {
	ids := make([]string, len(asked))
	for i, e := range asked {
		ids[i] = r.id(e.Name)
	}
	var missing []int
	ctx = withLookup(ctx, fmt.Sprintf("which of %d workflows are there?", len(ids)))
	if err := workflow.ExecuteActivity(ctx, lookups.TypeMissing, ids).Get(ctx, &missing); err != nil {
		return err
	}
	for i, e := range asked {
		at := r.find(e.Name)
		_, isMissing := slices.BinarySearch(missing, i)
		switch {
		case at < 0 || r.entries[at].Sequence != e.Sequence || !r.entries[at].Unverified.Equal(e.Unverified): // removed, or created anew meanwhile
		case isMissing:
			r.forget(e.Name)
		default:
			r.entries[at].Unverified, r.entries[at].Contested = time.Time{}, false
		}
	}
	r.note()
	return nil
}

// withLookup returns a context for activities that query or update workflows, retried without limit.
func withLookup(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             summary,
	})
}
