package recurrence

import (
	"iter"
	"time"
)

// A Plan computes when a job runs. It is immutable and safe for concurrent use. It returns times in UTC, in
// whole seconds, up to the end of the year 9999.
type Plan struct {
	grid    grid  // nil: the job runs once
	anchor  int64 // start time or, without one, the creation
	created int64
	atOnce  bool // the job repeats, and its first occurrence is its creation
	end     int64
	count   int
}

// Compile checks a Spec and returns its Plan. The error joins a [*FieldError] for each bad field. Two
// limits apply: a start at most 18 months ahead, and a first occurrence within 100 years. A rule exceeds
// the latter if its months lack the day, if its interval steps over its hours, or if its dates are too
// rare.
func Compile(s Spec) (*Plan, error) {
	now := s.Created.Unix()
	if !s.Now.IsZero() {
		now = s.Now.Unix()
	}
	p := &Plan{anchor: s.Created.Unix(), created: s.Created.Unix(), atOnce: s.Rule != nil, end: lastInstant}
	var c check
	if !s.Start.IsZero() {
		c.start(s.Start, now)
		p.anchor, p.atOnce = s.Start.Unix(), false
	}
	if s.Rule != nil {
		c.rule(s.Rule)
	}
	if err := c.err(); err != nil || s.Rule == nil {
		return p.unless(err)
	}

	p.grid = newGrid(s.Rule, p.anchor)
	p.count = s.Rule.Count
	if !s.Rule.End.IsZero() {
		p.end = min(s.Rule.End.Unix(), lastInstant)
	}
	from := max(p.anchor, now)
	_, fires := p.grid.next(from, addMonths(from, maxIdleMonths))
	c.that(fires, "recurrence.schedule", phrase("never due"), "a time within 100 years")
	return p.unless(c.err())
}

func (p *Plan) unless(err error) (*Plan, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// First returns the job's first occurrence, or false if it has none:
//
//   - the creation, if the job has no start time, or runs once with a start time in the past;
//   - the start time, if the job runs once and starts later;
//   - otherwise the first instant of the grid from the creation on.
func (p *Plan) First() (time.Time, bool) { return p.due(p.created) }

// After returns the first occurrence after t, or false if there is none. It ignores [Plan.Count], because
// only the caller knows how many occurrences were started.
func (p *Plan) After(t time.Time) (time.Time, bool) {
	return p.due(min(t.Unix(), lastInstant) + 1)
}

// From returns the next occurrence of a job that was enabled or changed at t: the first instant of the grid
// at or after t. For a job that runs once it is the start time or, without one, the creation; false if that
// is before t. So a change never runs a job at once. The fraction of t is cut off, so an instant in t's own
// second counts.
func (p *Plan) From(t time.Time) (time.Time, bool) {
	from := t.Unix()
	if p.grid == nil {
		return found(p.anchor, p.anchor >= from)
	}
	return found(p.grid.next(from, p.end))
}

// Count returns the maximum number of occurrences; 0 means no limit.
func (p *Plan) Count() int { return p.count }

// All returns all occurrences of a job that is never changed: First, and then After of each, until the plan
// ends or its count is reached. There may be thousands of years of them.
func (p *Plan) All() iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		t, ok := p.First()
		for n := 1; ok && yield(t) && n != p.count; n++ {
			t, ok = p.After(t)
		}
	}
}

// due returns the first occurrence at or after from.
func (p *Plan) due(from int64) (time.Time, bool) {
	from = max(from, p.created)
	switch {
	case p.grid == nil:
		once := max(p.anchor, p.created)
		return found(once, once >= from)
	case p.atOnce && from == p.created:
		return found(p.created, p.created <= p.end)
	default:
		return found(p.grid.next(from, p.end))
	}
}

func found(t int64, ok bool) (time.Time, bool) {
	if !ok {
		return time.Time{}, false
	}
	return instant(t), true
}

func instant(t int64) time.Time { return time.Unix(t, 0).UTC() }
