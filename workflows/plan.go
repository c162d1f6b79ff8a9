package workflows

import (
	"time"

	"almanac/job"
)

// Planned is the recorded answer of the recurrence engine: the next occurrences, and those dropped
// before them.
type Planned struct {
	Due     []time.Time `json:"due,omitempty"`     // oldest first
	Done    bool        `json:"done,omitempty"`    // no occurrence follows Due
	Dropped *Dropped    `json:"dropped,omitempty"` // came due before Due and was not run
	More    bool        `json:"more,omitempty"`    // more is to be dropped: ask again, from Dropped.Last
}

// Several occurrences are planned at a time, since each answer is an event in the history, but not far
// ahead, so that a new time zone database takes effect soon. Two are always planned: the decision about
// one depends on whether the next is due as well.
const (
	planAhead   = 16
	planHorizon = 7 * 24 * time.Hour
)

// maxSweep is the maximum number of occurrences dropped in one step. It takes the engine some
// milliseconds, far less than the limit of a workflow task.
const maxSweep = 20_000

func planFrom(p *job.Timetable, t time.Time) Planned {
	var out Planned
	for len(out.Due) < planAhead {
		next, ok := p.After(t)
		if !ok {
			out.Done = true
			break
		}
		if len(out.Due) > 1 && next.Sub(out.Due[0]) > planHorizon {
			break
		}
		out.Due = append(out.Due, next)
		t = next
	}
	return out
}

func planFirst(p *job.Timetable) Planned {
	first, ok := p.First()
	if !ok {
		return Planned{Done: true}
	}
	return planFrom(p, first.Add(-time.Second))
}

// planOn plans the occurrences after t of a job that was enabled or changed. Unlike planFirst it plans
// none to run at once.
func planOn(p *job.Timetable, t time.Time) Planned {
	first, ok := p.From(t.Add(time.Second))
	if !ok {
		return Planned{Done: true}
	}
	return planFrom(p, first.Add(-time.Second))
}

// planDrop drops the occurrences after t and up to until, and plans the ones after that.
func planDrop(p *job.Timetable, t, until time.Time, outcome job.Outcome, why string) Planned {
	dropped := &Dropped{Outcome: outcome, Why: why}
	for {
		next, ok := p.After(t)
		if !ok || next.After(until) {
			break
		}
		if dropped.Count == maxSweep {
			return Planned{Dropped: dropped, More: true}
		}
		dropped.add(next)
		t = next
	}
	out := planFrom(p, t)
	if dropped.Count > 0 {
		out.Dropped = dropped
	}
	return out
}

// missedUntil returns the time up to which the occurrences after t are missed, when several are due at
// now: those due before the catch-up window, except the latest if none came due within it.
func missedUntil(p *job.Timetable, t, now time.Time, window time.Duration) time.Time {
	from := now.Add(-window)
	if from.Before(t) {
		return t
	}
	if first, ok := p.After(from.Add(-time.Second)); ok && !first.After(now) {
		return first.Add(-time.Second)
	}
	last, _ := p.Last(now)
	return last.Add(-time.Second)
}
