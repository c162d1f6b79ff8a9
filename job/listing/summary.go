package listing

import (
	"strings"
	"time"

	"almanac/job"
	"almanac/job/kind"
)

// A Summary is a job as a list of thousands shows it.
type Summary struct {
	Key                job.Key
	State              job.State
	CollectionDisabled bool // nothing runs on the schedule, since the job's collection is not enabled
	Generation         int  // 0 if it is not known
	When               string
	Type               kind.Type
	Host               string // the destination of the action, in lower case

	Next time.Time // the next occurrence; zero for none
	// Recent is what became of the last occurrences and manual runs, oldest first, as far as it is known. An occurrence
	// of which nothing is recorded [job.SettledAfter] after it was due is assumed to have succeeded.
	Recent  []job.Mark
	LastRan job.Outcome   // of the last execution in it; empty for none
	Last    job.Outcome   // the last outcome in it; empty for none
	Late    time.Duration // the greatest lateness in it, 0 for less than [job.RegularDelay]
	Day     DayCounts

	DisabledBy *job.Disabling    // by whom and when it was disabled; nil if it is not, or that is not known
	Pruning    *job.Pruning      // of a pruned job
	Retry      *job.OutlineRetry // that an execution waits for; nil if there is none, or it is not known

	// RunsOnEnable means that the job is disabled and runs once, at a time that has passed: it runs at once when it is
	// enabled.
	RunsOnEnable bool

	// DueSinceDisabled means that the job is disabled, and an occurrence has come due since, as far as it is known.
	DueSinceDisabled bool

	// Unread is the reason why the job could not be read. If it is set, only the key is known.
	Unread string
}

// DayCounts count what was out of the ordinary in the last 24 hours, by whole hours.
type DayCounts struct {
	Late       int // occurrences that began [job.RegularDelay] after they were due, or later
	LateMinute int // those of them that began a minute after they were due, or later
	Failed     int // executions
	Missed     int
	Skipped    int
	Cancelled  int
	Manual     int // manual runs
}

// A SummarySort is what a list of summaries is sorted by. Jobs that are equal in it are sorted by their names.
type SummarySort string

// What a list of summaries is sorted by. The zero value means SortName.
const (
	SortName     SummarySort = "name"
	SortNext     SummarySort = "nextExecutionTime" // those without one are last, in either direction
	SortLateness SummarySort = "lateness"
	SortState    SummarySort = "state"
	SortHost     SummarySort = "host"
)

// A SummaryQuery selects a page of summaries.
type SummaryQuery struct {
	Page
	Search     []string // words in lower case, each of which has to be in a job's name, collection, schedule or host
	Sort       SummarySort
	Descending bool
}

// Finds reports whether a job has all words of the search.
func (q *SummaryQuery) Finds(s *Summary, name, when string) bool {
	for _, word := range q.Search {
		if !strings.Contains(name, word) && !strings.Contains(when, word) && !strings.Contains(s.Host, word) {
			return false
		}
	}
	return true
}

// MatchesSummary reports whether the filter selects a job, by what a summary has of it. A job that could not be read is
// selected by its name alone.
func (f *Filter) MatchesSummary(s *Summary) bool {
	if !f.MatchesName(s.Key.Name) {
		return false
	}
	if s.Unread != "" {
		return *f == Filter{Name: f.Name, NamePrefix: f.NamePrefix}
	}
	return (f.State == "" || s.State == f.State) && (f.LastOutcome == "" || s.Last == f.LastOutcome) &&
		(f.Host == "" || s.Host == job.NormalizeName(f.Host)) && f.Next.Contains(s.Next) &&
		(f.Lateness == (Span{}) || s.Late >= f.Lateness.From && s.Late < f.Lateness.Before)
}

// Summaries are a page of summaries, and what is in the whole list.
type Summaries struct {
	Page     []Summary
	Next     string    // the continuation; empty on the last page
	Total    int       // jobs that the list covers
	Matching int       // those that the search and the filter select
	AsOf     time.Time // when the jobs were read from Temporal's lists
	Counts   Counts
}

// Counts count all jobs that a list of summaries covers, whatever its search and filter.
type Counts struct {
	States   map[job.State]int
	Outcomes map[job.Outcome]int // of jobs that are enabled, by their last outcome; empty for none
	Hosts    []HostCount         // at most [MaxHosts], the most frequent first
	Hour     int                 // jobs whose next occurrence is within an hour
	Day      int                 // within a day, those above included
	None     int                 // jobs without a next occurrence
	Unread   int

	LastDay     DayCounts         // the sums of those of the jobs
	Collections []CollectionCount // at most [MaxHosts], the one with the most jobs first
}

// A CollectionCount says what is in a job collection.
type CollectionCount struct {
	Key     job.CollectionKey
	Jobs    int       // those that could not be read included
	Failing int       // jobs whose last outcome is that they failed
	Next    time.Time // the next occurrence of them all; zero for none
}

// Add adds a job to the counts of its collection.
func (c *CollectionCount) Add(s *Summary) {
	c.Jobs++
	if s.Last == job.OutcomeFailed {
		c.Failing++
	}
	if c.Next.IsZero() || !s.Next.IsZero() && s.Next.Before(c.Next) {
		c.Next = s.Next
	}
}

// Add adds the counts of another job.
func (d *DayCounts) Add(other DayCounts) {
	d.Late += other.Late
	d.LateMinute += other.LateMinute
	d.Failed += other.Failed
	d.Missed += other.Missed
	d.Skipped += other.Skipped
	d.Cancelled += other.Cancelled
	d.Manual += other.Manual
}

// MaxHosts is the number of hosts, and of job collections, in [Counts].
const MaxHosts = 20

// A HostCount says how many jobs send to a host.
type HostCount struct {
	Host string
	Jobs int
}
