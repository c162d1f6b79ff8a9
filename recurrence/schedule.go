package recurrence

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"almanac/recurrence/internal/grid"
)

// A Schedule is a [Rule] counted from an anchor: a series of instants. It is
// immutable and safe for concurrent use. It returns times in UTC, in whole
// seconds, none before the anchor and none later than the year 9999.
//
// [New] makes a Schedule. The zero value has no instants.
type Schedule struct {
	rule     Rule
	grid     grid.Grid
	anchor   int64
	last     int64     // the last instant that End and Count allow, included
	excluded []stretch // what is left out, sorted and disjoint
	included []int64   // instants beside those of the rule, sorted
}

// A stretch is the instants from … until, the last one excluded.
type stretch struct{ from, until int64 }

// New returns the schedule of a rule. The anchor is where its counting begins:
// the earliest instant at which it can fire. It supplies the minute, the weekday or
// the day of the month if the rule gives none. Its fraction of a second is cut off.
// Its location has no meaning; local times are in the rule's Location.
//
// If fields are bad, the error joins a [*FieldError] for each of them, the anchor
// included: a zero Rule and a zero anchor are errors. A rule that can never fire,
// such as one for 31 February, is [ErrNever]. A rule whose End is before its
// first instant is valid: its schedule is empty.
func New(rule Rule, anchor time.Time) (*Schedule, error) {
	var c check
	c.require(!anchor.IsZero(), "Anchor", nil, allowedAnchor)
	c.require(anchor.Unix() >= firstInstant && anchor.Unix() <= lastInstant, "Anchor", anchor, allowedAnchor)
	c.rule(&rule)
	if err := c.err(); err != nil {
		return nil, err
	}
	s := &Schedule{rule: rule.clone(), anchor: anchor.Unix(), last: lastInstant}
	s.grid = grid.New(rule.grid(), s.anchor)
	if !s.grid.Fires() {
		return nil, ErrNever
	}
	if !rule.End.IsZero() {
		s.last = min(rule.End.Unix(), lastInstant)
	}
	if rule.Count > 0 {
		s.last = s.nth(rule.Count)
	}
	return s, nil
}

// nth returns the n-th instant, or the end if there are fewer.
func (s *Schedule) nth(n int) int64 {
	t := s.anchor - 1
	for range n {
		next, ok := s.grid.Next(t+1, s.last)
		if !ok {
			return s.last
		}
		t = next
	}
	return t
}

// Rule returns a copy of the rule that was given to [New].
func (s *Schedule) Rule() Rule { return s.rule.clone() }

// Anchor returns the anchor that was given to [New], in UTC and in whole seconds.
func (s *Schedule) Anchor() time.Time { return instant(s.anchor) }

// Excluded returns the ranges that [Schedule.Exclude] left out, in order, in UTC and in whole seconds. Ranges that
// overlap or touch are one.
func (s *Schedule) Excluded() []Range {
	var ranges []Range
	for _, one := range s.excluded {
		ranges = append(ranges, Range{From: instant(one.from), Until: instant(one.until)})
	}
	return ranges
}

// Next returns the first instant strictly after a time, or false if there is none. After any time before the
// anchor, that is the first instant of all. It allocates nothing, and costs the same near the anchor and far from
// it.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	return toTime(s.next(min(after.Unix(), lastInstant) + 1))
}

// Prev returns the last instant strictly before a time, or false if there is none. It costs some dozens of times
// what Next does.
func (s *Schedule) Prev(before time.Time) (time.Time, bool) {
	return toTime(s.prev(max(ceilSecond(before), firstInstant) - 1))
}

// Offset returns how far local time of the rule is ahead of UTC at a time, in seconds.
func (s *Schedule) Offset(at time.Time) int {
	_, offset := at.In(s.rule.location()).Zone()
	return offset
}

// FollowsClock reports whether the instants follow from local time. Those of a rule that counts elapsed minutes or
// hours without lists do not.
func (s *Schedule) FollowsClock() bool {
	return s.grid != nil && (s.rule.Frequency > Hour || len(s.rule.Hours) > 0 || len(s.rule.Minutes) > 0)
}

// Resume returns the time after which the schedule continues that was computed up to t with other rules of its time
// zone: with those, local time was offset seconds ahead of UTC at t. It is the time at which local time is the same
// now. A rule that counts elapsed minutes or hours without lists continues after t itself.
//
// So a local time that was an instant then is not one again if the zone's offset has changed, and none is left out.
func (s *Schedule) Resume(t time.Time, offset int) time.Time {
	if !s.FollowsClock() || s.Offset(t) == offset {
		return t
	}
	return instant(grid.Wall(s.rule.location(), t.Unix()+int64(offset)))
}

// Between returns the instants at or after from and before until, in order. There are none if until is not after
// from.
func (s *Schedule) Between(from, until time.Time) iter.Seq[time.Time] {
	first, end := ceilSecond(from), ceilSecond(until)
	return func(yield func(time.Time) bool) {
		for t, ok := s.next(first); ok && t < end && yield(instant(t)); {
			t, ok = s.next(t + 1)
		}
	}
}

// All returns all instants in order. Without a Count or an End they continue until the year 9999: break out of the
// loop.
func (s *Schedule) All() iter.Seq[time.Time] {
	return s.Between(instant(s.anchor), instant(lastInstant+1))
}

// next returns the first instant at or after from.
func (s *Schedule) next(from int64) (int64, bool) {
	if s.grid == nil {
		return 0, false
	}
	for from = max(from, s.anchor); ; {
		t, ok := s.grid.Next(from, s.last)
		if i, _ := slices.BinarySearch(s.included, from); i < len(s.included) && (!ok || s.included[i] < t) {
			t, ok = s.included[i], true
		}
		if !ok {
			return 0, false
		}
		gap, ok := s.excludedAt(t)
		if !ok {
			return t, true
		}
		from = gap.until
	}
}

// prev returns the last instant at or before to.
func (s *Schedule) prev(to int64) (int64, bool) {
	for s.grid != nil && to >= s.anchor {
		t, ok := int64(0), false
		if last := min(to, s.last); last >= s.anchor {
			t, ok = grid.Last(s.grid, s.anchor, last)
		}
		if i, _ := slices.BinarySearch(s.included, to+1); i > 0 && (!ok || s.included[i-1] > t) {
			t, ok = s.included[i-1], true
		}
		if !ok {
			break
		}
		gap, ok := s.excludedAt(t)
		if !ok {
			return t, true
		}
		to = gap.from - 1
	}
	return 0, false
}

// Spacing returns the minimum time between two successive instants of the rule. It is a property of the rule
// on its calendar: clock changes, Count, End and excluded ranges do not matter.
//
// The result is exact: it covers the whole cycle after which the rule repeats, which is up to 400 years for
// months. It is at most 292 years, the longest [time.Duration], and 0 for the zero Schedule.
func (s *Schedule) Spacing() time.Duration {
	if s.grid == nil {
		return 0
	}
	const longest = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(s.grid.Spacing(), longest)) * time.Second
}

// A Range is a stretch of time for [Schedule.Exclude]: From is in it, Until is not. [Date] returns that of a date.
type Range struct {
	From, Until time.Time
}

// Date returns the Range of a date in a time zone, or in UTC if loc is nil. It
// is 23 or 25 hours long where the clock changes by an hour, and empty where the zone skips the date.
func Date(year int, month time.Month, day int, loc *time.Location) Range {
	if loc == nil {
		loc = time.UTC
	}
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()
	return Range{From: instant(grid.Wall(loc, midnight)), Until: instant(grid.Wall(loc, midnight+secondsPerDay))}
}

// Exclude returns the schedule without the instants in the ranges, such as holidays or a week of maintenance. It
// leaves out those of earlier calls too; the receiver does not change. Instants that are left out still count
// towards Count, as in RFC 5545. A Range without From or Until, or with Until before From, is a [*FieldError].
func (s *Schedule) Exclude(ranges ...Range) (*Schedule, error) {
	var c check
	without := *s
	without.excluded = slices.Clone(s.excluded)
	for i, r := range ranges {
		ok := !r.From.IsZero() && !r.Until.IsZero() && !r.Until.Before(r.From)
		c.require(ok, fmt.Sprintf("Ranges[%d]", i), r, "a From and an Until that is not before it")
		without.excluded = append(without.excluded, stretch{ceilSecond(r.From), ceilSecond(r.Until)})
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	without.excluded = disjoint(without.excluded)
	return &without, nil
}

// Include returns the schedule with further instants, such as the RDATE of RFC 5545. Those before the anchor and those
// that Exclude left out are no instants; Count and End do not matter for them. The receiver does not change.
func (s *Schedule) Include(times ...time.Time) *Schedule {
	with := *s
	with.included = slices.Clone(s.included)
	for _, t := range times {
		if at := t.Unix(); at >= s.anchor && at <= lastInstant {
			with.included = append(with.included, at)
		}
	}
	slices.Sort(with.included)
	with.included = slices.Compact(with.included)
	return &with
}

// OnDays returns the schedule on those of its dates that a function keeps, which are days since 1970-01-01. The function
// must be pure. Where it keeps none of the dates of 100 years, the schedule ends. A rule of minutes or hours has no dates:
// that is a [*FieldError]. The receiver does not change.
func (s *Schedule) OnDays(keep func(day int64) bool) (*Schedule, error) {
	kept, ok := grid.OnDays(s.grid, keep)
	if !ok {
		return nil, &FieldError{Field: "Frequency", Value: s.rule.Frequency, Allowed: "day, week, month or year"}
	}
	on := *s
	on.grid = kept
	return &on, nil
}

// disjoint sorts stretches and joins those that touch.
func disjoint(all []stretch) []stretch {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	joined := all[:0]
	for _, s := range all {
		switch last := len(joined) - 1; {
		case s.from == s.until:
		case last >= 0 && s.from <= joined[last].until:
			joined[last].until = max(joined[last].until, s.until)
		default:
			joined = append(joined, s)
		}
	}
	return joined
}

// excludedAt returns the stretch that an instant is left out with, if it is.
func (s *Schedule) excludedAt(t int64) (stretch, bool) { return inStretch(s.excluded, t) }

// inStretch returns the one of some disjoint stretches that an instant is in, if there is one.
func inStretch(all []stretch, t int64) (stretch, bool) {
	i, _ := slices.BinarySearchFunc(all, t, func(s stretch, t int64) int { return cmp.Compare(s.until, t+1) })
	if i < len(all) && all[i].from <= t {
		return all[i], true
	}
	return stretch{}, false
}

// toTime returns the instant as a time; the zero time if ok is false.
func toTime(t int64, ok bool) (time.Time, bool) {
	if !ok {
		return time.Time{}, false
	}
	return instant(t), true
}

func instant(t int64) time.Time { return time.Unix(t, 0).UTC() }

// ceilSecond returns the first whole second at or after a time. A time beyond all instants is one second before or
// after them, so that no sum overflows.
func ceilSecond(t time.Time) int64 {
	second := min(max(t.Unix(), firstInstant-1), lastInstant)
	if t.Nanosecond() > 0 || t.Unix() > lastInstant {
		second++
	}
	return second
}
