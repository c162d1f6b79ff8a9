package job

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"time"
)

const (
	maxMarks, markSize = 20, 6
	maxHours, hourSize = 48, 4 + 2*counters
	counters           = 10
	maxCount           = 1<<16 - 1
)

// Recent says what became of a job's occurrences and manual runs lately: the last 20 one by one, and those of two days
// by hours. It is for lists of thousands of jobs, so it is packed: its JSON takes at most 1,720 bytes, 160 of them for
// the marks.
type Recent struct {
	// Marks are [Mark]s, in the order in which they were added: four bytes have the due time, two the rest.
	Marks []byte `json:"marks,omitempty"`
	// Hours are [Hour]s, oldest first: four bytes have the hour, and two each counter.
	Hours []byte `json:"hours,omitempty"`
}

// A Mark is what became of an occurrence or a manual run.
type Mark struct {
	Due     time.Time // in whole seconds; of a manual run, when it was started
	Manual  bool      // a manual run; a cancelled one has it only if nothing else will come of it
	Outcome Outcome   // of the execution, or why there was none
	// how long after its due time it began, within 2 %; negative if it did not run or that is not known
	Late time.Duration
	// Assumed says that no job recorded it: it follows from a timetable that the occurrence came due, and that nothing
	// out of the ordinary was recorded of it. It is not stored.
	Assumed bool
}

// An Hour counts the occurrences and manual runs that came due in an hour, each once but for Failed.
type Hour struct {
	Start     time.Time
	Late      [5]int // occurrences that ran, by how late they began: see [LateBounds]
	Manual    int    // manual runs
	Failed    int    // those of the ones above that failed
	Missed    int    // occurrences that were not run, by the reason
	Skipped   int
	Cancelled int // manual runs included
}

// LateBounds are the upper bounds of [Hour.Late] but the last, which has none, and also has occurrences of which it is
// not known.
var LateBounds = [...]time.Duration{100 * time.Millisecond, time.Second, RegularDelay, time.Minute}

// Add adds what became of an occurrence or a manual run. One that is not due yet counts in the hour of now. An
// execution takes the place of a cancelled attempt of its own that was added just before.
func (r *Recent) Add(m Mark, now time.Time) {
	r.Marks = r.Marks[:len(r.Marks)-len(r.Marks)%markSize]
	if n := len(r.Marks) - markSize; n >= 0 && m.Outcome.Ran() {
		last := unpackMark(r.Marks[n:])
		if last.Outcome == OutcomeCancelled && !last.Manual && last.Due.Equal(m.Due.Truncate(time.Second)) {
			r.Marks = r.Marks[:n]
			r.count(last, now, -1)
		}
	}
	if len(r.Marks) >= maxMarks*markSize {
		r.Marks = slices.Delete(r.Marks, 0, markSize)
	}
	r.Marks = m.pack(r.Marks)
	r.count(m, now, 1)
}

// All returns the marks, in the order in which they were added.
func (r *Recent) All() iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		for packed := range slices.Chunk(r.Marks, markSize) {
			if len(packed) < markSize || !yield(unpackMark(packed)) {
				return
			}
		}
	}
}

// AllHours returns the hours of the last two days in which something came due, oldest first.
func (r *Recent) AllHours() iter.Seq[Hour] {
	return func(yield func(Hour) bool) {
		for packed := range slices.Chunk(r.Hours, hourSize) {
			if len(packed) < hourSize || !yield(unpackHour(packed)) {
				return
			}
		}
	}
}

// Irregular returns r with those hours only that had something besides occurrences which succeeded and began within
// [RegularDelay].
func (r *Recent) Irregular() Recent {
	few := Recent{Marks: r.Marks}
	for h := range r.AllHours() {
		if h.Late[3]+h.Late[4]+h.Manual+h.Failed+h.Missed+h.Skipped+h.Cancelled > 0 {
			few.Hours = h.pack(few.Hours)
		}
	}
	return few
}

// count adds n to the counters of a mark, and removes hours that are two days old.
func (r *Recent) count(m Mark, now time.Time, n int) {
	due := m.Due
	if due.After(now) {
		due = now
	}
	hour := func(t time.Time) int64 { return t.Unix() / 3600 }
	oldest := hour(now) - maxHours + 1
	r.Hours = r.Hours[:len(r.Hours)-len(r.Hours)%hourSize]
	at := func(i int) int64 { return int64(binary.BigEndian.Uint32(r.Hours[i:])) }
	for len(r.Hours) >= hourSize && at(0) < oldest {
		r.Hours = slices.Delete(r.Hours, 0, hourSize)
	}
	if hour(due) < oldest {
		return
	}
	i := len(r.Hours)
	for i > 0 && at(i-hourSize) >= hour(due) {
		i -= hourSize
	}
	if i == len(r.Hours) || at(i) != hour(due) {
		r.Hours = slices.Insert(r.Hours, i, Hour{Start: due}.pack(nil)...)
	}
	h := unpackHour(r.Hours[i:])
	h.add(m, n)
	h.pack(r.Hours[:i]) // in its place
}

// add adds n to the counters of a mark.
func (h *Hour) add(m Mark, n int) {
	outcome := m.Outcome.row()
	if outcome.count != nil {
		*outcome.count(h) += n
	}
	switch {
	case outcome.ran && m.Manual:
		h.Manual += n
	case outcome.ran:
		class := len(LateBounds)
		for class > 0 && m.Late >= 0 && m.Late < LateBounds[class-1] {
			class--
		}
		h.Late[class] += n
	}
}

// A lateness has 12 bits: 5 of an exponent and the 7 highest of the milliseconds. unknownLate is more than any.
const unknownLate = 1<<12 - 1

func (m Mark) pack(to []byte) []byte {
	late := uint16(unknownLate)
	if ms := uint64(max(0, m.Late.Milliseconds())); m.Late >= 0 && m.Outcome.Ran() {
		exponent := max(0, bits.Len64(ms)-7)
		late = uint16(min(unknownLate-1, uint64(exponent)<<7|ms>>exponent))
	}
	rest := uint16(m.Outcome.row().mark)<<13 | late
	if m.Manual {
		rest |= 1 << 12
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(to, uint32(m.Due.Unix())), rest)
}

func unpackMark(packed []byte) Mark {
	rest := binary.BigEndian.Uint16(packed[4:])
	m := Mark{Due: time.Unix(int64(binary.BigEndian.Uint32(packed)), 0).UTC(), Manual: rest&(1<<12) != 0, Late: -1}
	for _, row := range outcomes {
		if row.mark == int(rest>>13) && row.mark != noMark {
			m.Outcome = row.Outcome
		}
	}
	if late := rest & unknownLate; late != unknownLate {
		m.Late = time.Duration(late&127) << (late >> 7) * time.Millisecond
	}
	return m
}

func (h Hour) pack(to []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(h.Start.Unix()/3600))
	for _, n := range append(h.Late[:], h.Manual, h.Failed, h.Missed, h.Skipped, h.Cancelled) {
		to = binary.BigEndian.AppendUint16(to, uint16(min(max(0, n), maxCount)))
	}
	return to
}

func unpackHour(packed []byte) Hour {
	h := Hour{Start: time.Unix(int64(binary.BigEndian.Uint32(packed))*3600, 0).UTC()}
	for i, to := range []*int{
		&h.Late[0], &h.Late[1], &h.Late[2], &h.Late[3], &h.Late[4], &h.Manual, &h.Failed, &h.Missed, &h.Skipped, &h.Cancelled,
	} {
		*to = int(binary.BigEndian.Uint16(packed[4+2*i:]))
	}
	return h
}
