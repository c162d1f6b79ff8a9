package recurrence

// slots is the grid of minutes and hours of which a clock filters some. A slot is
// one minute or one hour of elapsed time, and slots begin at regular distances.
// The grid holds the instants within slots at which local time is on the clock.
type slots struct {
	zone   zone
	clock  clock
	anchor int64
	first  int64 // when the first slot begins
	length int64 // of a slot, in minutes
	every  int64 // minutes from slot to slot

	// skip tells, for a slot that begins in a given minute of the local day, how
	// many slots further on is one that holds a time of the clock.
	skip [minutesPerDay]int16
}

// never is the skip where no slot will do.
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
	s.every = s.length * r.interval()
	s.fillSkip()
	return s
}

// fillSkip goes backwards through the minutes in which one slot after the other
// begins. They repeat, so that after two rounds each has met its next hit.
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

// next tries span after span. Whether a slot holds a time of the clock depends
// on the offset only, so that each span needs one look at most.
func (s *slots) next(from, until int64) (int64, bool) {
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

// nextAt returns the first instant at or after from, which is not before the
// anchor, if the zone kept the offset for ever. It counts the instants at which
// the local second is the clock's: one a minute.
func (s *slots) nextAt(from, offset int64) (int64, bool) {
	shift := offset - s.clock.second
	minute := ceilDiv(from+shift, 60)
	first := ceilDiv(s.first+shift, 60)
	begin := minute - (minute-first)%s.every // of the last slot by then
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
