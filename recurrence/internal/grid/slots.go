package grid

// slots is the grid of minutes or hours filtered by a clock. A slot is one minute or hour of elapsed time;
// slots begin at regular intervals. The grid consists of the instants in slots at which the local time is
// on the clock.
type slots struct {
	zone   zone
	clock  clock
	anchor int64
	first  int64 // start of the first slot
	length int64 // of a slot, in minutes
	every  int64 // minutes between the starts of slots

	// skip is the number of slots from a slot that begins at the given minute of the local day to the next
	// one that contains a time of the clock.
	skip [minutesPerDay]int16
}

// never is the skip if no slot contains a time of the clock.
const never = -1

func newSlots(r *Rule, z zone, anchor int64) *slots {
	local := anchor + z.offset(anchor)
	s := &slots{zone: z, clock: newClock(r, local), anchor: anchor, length: 1}
	sinceFirst := local - floorDiv(local, 60)*60
	if r.Frequency == Hour {
		s.length = 60
		sinceFirst = local - floorDiv(local, 3600)*3600
	}
	s.first = anchor - sinceFirst
	s.every = s.length * r.Interval
	s.fillSkip()
	return s
}

// fillSkip walks backwards through the minutes of the day at which successive slots begin. These repeat, so
// after two rounds each has found its next hit.
func (s *slots) fillSkip() {
	step := s.every % minutesPerDay
	rings := gcd(minutesPerDay, s.every)
	for begin := range rings {
		skip := int16(never)
		for range 2 * minutesPerDay / rings {
			switch {
			case s.clock.nextLocalMinute(begin) < begin+s.length:
				skip = 0
			case skip != never:
				skip++
			}
			s.skip[begin] = skip
			begin = (begin - step + minutesPerDay) % minutesPerDay
		}
	}
}

// settled is 2100-01-01. By then, every zone's clock changes by the same rule each year, or not at all.
const settled = 4102444800

// horizon returns an instant by which every offset that the zone ever has was in force since the anchor.
func (s *slots) horizon() int64 { return max(s.anchor, settled) + 100*366*secondsPerDay }

// Fires tries every offset that the zone ever has. Whether a slot contains a time of the clock depends on
// nothing else.
func (s *slots) Fires() bool {
	_, ok := s.Next(s.anchor, s.horizon())
	return ok
}

// Next tries one span after the other. Whether a slot contains a time of the clock depends only on the
// offset, so each span takes at most one lookup.
func (s *slots) Next(from, until int64) (int64, bool) {
	from = max(from, s.anchor)
	for from <= until {
		span := s.zone.at(from)
		if t, ok := s.nextAt(from, span.offset); ok && t < span.end {
			return t, t <= until
		}
		from = span.end
	}
	return 0, false
}

// nextAt returns the first instant at or after from, assuming that the offset never changes. from must not
// be before the anchor. It counts the instants whose local second is the clock's, one a minute.
func (s *slots) nextAt(from, offset int64) (int64, bool) {
	shift := offset - s.clock.second
	minute := ceilDiv(from+shift, 60)
	first := ceilDiv(s.first+shift, 60)
	begin := minute - (minute-first)%s.every // start of the last slot up to minute
	if minute < begin+s.length {
		if hit := s.clock.nextLocalMinute(minute); hit < begin+s.length {
			return hit*60 - shift, true
		}
	}
	begin += s.every
	skip := s.skip[begin-floorDiv(begin, minutesPerDay)*minutesPerDay]
	if skip == never {
		return 0, false
	}
	hit := s.clock.nextLocalMinute(begin + int64(skip)*s.every)
	return hit*60 - shift, true
}
