package job

import (
	"cmp"
	"time"

	"almanac/recurrence/calendars"
)

// A Status is the status of a job, in the form of the REST API.
type Status struct {
	LastExecutionTime *Time `json:"lastExecutionTime,omitempty"` // start of the last execution
	NextExecutionTime *Time `json:"nextExecutionTime,omitempty"` // due time of the next occurrence
	// executions started: occurrences and manual runs, without retries
	ExecutionCount int `json:"executionCount"`
	FailureCount   int `json:"failureCount"` // executions that failed
	FaultedCount   int `json:"faultedCount"` // failed executions whose retries were exhausted

	Outcomes

	// Retry is the execution that failed so far and is tried again next; nil if there is none. See [Job.ExecutionStatus].
	Retry *Retry `json:"retry,omitempty"`

	// Skips are the occurrences to come that are skipped one by one, and SkipWindows the times in which all are.
	Skips       []*Time            `json:"skips,omitempty"`
	SkipWindows []SkipWindowStatus `json:"skipWindows,omitempty"`

	// Disabled says by whom, why and until when the job or its collection is disabled, if more is known than by whom.
	Disabled *DisabledStatus `json:"disabled,omitempty"`

	// Reason says why no occurrence is next: see [Definition.WhyOver], [WhyDisabled] and [WhyCollectionDisabled].
	Reason string `json:"reason,omitempty"`

	// Owner is that of the definition. PruneAt is when a pruned job deletes itself, and FormerState the state that it had
	// before it was pruned.
	Owner       string `json:"owner,omitempty"`
	PruneAt     *Time  `json:"pruneAt,omitempty"`
	FormerState State  `json:"formerState,omitempty"`
}

// A Job is a job's definition, without secrets, and its status.
type Job struct {
	Key        Key        `json:"key"`
	Created    time.Time  `json:"created"`
	Definition Definition `json:"definition"` // State is the job's current state
	Status     Status     `json:"status"`
	Generation int        `json:"generation"` // number of changes of the definition
	Ahead      *Ahead     `json:"ahead,omitempty"`

	// Registration is the number of the registration with which the job was created, and Numbered the highest number of
	// an execution ([Execution.Repeat]): see [ExecutionName].
	Registration int `json:"registration,omitempty"`
	Numbered     int `json:"numbered,omitempty"`

	// Skips are due times of occurrences that were skipped; at least of those to come.
	Skips []time.Time `json:"skips,omitempty"`
	// SkipWindows are times in which all occurrences are skipped, likewise.
	SkipWindows []SkipWindow `json:"skipWindows,omitempty"`

	// Started is how many occurrences were started, which recurrence.count limits, and Decided the due time up to which
	// occurrences are started or dropped, without those dispatched ahead.
	Started int       `json:"started,omitempty"`
	Decided time.Time `json:"decided,omitzero"`

	// CollectionDisabled means that the job's collection is not enabled, as far as the job knows.
	CollectionDisabled bool `json:"collectionDisabled,omitempty"`

	// DisabledBy says by whom and when the job was disabled; nil if it is not, or that is not known.
	DisabledBy *Disabling `json:"disabledBy,omitempty"`

	// CollectionPause says by whom and until when the job's collection is disabled, if that holds what comes due.
	CollectionPause *Disabling `json:"collectionPause,omitempty"`

	// Held is what is promised of the occurrences after Decided that are held; nil if none are.
	Held *Promise `json:"held,omitempty"`

	// Pruning is set while the job is pruned.
	Pruning *Pruning `json:"pruning,omitempty"`
	// Backfills are those of the job, oldest first: the last few that have ended, and the one that has not.
	Backfills []Backfill `json:"backfills,omitempty"`

	// Planned are the next occurrences, oldest first, if they follow from the job's time zone, with the offsets from
	// UTC by which they were planned: a reader's time zones may be of another release. Only queries answer with them.
	Planned []time.Time `json:"planned,omitempty"`

	// SharedBlackouts are those of the job's collection.
	SharedBlackouts []Blackout `json:"sharedBlackouts,omitempty"`

	// Made and Memory are those of a plan by calendars or blackouts: nothing is due before Made, by when it was decided what the memory
	// says. See [almanac/job/timetable.Timetable.By].
	Made   time.Time         `json:"made,omitzero"`
	Memory *calendars.Memory `json:"memory,omitempty"`

	// Running are the executions that have not ended, oldest first. Only queries answer with them; the answer to a
	// change says whether there are some that may have begun.
	Running   *Running `json:"running,omitempty"`
	Executing bool     `json:"executing,omitempty"`

	// Recent is what became of its occurrences lately. Only queries answer with it.
	Recent Recent `json:"recent,omitzero"`

	// Unread is the reason why a job in a list could not be read. If it is set, only the key is known.
	Unread string `json:"-"`
}

// Ahead lists occurrences that were dispatched before their due time. The job's status does not count them
// yet: its next execution is the first of them.
type Ahead struct {
	Due  []time.Time `json:"due"`            // oldest first
	Next *Time       `json:"next,omitempty"` // NextExecutionTime after all of them are due
	// how long after their due times they start, by the job's flexible window
	Delay time.Duration `json:"delay,omitempty"`
}

// At returns the job with its status at a given time: occurrences dispatched ahead that are due by then
// count as executed.
func (j Job) At(now time.Time) Job {
	ahead := j.Ahead
	j.Ahead = nil
	j.Status.Skips, j.Status.SkipWindows = skipsToCome(&j, now)
	j.Status.Disabled = j.disabledAs()
	if ahead == nil {
		return j
	}
	for i, due := range ahead.Due {
		if due.Add(ahead.Delay).After(now) {
			break
		}
		s := &j.Status
		s.ExecutionCount++
		j.Started, j.Decided = j.Started+1, due
		if last, began := s.LastExecutionTime, due.Add(ahead.Delay); last == nil || last.Before(began) { // a manual run may have started later
			s.LastExecutionTime = NewTime(began)
		}
		if s.NextExecutionTime = ahead.Next; i+1 < len(ahead.Due) {
			s.NextExecutionTime = NewTime(ahead.Due[i+1])
		}
	}
	return j
}

// An ActionName distinguishes a job's main action and its error action.
type ActionName string

// The action names in the history.
const (
	MainAction  ActionName = "MainAction"
	ErrorAction ActionName = "ErrorAction"
)

// An Execution is one occurrence of a job, or one manual run: all attempts of its action, and of its error
// action if the action fails.
type Execution struct {
	// a UUID, the same for all attempts, by which a receiver recognizes duplicates
	ID  string    `json:"id"`
	Due time.Time `json:"due"` // the due time
	// the number of the execution, from 1; each is higher than those before, and no two are equal
	Repeat     int        `json:"repeat"`
	ActionName ActionName `json:"action"`
	Job        string     `json:"job"`        // the job's name
	Collection string     `json:"collection"` // its collection's name
	// of a manual run: the authenticated caller or, if the API asks for no login, the address
	Caller string `json:"caller,omitempty"`
	// it was held while the job or its collection was disabled, and ran when that was over
	Recovered bool `json:"recovered,omitempty"`
	// when it is to start, if that is later than Due, by the job's flexible window
	PlannedStart time.Time `json:"plannedStart,omitzero"`
	// name of the backfill that ran it; "" for none
	Backfill string `json:"backfill,omitempty"`

	By *ByCalendars `json:"by,omitempty"` // nil: calendars say nothing of it
}

// Begin returns when the execution is to start: its planned start, or else its due time.
func (e *Execution) Begin() time.Time {
	if e.PlannedStart.IsZero() {
		return e.Due
	}
	return e.PlannedStart
}

// An Attempt is the record of one attempt of an action.
type Attempt struct {
	Number  int       `json:"n"` // 1 for the first
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Outcome Outcome   `json:"outcome"`
	Message string    `json:"message"` // the response, or the error; without secrets

	// Reason is the sentence that says why the newest attempt failed, if it is not Message: at most 500 bytes, without
	// secrets. Earlier attempts have none.
	Reason string `json:"reason,omitempty"`

	Beginning // of the first attempt of an execution
}

// Why returns the sentence that says why the newest attempt failed.
func (a *Attempt) Why() string { return cmp.Or(a.Reason, a.Message) }

// A Record is an entry of a job's history: an attempt of an execution, or an occurrence that was dropped.
type Record struct {
	Execution
	Attempt

	WhyNot string // of an occurrence that was not run, as in the message; see reasons.go

	// Rest is that of an entry which stands for many occurrences that were not run.
	Rest *Rest
}

// A Rest is occurrences that were not run and have one entry together.
type Rest struct {
	Count  int
	Before time.Time // when the first of them is due that has an entry of its own
}

// Lateness returns how long after its due time an execution began. ok is false for an entry that does not begin an
// execution: a retry, an error action, or an occurrence that was not run.
func (r *Record) Lateness() (late time.Duration, ok bool) {
	return r.Start.Sub(r.Begin()), r.Outcome.Ran() && r.ActionName == MainAction && r.Number == 1 && !r.Due.IsZero() && !r.Recovered && r.Backfill == ""
}

// Ordinal numbers the attempts of a job: by execution, then main before error action, then attempt. Records of a job
// that start at the same time differ in it.
func (r *Record) Ordinal() int64 {
	const attempts = 10_000 // more than one action can have
	n := int64(r.Repeat) * 2
	if r.ActionName == ErrorAction {
		n++
	}
	return n*attempts + int64(r.Number)
}
