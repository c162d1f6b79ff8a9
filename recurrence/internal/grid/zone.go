package grid

import (
	"math"
	"time"
)

// maxOffset is an upper bound of the offset from UTC of all zones, in seconds.
const maxOffset = 26 * 3600

// A zone converts between instants and local times.
type zone struct {
	loc *time.Location
}

// Wall returns the instant of a local time in a location: the first one if it occurs twice. If the clock skips
// it, it is read with the offset before the gap.
func Wall(loc *time.Location, local int64) int64 { return zone{loc: loc}.wall(local) }

// A span is a period in which a zone has one offset. In real zones, every span is longer than the
// difference between its offset and the previous one.
type span struct {
	start, end int64 // instants; end is not included
	offset     int64
	before     int64 // offset of the previous span, or offset if that ended long ago
}

// at returns the span around an instant. It may end early, at the end of a year; then the next span has the
// same offset.
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
		// Package time takes leap years to end after 365 days, too.
		if s.end <= t {
			s.end = (floorDiv(t, secondsPerDay) + 1) * secondsPerDay
		}
	}
	return s
}

// fresh returns the instant at which the span's local times stop repeating earlier ones: after start if the
// clock was set back.
func (s span) fresh() int64 { return s.start + max(s.before-s.offset, 0) }

// shifted returns the instant until which the span's instants also stand for skipped local times: after
// start if the clock was set forward. Skipped local times are read with the previous offset.
func (s span) shifted() int64 { return s.start + max(s.offset-s.before, 0) }

// offset returns local time minus UTC at an instant, in seconds.
func (z zone) offset(t int64) int64 {
	_, offset := time.Unix(t, 0).In(z.loc).Zone()
	return int64(offset)
}

// wall is [Wall] in the zone.
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
