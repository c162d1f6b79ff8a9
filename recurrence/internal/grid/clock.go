package grid

import "math/bits"

const (
	secondsPerDay = 86400
	minutesPerDay = 1440

	allHours   = 1<<24 - 1
	allMinutes = 1<<60 - 1
)

// A clock is a set of times of day: each of the hours with each of the minutes, all at the same second. It
// is never empty.
type clock struct {
	hours   uint32 // bit h: hour h
	minutes uint64 // bit m: minute m of each hour
	second  int64
}

// newClock returns the times of day of a rule with an anchor at the given local time. Without minutes, a
// rule has the anchor's minute, or all minutes with frequency Minute. Without hours, it has all hours; but
// with frequency Day or longer and no minutes either, it has the anchor's hour.
func newClock(r *Rule, local int64) clock {
	second := local - floorDiv(local, secondsPerDay)*secondsPerDay
	hour, minute := second/3600, second/60%60
	c := clock{hours: allHours, minutes: 1 << minute, second: second % 60}
	switch {
	case len(r.Minutes) > 0:
		c.minutes, c.second = bitset(r.Minutes, 0), 0
	case r.Frequency == Minute:
		c.minutes = allMinutes
	case r.Frequency > Hour:
		c.hours = 1 << hour
	}
	c.hours = uint32(bitset(r.Hours, uint64(c.hours)))
	return c
}

// next returns the first time of day at or after the given one, both in seconds of the day, or false if
// none is left.
func (c clock) next(second int64) (int64, bool) {
	minute, ok := c.nextMinute(ceilDiv(second-c.second, 60))
	return minute*60 + c.second, ok
}

// nextMinute is next in minutes of the day, regardless of the second.
func (c clock) nextMinute(minute int64) (int64, bool) {
	if minute >= minutesPerDay {
		return 0, false
	}
	hour := minute / 60
	if c.hours>>hour&1 != 0 {
		if rest := c.minutes >> (minute % 60); rest != 0 {
			return minute + int64(bits.TrailingZeros64(rest)), true
		}
	}
	later := c.hours >> (hour + 1)
	if later == 0 {
		return 0, false
	}
	hour += 1 + int64(bits.TrailingZeros32(later))
	return hour*60 + int64(bits.TrailingZeros64(c.minutes)), true
}

// nextLocalMinute is nextMinute across days: it takes and returns minutes of local time since 1970.
func (c clock) nextLocalMinute(minute int64) int64 {
	midnight := floorDiv(minute, minutesPerDay) * minutesPerDay
	if m, ok := c.nextMinute(minute - midnight); ok {
		return midnight + m
	}
	first, _ := c.nextMinute(0)
	return midnight + minutesPerDay + first
}

// bitset returns the set of the numbers in list, or all if the list is empty.
func bitset(list []int, all uint64) uint64 {
	if len(list) == 0 {
		return all
	}
	var set uint64
	for _, n := range list {
		set |= 1 << n
	}
	return set
}

// floorDiv returns a/b rounded down. b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// ceilDiv returns a/b rounded up. b is positive.
func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
