package preview

import (
	"strings"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// A Usage is what a calendar makes of the next runs of a job that names it.
type Usage struct {
	Key         job.Key
	OnMatch     string // what becomes of a run on a day that the calendar matches
	State       job.State
	Idle        string       // why nothing is due, of a job that is not enabled, or whose collection is not
	Adjustments []Adjustment // of the next 90 days; none if it is idle
	Until       time.Time    // up to here the list is complete
	Unread      string       // why the job or a calendar of it could not be read
}

const (
	usageDays = 90
	mostUsage = 100
)

// UsageOf returns what a calendar makes of the next runs of a job that names it, as its workflow answers; uses are all of
// the calendars that the job names. The error means that this program cannot read its recurrence.
func UsageOf(j *job.Job, uses []calendars.Use, name string, now time.Time) (Usage, error) {
	d := &j.Definition
	u := Usage{Key: j.Key, State: d.State, Until: now.Truncate(time.Second).AddDate(0, 0, usageDays)}
	same := func(other string) bool { return job.NormalizeName(other) == job.NormalizeName(name) }
	for i := range d.Recurrence.Calendars {
		if use := &d.Recurrence.Calendars[i]; same(use.Name) {
			policy, _ := use.Policy()
			u.OnMatch = policy.String()
		}
	}
	switch {
	case d.State != job.StateEnabled:
		u.Idle = "The job is " + strings.ToLower(string(d.State)) + "."
		return u, nil
	case j.CollectionDisabled:
		u.Idle = "Its job collection is disabled."
		return u, nil
	}
	t, err := timetable.OfJob(j, uses)
	if err != nil {
		return u, err
	}
	now = now.Truncate(time.Second)
	last, ends := lastRun(t, now, u.Until, left(d, j.Started))
	all, complete := adjustments(t, now, last, zoneOf(d))
	if !ends || complete.Before(last) {
		u.Until = complete
	}
	for _, a := range all {
		if a.By == nil || !same(a.By.Name) || ends && a.decided().After(last) {
			continue
		}
		if len(u.Adjustments) == mostUsage {
			u.Until = u.Adjustments[mostUsage-1].decided()
			break
		}
		u.Adjustments = append(u.Adjustments, a)
	}
	return u, nil
}

// decided returns when it is decided that an occurrence runs or is dropped.
func (a *Adjustment) decided() time.Time {
	if a.Due.IsZero() {
		return a.Nominal
	}
	return a.Due
}

// lastRun returns the time of the last run that a job's count leaves, if that comes before until; until otherwise. left
// is negative without a count. It looks at many occurrences together: with blackouts each alone may take as long.
func lastRun(t *timetable.Timetable, now, until time.Time, left int) (last time.Time, ends bool) {
	if left < 0 {
		return until, false
	}
	last = now.Add(-time.Second)
	from := last
	for range mostParts {
		if left == 0 {
			return last, true
		}
		end := t.Within(from, until, lookedAt)
		all := t.Occurrences(from.Add(time.Second), end)
		for i := range all {
			if o := &all[i]; o.Ran() && o.Due.After(last) && left > 0 {
				last = o.Due
				left--
			}
		}
		if from = end; !end.Before(until) {
			break
		}
	}
	if left == 0 {
		return last, true
	}
	return until, false
}
