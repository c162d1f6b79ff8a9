package workflows

import (
	"time"

	"almanac/job"
	"almanac/recurrence"
)

// Planned is what the recurrence engine answered, as it is recorded in a
// job's history: the next occurrences, and those that were dropped before them.
type Planned struct {
	Due     []time.Time `json:"due,omitempty"`     // oldest first
	Done    bool        `json:"done,omitempty"`    // no occurrence follows Due
	Dropped *Dropped    `json:"dropped,omitempty"` // came due before Due and was not run
	More    bool        `json:"more,omitempty"`    // more is to be dropped: ask again, from Dropped.Last
}

// Occurrences are planned some at a time, since each answer of the engine is
// an event in the history; but not far ahead, so that a new version of the
// time zone database is heeded soon. Two are always planned, for the decision
// about an occurrence depends on whether the one after it is due as well.
const (
	planAhead   = 16
	planHorizon = 7 * 24 * time.Hour
)

// maxSweep bounds how many dropped occurrences are counted in one step: some
// milliseconds of the engine's time, far below what a workflow task may take.
const maxSweep = 20_000

// planFrom plans the occurrences after t.
func planFrom(p *recurrence.Plan, t time.Time) Planned {
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

// planFirst plans a new job.
func planFirst(p *recurrence.Plan) Planned {
	first, ok := p.First()
	if !ok {
		return Planned{Done: true}
	}
	return planFrom(p, first.Add(-time.Second))
}

// planOn plans on after t for a job that was enabled or changed: unlike a new
// job it runs nothing at once.
func planOn(p *recurrence.Plan, t time.Time) Planned {
	first, ok := p.From(t.Add(time.Second))
	if !ok {
		return Planned{Done: true}
	}
	return planFrom(p, first.Add(-time.Second))
}

// planDrop drops the occurrences after t and up to until, and plans on.
func planDrop(p *recurrence.Plan, t, until time.Time, outcome job.Outcome, why string) Planned {
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

// missedUntil returns the instant up to which the occurrences after t, of
// which several are due at now, are missed: those that came due before the
// catch-up window, but for the latest one if none came due within it.
func missedUntil(p *recurrence.Plan, t, now time.Time, window time.Duration) time.Time {
	from := now.Add(-window)
	if from.Before(t) {
		return t
	}
	if first, ok := p.After(from.Add(-time.Second)); ok && !first.After(now) {
		return first.Add(-time.Second)
	}
	return latest(p, t, now).Add(-time.Second)
}

// latest returns the latest occurrence after t and not after now; there is one.
// It looks back from now in growing steps, so that it costs little however
// many there are.
func latest(p *recurrence.Plan, t, now time.Time) time.Time {
	for step := time.Second; ; step *= 2 {
		from := now.Add(-step)
		if from.Before(t) {
			from = t
		}
		found, ok := p.After(from)
		if !ok || found.After(now) {
			if from.Equal(t) {
				return t
			}
			continue
		}
		for {
			next, ok := p.After(found)
			if !ok || next.After(now) {
				return found
			}
			found = next
		}
	}
}
