package recurrence

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"almanac/recurrence/internal/grid"
)

// An Exclusion removes instants from a [Series]: those in a Range or those of a Rule. One of the two is set.
type Exclusion struct {
	Range Range

	// Rule is one of days or longer units, counted from the anchor of the series. If it has neither Hours nor
	// Minutes, it removes its dates; else its instants.
	Rule *Rule
}

// A Series is what several schedules have together, each instant once, without what its exclusions remove. Like a
// [Schedule] it is immutable, safe for concurrent use, and returns times in UTC.
//
// The zero value has no instants.
type Series struct {
	schedules []*Schedule
	excluded  []stretch
	rules     []exclusion
	given     []Exclusion
}

// An exclusion is the rule of an [Exclusion].
type exclusion struct {
	index    int // among those that were given
	schedule *Schedule
	dates    interface{ OnDate(day int64) bool } // nil: it removes instants
	loc      *time.Location
}

// The limits of a search for an instant that no exclusion removes.
const (
	maxRemovedSpan = 36_525 * secondsPerDay // 100 years
	maxRemoved     = 500_000
	maxTests       = 1_000_000 // of an instant against the rule of an exclusion: some tenths of a second
)

// A search is one for an instant that no exclusion removes.
type search struct {
	last  int // the rule that removed the instant before; it is tried first
	tests int
}

// NewSeries returns the series of schedules. It has an instant where any of them has one.
//
// The exclusions' rules count from anchor. Bad fields are joined [*FieldError]s; their Field begins with
// "Exclusions[i]".
//
// Where exclusions remove everything for 100 years, or more than 500,000 instants in a row, the series ends; with many
// exclusions that remove instants, not dates, after a million tests of an instant against one of them.
func NewSeries(anchor time.Time, exclusions []Exclusion, schedules ...*Schedule) (*Series, error) {
	s := &Series{schedules: slices.Clone(schedules), given: slices.Clone(exclusions)}
	var c check
	for i, e := range exclusions {
		field := fmt.Sprintf("Exclusions[%d]", i)
		if e.Rule == nil {
			ok := !e.Range.From.IsZero() && !e.Range.Until.IsZero() && !e.Range.Until.Before(e.Range.From)
			c.require(ok, field, e.Range, "a From and an Until that is not before it")
			s.excluded = append(s.excluded, stretch{ceilSecond(e.Range.From), ceilSecond(e.Range.Until)})
			continue
		}
		if f := e.Rule.Frequency; f.valid() && f < Day {
			c.require(false, field+".Frequency", f, "day, week, month or year")
			continue
		}
		one, err := New(*e.Rule, anchor)
		if err != nil {
			c.errs = append(c.errs, within(field, err)...)
			continue
		}
		removed := exclusion{index: i, schedule: one, loc: one.rule.location()}
		if len(e.Rule.Hours)+len(e.Rule.Minutes) == 0 {
			removed.dates, _ = one.grid.(interface{ OnDate(day int64) bool })
		}
		s.rules = append(s.rules, removed)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	s.excluded = disjoint(s.excluded)
	return s, nil
}

// within returns the errors of a part as those of the whole.
func within(field string, err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{fmt.Errorf("%s: %w", field, err)}
	}
	var errs []error
	for _, err := range joined.Unwrap() {
		if f, ok := errors.AsType[*FieldError](err); ok {
			err = &FieldError{Field: field + "." + f.Field, Value: f.Value, Allowed: f.Allowed}
		}
		errs = append(errs, err)
	}
	return errs
}

// Next returns the first instant strictly after a time, or false if there is none. It allocates nothing.
func (s *Series) Next(after time.Time) (time.Time, bool) {
	return toTime(s.next(min(after.Unix(), lastInstant) + 1))
}

// Prev returns the last instant strictly before a time, or false if there is none.
func (s *Series) Prev(before time.Time) (time.Time, bool) {
	return toTime(s.prev(max(ceilSecond(before), firstInstant) - 1))
}

// Between returns the instants at or after from and before until, in order.
func (s *Series) Between(from, until time.Time) iter.Seq[time.Time] {
	first, end := ceilSecond(from), ceilSecond(until)
	return func(yield func(time.Time) bool) {
		for t, ok := s.next(first); ok && t < end && yield(instant(t)); {
			t, ok = s.next(t + 1)
		}
	}
}

func (s *Series) next(from int64) (int64, bool) {
	if len(s.rules)+len(s.excluded) == 0 && len(s.schedules) == 1 {
		return s.schedules[0].next(from)
	}
	begin, look := int64(0), search{}
	for removed := range maxRemoved {
		t, ok := s.nextOfAny(from)
		if !ok {
			return 0, false
		}
		if removed == 0 {
			begin = t
		}
		_, end, ok := s.removedAt(t, &look)
		if !ok {
			return t, true
		}
		if from = end; from-begin > maxRemovedSpan || look.tests > maxTests {
			break
		}
	}
	return 0, false
}

func (s *Series) nextOfAny(from int64) (first int64, found bool) {
	for _, one := range s.schedules {
		if t, ok := one.next(from); ok && (!found || t < first) {
			first, found = t, true
		}
	}
	return first, found
}

func (s *Series) prev(to int64) (int64, bool) {
	begin, look := int64(0), search{}
	for removed := range maxRemoved {
		t, found := int64(0), false
		for _, one := range s.schedules {
			if last, ok := one.prev(to); ok && (!found || last > t) {
				t, found = last, true
			}
		}
		if !found {
			break
		}
		if removed == 0 {
			begin = t
		}
		start, _, ok := s.removedAt(t, &look)
		if !ok {
			return t, true
		}
		if to = start - 1; begin-to > maxRemovedSpan || look.tests > maxTests {
			break
		}
	}
	return 0, false
}

// Excludes reports whether an exclusion covers a time, whether a schedule has an instant then or not.
func (s *Series) Excludes(at time.Time) bool {
	_, _, excluded := s.removedAt(at.Unix(), &search{})
	return excluded
}

// Removed returns the index of the first exclusion that removes an instant of the schedules, and whether there is one.
// There is none at a time at which no schedule has an instant.
func (s *Series) Removed(at time.Time) (index int, ok bool) {
	t := at.Unix()
	if first, ok := s.nextOfAny(t); !ok || first != t {
		return 0, false
	}
	for i, e := range s.given {
		if e.Rule == nil && !at.Before(e.Range.From) && at.Before(e.Range.Until) {
			return i, true
		}
		for k := range s.rules {
			if rule := &s.rules[k]; rule.index == i {
				if _, _, ok := rule.removes(t); ok {
					return i, true
				}
			}
		}
	}
	return 0, false
}

// removedAt returns the stretch around an instant that an exclusion removes, if one does: until excluded.
func (s *Series) removedAt(t int64, look *search) (from, until int64, removed bool) {
	if gap, ok := inStretch(s.excluded, t); ok {
		return gap.from, gap.until, true
	}
	for n := range s.rules {
		i := (look.last + n) % len(s.rules)
		look.tests++
		if from, until, ok := s.rules[i].removes(t); ok {
			look.last = i
			return from, until, true
		}
	}
	return 0, 0, false
}

// removes returns the stretch around an instant that the rule removes, if it does.
func (e *exclusion) removes(t int64) (from, until int64, ok bool) {
	if e.dates == nil {
		hit, ok := e.schedule.next(t)
		return t, t + 1, ok && hit == t
	}
	day := floorDay(t + int64(e.schedule.Offset(instant(t))))
	if !e.dates.OnDate(day) {
		return 0, 0, false
	}
	begin, end := grid.Wall(e.loc, day*secondsPerDay), grid.Wall(e.loc, (day+1)*secondsPerDay)
	return min(begin, t), max(end, t+1), true
}

// floorDay returns the day of a local time, as days since 1970-01-01.
func floorDay(local int64) int64 {
	day := local / secondsPerDay
	if local%secondsPerDay < 0 {
		day--
	}
	return day
}

// Offset returns how far local time of the first schedule is ahead of UTC at a time, in seconds.
func (s *Series) Offset(at time.Time) int {
	if len(s.schedules) == 0 {
		return 0
	}
	return s.schedules[0].Offset(at)
}

// FollowsClock reports whether any instants follow from local time; see [Schedule.FollowsClock]. Those of exclusions
// do.
func (s *Series) FollowsClock() bool {
	return len(s.rules) > 0 || slices.ContainsFunc(s.schedules, (*Schedule).FollowsClock)
}

// Resume is [Schedule.Resume]: from the local time, if any schedule follows the clock.
func (s *Series) Resume(t time.Time, offset int) time.Time {
	for _, one := range s.schedules {
		if one.FollowsClock() {
			return one.Resume(t, offset)
		}
	}
	return t
}

// How many instants are looked at for the distance between instants of different schedules: of all, and after the first
// instant of each schedule in each of some months.
const (
	spacingSample       = 2000
	spacingSampleMonths = 13
	spacingSampleEach   = 50
)

// Spacing returns the minimum time between two successive instants of the schedules, as [Schedule.Spacing] does.
// Exclusions do not matter. Between instants of different schedules it is the minimum among the first 2,000, and among 50
// from the first instant of each schedule in each of its first 13 months.
func (s *Series) Spacing() time.Duration {
	var least time.Duration
	for i, one := range s.schedules {
		if spacing := one.Spacing(); i == 0 || spacing > 0 && spacing < least {
			least = spacing
		}
	}
	if len(s.schedules) < 2 {
		return least
	}
	least = s.spacingFrom(firstInstant, spacingSample, least)
	for _, one := range s.schedules {
		first, ok := one.next(firstInstant)
		for month := 0; ok && month < spacingSampleMonths; month++ {
			t, found := one.next(instant(first).AddDate(0, month, 0).Unix() - secondsPerDay)
			if !found {
				break
			}
			least = s.spacingFrom(t-secondsPerDay/2, spacingSampleEach, least)
		}
	}
	return least
}

// spacingFrom returns the least distance between some successive instants from a time on, or least if that is less.
func (s *Series) spacingFrom(from int64, instants int, least time.Duration) time.Duration {
	last, ok := s.nextOfAny(from)
	for range instants {
		next, more := s.nextOfAny(last + 1)
		if !ok || !more {
			break
		}
		least = min(least, time.Duration(next-last)*time.Second)
		last = next
	}
	return least
}
