package preview

import (
	"cmp"
	"slices"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Held is which occurrences a pause holds, and what becomes of them.
type Held struct {
	Count       int
	Runs        int  // how many of them run when it ends
	AtOnce      int  // how many of those at once
	More        bool // there are more than were counted
	Occurrences []HeldOccurrence
}

// A HeldOfCollection is what a pause of a collection holds of its jobs, and what becomes of it.
type HeldOfCollection struct {
	Jobs     int // that were asked
	Holding  int // those of which something is held
	Held     int // occurrences of all of them
	Runs     int
	More     bool      // of some job there are more than were counted
	Complete bool      // all jobs were asked, and answered
	Most     []HeldJob // those of which the most occurrences run, or else are held, first
}

// A HeldJob is what is held of a job.
type HeldJob struct {
	Key job.Key
	Held
}

// maxHeldJobs is how many jobs are listed.
const maxHeldJobs = 100

// Add adds what is held of a job.
func (c *HeldOfCollection) Add(k job.Key, h *Held) {
	c.Jobs++
	if h.Count == 0 {
		return
	}
	c.Holding, c.Held, c.Runs, c.More = c.Holding+1, c.Held+h.Count, c.Runs+h.Runs, c.More || h.More
	order := func(a, b HeldJob) int { return cmp.Or(b.Runs-a.Runs, b.Count-a.Count) }
	at := len(c.Most)
	for at > 0 && order(HeldJob{k, *h}, c.Most[at-1]) < 0 {
		at--
	}
	c.Most = slices.Insert(c.Most, at, HeldJob{k, *h})
	c.Most = c.Most[:min(len(c.Most), maxHeldJobs)]
}

// A HeldOccurrence is one of the newest occurrences that are held.
type HeldOccurrence struct {
	Due  time.Time
	Runs bool
}

// maxHeldListed is how many held occurrences are listed, and maxHeldCounted how many are counted.
const (
	maxHeldListed  = 20
	maxHeldCounted = 20_000
)

// OfState returns which occurrences of a job are held if it is enabled or disabled now as p says, and what becomes of
// them. uses are its calendars; nil if it has none. The error means that this program cannot read its recurrence.
func OfState(j *job.Job, uses []calendars.Use, state job.State, p *job.Promise, now time.Time) (Held, error) {
	if state == job.StateDisabled {
		return heldIf(j, uses, p, now, (*holding).disable)
	}
	return heldIf(j, uses, p, now, (*holding).enable)
}

// OfCollection is [OfState] for a job whose collection is enabled or disabled. What a job holds that is disabled itself
// is decided when that is enabled.
func OfCollection(
	j *job.Job, uses []calendars.Use, state job.CollectionState, p *job.Promise, now time.Time,
) (Held, error) {
	if state == job.CollectionEnabled {
		return heldIf(j, uses, p, now, (*holding).enableCollection)
	}
	return heldIf(j, uses, p, now, (*holding).disableCollection)
}

// heldIf returns what is held if which says that something is.
func heldIf(
	j *job.Job, uses []calendars.Use, p *job.Promise, now time.Time, which func(*holding, *job.Job) bool,
) (Held, error) {
	t, err := timetable.OfJob(j, uses)
	if err != nil || j.Definition.State.Final() {
		return Held{AtOnce: max(1, p.AtOnce)}, err
	}
	h := holding{t.Without(j.Skips, j.SkipWindows...), j.Decided, now.Truncate(time.Second).Add(-time.Second), p, -1}
	if r := j.Definition.Recurrence; r != nil && r.Count > 0 {
		h.left = max(0, r.Count-j.Started)
	}
	if !which(&h, j) {
		return Held{AtOnce: max(1, p.AtOnce)}, nil
	}
	return h.held(), nil
}

// A holding says which occurrences are held.
type holding struct {
	timetable   *timetable.Timetable
	from, until time.Time // they are due after from and up to until; zero: it has no end
	promise     *job.Promise
	left        int // occurrences that recurrence.count leaves; -1: any number
}

// disable reports whether something is held if the job is disabled.
func (h *holding) disable(j *job.Job) bool {
	inactive := j.Definition.State == job.StateDisabled || j.CollectionDisabled
	switch {
	case inactive && j.Held != nil: // and stays so
		h.promise = chosen(h.promise, j.Held)
	case !h.promise.Holds(), j.CollectionDisabled: // nothing, or only when the collection is enabled
		return false
	case inactive:
		h.from = h.until
	}
	if h.until = h.promise.Until; !h.until.IsZero() {
		h.until = h.until.Add(-time.Second) // what is due at the end runs
	}
	return true
}

// enable reports whether something is held that is decided if the job is enabled.
func (h *holding) enable(j *job.Job) bool {
	switch {
	case j.Definition.State == job.StateEnabled:
		return false
	case j.CollectionDisabled && !j.CollectionPause.Paused():
		h.promise = &job.Promise{}
		return j.Held != nil
	case j.CollectionDisabled: // it is decided when that is enabled
		h.promise = chosen(&j.CollectionPause.Promise, j.Held)
		return j.Held != nil
	}
	return h.decides(j, j.DisabledBy.Promised())
}

// decides reports whether something is decided of a job that is to be active, by the request or else as was promised.
func (h *holding) decides(j *job.Job, promised *job.Promise) bool {
	asked := h.promise.Recover != ""
	if h.promise = chosen(h.promise, promised, j.Held); j.Held != nil || asked || h.promise.Keep() > 0 {
		return true
	}
	if j.Definition.Recurrence != nil {
		return false
	}
	h.promise = &job.Promise{Recover: job.RecoverLatest} // its time may have passed: then it runs at once
	return true
}

// disableCollection reports whether something is held if the job's collection is disabled.
func (h *holding) disableCollection(j *job.Job) bool {
	switch {
	case j.Held != nil && (j.CollectionDisabled || j.Definition.State == job.StateDisabled): // and stays so
		h.promise = chosen(h.promise, j.Held)
	case !h.promise.Holds(), j.Definition.State == job.StateDisabled:
		return false
	case j.CollectionDisabled:
		h.from = h.until
	}
	if h.until = h.promise.Until; !h.until.IsZero() {
		h.until = h.until.Add(-time.Second)
	}
	return true
}

// enableCollection reports whether something is held that is decided if the job's collection is enabled.
func (h *holding) enableCollection(j *job.Job) bool {
	switch {
	case !j.CollectionDisabled, j.Definition.State == job.StateDisabled && j.DisabledBy.Paused():
		return false
	case j.Definition.State == job.StateDisabled: // it is left out
		h.promise = &job.Promise{}
		return j.Held != nil
	}
	return h.decides(j, j.CollectionPause.Promised())
}

// chosen returns the promise that says what becomes of what is held: the first one that says something, with the number
// at once of the request.
func chosen(asked *job.Promise, others ...*job.Promise) *job.Promise {
	p := *asked
	for _, other := range others {
		if p.Recover == "" && other != nil && other.Recover != "" {
			p.Recover = other.Recover
			if p.AtOnce == 0 {
				p.AtOnce = other.AtOnce
			}
		}
	}
	return &p
}

// held counts what is held. Without an end it has the first few.
func (h *holding) held() Held {
	out := Held{AtOnce: max(1, h.promise.AtOnce)}
	most := maxHeldCounted
	if h.until.IsZero() {
		most = maxHeldListed
	}
	var listed []time.Time
	for at := h.from; ; out.Count++ {
		next, ok := h.timetable.After(at)
		if !ok || !h.until.IsZero() && next.After(h.until) {
			break
		}
		if out.More = out.Count == most; out.More {
			break
		}
		at, listed = next, append(listed, next)
	}
	listed = listed[max(0, len(listed)-maxHeldListed):]
	if out.More && !h.until.IsZero() {
		listed = h.newest()
	}
	keep := min(out.Count, h.promise.Keep())
	if out.More && h.until.IsZero() {
		keep = 0 // which ones will depends on its end
	}
	out.Runs = keep
	if h.left >= 0 {
		out.Runs = min(keep, h.left)
	}
	for i, due := range listed {
		kept := keep - (len(listed) - i) // how many of those that are kept are older
		out.Occurrences = append(out.Occurrences, HeldOccurrence{due, kept >= 0 && kept < out.Runs})
	}
	return out
}

// newest returns the last few that are held, oldest first.
func (h *holding) newest() []time.Time {
	newest := make([]time.Time, maxHeldListed)
	at := h.until
	for i := range newest {
		last, _ := h.timetable.Last(at) // there are more
		newest[maxHeldListed-1-i] = last
		at = last.Add(-time.Second)
	}
	return newest
}
