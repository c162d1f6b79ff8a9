// Package explain says why an occurrence of a job ran late, or not at all, and of one to come whether it will run.
//
// It reads no clock and asks nobody: [Why] is a function from what is recorded ([Facts]) to an [Answer]. What is not
// recorded is not inferred: the answer says then that it is not known.
package explain

import (
	"slices"
	"time"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/presence"
	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

// A Cause is why.
type Cause string

// The causes.
const (
	NoSuchTime  Cause = "noSuchTime"  // the schedule does not have the time
	DayOff      Cause = "dayOff"      // a calendar moved it away from there, or dropped it
	InBlackout  Cause = "blackout"    // a blackout covers it
	Excluded    Cause = "excluded"    // an exclusion of the recurrence has the time
	ClockSkips  Cause = "clockSkips"  // the clock skips the local time, for daylight saving
	ClockRepeat Cause = "clockRepeat" // the clock shows the local time twice, and this is the second one
	NotCreated  Cause = "notCreated"  // the job did not exist yet
	BeforeStart Cause = "beforeStart"
	AfterEnd    Cause = "afterEnd"

	CountReached       Cause = "countReached"
	Disabled           Cause = "disabled"
	CollectionDisabled Cause = "collectionDisabled"
	Skipped            Cause = "skipped" // by a request
	Changed            Cause = "changed" // the job was changed
	ZonesChanged       Cause = "zoneDataChanged"

	Overlapped     Cause = "overlapped"     // another execution ran, or waited
	TooManyRunning Cause = "tooManyRunning" // as many executions as a job may have
	NoWorker       Cause = "noWorker"       // no worker checked in
	NothingRanIt   Cause = "nothingRanIt"   // nothing could, and no absence of the workers is recorded

	WaitedForWorker Cause = "waitedForWorker" // workers checked in, and none took it
	WaitedForServer Cause = "waitedForServer" // Temporal did not answer whether it may be sent
	WaitedForPlace  Cause = "waitedForPlace"  // at the worker
	HostLimit       Cause = "hostLimit"       // its host had as many unanswered requests as a worker makes
	EarlierAttempts Cause = "earlierAttempts" // they failed
	WaitingForRetry Cause = "waitingForRetry"
	Running         Cause = "running"

	TargetSlow   Cause = "targetSlow"
	TargetFailed Cause = "targetFailed"
	WorkerLost   Cause = "workerLost" // between sending and recording

	OnSchedule Cause = "onSchedule" // nothing kept it, or will as far as is known
	NotKept    Cause = "notKept"    // what became of it is not kept any more
	Unknown    Cause = "unknown"
)

// An Outcome is what became of the occurrence, or will.
type Outcome string

// The outcomes.
const (
	NotDue     Outcome = "notDue" // there is no such occurrence
	OnTime     Outcome = "onTime"
	Late       Outcome = "late" // it succeeded
	Failed     Outcome = "failed"
	Missed     Outcome = "missed"
	SkippedOut Outcome = "skipped"
	Cancelled  Outcome = "cancelled"
	DidNotRun  Outcome = "didNotRun" // without an entry in the history, since nothing was due
	Pending    Outcome = "pending"   // it has not ended, or not begun
	WillRun    Outcome = "willRun"
	WillNotRun Outcome = "willNotRun"
	NotKnown   Outcome = "notKnown"
)

const (
	// LateAfter is how long after its due time an execution begins at least to be late.
	LateAfter = time.Second
	// SlowAfter is how long an attempt takes at least for its target to be slow.
	SlowAfter = 10 * time.Second
)

// A Question is the time that is asked about, with an offset or as local time of the job.
type Question struct {
	Text string // such as 2026-01-31T08:30:00
	// At is the time if Text has an offset; zero if it is local time
	At time.Time
}

// Time returns the time, and if it is local the text in a zone.
func (q Question) Time(zone *time.Location) (at time.Time, local string) {
	if !q.At.IsZero() {
		return q.At.UTC().Truncate(time.Second), ""
	}
	at, err := recurrence.ParseTime(q.Text, zone)
	clock, errUTC := recurrence.ParseTime(q.Text, time.UTC)
	if err != nil || errUTC != nil {
		return time.Time{}, ""
	}
	return at, clock.Format(localTime)
}

// A Version is a job after a change, and until the next one.
type Version struct {
	audit.Change
	Definition         job.Definition
	CollectionDisabled bool
	Moved              time.Time // when the next occurrence was due before, if other time zones moved it; zero: none did
	MovedTo            time.Time // when that is due since

	Skip *job.SkipRequest // what it skipped; nil: nothing
}

// Active reports whether occurrences run when they are due.
func (v *Version) Active() bool {
	return v.Definition.State != job.StateDisabled && !v.CollectionDisabled
}

// A Standing is how the execution of the occurrence stands, if it has not ended.
type Standing struct {
	Name   string // see [job.ExecutionName]
	Stage  job.Stage
	Reason string // why it waits
	Retry  *job.Retry
	Full   bool // its host had no place
}

// Facts are what is recorded of a job around a time.
type Facts struct {
	At    time.Time // in whole seconds
	Local string    // the local time in the job's zone that was asked for, such as 2027-03-28T02:30:00; "" if it was none
	Now   time.Time

	Job        job.Job
	Versions   []Version      // newest first, back to one before At that was active
	FromStart  bool           // no change is missing of those back to that one
	Collection []audit.Change // of the job collection, newest first
	Records    []job.Record   // of the history: around At, and until one is due later
	Complete   bool           // no record is missing
	Standing   *Standing      // nil: the occurrence is not being executed
	Workers    *presence.Log  // nil: it could not be read

	// Answered means that a worker has just answered for the job, and Unanswered that none did: Job is then what Temporal's
	// server has of it, without its status. Neither is so of a job whose workflow has not begun.
	Answered, Unanswered bool

	// Uses reads the calendars of a recurrence that names some; nil: none can be read.
	Uses func(r *job.Recurrence) ([]calendars.Use, error)

	Unread []string // what could not be read, for people
}

// A Source says where a fact is recorded.
type Source string

// The sources.
const (
	FromHistory    Source = "history"
	FromChanges    Source = "changes"
	FromCollection Source = "collectionChanges"
	FromSchedule   Source = "schedule"
	FromWorkers    Source = "workers"
	FromExecution  Source = "execution"
	FromJob        Source = "job"
)

// A Fact is a link of the chain.
type Fact struct {
	Time   time.Time
	Text   string
	Source Source
	Entry  *job.Record // of the history
	Change string      // its ID in the list of changes
	Name   string      // of the execution
}

// An Answer says why.
type Answer struct {
	At       time.Time
	Outcome  Outcome
	Cause    Cause
	Sentence string

	Before, After time.Time // the nearest occurrences of the schedule; zero: none
	Execution     string    // name of the execution; "" if there is none, or it is not known
	Other         string    // name of the execution that it waited for, or was left out for

	Split    *job.Split    // of one that ran
	Lateness time.Duration // of one that ran
	Earlier  time.Duration // what failed attempts before the one that succeeded cost

	Facts   []Fact   // oldest first
	Hazards []string // what could prevent one to come
	Unread  []string
}

// rules are asked one after another until one has the answer.
var rules = []func(*reasoner) bool{
	(*reasoner).skippedByClock,
	(*reasoner).executing,
	(*reasoner).recorded,
	(*reasoner).beforeCreation,
	(*reasoner).movedAway,
	(*reasoner).notInSchedule,
	(*reasoner).skippedAhead,
	(*reasoner).inactive,
	(*reasoner).countUsedUp,
	(*reasoner).toCome,
	(*reasoner).unanswered,
	(*reasoner).undecided,
}

// Why returns the answer that follows from the facts.
func Why(f *Facts) Answer {
	r := &reasoner{Facts: f, answer: Answer{At: f.At, Unread: f.Unread}}
	r.version = r.inForce(f.At)
	r.nearest()
	if !slices.ContainsFunc(rules, func(rule func(*reasoner) bool) bool { return rule(r) }) {
		r.notKnown()
	}
	slices.SortStableFunc(r.answer.Facts, func(a, b Fact) int { return a.Time.Compare(b.Time) })
	return r.answer
}

// notKnown is the answer if no other one follows.
func (r *reasoner) notKnown() {
	if !r.FromStart || !r.Complete {
		r.say(NotKnown, NotKept, "What became of it is not kept any more: histories and changes are kept for a limited time.")
		return
	}
	r.say(NotKnown, Unknown, "It was due at %s, and nothing is recorded of it.", r.clock(r.At))
}

// Causes returns all causes.
func Causes() []Cause {
	return []Cause{
		NoSuchTime, DayOff, InBlackout, Excluded, ClockSkips, ClockRepeat, NotCreated, BeforeStart, AfterEnd, CountReached, Disabled, CollectionDisabled, Skipped,
		Changed, ZonesChanged, Overlapped, TooManyRunning, NoWorker, NothingRanIt, WaitedForWorker, WaitedForServer, WaitedForPlace,
		HostLimit, EarlierAttempts, WaitingForRetry, Running, TargetSlow, TargetFailed, WorkerLost, OnSchedule, NotKept, Unknown,
	}
}
