package recurrence

import (
	"iter"
	"time"
)

// A Plan knows when a job runs. It is immutable and safe for concurrent use. It
// returns times in UTC, in whole seconds, and none later than the year 9999.
type Plan struct {
	grid    grid  // nil: the job runs once
	anchor  int64 // start time, or else created
	created int64
	atOnce  bool // the job repeats, and its first run is due when it is created
	end     int64
	count   int
}

// Compile checks a Spec and makes its Plan. If fields are bad, the error joins a
// [*FieldError] for each of them. A start more than 18 months ahead is bad, and
// so is a rule that does not fire within 100 years, be it in a month that lacks
// the day, at an hour that its interval steps over, or once too rarely.
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

// First returns the job's first occurrence, as of its creation, or false if it
// has none. That is the creation itself if the job has no start time, or runs
// once and should have started before; the start time if the job runs once and
// starts later; and else the first instant of the grid from the creation on.
func (p *Plan) First() (time.Time, bool) { return p.due(p.created) }

// After returns the first occurrence after t, or false if there is none. It
// takes no account of [Plan.Count]: only the caller knows what has been started.
func (p *Plan) After(t time.Time) (time.Time, bool) {
	return p.due(min(t.Unix(), lastInstant) + 1)
}

// From returns where a job goes on that was enabled or changed at t: the first
// instant of the grid at or after t, or for a job that runs once its start time,
// or else its creation, unless that is before t. Nothing runs at once. The
// fraction of t is cut off, so that an instant in t's own second counts.
func (p *Plan) From(t time.Time) (time.Time, bool) {
	from := t.Unix()
	if p.grid == nil {
		return found(p.anchor, p.anchor >= from)
	}
	return found(p.grid.next(from, p.end))
}

// Count returns how many occurrences the job has at most, or 0 for no limit.
func (p *Plan) Count() int { return p.count }

// All returns all occurrences of a job that is left to itself: First, and then
// After the one before, until the plan ends or its count is used up. It may go on
// for thousands of years.
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
