package job

import (
	"time"

	"almanac/job/kind"
)

const (
	// RegularDelay is how long after its due time an attempt starts at most if nothing is out of the ordinary.
	RegularDelay = 5 * time.Second

	// RetriesWithin is how long, since an activity was scheduled or due, the server retries it. Later attempts are
	// activities of their own, so that the workflow can continue as new while it waits and the server need not keep the
	// records.
	RetriesWithin = time.Minute

	// LastAttempt is how long after an activity was due its last attempt starts at most, likewise.
	LastAttempt = RetriesWithin + 2*RegularDelay

	// SettledAfter is how long after an activity was due its attempts are known to the workflow at the latest, if
	// nothing is out of the ordinary: the last one starts by LastAttempt, and has a minute to be answered and some
	// seconds to be reported.
	SettledAfter = 150 * time.Second
)

// An Outline says when the entries of a job's history start and when the job is due, for readers that do not ask the
// job. Each entry that has been in the history for a moment starts before Irregular, or is regular: an attempt that
// succeeded and started within RegularDelay of an occurrence of the timetable. The attempts of an occurrence can be in
// the history SettledAfter before Irregular covers them.
type Outline struct {
	Created    time.Time   `json:"created"`
	StartTime  *Time       `json:"startTime,omitempty"`
	Recurrence *Recurrence `json:"recurrence,omitempty"`
	Irregular  time.Time   `json:"irregular,omitzero"`
	Skips      []time.Time `json:"skips,omitempty"` // due times of occurrences that were skipped
	// times in which all are
	SkipWindows []SkipWindow `json:"skipWindows,omitempty"`
	// how long after its due time an occurrence starts, by the job's flexible window
	Delay    time.Duration `json:"delay,omitempty"`
	Inactive bool          `json:"inactive,omitempty"` // no occurrence comes due after Irregular
	Disabled bool          `json:"disabled,omitempty"` // nor will one, whatever becomes of the job's collection

	// State, Generation, Type and Host are those of the job and its action, for lists. A job that is over as its
	// timetable says is enabled here.
	State      State     `json:"state,omitempty"`
	Generation int       `json:"generation,omitempty"`
	Type       kind.Type `json:"type,omitempty"`
	Host       string    `json:"host,omitempty"`   // see [Action.Host]
	Digest     string    `json:"digest,omitempty"` // see [Definition.Digest]

	// Recent is what became of the job's occurrences when the outline was written; see [Recent.Irregular]. Since then
	// all were regular, but for those of a few minutes before Irregular.
	Recent Recent `json:"recent,omitzero"`

	// DisabledBy says by whom and when the job was disabled; nil if it is not, or that is not known.
	DisabledBy *Disabling `json:"disabledBy,omitempty"`
	Owner      string     `json:"owner,omitempty"`   // see [Definition.Owner]
	Pruning    *Pruning   `json:"pruning,omitempty"` // of a pruned job

	// Retry is the next attempt of an execution that failed so far, if it is known and begins more than [RetriesWithin]
	// after the first; nil if there is none. It is that of when the outline was written: once its time has passed, it says
	// nothing.
	Retry *OutlineRetry `json:"retry,omitempty"`

	// Zones is the release of the time zone database by which the job was planned, or a newer one, and ZoneRules a hash
	// of the rules of the job's zone in it; "" if its occurrences follow from no time zone.
	Zones     string `json:"zones,omitempty"`
	ZoneRules string `json:"zoneRules,omitempty"`

	Made      time.Time  `json:"made,omitzero"`       // of a job with calendars or blackouts; see [Job]
	Blackouts []Blackout `json:"blackouts,omitempty"` // of the job, and then of its collection
}

// A Disabling says by whom and when a job or a job collection was disabled, why, and until when.
type Disabling struct {
	At time.Time `json:"at"`
	// the caller, or almanac for disableAfter, in at most 512 bytes; "" if it is not known
	By string `json:"by,omitempty"`

	Promise
}

// An OutlineRetry is the next attempt of an execution that failed so far.
type OutlineRetry struct {
	Attempt int       `json:"attempt"` // its number, from 2
	Max     int       `json:"max"`     // how many attempts there are at most
	Next    time.Time `json:"next"`    // when it begins
}
