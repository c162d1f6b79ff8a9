package workflows

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
)

// A Registration is a name in a registry: of a job in that of its
// [Collection], of a collection in that of its [Subscription].
//
// A name is registered before its workflow is started, so that a quota holds
// whoever else creates. Whether the start came about is looked up a little
// later, so that a crash between the two leaves no name without a workflow.
type Registration struct {
	Name       string    `json:"name"`                // as it was first written
	Sequence   int       `json:"seq,omitempty"`       // counts registrations, from 1
	Unverified time.Time `json:"unverified,omitzero"` // when it was registered, as long as the workflow was not seen
	Contested  bool      `json:"contested,omitempty"` // registered again, so that only a lookup tells whether the workflow is gone

	Resting    bool        `json:"resting,omitempty"`    // what the job was last told of its collection
	Silent     bool        `json:"silent,omitempty"`     // it was told something since, and did not answer: it may know or not
	Demands    job.Demands `json:"demands,omitzero"`     // the job's
	Generation int         `json:"generation,omitempty"` // of the job that made these demands
	Plan       string      `json:"plan,omitempty"`       // the collection's
}

// Whoever registers a name has StartWithin to start the workflow; after
// verifyAfter one that is not there is taken for one that never will be.
const (
	StartWithin = 15 * time.Second
	verifyAfter = 30 * time.Second
)

// A run of a registry continues as new after so many changes, if the server
// does not suggest it before.
const changesPerRun = 1000

// Temporal takes 2 MiB at most of what a run hands over to the next one, its encryption
// included. A registration takes entryBytes at most, beside its name.
const (
	maxRegistryBytes = 2_000_000
	entryBytes       = 180
)

// A registry holds the names of the workflows that belong to a workflow.
type registry struct {
	entries  []Registration // in the order of their creation
	numbers  map[string]int // their sequence, by the folded name
	size     int            // bytes that they take at most when they are handed over
	sequence int            // the highest that was given
	id       func(name string) string

	changes int  // in this run
	changed bool // since the loop looked last
	timer   timer
	removed workflow.ReceiveChannel
	counted time.Time     // when all names were looked up last, since there was no room
	looking bool          // they are being looked up
	batch   time.Duration // for so long a name that is old enough waits for later ones, to be looked up with them
}

// newRegistry heeds the signals of workflows that are gone.
func newRegistry(ctx workflow.Context, entries []Registration, sequence int, id func(name string) string) *registry {
	r := &registry{sequence: sequence, id: id, removed: workflow.GetSignalChannelWithOptions(ctx, SignalRemoved,
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

// set makes these the registrations, in the order of their sequence.
func (r *registry) set(entries []Registration) {
	r.entries, r.numbers, r.size = nil, map[string]int{}, 0
	for _, e := range entries {
		r.append(e)
	}
}

// find returns the index of a name's registration; -1 if it has none.
func (r *registry) find(name string) int {
	number, ok := r.numbers[job.Fold(name)]
	if !ok {
		return -1
	}
	i, _ := slices.BinarySearchFunc(r.entries, number, func(e Registration, number int) int { return e.Sequence - number })
	return i
}

// full reports whether there is no room for another name.
func (r *registry) full(name string) bool { return r.size+bytesOf(name) > maxRegistryBytes }

// bytesOf returns how many bytes a registration takes at most, as JSON.
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

// add registers a name that is not registered yet.
func (r *registry) add(e Registration) {
	r.note()
	r.sequence++
	e.Sequence = r.sequence
	r.append(e)
}

func (r *registry) append(e Registration) {
	r.entries = append(r.entries, e)
	r.numbers[job.Fold(e.Name)] = e.Sequence
	r.size += bytesOf(e.Name)
}

// contest notes that somebody is about to start a workflow whose name is
// registered already: the one before it may be about to end.
func (r *registry) contest(ctx workflow.Context, i int) {
	r.note()
	r.entries[i].Contested = true
	r.entries[i].Unverified = workflow.Now(ctx)
}

func (r *registry) forget(name string) {
	r.note()
	if i := r.find(name); i >= 0 {
		r.entries = slices.Delete(r.entries, i, i+1)
		delete(r.numbers, job.Fold(name))
		r.size -= bytesOf(name)
	}
}

// quiet reports whether no update and no signal is being handled or waits.
func (r *registry) quiet(ctx workflow.Context) bool {
	return r.removed.Len() == 0 && workflow.AllHandlersFinished(ctx)
}

// long reports whether the run is long enough to continue as new.
func (r *registry) long(ctx workflow.Context) bool {
	return r.changes >= changesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// wait returns when something changed, when a name is to be verified, or when
// over says so. It reports whether a name is to be verified.
func (r *registry) wait(ctx workflow.Context, over func() bool) (verify bool, err error) {
	r.timer.set(ctx, r.verifyAt())
	err = workflow.Await(ctx, func() bool { return r.changed || r.timer.fired() || over() })
	return err == nil && r.timer.fired(), err
}

// verifyAt returns when the oldest unverified registration is to be verified;
// zero if there is none.
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

// recountAfter is how often all names may be looked up because there is no room.
const recountAfter = time.Minute

// mayRecount reports whether all names are being looked up, or were not lately.
func (r *registry) mayRecount(ctx workflow.Context) bool {
	return r.looking || !workflow.Now(ctx).Before(r.counted.Add(recountAfter))
}

// recount forgets the names whose workflows were terminated, which tells nobody. It is
// done before anything is refused because of names that are registered. Whoever comes
// while it is done waits for it.
func (r *registry) recount(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if r.looking {
		return workflow.Await(ctx, func() bool { return !r.looking })
	}
	r.looking, r.counted = true, workflow.Now(ctx)
	defer func() { r.looking = false }()
	return r.verify(ctx, true)
}

// verify looks up the workflows whose registration is old enough that they
// must exist by now, and forgets those that do not: of all names, or of those whose
// workflow was not seen yet.
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

// namesPerLookup bounds how many workflows one activity looks up.
const namesPerLookup = 1000

func (r *registry) lookUp(ctx workflow.Context, asked []Registration) error {
	ids := make([]string, len(asked))
	for i, e := range asked {
		ids[i] = r.id(e.Name)
	}
	var missing []int
	ctx = withLookup(ctx, fmt.Sprintf("which of %d workflows are there?", len(ids)))
	if err := workflow.ExecuteActivity(ctx, activities.TypeMissing, ids).Get(ctx, &missing); err != nil {
		return err
	}
	for i, e := range asked {
		at := r.find(e.Name)
		_, isMissing := slices.BinarySearch(missing, i)
		switch {
		case at < 0 || r.entries[at].Sequence != e.Sequence || !r.entries[at].Unverified.Equal(e.Unverified): // gone, or created anew meanwhile
		case isMissing:
			r.forget(e.Name)
		default:
			r.entries[at].Unverified, r.entries[at].Contested = time.Time{}, false
		}
	}
	r.note()
	return nil
}

// withLookup returns a context for activities that ask Temporal something, as
// often as it takes.
func withLookup(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             summary,
	})
}
