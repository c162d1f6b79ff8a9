package record

import (
	"cmp"
	"slices"
	"time"
)

// A JobLog is the part of a [Log] that is about one incarnation of a job. Everything is in order of time.
type JobLog struct {
	Job
	Changes    []*Change // of the job and its collection, except those that were refused and manual runs
	ManualRuns []*Change // except those that were refused
	Calendars  []*Change // of the calendars of its collection, except those that were refused
	Requests   []*Request
	Actions    []*ActionLog
	Read       *Read              // the last one; nil: none
	Entries    map[int64][]*Entry // of the last read, by due time in Unix seconds
	quiet      time.Time          // [Run.Quiet]
}

// An ActionLog holds the requests of one action of one execution, oldest first. There is at least one.
type ActionLog struct {
	ID, Action string
	Due        time.Time
	Requests   []*Request
}

// First returns the first request.
func (a *ActionLog) First() *Request { return a.Requests[0] }

// Last returns the last request.
func (a *ActionLog) Last() *Request { return a.Requests[len(a.Requests)-1] }

// Jobs splits the log by jobs, ordered by collection and name.
func (l *Log) Jobs() []*JobLog {
	byJob := map[Job]*JobLog{}
	var all []*JobLog
	job := func(j Job) *JobLog {
		if byJob[j] == nil {
			byJob[j] = &JobLog{Job: j, quiet: l.Run.Quiet, Entries: map[int64][]*Entry{}}
			all = append(all, byJob[j])
		}
		return byJob[j]
	}
	ofCollection, calendars := map[string][]*Change{}, map[string][]*Change{}
	for i := range l.Changes {
		c := &l.Changes[i]
		outcome, _ := c.Outcome()
		switch {
		case len(c.Tries) == 0 || outcome == Refused:
		case c.Calendar != nil:
			calendars[c.Collection] = append(calendars[c.Collection], c)
		case c.Name == "":
			ofCollection[c.Collection] = append(ofCollection[c.Collection], c)
		case c.Kind == ManualRun:
			job(c.Job).ManualRuns = append(job(c.Job).ManualRuns, c)
		default:
			job(c.Job).Changes = append(job(c.Job).Changes, c)
		}
	}
	for _, j := range all {
		j.Changes = append(j.Changes, ofCollection[j.Collection]...)
		j.Calendars = calendars[j.Collection]
		for _, changes := range [][]*Change{j.Changes, j.Calendars} {
			slices.SortStableFunc(changes, func(a, b *Change) int { return a.Issued().Compare(b.Issued()) })
		}
	}
	for i := range l.Requests {
		r := &l.Requests[i]
		job(r.Job).Requests = append(job(r.Job).Requests, r)
	}
	for i := range l.Reads {
		if r := &l.Reads[i]; job(r.Job).Read == nil || r.Final || !job(r.Job).Read.Final {
			job(r.Job).Read = r
		}
	}
	for _, j := range all {
		j.group()
	}
	slices.SortFunc(all, func(a, b *JobLog) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Name, b.Name), a.Incarnation-b.Incarnation)
	})
	return all
}

// group groups the requests by actions, and the entries of the history by due times.
func (j *JobLog) group() {
	slices.SortStableFunc(j.Requests, func(a, b *Request) int { return a.Arrived.Compare(b.Arrived) })
	type key struct{ id, action string }
	found := map[key]*ActionLog{}
	for _, r := range j.Requests {
		k := key{r.ID, r.Action}
		if found[k] == nil {
			found[k] = &ActionLog{ID: r.ID, Action: r.Action, Due: r.Due}
			j.Actions = append(j.Actions, found[k])
		}
		found[k].Requests = append(found[k].Requests, r)
	}
	if j.Read == nil {
		return
	}
	for i := range j.Read.Entries {
		e := &j.Read.Entries[i]
		j.Entries[e.Due.Unix()] = append(j.Entries[e.Due.Unix()], e)
	}
}

// ActionDue returns the requests of an action of the execution that is due at t, nil if there are none. If
// several executions are due then, certain is false.
func (j *JobLog) ActionDue(t time.Time, action string) (found *ActionLog, certain bool) {
	for _, a := range j.Actions {
		if a.Action != action || a.Due.Unix() != t.Unix() {
			continue
		}
		if found != nil {
			return nil, false
		}
		found = a
	}
	return found, true
}

// Arrival returns the first request of an execution that is due at t, nil if there is none.
func (j *JobLog) Arrival(t time.Time) *Request {
	for _, a := range j.Actions {
		if a.Action == MainAction && a.Due.Unix() == t.Unix() {
			return a.First()
		}
	}
	return nil
}

// running returns when the execution that is due at t began and ended, according to the receiver and the
// history; zero times if neither has it.
func (j *JobLog) running(t time.Time) (from, to time.Time) {
	add := func(begin, end time.Time) {
		if from.IsZero() || begin.Before(from) {
			from = begin
		}
		if end.After(to) {
			to = end
		}
	}
	for _, a := range j.Actions {
		if a.Due.Unix() == t.Unix() {
			add(a.First().Arrived, a.Last().End())
		}
	}
	for _, e := range j.Entries[t.Unix()] {
		if e.Repeat > 0 {
			add(e.Start, e.End)
		}
	}
	return from, to
}

// recordingTime is the maximum time between the last answer of an execution and the record of its outcome.
const recordingTime = 2 * time.Second

// Overlapped reports whether an execution that was due earlier was running at some time from since to until.
func (j *JobLog) Overlapped(due, since, until time.Time) bool {
	seconds := map[int64]bool{}
	for _, a := range j.Actions {
		seconds[a.Due.Unix()] = true
	}
	for unix := range j.Entries {
		seconds[unix] = true
	}
	for unix := range seconds {
		if unix < due.Unix() {
			from, to := j.running(time.Unix(unix, 0))
			if !from.IsZero() && !from.After(until) && !to.Add(recordingTime).Before(since) {
				return true
			}
		}
	}
	return false
}
