package grid

import (
	"math/bits"
	"time"
)

// A calendar is a set of dates, as days since 1970-01-01.
type calendar interface {
	// next returns the first date at or after day, or false if there is none.
	next(day int64) (int64, bool)

	// spacing returns the minimum number of days between two dates.
	spacing() int64
}

// days are the dates from first on, every every days.
type days struct {
	first, every int64
}

func (c days) next(day int64) (int64, bool) {
	return c.first + ceilDiv(max(day-c.first, 0), c.every)*c.every, true
}

// weeks are weekdays in the week that begins on monday, and in the weeks that begin every every days after
// it.
type weeks struct {
	monday, every int64
	weekdays      uint32 // bit 0: Monday
}

func (c weeks) next(day int64) (int64, bool) {
	since := max(day-c.monday, 0)
	day = c.monday + since
	if within := since % c.every; within < 7 {
		if rest := c.weekdays >> within; rest != 0 {
			return day + int64(bits.TrailingZeros32(rest)), true
		}
	}
	monday := c.monday + (since/c.every+1)*c.every
	return monday + int64(bits.TrailingZeros32(c.weekdays)), true
}

// The Gregorian calendar, including weekdays, repeats every 400 years.
const cycleMonths = 400 * 12

// months are days of some months: of run months in a row from month first on, and of as many every every
// months after it. Month 0 is January of year 0.
type months struct {
	first, every, run int64

	// days holds the matching days of each kind of month. Bit 0 is the first day.
	days [monthKinds]uint32

	// Bit k of hits is set if the k-th month has matching days. The bits repeat every cycle bits, as the
	// calendar does.
	hits  [cycleMonths / 64]uint64
	cycle int64
}

// number returns the number of the k-th month.
func (c *months) number(k int64) int64 { return c.first + k/c.run*c.every + k%c.run }

// index returns which month is the first at or after the one with that number.
func (c *months) index(number int64) int64 {
	since := max(number-c.first, 0)
	return since/c.every*c.run + min(since%c.every, c.run)
}

func (c *months) next(day int64) (int64, bool) {
	year, month, dayOfMonth := time.Unix(day*secondsPerDay, 0).UTC().Date()
	number := monthNumber(year, month)
	k := c.index(number)
	if c.number(k) == number && c.hit(k) {
		start := day - int64(dayOfMonth) + 1
		if rest := c.daysOf(number, start) >> (dayOfMonth - 1); rest != 0 {
			return day + int64(bits.TrailingZeros32(rest)), true
		}
		k++
	}
	k, ok := c.nextHit(k)
	number = c.number(k)
	start := firstDay(number)
	return start + int64(bits.TrailingZeros32(c.daysOf(number, start))), ok
}

// daysOf returns the matching days of the month with that number, which begins on day start.
func (c *months) daysOf(number, start int64) uint32 {
	return c.days[monthKind(daysIn(number), weekdayOf(start))]
}

func (c *months) hit(k int64) bool {
	k %= c.cycle
	return c.hits[k/64]>>(k%64)&1 != 0
}

// nextHit returns the first set bit of hits from bit k on.
func (c *months) nextHit(k int64) (int64, bool) {
	at := k % c.cycle
	for last := k + c.cycle; k < last; {
		if word := c.hits[at/64] >> (at % 64); word != 0 {
			return k + int64(bits.TrailingZeros64(word)), true
		}
		step := min(64-at%64, c.cycle-at)
		k += step
		at = (at + step) % c.cycle
	}
	return k, false
}

// newMonths returns the months of a rule of frequency Month or Year whose anchor has the given date.
func newMonths(r *Rule, year int, month time.Month, day int) *months {
	c := &months{first: monthNumber(year, month), every: r.Interval, run: 1}
	ofYear := bitset(r.Months, 1<<13-1)
	if r.Frequency == Year {
		c.first, c.every, c.run = monthNumber(year, time.January), 12*r.Interval, 12
		ofYear = bitset(r.Months, 1<<month)
	}
	for length := 28; length <= 31; length++ {
		for first := time.Sunday; first <= time.Saturday; first++ {
			c.days[monthKind(length, first)] = daysOfMonth(r, length, first, day)
		}
	}
	kinds := kindsOfCycle()
	c.cycle = cycleMonths / gcd(cycleMonths, c.every) * c.run
	for k := range c.cycle {
		number := c.number(k)
		number -= floorDiv(number, cycleMonths) * cycleMonths
		if ofYear>>(number%12+1)&1 != 0 && c.days[kinds[number]] != 0 {
			c.hits[k/64] |= 1 << (k % 64)
		}
	}
	return c
}

// daysOfMonth returns the matching days of a month with that length that begins on weekday first. Bit 0 is
// the first day. anchor is the anchor's day of the month.
func daysOfMonth(r *Rule, length int, first time.Weekday, anchor int) uint32 {
	numbered := len(r.MonthDays)+len(r.NearestWeekdays) > 0
	if !numbered && len(r.MonthlyOccurrences) == 0 {
		return 1 << (min(anchor, length) - 1)
	}
	byNumber := monthDays(r.MonthDays, length) | nearestWeekdays(r.NearestWeekdays, length, first)
	byWeekday := monthlyOccurrences(r.MonthlyOccurrences, length, first)
	days := byNumber | byWeekday
	if numbered && len(r.MonthlyOccurrences) > 0 && !r.EitherDay {
		days = byNumber & byWeekday
	}
	if len(r.Positions) > 0 {
		days = atPositions(r.Positions, days)
	}
	return days
}

// nearestWeekdays returns, for each day that the month has, the day from Monday to Friday of the month that is nearest.
func nearestWeekdays(list []int, length int, first time.Weekday) uint32 {
	var days uint32
	for _, day := range list {
		if day < 0 {
			day += length + 1
		}
		if day < 1 || day > length {
			continue
		}
		switch weekday := (first + time.Weekday(day-1)) % 7; {
		case weekday == time.Saturday && day == 1:
			day = 3
		case weekday == time.Saturday:
			day--
		case weekday == time.Sunday && day == length:
			day -= 2
		case weekday == time.Sunday:
			day++
		}
		days |= 1 << (day - 1)
	}
	return days
}

// atPositions returns the days of a set that are at the given positions: 1 is the first one, -1 the last one.
func atPositions(positions []int, days uint32) uint32 {
	var kept uint32
	count := bits.OnesCount32(days)
	nth := 0
	for rest := days; rest != 0; rest &= rest - 1 {
		nth++
		for _, position := range positions {
			if position == nth || position == nth-count-1 {
				kept |= rest & -rest
			}
		}
	}
	return kept
}

func monthDays(list []int, length int) uint32 {
	var days uint32
	for _, day := range list {
		if day < 0 {
			day += length + 1
		}
		if day >= 1 && day <= length {
			days |= 1 << (day - 1)
		}
	}
	return days
}

func monthlyOccurrences(list []MonthlyOccurrence, length int, first time.Weekday) uint32 {
	var days uint32
	for _, o := range list {
		start := (int(o.Day-first) + 7) % 7 // offset of the first such weekday in the month
		count := (length-1-start)/7 + 1
		nth := o.Occurrence
		if nth < 0 {
			nth += count + 1
		}
		for n := 1; n <= count; n++ {
			if n == nth || o.Occurrence == 0 {
				days |= 1 << (start + 7*(n-1))
			}
		}
	}
	return days
}

// monthKinds is the number of kinds of months: four lengths times seven first weekdays. Months of one kind
// have the same matching days.
const monthKinds = 4 * 7

func monthKind(length int, first time.Weekday) int { return (length-28)*7 + int(first) }

// kindsOfCycle returns the kinds of the months of years 0 to 399.
func kindsOfCycle() (kinds [cycleMonths]uint8) {
	first := time.Saturday // 0000-01-01
	for number := range kinds {
		length := daysIn(int64(number))
		kinds[number] = uint8(monthKind(length, first))
		first = (first + time.Weekday(length)) % 7
	}
	return kinds
}

func monthNumber(year int, month time.Month) int64 { return int64(year)*12 + int64(month) - 1 }

// firstDay returns the first day of the month with that number.
func firstDay(number int64) int64 {
	year := floorDiv(number, 12)
	return dayOf(time.Date(int(year), time.Month(number-year*12+1), 1, 0, 0, 0, 0, time.UTC))
}

// daysIn returns the length of the month with that number.
func daysIn(number int64) int {
	year := floorDiv(number, 12)
	switch time.Month(number - year*12 + 1) {
	case time.April, time.June, time.September, time.November:
		return 30
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

// ShortestMonth returns the length of the shortest of some months (1 to 12) in a common year; no months are all.
func ShortestMonth(months []int) int {
	if len(months) == 0 {
		return 28
	}
	length := 31
	for _, m := range months {
		length = min(length, daysIn(monthNumber(1, time.Month(m))))
	}
	return length
}

// dayOf returns the days from 1970-01-01 to a time in UTC.
func dayOf(t time.Time) int64 { return floorDiv(t.Unix(), secondsPerDay) }

// weekdayOf returns the weekday of a day. 1970-01-01 was a Thursday.
func weekdayOf(day int64) time.Weekday {
	return time.Weekday((day%7 + 7 + int64(time.Thursday)) % 7)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
