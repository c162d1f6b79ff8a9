// Package listing says what lists of jobs, collections and history entries cover: a page, a filter, a scope. It
// has the entries of lists across jobs.
package listing

import (
	"math"
	"strings"
	"time"

	"almanac/job"
)

// A Page selects a part of a list.
type Page struct {
	Skip, Top int    // entries to skip, and the maximum to return
	After     string // the continuation returned with the previous page; empty for the first page
	Filter    Filter
	View      View // nil shows all
}

// A View says what a list shows to the caller. Hidden entries are left out before entries are counted.
type View interface {
	ShowsCollection(k job.CollectionKey) bool
	ShowsJob(k job.Key) bool
	ShowsWithin(k job.CollectionKey) bool // whether any job of the collection could be shown
}

// ShowsCollection reports whether the page may show a collection.
func (p Page) ShowsCollection(k job.CollectionKey) bool {
	return p.View == nil || p.View.ShowsCollection(k)
}

// ShowsJob reports whether the page may show a job.
func (p Page) ShowsJob(k job.Key) bool { return p.View == nil || p.View.ShowsJob(k) }

// ShowsWithin reports whether the page may show a job of a collection.
func (p Page) ShowsWithin(k job.CollectionKey) bool { return p.View == nil || p.View.ShowsWithin(k) }

// A Filter selects entries of a list. The zero value selects all.
type Filter struct {
	State  job.State   // of jobs; empty for any
	Status job.Outcome // of history entries; empty for any

	Start Period // of a job: its startTime; of a history entry: when the attempt started
	End   Period // of a job: its recurrence's endTime; of a history entry: when the attempt ended

	Name        string      // of jobs, and of the jobs of history entries; empty for any
	NamePrefix  string      // likewise
	Next        Period      // of a job: its nextExecutionTime
	LastOutcome job.Outcome // of a job: its last outcome's status; empty for any
	Failing     Period      // of a job that fails: a part of the time from its first failure in a row to its last
	WithUnread  bool        // jobs that could not be read, whatever the other conditions on them

	Lateness Span   // of a history entry: see [job.Record.Lateness]; of a summary: see [Summary]
	Host     string // of summaries; empty for any
}

// A Span is a half-open range of durations. The zero value means no bounds.
type Span struct{ From, Before time.Duration }

// Unlimited is the [Span.Before] of a span without an upper bound.
const Unlimited = time.Duration(math.MaxInt64)

// A Period is a half-open range of time. A zero bound means no bound.
type Period struct{ From, Before time.Time }

// Contains reports whether t is in the period. The zero time means no time; only the unbounded period
// contains it.
func (p Period) Contains(t time.Time) bool {
	if p == (Period{}) {
		return true
	}
	return !t.IsZero() && !t.Before(p.From) && (p.Before.IsZero() || t.Before(p.Before))
}

// MatchesName reports whether the filter selects jobs of that name.
func (f Filter) MatchesName(name string) bool {
	name = job.NormalizeName(name)
	return (f.Name == "" || name == job.NormalizeName(f.Name)) && strings.HasPrefix(name, job.NormalizeName(f.NamePrefix))
}

// MatchesJob reports whether the filter selects a job. A job that could not be read is selected by its name alone.
func (f Filter) MatchesJob(j *job.Job) bool {
	if !f.MatchesName(j.Key.Name) {
		return false
	}
	if j.Unread != "" {
		return f.WithUnread || f == Filter{Name: f.Name, NamePrefix: f.NamePrefix}
	}
	if f.Next != (Period{}) && (j.Status.NextExecutionTime == nil || !f.Next.Contains(j.Status.NextExecutionTime.Time)) {
		return false
	}
	if !f.matchesOutcomes(&j.Status.Outcomes) {
		return false
	}
	var start, end time.Time
	if s := j.Definition.StartTime; s != nil {
		start = s.Time
	}
	if r := j.Definition.Recurrence; r != nil && r.EndTime != nil {
		end = r.EndTime.Time
	}
	return (f.State == "" || j.Definition.State == f.State) && f.Start.Contains(start) && f.End.Contains(end)
}

func (f Filter) matchesOutcomes(o *job.Outcomes) bool {
	if f.LastOutcome != "" && (o.LastOutcome == nil || o.LastOutcome.Status != f.LastOutcome) {
		return false
	}
	if f.Failing == (Period{}) {
		return true
	}
	return o.FailingSince != nil && !o.LastError.EndTime.Before(f.Failing.From) &&
		(f.Failing.Before.IsZero() || o.FailingSince.Before(f.Failing.Before))
}

// MatchesRecord reports whether the filter selects an entry of a history. It takes no account of the job's name.
func (f Filter) MatchesRecord(r *job.Record) bool {
	if f.Lateness != (Span{}) {
		if late, ok := r.Lateness(); !ok || late < f.Lateness.From || late >= f.Lateness.Before {
			return false
		}
	}
	return (f.Status == "" || r.Outcome == f.Status) && f.Start.Contains(r.Start) && f.End.Contains(r.End)
}

// A Scope is what a list across jobs covers: a subscription, one of its resource groups, or one job collection.
type Scope struct {
	Subscription  string
	ResourceGroup string // empty for all
	Collection    string // empty for all; if set, ResourceGroup is set too
}

// A JobRecord is an entry of a history across jobs.
type JobRecord struct {
	Key job.Key // Name is empty if a whole collection could not be read
	job.Record

	// Unread is the reason why the history of the job could not be read for this page. If it is set, only the key is
	// known.
	Unread string
}

// An Occurrence is the due time of a job.
type Occurrence struct {
	Key    job.Key // Name is empty if a whole collection could not be read
	Due    time.Time
	Unread string // as in [JobRecord]
}
