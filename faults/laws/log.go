// Package laws checks what Almanac promises against what a receiver got. It
// reads plain data, no clock and no network, so that a log that was kept can be
// checked again, and a hand-made one can test the checker.
//
// It trusts the receiver's log, the log of the changes with their answers, and
// the log of the faults. Almanac's own history and counters are checked against
// these.
package laws

import (
	"fmt"
	"slices"
	"time"
)

// A Log is everything that one run left behind.
type Log struct {
	Run      Run
	Requests []Request // what the receiver got
	Changes  []Change  // in the order in which they were first issued, for each job
	Faults   []Fault
	Reads    []Read // each job at the end, or before it was deleted
	Lists    []List
	Replays  []Replay // those that failed
}

// A Run is what the other members of a [Log] share.
type Run struct {
	Seed   uint64
	Form   string    // one or cluster
	Loaded time.Time // when all jobs had been created
	Quiet  time.Time // when the last fault was over and nothing was changed any more
	Frozen time.Time // when every collection was disabled, so that nothing moves while the end is read

	// Tolerance is for how long after the answer to a change a request by the old
	// definition may still arrive: it left before the answer.
	Tolerance time.Duration
	Histories int // that were replayed
}

// A Job names one life of a job: a job that is deleted and created again under
// the same name starts its next life.
type Job struct {
	Collection string
	Name       string
	Life       int // 1 for the first
}

func (j Job) String() string { return fmt.Sprintf("%s/%s/%d", j.Collection, j.Name, j.Life) }

// A Definition is what the checker has to know of a job's definition.
type Definition struct {
	Version       int // stands in the URI, so that a request tells by which definition it was sent
	Start         time.Time
	Once          bool // otherwise the job is due every minute from Start on
	Count         int  // 0: no limit
	Retries       int  // 0: retryType none
	RetryInterval time.Duration
	Overlap       string // bufferOne, skip or allowAll
	CatchUp       bool   // a window of an hour; otherwise none
	ErrorAction   bool
	Behaviour     string // of the receiver; see the receiver
}

// The actions of a job.
const (
	Main  = "main"
	Error = "error"
)

// A Request is one that arrived at the receiver.
type Request struct {
	Job
	Version  int
	Action   string // Main or Error
	ID       string // the execution's, from the headers
	Due      time.Time
	Arrived  time.Time
	Answered time.Time // when the answer was written; zero: it was not
	Status   int       // 0: none was sent
	Cut      time.Time // when the sender closed the connection before the answer; zero: it did not
}

// Success reports whether the receiver answered 2xx.
func (r *Request) Success() bool { return r.Status/100 == 2 && !r.Answered.IsZero() }

// End returns when the request was over for the receiver.
func (r *Request) End() time.Time {
	switch {
	case !r.Answered.IsZero():
		return r.Answered
	case !r.Cut.IsZero():
		return r.Cut
	}
	return r.Arrived
}

// The kinds of change.
const (
	Create            = "create"
	ChangeAction      = "action"     // a new version in the URI
	ChangeRecurrence  = "recurrence" // a new start; the version may stay
	Disable           = "disable"
	Enable            = "enable"
	Delete            = "delete"
	RunNow            = "run"
	DisableCollection = "disable-collection"
	EnableCollection  = "enable-collection"
)

// A Change is one change of a job, or of a collection. It is repeated until its
// outcome is certain, except [RunNow] and some of [Create].
type Change struct {
	Job        // Name is empty for a change of a collection
	Kind       string
	Definition *Definition // that it puts in force; nil: the one before stays
	Tries      []Try
}

// A Try is one request of a change.
type Try struct {
	Issued   time.Time
	Answered time.Time // when the answer came, or the wait for it ended
	Status   int       // 0: no answer
	Error    string    `json:",omitempty"` // why there was none, or what a refusal said
}

// Issued returns when a change was first asked for.
func (c *Change) Issued() time.Time { return c.Tries[0].Issued }

// An Outcome says what is known about a change.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // it may be applied at any time from its first try on
	Applied                // between its first try and the answer
	Refused                // and nothing changed
)

// Outcome returns what is known about a change, and since when.
func (c *Change) Outcome() (Outcome, time.Time) {
	uncertain := false
	for _, t := range c.Tries {
		switch {
		case t.Status/100 == 2:
			return Applied, t.Answered
		case t.Status/100 == 4 && t.Status != 429:
			if c.Kind == Delete && t.Status == 404 {
				return Applied, t.Answered
			}
			if !uncertain {
				return Refused, t.Answered
			}
			return Unknown, time.Time{}
		}
		uncertain = true
	}
	return Unknown, time.Time{}
}

// The things that a fault may stop.
const (
	Worker  = "worker"  // one of several
	API     = "api"     // one of several
	Server  = "server"  // Temporal, or every way to it
	Workers = "workers" // all of them
)

// A Fault is one that was made.
type Fault struct {
	Kind    string // kill, pause, stop, flags, keys, disk, slow, blackhole, cut, overload
	Target  string // which process, the network, the disk or the load
	Aim     string // the stage it was aimed at, or random
	Job     string // the job it was aimed at, if any
	Stops   []string
	Start   time.Time
	Gone    time.Time // when the process had ended; zero: it did not
	Restart time.Time // when the process was started again, or went on
	End     time.Time // when everything was ready again
}

// Stopped reports whether the fault stopped one of some things.
func (f *Fault) Stopped(what ...string) bool {
	return slices.ContainsFunc(what, func(w string) bool { return slices.Contains(f.Stops, w) })
}

// Total reports whether nothing could run: the processes were gone.
func (f *Fault) Total() bool {
	return f.restarts() && f.Stopped(Server)
}

// restarts reports whether the fault ended processes and started them again.
func (f *Fault) restarts() bool {
	return slices.Contains([]string{"kill", "stop", "flags", "keys"}, f.Kind)
}

func (f *Fault) String() string {
	return fmt.Sprintf("%s of %s (%s) from %s to %s", f.Kind, f.Target, f.Aim, clock(f.Start), clock(f.End))
}

// overlaps reports whether the fault was in force at some time from a to b.
func (f *Fault) overlaps(a, b time.Time) bool { return !f.Start.After(b) && !f.End.Before(a) }

// A Read is what Almanac said of a job and its history.
type Read struct {
	Job
	Issued  time.Time
	Status  int // of the answer to GET; 404 where the job is not there
	State   string
	Version int // in the URI of the action
	Final   bool
	Entries []Entry

	ExecutionCount int
	FailureCount   int
	FaultedCount   int
	HasStatus      bool // a disabled job shows none
	ListedState    string
	ListedCount    int // executionCount in the list of the collection; -1: none
}

// An Entry is one of a job's history.
type Entry struct {
	Start, End time.Time
	Due        time.Time
	Status     string
	Message    string
	Retry      int // 0 for the first attempt
	Repeat     int
	Action     string // Main or Error
}

// A List is one of a collection's jobs.
type List struct {
	Collection string
	Issued     time.Time
	Answered   time.Time
	Names      []string
}

// A Replay is a history that could not be replayed.
type Replay struct {
	WorkflowID string
	RunID      string
	Error      string
	File       string
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("15:04:05.000")
}
