package job

import "time"

// A Page is the part of a list that is asked for.
type Page struct {
	Skip, Top int    // entries to leave out, and to return at most
	After     string // where the page before ended: what the scheduler returned with it; empty for the first page
	Filter    Filter
}

// A Filter is what the entries of a list have to meet. The zero value is met
// by all.
type Filter struct {
	State  State   // of jobs; empty for any
	Status Outcome // of history entries; empty for any

	Start Period // of a job: its startTime; of a history entry: when the attempt started
	End   Period // of a job: its recurrence's endTime; of a history entry: when the attempt ended
}

// A Period is a half-open range of time. A zero bound is none.
type Period struct{ From, Before time.Time }

// Contains reports whether t lies in the period. The zero time, which stands
// for none, lies only in the unbounded one.
func (p Period) Contains(t time.Time) bool {
	if p == (Period{}) {
		return true
	}
	return !t.IsZero() && !t.Before(p.From) && (p.Before.IsZero() || t.Before(p.Before))
}

// MatchesJob reports whether a job meets the filter. Of one that could not be read nobody
// knows, so it meets none.
func (f Filter) MatchesJob(j *Job) bool {
	if j.Unread != "" {
		return f == Filter{}
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

// MatchesRecord reports whether an entry of a history meets the filter.
func (f Filter) MatchesRecord(r *Record) bool {
	return (f.Status == "" || r.Outcome == f.Status) && f.Start.Contains(r.Start) && f.End.Contains(r.End)
}

// An Operation is a change of a collection that takes longer than a request
// may: it goes on whoever waits for it.
type Operation struct {
	ID     string // opaque: letters, digits, hyphens and full stops
	Done   bool   // it succeeded, or failed
	Failed *Error // why it failed; nil if it did not
}
