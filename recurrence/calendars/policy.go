package calendars

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/internal/grid"
)

// A Policy is what becomes of an occurrence on a day that a calendar matches.
type Policy int

// The policies. Those that move do so by up to MaxReach days; the last two go the other way if that leaves the month.
const (
	Skip Policy = iota // it is skipped
	Only               // it runs; on other days it is skipped
	NextWorkingDay
	PreviousWorkingDay
	NextWorkingDayInMonth
	PreviousWorkingDayInMonth
)

var policyNames = [...]string{"skip", "only", "nextWorkingDay", "previousWorkingDay", "nextWorkingDayInMonth", "previousWorkingDayInMonth"}

// ParsePolicy returns the policy with that name.
func ParsePolicy(name string) (Policy, bool) {
	i := slices.Index(policyNames[:], name)
	return Policy(max(i, 0)), i >= 0
}

// String returns the policy's name.
func (p Policy) String() string { return policyNames[p] }

// Moves reports whether the policy moves occurrences.
func (p Policy) Moves() bool { return p >= NextWorkingDay }

func (p Policy) inMonth() bool { return p >= NextWorkingDayInMonth }

// direction returns 1 for later days, and -1 for earlier ones.
func (p Policy) direction() Date {
	if p == PreviousWorkingDay || p == PreviousWorkingDayInMonth {
		return -1
	}
	return 1
}

// A Use is a calendar of a job, under a name that no other one of the job has.
type Use struct {
	Name    string
	OnMatch Policy
	Table   *Table
}

// uses are the calendars of a job in their order.
type uses struct {
	all  []Use
	zone *time.Location // of the job
	last *atomic.Pointer[workingMonth]
}

// A workingMonth has the working days of a month: of each day its number, from the beginning and from the end; 0: it is
// none.
type workingMonth struct {
	month         int
	first, toLast [32]int8
}

// monthOf returns the working days of a date's month, and remembers those of the last one.
func (u *uses) monthOf(d Date) *workingMonth {
	if u.last != nil {
		if m := u.last.Load(); m != nil && m.month == d.month() {
			return m
		}
	}
	m := &workingMonth{month: d.month()}
	day := d - Date(d.time().Day()-1)
	count := int8(0)
	for i := 1; day.month() == m.month; i, day = i+1, day+1 {
		if u.floatingWorking(day) {
			count++
			m.first[i] = count
		}
	}
	for i, n := range m.first {
		if n > 0 {
			m.toLast[i] = n - count - 1
		}
	}
	if u.last != nil {
		u.last.Store(m)
	}
	return m
}

// A view reads a zone, and remembers the last span of time in which it has one offset.
type view struct {
	zone       *time.Location
	start, end int64 // instants; the offset holds from start to before end
	offset     int64
}

// margin is more than any zone's offset and any change of one.
const margin = 2 * secondsPerDay

// at returns the offset at an instant.
func (v *view) at(t int64) int64 {
	if t >= v.start && t < v.end {
		return v.offset
	}
	if v.zone == time.UTC {
		v.start, v.end = math.MinInt64, math.MaxInt64
		return 0
	}
	local := time.Unix(t, 0).In(v.zone)
	_, offset := local.Zone()
	v.offset = int64(offset)
	start, end := local.ZoneBounds()
	v.start, v.end = math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		v.start = start.Unix()
	}
	if !end.IsZero() {
		v.end = max(end.Unix(), t+1) // package time takes leap years to end after 365 days
	}
	return v.offset
}

// date returns the date of an instant.
func (v *view) date(t int64) Date { return dayOf(t + v.at(t)) }

// wall returns the instant of a local time of day on a date.
func (v *view) wall(d Date, clock int64) int64 {
	local := int64(d)*secondsPerDay + clock
	if t := local - v.offset; t-margin >= v.start && t+margin < v.end {
		return t
	}
	return grid.Wall(v.zone, local)
}

func dayOf(local int64) Date {
	day := local / secondsPerDay
	if local%secondsPerDay < 0 {
		day--
	}
	return Date(day)
}

// date returns the date of an instant in a zone.
func date(t int64, zone *time.Location) Date {
	local := t
	if zone != time.UTC {
		_, offset := time.Unix(t, 0).In(zone).Zone()
		local += int64(offset)
	}
	return dayOf(local)
}

// objects returns the first calendar that objects to an instant, with the date that the instant has for it; -1 if all
// take it for one of a working day. floating is the date in the job's zone.
func (u *uses) objects(t int64, floating Date) (int, Date) {
	for i := range u.all {
		use := &u.all[i]
		d := floating
		if use.Table.location != nil {
			d = date(t, use.Table.location)
		}
		if use.Table.Matches(d) != (use.OnMatch == Only) {
			return i, d
		}
	}
	return -1, 0
}

// floatingWorking reports whether a date is a working day if all calendars are taken as floating.
func (u *uses) floatingWorking(d Date) bool {
	for i := range u.all {
		if u.all[i].Table.Matches(d) != (u.all[i].OnMatch == Only) {
			return false
		}
	}
	return true
}

// skipTo returns the first date after d, in a direction, that may be a working day: calendars that match many days in a
// row for one reason are passed at once.
func (u *uses) skipTo(d, direction Date, object int) Date {
	use := &u.all[object]
	if direction > 0 && use.Table.location == nil && use.OnMatch != Only {
		if last, off := use.Table.offUntil(d); off {
			return last + 1
		}
	}
	return d + direction
}

// at returns the instant of a local time of day, in seconds, on a date.
func (u *uses) at(d Date, clock int64) int64 { return grid.Wall(u.zone, int64(d)*secondsPerDay+clock) }

// move returns the working day to which an occurrence moves that calendar object objects to; false if there is none.
func (u *uses) move(v *view, day Date, clock int64, object int) (int64, bool) {
	policy := u.all[object].OnMatch
	direction := policy.direction()
	if due, ok := u.search(v, day, clock, direction, policy.inMonth(), object); ok {
		return due, true
	}
	if policy.inMonth() {
		return u.search(v, day, clock, -direction, true, object)
	}
	return 0, false
}

// search returns the first working day in a direction from a date on which an instant is off.
func (u *uses) search(v *view, day Date, clock int64, direction Date, inMonth bool, object int) (int64, bool) {
	month := 0
	if inMonth {
		month = day.month()
	}
	for d := u.skipTo(day, direction, object); (d-day)*direction <= MaxReach; {
		t := v.wall(d, clock)
		on := v.date(t)
		if inMonth && on.month() != month {
			return 0, false
		}
		if object, _ = u.objects(t, on); object < 0 {
			return t, true
		}
		d = u.skipTo(d, direction, object)
	}
	return 0, false
}

// fromNow returns the first working day from an instant on, on which a time of day is not past; in a month if month is
// not negative.
func (u *uses) fromNow(now, clock int64, month int) (int64, bool) {
	today := date(now, u.zone)
	for d := today; d <= today+MaxReach; d++ {
		t := u.at(d, clock)
		if t < now || month >= 0 && date(t, u.zone).month() != month {
			continue
		}
		if object, _ := u.objects(t, date(t, u.zone)); object < 0 {
			return t, true
		}
	}
	return 0, false
}

// clockOf returns the local time of day of an instant, in seconds.
func (u *uses) clockOf(t int64) int64 {
	_, offset := time.Unix(t, 0).In(u.zone).Zone()
	local := t + int64(offset)
	return local - int64(date(t, u.zone))*secondsPerDay
}

// WorkingDays returns the schedule on the n-th working days of its months alone: 1 is the first one, -1 the last. They
// are those of calendars that are all taken as floating.
func WorkingDays(s *recurrence.Schedule, numbers []int, calendars []Use) (*recurrence.Schedule, error) {
	u := uses{all: calendars, last: new(atomic.Pointer[workingMonth])}
	return s.OnDays(func(day int64) bool { return u.number(Date(day), numbers) != 0 })
}

// number returns which of some numbers of working days a date has in its month, a positive one before a negative one; 0
// for none.
func (u *uses) number(d Date, numbers []int) int {
	m, day := u.monthOf(d), d.time().Day()
	for _, n := range [...]int8{m.first[day], m.toLast[day]} {
		if n != 0 && slices.Contains(numbers, int(n)) {
			return int(n)
		}
	}
	return 0
}

// CheckUses returns an error for each bad use of a calendar; elapsed says that the job has a rule of minutes or hours,
// which cannot be moved by days.
func CheckUses(all []Use, elapsed bool) error {
	var errs []error
	bad := func(field string, value any, allowed string) {
		errs = append(errs, &recurrence.FieldError{Field: field, Value: value, Allowed: allowed})
	}
	if len(all) > MaxCalendars {
		bad("Calendars", len(all), fmt.Sprintf("at most %d", MaxCalendars))
	}
	for i, use := range all {
		field := fmt.Sprintf("Calendars[%d]", i)
		if slices.ContainsFunc(all[:i], func(o Use) bool { return strings.EqualFold(o.Name, use.Name) }) {
			bad(field+".Name", use.Name, "a name that no other calendar of the job has")
		}
		if use.OnMatch < Skip || use.OnMatch > PreviousWorkingDayInMonth {
			bad(field+".OnMatch", int(use.OnMatch), "a policy")
		} else if use.OnMatch.Moves() && elapsed {
			bad(field+".OnMatch", use.OnMatch.String(), "skip or only with a rule of minutes or hours")
		}
	}
	return errors.Join(errs...)
}
