// Package registries holds the workflows of job collections and of subscriptions. Both are registries of names:
// collection.go is a job collection, whose names are its jobs'. jobs.go registers these and keeps what they require,
// and fanout.go updates the jobs when the collection is enabled, disabled or deleted; subscription.go is a
// subscription, whose names are its collections'. registry.go is what they share.
package registries

import (
	"cmp"
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
	"almanac/workflows/internal/await"
)

// An Entry is a registered name: a job's in its [Collection], a collection's in its [Subscription].
//
// A name is registered before its workflow is started, so that quotas hold under concurrent creates. A lookup 30 s
// later forgets names whose workflow was never started. Until then the name may be registered again. Only a lookup can
// tell then for which registration there is a workflow, and the requirements of both count.
type Entry struct {
	Name       string `json:"name"`          // as first written
	Sequence   int    `json:"seq,omitempty"` // place in the list, from 1
	Claim             // the last one
	Before     *Claim `json:"b,omitempty"`    // an earlier one that may be the one with a workflow
	Unverified bool   `json:"new,omitempty"`  // until a workflow was seen
	Silent     bool   `json:"mute,omitempty"` // a later update was not answered; the job may have applied it or not
}

// A Claim is one registration of a name, and what it requires. [Claim.Plans] are those of a collection: its plan, and
// one that it is about to have.
type Claim struct {
	Number int `json:"n,omitempty"` // of the registration; see [workflows.Registration]
	// if the claim stands for several: the number of the first one
	From int `json:"from,omitempty"`
	// of the definition until it had these requirements: its generation is Number + Changes
	Changes      int                `json:"g,omitempty"`
	Requirements quota.Requirements `json:"q,omitzero"` // of the job
	Plans        []string           `json:"p,omitempty"`
	Applied      int                `json:"a,omitempty"` // number of the collection's state that the job applied last
}

// covers reports whether the claim is the registration with that number.
func (c *Claim) covers(number int) bool {
	return c != nil && number <= c.Number && number >= cmp.Or(c.From, c.Number)
}

// and returns the requirements of both claims, under the number of c.
func (c Claim) and(o *Claim) Claim {
	if o == nil {
		return c
	}
	c.From, c.Changes = cmp.Or(o.From, o.Number), 0
	c.Requirements = c.Requirements.And(o.Requirements)
	c.Plans, c.Applied = union(c.Plans, o.Plans), min(c.Applied, o.Applied)
	return c
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// reserve records what the definition of a generation requires. Until it is final, the requirements of all that contend
// for the generation count together.
func (c *Claim) reserve(generation int, needs Claim, final bool) {
	changes := generation - c.Number
	switch {
	case c.From != 0: // it is not known whose generation it is
		if final {
			return
		}
		fallthrough
	case !final && changes == c.Changes:
		c.Requirements, c.Plans = c.Requirements.And(needs.Requirements), union(c.Plans, needs.Plans)
		return
	case changes < c.Changes: // an older one
		return
	}
	c.Requirements, c.Plans, c.Changes = needs.Requirements, needs.Plans, changes
}

// all returns what the name requires, whichever of its registrations has a workflow.
func (e *Entry) all() Claim { return e.and(e.Before) }

// of returns the claim of the job whose definition has that generation; nil if the name is not registered for it. A
// generation begins with the number of the registration and grows by one with each change, so it is below the number of
// any later registration: a job that was changed [numbersApart] times lived for longer than that many microseconds.
func (e *Entry) of(generation int) *Claim {
	switch {
	case generation >= e.Number:
		return &e.Claim
	case e.Before != nil && generation >= cmp.Or(e.Before.From, e.Before.Number):
		return e.Before
	}
	return nil
}

// verifyAfter is how long after its registration a workflow that is not there is assumed never to start.
// It has to be started within [workflows.StartWithin].
const verifyAfter = 30 * time.Second

// changesPerRun is the number of changes after which a run of a registry continues as new, if the
// server does not suggest it before.
const changesPerRun = 1000

// Temporal limits the input of the next run to 2 MiB, encryption included. Beside its name, a registration takes up to
// entryBytes, and claimBytes more while it is registered twice.
const (
	maxRegistryBytes = 2_060_000 // of registrations and properties
	claimsBytes      = 60_000    // of which new names leave that much to names that are registered twice
	entryBytes       = 165
	claimBytes       = 145
)

// A registry holds the names of the workflows that belong to a collection or subscription.
type registry struct {
	entries  []Entry        // in order of creation
	numbers  map[string]int // sequence by folded name
	size     int            // upper bound of the entries' size when they are handed over
	other    int            // size of what is handed over beside them
	sequence int            // the last one given
	last     int            // number of the last registration
	id       func(name string) string

	changes int  // in this run
	changed bool // since the loop last ran
	timer   await.Timer
	removed workflow.ReceiveChannel
	counted time.Time     // last recount
	looking bool          // a recount is running
	batch   time.Duration // how long a name due for verification waits for later ones, to be looked up with them
}

// Names is what a run of a registry hands over to the next.
type Names struct {
	Entries  []Entry `json:"names,omitempty"` // in order of creation
	Sequence int     `json:"seq,omitempty"`   // the last one given
	Last     int     `json:"last,omitempty"`  // number of the last registration
}

// newRegistry returns a registry that forgets names on the signal [workflows.SignalRemoved].
func newRegistry(ctx workflow.Context, in Names, id func(name string) string) *registry {
	r := &registry{
		sequence: in.Sequence, last: in.Last, id: id,
		removed: await.Signals(ctx, workflows.SignalRemoved, "forget a name, whose workflow is gone"),
	}
	r.set(in.Entries)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var gone workflows.Registration
			r.removed.Receive(ctx, &gone)
			all := []workflows.Registration{gone} // of a herd, in one pass
			for r.removed.ReceiveAsync(&gone) {
				all = append(all, gone)
			}
			r.remove(ctx, all)
		}
	})
	return r
}

func (r *registry) handOver() Names {
	return Names{Entries: r.entries, Sequence: r.sequence, Last: r.last}
}

// note counts a change. Each update that is accepted counts, whether or not it changes anything: a run takes 2,000.
func (r *registry) note() { r.changes, r.changed = r.changes+1, true }

// set replaces the registrations. They must be in order of sequence.
func (r *registry) set(entries []Entry) {
	r.entries, r.numbers, r.size = nil, make(map[string]int, len(entries)), 0
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
	i, _ := slices.BinarySearchFunc(r.entries, number, func(e Entry, number int) int { return e.Sequence - number })
	return i
}

// full reports whether there is no room to register a name, again if it is registered already.
func (r *registry) full(name string) bool {
	i := r.find(name)
	if i < 0 {
		return r.size+r.other+bytesOf(name) > maxRegistryBytes-claimsBytes
	}
	return r.entries[i].Before == nil && r.size+r.other+claimBytes > maxRegistryBytes
}

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

// numbersApart is the smallest distance between the numbers of two registrations, in microseconds: a name may be
// registered twice in one task, and each of the two jobs may live for a while. A generation that one of them had after
// fewer changes than that is none of the other's.
const numbersApart = 1000

// register registers a name that there is room for, and returns the number of the registration.
func (r *registry) register(ctx workflow.Context, name string, c Claim) workflows.Registration {
	r.note()
	r.last = max(r.last+numbersApart, int(workflow.Now(ctx).UnixMicro()))
	c.Number = r.last
	i := r.find(name)
	if i < 0 {
		r.sequence++
		r.append(Entry{Name: name, Sequence: r.sequence, Claim: c, Unverified: true})
		return workflows.Registration{Name: name, Number: c.Number}
	}
	e := &r.entries[i]
	before := e.all()
	e.Claim, e.Unverified = c, true
	r.setBefore(e, &before)
	return workflows.Registration{Name: e.Name, Number: c.Number}
}

func (r *registry) append(e Entry) {
	r.entries = append(r.entries, e)
	r.numbers[job.NormalizeName(e.Name)] = e.Sequence
	r.size += bytesOf(e.Name)
	if e.Before != nil {
		r.size += claimBytes
	}
}

// setBefore sets the earlier claim of a registration; nil for none.
func (r *registry) setBefore(e *Entry, before *Claim) {
	if e.Before != nil {
		r.size -= claimBytes
	}
	if before != nil {
		r.size += claimBytes
	}
	e.Before = before
}

// forget removes the registrations with these sequences.
func (r *registry) forget(sequences map[int]bool) {
	if len(sequences) == 0 {
		return
	}
	r.note()
	r.entries = slices.DeleteFunc(r.entries, func(e Entry) bool {
		over := sequences[e.Sequence]
		if over {
			r.setBefore(&e, nil)
			delete(r.numbers, job.NormalizeName(e.Name))
			r.size -= bytesOf(e.Name)
		}
		return over
	})
}

// isOld reports whether no workflow is started for a registration any more, except one that has to ask first; see
// [registry.confirm].
func isOld(ctx workflow.Context, number int) bool {
	return !workflow.Now(ctx).Before(workflows.RegisteredAt(number).Add(verifyAfter))
}

// remove forgets registrations whose workflows have ended. Other registrations of a name stay as long as a workflow may
// be started for them.
func (r *registry) remove(ctx workflow.Context, all []workflows.Registration) {
	over := map[int]bool{}
	for _, gone := range all {
		r.note()
		i := r.find(gone.Name)
		if i < 0 {
			continue
		}
		switch e := &r.entries[i]; {
		case gone.Number == 0: // only a lookup can tell
			e.Unverified = true
		case gone.Number == e.Number && (e.Before == nil || isOld(ctx, e.Before.Number)):
			over[e.Sequence] = true
		case gone.Number == e.Number:
			e.Claim, e.Unverified = *e.Before, true
			r.setBefore(e, nil)
		case e.Before.covers(gone.Number) && e.Before.From == 0:
			r.setBefore(e, nil)
		}
	}
	r.forget(over)
}

// confirm answers a workflow that was started so late that its name may have been forgotten. It returns an error if the
// name is not registered for it.
func (r *registry) confirm(ctx workflow.Context, asks workflows.Registration) error {
	r.note()
	i := r.find(asks.Name)
	if i < 0 || asks.Number != r.entries[i].Number && !r.entries[i].Before.covers(asks.Number) {
		return workflows.Refusef(workflows.ErrTypeUnregistered, "'%s' was started later than %s after its name was registered, "+
			"and the name was given up meanwhile. Nothing lists it, so it ends.", asks.Name, workflows.StartWithin)
	}
	r.seen(ctx, i, asks.Number)
	return nil
}

// seen records that the workflow of a registration exists. It reports whether the name is registered for that workflow.
// Another registration of the name is kept as long as a workflow may be started for it.
func (r *registry) seen(ctx workflow.Context, i, number int) bool {
	e := &r.entries[i]
	switch {
	case number == e.Number && (e.Before == nil || isOld(ctx, e.Before.Number)):
		r.setBefore(e, nil)
		e.Unverified = false
	case number == e.Number:
	case !e.Before.covers(number):
		return false
	case isOld(ctx, e.Number):
		e.Claim, e.Unverified = *e.Before, false
		e.Number, e.From = number, 0
		r.setBefore(e, nil)
	}
	return true
}

// handlersFinished reports whether no update or signal is pending or being handled.
func (r *registry) handlersFinished(ctx workflow.Context) bool {
	return r.removed.Len() == 0 && workflow.AllHandlersFinished(ctx)
}

// long reports whether the run should continue as new.
func (r *registry) long(ctx workflow.Context) bool {
	return r.changes >= changesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// wait returns when something changed, a name is to be verified, or over returns true. verify reports
// whether a name is to be verified.
func (r *registry) wait(ctx workflow.Context, over func() bool) (verify bool, err error) {
	if at := r.verifyAt(); at.IsZero() {
		r.timer.Set(ctx, at)
	} else {
		r.timer.SetBy(ctx, at) // it moves with each request that confirms the oldest registration
	}
	err = workflow.Await(ctx, func() bool { return r.changed || r.timer.Fired() || over() })
	return err == nil && r.timer.Fired(), err
}

// verifyAt returns when the oldest unverified registration is to be verified; zero if there is none.
func (r *registry) verifyAt() time.Time {
	oldest := 0
	for i := range r.entries {
		if e := &r.entries[i]; e.Unverified && (oldest == 0 || e.Number < oldest) {
			oldest = e.Number
		}
	}
	if oldest == 0 {
		return time.Time{}
	}
	return workflows.RegisteredAt(oldest).Add(verifyAfter + r.batch)
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
	var asked []Entry
	for _, e := range r.entries {
		if isOld(ctx, e.Number) && (all || e.Unverified) {
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

func (r *registry) lookUp(ctx workflow.Context, asked []Entry) error {
	ids := make([]string, len(asked))
	for i, e := range asked {
		ids[i] = r.id(e.Name)
	}
	var numbers []int
	ctx = withLookup(ctx, fmt.Sprintf("which of %d workflows are there?", len(ids)))
	if err := workflow.ExecuteActivity(ctx, lookups.TypeRegistrations, ids).Get(ctx, &numbers); err != nil {
		return err
	}
	over := map[int]bool{}
	for i, e := range asked {
		at := r.find(e.Name)
		switch {
		case at < 0 || r.entries[at].Number != e.Number || i >= len(numbers): // removed, or registered anew meanwhile
		case numbers[i] == lookups.Unknown:
			r.entries[at].Unverified = false
		case numbers[i] == 0 || !r.seen(ctx, at, numbers[i]): // there is none, or a stranger's
			over[e.Sequence] = true
		}
	}
	r.note()
	r.forget(over)
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
