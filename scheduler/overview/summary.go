package overview

import (
	"slices"
	"strings"
	"time"

	"almanac/job"
	"almanac/job/listing"
)

// maxRecent is how many outcomes a summary has at most.
const maxRecent = 20

// A glance is what lists search and sort jobs by, from an outline. What depends on the time holds from at until before
// until.
type glance struct {
	at, until time.Time
	when      string // in English
	search    string // likewise, in lower case
	state     job.State
	next      time.Time // zero for none
	last      job.Outcome
	ran       job.Outcome // of the last execution
	overdue   bool        // see [listing.Summary.RunsOnEnable]
	late      time.Duration
	day       listing.DayCounts
}

// glance returns what lists need of a job at a time. It is made anew only when something has come due.
func (o *outline) glance(now time.Time) *glance {
	before := o.glanced.Load()
	if before != nil && !now.Before(before.at) && now.Before(before.until) {
		return before
	}
	g := &glance{at: now, until: now.Add(time.Hour)}
	if before != nil {
		g.when, g.search = before.when, before.search
	} else {
		d := job.Definition{StartTime: o.StartTime, Recurrence: o.Recurrence}
		if g.when = d.When(); g.when == "" {
			g.when = "once"
		}
		g.search = strings.ToLower(g.when)
	}
	g.until = minTime(g.until, now.Truncate(time.Hour).Add(time.Hour))
	if next, ok := o.timetable.After(now); ok && !o.Inactive {
		g.next, g.until = next, minTime(g.until, next)
	}
	if settles, ok := o.timetable.After(now.Add(-job.SettledAfter)); ok && !o.Inactive {
		g.until = minTime(g.until, settles.Add(job.SettledAfter))
	}
	marks := o.marks(now)
	for _, m := range marks {
		if g.last, g.late = m.Outcome, max(g.late, m.Late); m.Outcome.Ran() {
			g.ran = m.Outcome
		}
	}
	g.state = o.stateAt(now, g.next, marks)
	_, passed := o.timetable.Last(now)
	g.overdue = passed && o.Recurrence == nil && g.state == job.StateDisabled
	g.day = o.day(now)
	o.glanced.Store(g)
	return g
}

// minTime returns the earlier time.
func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// marks returns what became of the last occurrences, oldest first: what the outline has, and occurrences since, which
// are assumed to have succeeded [job.SettledAfter] after they were due: nothing else was recorded of them by then.
func (o *outline) marks(now time.Time) []job.Mark {
	marks := slices.Collect(o.Recent.All())
	if o.Inactive {
		return marks
	}
	from := o.Irregular
	if n := len(marks); n > 0 && !marks[n-1].Due.Before(from) {
		from = marks[n-1].Due.Add(time.Second)
	}
	var since []job.Mark
	due, ok := o.timetable.Last(now.Add(-job.SettledAfter))
	for ok && !due.Before(from) && len(since) < maxRecent {
		since = append(since, job.Mark{Due: due, Outcome: job.OutcomeCompleted, Late: -1, Assumed: true})
		due, ok = o.timetable.Last(due.Add(-time.Second))
	}
	slices.Reverse(since)
	marks = append(marks, since...)
	return marks[max(0, len(marks)-maxRecent):]
}

// stateAt returns the state of the job at a time: it ends without a change of the outline if its timetable says so.
func (o *outline) stateAt(now, next time.Time, marks []job.Mark) job.State {
	switch {
	case o.State != "" && o.State != job.StateEnabled:
		return o.State
	case o.State == "" && o.Disabled:
		return job.StateDisabled
	case o.Inactive || !next.IsZero():
		return job.StateEnabled
	}
	if last, ok := o.timetable.Last(now); ok && now.Sub(last) < job.SettledAfter {
		return job.StateEnabled
	}
	for _, m := range slices.Backward(marks) {
		if !m.Manual && m.Outcome.Failed() {
			return job.StateFaulted
		}
		if !m.Manual {
			break
		}
	}
	return job.StateCompleted
}

// day counts what was out of the ordinary in the last 24 hours.
func (o *outline) day(now time.Time) (d listing.DayCounts) {
	for h := range o.Recent.AllHours() {
		if now.Sub(h.Start) > 24*time.Hour {
			continue
		}
		d.Late += h.Late[3] + h.Late[4]
		d.LateMinute += h.Late[4]
		d.Failed += h.Failed
		d.Missed += h.Missed
		d.Skipped += h.Skipped
		d.Cancelled += h.Cancelled
		d.Manual += h.Manual
	}
	return d
}

// retry returns the next attempt that an execution waits for at a time, as far as it is known.
func (o *outline) retry(now time.Time) *job.OutlineRetry {
	if o.Retry == nil || !o.Retry.Next.After(now) {
		return nil
	}
	return o.Retry
}

// disabledBy returns by whom and when the job was disabled, if it is.
func (o *outline) disabledBy(s job.State) *job.Disabling {
	if s != job.StateDisabled {
		return nil
	}
	return o.DisabledBy
}

// dueSinceDisabled returns [listing.Summary.DueSinceDisabled].
func (o *outline) dueSinceDisabled(s job.State, now time.Time) bool {
	if s != job.StateDisabled {
		return false
	}
	last, ok := o.timetable.Last(now)
	return ok && (o.DisabledBy == nil || last.After(o.DisabledBy.At))
}

// summary returns what a list shows of a job, but for the last outcomes one by one.
func (o *outline) summary(k job.Key, now time.Time) (listing.Summary, *glance) {
	g := o.glance(now)
	return listing.Summary{
		Key: k, State: g.state, CollectionDisabled: o.Inactive && g.state == job.StateEnabled, Generation: o.Generation,
		When: g.when, Type: o.Type, Host: o.Host, Next: g.next, Last: g.last, LastRan: g.ran, Late: g.late,
		RunsOnEnable: g.overdue, Day: g.day, Retry: o.retry(now), DisabledBy: o.disabledBy(g.state),
		Pruning: o.Pruning, DueSinceDisabled: o.dueSinceDisabled(g.state, now),
	}, g
}
