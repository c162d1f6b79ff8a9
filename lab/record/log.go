// Package record holds what one run of the fault experiments leaves behind, as plain data: what the receiver
// got, the changes with their answers, the faults, and what Almanac said of its jobs. A [Log] can be written
// to files and read again. A [JobLog] is the part of it that is about one job.
package record

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Log is everything that one run leaves behind.
type Log struct {
	Run      Run
	Requests []Request // what the receiver got
	Changes  []Change  // in the order in which they were first issued, for each job
	Faults   []Fault
	Reads    []Read // each job at the end of the run, or before it was deleted
	Lists    []List
	Replays  []Replay // those that failed
	Alerts   []Alert  // what the receiver was notified of, of jobs that are paused
}

// A Run holds the settings and the phases of a run.
type Run struct {
	Seed   uint64
	Form   string    // one, cluster or postgres
	Herd   int       // jobs that are due in one second of each minute
	Quota  int       // the maximum number of jobs of [QuotaCollection]; 0: there is none
	Loaded time.Time // when all jobs had been created
	Quiet  time.Time // when the last fault and the last change of a job were over
	Frozen time.Time // when all collections were disabled and no request was open, before the jobs were read

	// Tolerance is the maximum time between the answer to a change and a request by the old definition that
	// was sent before the answer and arrives after it.
	Tolerance time.Duration
	Histories int // number of histories that were replayed
}

// QuotaCollection is the collection with a quota of its own.
const QuotaCollection = "quotas0"

// A Job identifies one incarnation of a job: each time a job is deleted and created again under the same
// name, the next one begins.
type Job struct {
	Collection  string
	Name        string
	Incarnation int `json:"Life"` // 1 for the first
}

func (j Job) String() string { return fmt.Sprintf("%s/%s/%d", j.Collection, j.Name, j.Incarnation) }

// A Definition is the part of a job's definition that the checker needs.
type Definition struct {
	Version       int // part of the URI, so that a request shows which definition it was sent by
	Start         time.Time
	Once          bool // otherwise the job is due every minute from Start on
	Count         int  // 0: no limit
	Retries       int  // 0: retryType none
	RetryInterval time.Duration
	Overlap       string // bufferOne, skip or allowAll
	CatchUp       bool   // a window of an hour; otherwise none
	ErrorAction   bool
	Behaviour     string // of the receiver; see receiver.decide

	Promises bool          // it is paused, skipped and backfilled; see promises.go
	Window   time.Duration // its flexibleWindow

	Rule *Rule `json:",omitempty"` // of a job with calendars: it is due in some of the minutes; see calendars.go
}

// The actions of a job.
const (
	MainAction  = "main"
	ErrorAction = "error"
)

// A Request is a request that arrived at the receiver.
type Request struct {
	Job
	Version  int
	Action   string // MainAction or ErrorAction
	ID       string // of the execution, from the headers
	Due      time.Time
	Arrived  time.Time
	Answered time.Time // when the answer was written; zero: it was not
	Status   int       // 0: no answer
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
	ManualRun         = "run"
	Skip              = "skip" // of the next occurrence
	DisableCollection = "disable-collection"
	EnableCollection  = "enable-collection"
)

// A Change is a change of a job or of a collection. It is repeated until its outcome is known, except
// [ManualRun], [Skip] and some of [Create].
type Change struct {
	Job        // Name is empty for a change of a collection
	Kind       string
	Definition *Definition // the new definition; nil: it stays the same
	Tries      []Try

	Promise  *Promise  `json:",omitempty"` // of Pause, Resume and the like
	Which    *Which    `json:",omitempty"` // of SkipSome and UnskipSome
	Backfill *Backfill `json:",omitempty"` // of BeginBackfill and ChangeBackfill
	Calendar *Calendar `json:",omitempty"` // of PutCalendar and the like
}

// A Try is one request of a change.
type Try struct {
	Issued   time.Time
	Answered time.Time // when the answer came, or the wait for it ended
	Status   int       // 0: no answer
	Error    string    `json:",omitempty"` // why there was none, or what a refusal said
}

// Issued returns when the first request of a change was sent.
func (c *Change) Issued() time.Time { return c.Tries[0].Issued }

// An Outcome says what is known about a change.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // it may have been applied at any time from its first try on
	Applied                // it was applied between its first try and the answer
	Refused                // nothing changed
)

// Outcome returns what is known about a change, and when the answer came that says so.
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

// The kinds of fault.
const (
	FaultKill      = "kill"      // kill -9, and a restart after 0 to 15 s
	FaultPause     = "pause"     // SIGSTOP, and SIGCONT after 2 to 90 s
	FaultStop      = "stop"      // SIGTERM, and a restart
	FaultDisk      = "disk"      // the database cannot grow for a while
	FaultSlow      = "slow"      // all traffic between Temporal and the others is delayed
	FaultBlackhole = "blackhole" // connections to Temporal stay open, and nothing passes
	FaultCut       = "cut"       // connections to Temporal are closed, and refused for a while
	FaultFlags     = "flags"     // a restart with other flags
	FaultKeys      = "keys"      // SIGTERM, and a restart with a new first encryption key
	FaultOverload  = "overload"  // some 300 manual runs at once, while many jobs are due
	// FaultStorm has the receiver refuse all requests for a while, so that many jobs raise alerts, of which it answers
	// two thirds.
	FaultStorm = "storm"
)

// What a fault may stop.
const (
	Worker     = "worker"  // one of several
	AllWorkers = "workers" // all of them
	API        = "api"     // one of several
	Server     = "server"  // Temporal, or all connections to it
)

// A Fault is a fault that was injected.
type Fault struct {
	Kind    string
	Target  string // a process, the network, the disk or the load
	Aim     string // the moment that it was aimed at
	Job     string // the job that had reached that moment, if any
	Stops   []string
	Start   time.Time
	Gone    time.Time // when the processes had ended; zero: none did
	Restart time.Time // when the processes were started again or continued
	End     time.Time // when all processes were ready again
}

// Stopped reports whether the fault stopped any of these.
func (f *Fault) Stopped(what ...string) bool {
	return slices.ContainsFunc(what, func(w string) bool { return slices.Contains(f.Stops, w) })
}

// Total reports whether no job could run, since the server's process had ended.
func (f *Fault) Total() bool { return f.Restarts() && f.Stopped(Server) }

// Restarts reports whether the fault ended processes and started them again.
func (f *Fault) Restarts() bool {
	return slices.Contains([]string{FaultKill, FaultStop, FaultFlags, FaultKeys}, f.Kind)
}

func (f *Fault) String() string {
	return fmt.Sprintf("%s of %s (%s) from %s to %s", f.Kind, f.Target, f.Aim, Clock(f.Start), Clock(f.End))
}

// Overlaps reports whether the fault was in force at some time from a to b.
func (f *Fault) Overlaps(a, b time.Time) bool { return !f.Start.After(b) && !f.End.Before(a) }

// Class names the kind of the fault and of its target: "kill of worker" for a kill of worker1.
func (f *Fault) Class() string { return f.Kind + " of " + strings.TrimRight(f.Target, "0123456789") }

// LastFault returns the last fault that was in force at some time from a to b, nil if there was none.
func (l *Log) LastFault(a, b time.Time) *Fault {
	for i := range slices.Backward(l.Faults) {
		if f := &l.Faults[i]; f.Overlaps(a, b) {
			return f
		}
	}
	return nil
}

// afterOutage is how long after a fault the API may still refuse changes.
const afterOutage = 10 * time.Second

// Outage returns a fault that explains why a try got no answer, nil if there was none.
func (l *Log) Outage(t Try) *Fault {
	for i := range l.Faults {
		f := &l.Faults[i]
		if f.Stopped(API, Server, AllWorkers) && !f.Start.After(t.Answered) &&
			!f.End.Add(afterOutage).Before(t.Issued) {
			return f
		}
	}
	return nil
}

// Unanswered reports whether the try got no answer, or one of a server that is not available.
func (t *Try) Unanswered() bool { return t.Status == 0 || t.Status >= 500 }

// A Read is the API's answer about a job and its history.
type Read struct {
	Job
	Issued  time.Time
	Status  int // of the answer to GET; 404 if there is no such job, 0 if the read failed
	State   string
	Version int  // in the URI of the action
	Final   bool // read at the end of the run
	Entries []Entry

	ExecutionCount int
	FailureCount   int
	FaultedCount   int
	HasStatus      bool // false for a disabled job, which shows no counters
	ListedState    string
	ListedCount    int // executionCount in the list of the collection; -1: none
}

// An Entry is an entry of a job's history.
type Entry struct {
	Start, End time.Time
	Due        time.Time
	Status     string
	Message    string
	Retry      int // 0 for the first attempt
	Repeat     int
	Action     string // MainAction or ErrorAction
	Planned    time.Time
	Recovered  bool
	Backfill   string

	Nominal   time.Time // zero: it is the due time
	Calendars []CalendarDay
	Beyond    []string // calendars
}

// A List is the API's list of a collection's jobs.
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

// Clock returns the time of day, to the millisecond.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("15:04:05.000")
}
