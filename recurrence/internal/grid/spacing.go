package grid

import (
	"math"
	"math/bits"
)

func (g elapsed) Spacing() int64 { return g.every }

// Spacing compares the gaps between the times of one day with the gap from one date to the next.
func (g *wallGrid) Spacing() int64 {
	within, overnight := g.clock.gaps()
	return 60 * min(within, (g.calendar.spacing()-1)*minutesPerDay+overnight)
}

// gaps returns the minimum gap between two times of one day, and the gap from the last time to the first of
// the next day, both in minutes.
func (c clock) gaps() (within, overnight int64) {
	within = math.MaxInt64
	first, _ := c.nextMinute(0)
	last := first
	for {
		next, ok := c.nextMinute(last + 1)
		if !ok {
			return within, minutesPerDay - (last - first)
		}
		within = min(within, next-last)
		last = next
	}
}

// Spacing examines the instants of one cycle, at most 1440, with a constant offset: the offset of the first
// instant at which the rule fires, since with the anchor's it may never fire.
func (s *slots) Spacing() int64 {
	first, _ := s.Next(s.anchor, s.horizon())
	offset := s.zone.offset(first)
	cycle := s.every / gcd(s.every, minutesPerDay) * minutesPerDay * 60
	least := cycle
	for at := first; at < first+cycle && least > 60; {
		next, ok := s.nextAt(at+1, offset)
		if !ok {
			break
		}
		least = min(least, next-at)
		at = next
	}
	return least
}

func (c days) spacing() int64 { return c.every }

func (c weeks) spacing() int64 {
	least := c.every
	for day, _ := c.next(c.monday); day < c.monday+c.every; {
		next, _ := c.next(day + 1)
		least = min(least, next-day)
		day = next
	}
	return least
}

// spacing examines the months of one cycle and the first month of the next.
func (c *months) spacing() int64 {
	least := int64(math.MaxInt64)
	last := int64(math.MinInt64 / 2)
	k, _ := c.nextHit(0)
	for end := k + c.cycle; k <= end && least > 1; {
		number := c.number(k)
		start := firstDay(number)
		days := c.daysOf(number, start)
		least = min(least, start+int64(bits.TrailingZeros32(days))-last, closest(days))
		last = start + int64(bits.Len32(days)) - 1
		k, _ = c.nextHit(k + 1)
	}
	return least
}

// closest returns the minimum distance between two bits of a set; math.MaxInt64 for a single bit.
func closest(set uint32) int64 {
	for distance := 1; distance < 32; distance++ {
		if set&(set>>distance) != 0 {
			return int64(distance)
		}
	}
	return math.MaxInt64
}
