package record

import (
	"slices"
	"time"
)

// The kinds of change of jobs whose [Definition] has Promises.
const (
	Pause            = "pause"  // POST …/disable, or of a selection
	Resume           = "resume" // POST …/enable
	PauseCollection  = "pause-collection"
	ResumeCollection = "resume-collection"
	SkipSome         = "skip-some"
	UnskipSome       = "unskip-some"
	BeginBackfill    = "backfill"
	ChangeBackfill   = "change-backfill"
)

// A Promise is what a request says that pauses a job or a collection, or ends that.
type Promise struct {
	Until   time.Time // zero: until somebody enables it
	Recover string    // none, latest, all; empty: it says nothing
	AtOnce  int       // 0: it says nothing
}

// Holds reports whether what comes due is held, so that each occurrence has an entry.
func (p *Promise) Holds() bool { return !p.Until.IsZero() || p.Recover != "" }

// Which says which occurrences a request skips, or not any more: one, the next ones, or those of a time.
type Which struct {
	Due         time.Time
	Next        int
	From, Until time.Time
}

// A Backfill is what a request says of one.
type Backfill struct {
	Name        string
	From, Until time.Time
	AtOnce      int
	Every       time.Duration
	Action      string // of ChangeBackfill: pause, resume or end
}

// Has reports whether an occurrence that is due at t is in the backfill.
func (b *Backfill) Has(t time.Time) bool { return !t.Before(b.From) && t.Before(b.Until) }

// An Alert is what the receiver was notified of.
type Alert struct {
	Collection, Name string
	Event            string
	Due, First, Last time.Time // of the execution; or of the first and the last occurrence that did not run
	Arrived          time.Time
}

// Promising reports whether the job is one that is paused, skipped and backfilled.
func (j *JobLog) Promising() bool {
	created := j.Created()
	return created != nil && created.Definition != nil && created.Definition.Promises
}

// BackfillOf returns the backfill that runs the occurrence that is due at t; nil if none does. No two backfills of a
// job in a run have an occurrence in common, nor does one have an occurrence that the job ran itself.
func (j *JobLog) BackfillOf(t time.Time) *Change {
	i := slices.IndexFunc(j.Changes, func(c *Change) bool { return c.Kind == BeginBackfill && c.Backfill.Has(t) })
	if i < 0 {
		return nil
	}
	return j.Changes[i]
}
