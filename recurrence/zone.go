package recurrence

import (
	"math"
	"time"
)

// maxOffset bounds how far any zone's local time is from UTC.
const maxOffset = 26 * 3600

// A zone tells local time. Local times are seconds since 1970 as if the local
// clock showed UTC: an instant plus the offset in force.
type zone struct {
	loc *time.Location
}

// A span is a stretch of time during which a zone keeps one offset. Every span
// of a real zone lasts longer than its offset differs from the one before.
type span struct {
	start, end int64 // instants; end is the first one that is no longer within
	offset     int64
	before     int64 // offset of the span before, or offset if that ended long ago
}

// at returns the span around an instant. It may be cut short at the turn of a
// year, in which case the next one has the same offset.
func (z zone) at(t int64) span {
	if z.loc == time.UTC {
		return span{start: math.MinInt64, end: math.MaxInt64}
	}
	local := time.Unix(t, 0).In(z.loc)
	offset := z.offset(t)
	s := span{start: math.MinInt64, end: math.MaxInt64, offset: offset, before: offset}
	start, end := local.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
		if t-s.start < 2*maxOffset {
			s.before = z.offset(s.start - 1)
		}
	}
	if !end.IsZero() {
		s.end = end.Unix()
		// Package time believes that a leap year, too, ends after 365 days.
		if s.end <= t {
			s.end = (floorDiv(t, secondsPerDay) + 1) * secondsPerDay
		}
	}
	return s
}

// fresh returns the instant in the span from which its local times are new:
// where the clock was set back, the first ones have come before.
func (s span) fresh() int64 { return s.start + max(s.before-s.offset, 0) }

// shifted returns the instant in the span until which it holds the local times
// that the clock skipped, besides its own: where the clock was set forward, they
// are read with the offset before.
func (s span) shifted() int64 { return s.start + max(s.offset-s.before, 0) }

// offset returns how far local time is ahead of UTC at an instant, in seconds.
func (z zone) offset(t int64) int64 {
	_, offset := time.Unix(t, 0).In(z.loc).Zone()
	return int64(offset)
}

// wall returns the instant of a local time: the first one where it comes twice,
// and the one by the offset before the gap where the clock skips it.
func (z zone) wall(local int64) int64 {
	s := z.at(local - maxOffset)
	for local-s.offset >= s.end {
		next := z.at(s.end)
		if local-next.offset < s.end {
			break
		}
		s = next
	}
	return local - s.offset
}
