package job

import "time"

// A Page selects a part of a list.
type Page struct {
	Skip, Top int    // entries to skip, and the maximum to return
	After     string // the continuation returned with the previous page; empty for the first page
	Filter    Filter
}

// A Filter selects entries of a list. The zero value selects all.
type Filter struct {
	State  State   // of jobs; empty for any
	Status Outcome // of history entries; empty for any

	Start Period // of a job: its startTime; of a history entry: when the attempt started
	End   Period // of a job: its recurrence's endTime; of a history entry: when the attempt ended
}

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

// MatchesJob reports whether the filter selects a job. Only the zero filter selects a job that could not be
// read.
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

// MatchesRecord reports whether the filter selects an entry of a history.
func (f Filter) MatchesRecord(r *Record) bool {
	return (f.Status == "" || r.Outcome == f.Status) && f.Start.Contains(r.Start) && f.End.Contains(r.End)
}
