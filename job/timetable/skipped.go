package timetable

import (
	"iter"
	"slices"
	"time"

	"almanac/job"
	"almanac/recurrence/calendars"
)

// IsSkipped reports whether an occurrence is due at a time that is skipped.
func (t *Timetable) IsSkipped(at time.Time) bool {
	next, ok := t.due(at.Unix())
	if t.plan != nil {
		return ok && next.Equal(at) && t.skips(at)
	}
	return ok && next.Equal(at) && (t.window(at) != nil || slices.Contains(t.skipped, at.Unix()))
}

// HasAny reports whether an occurrence after a time is in a window, skipped or not: its nominal time is.
func (t *Timetable) HasAny(w job.SkipWindow, after time.Time) bool {
	from := max(ceil(w.From.Add(-t.Reach())), after.Unix()+1)
	for next, ok := t.due(from); ok && next.Before(w.Until.Add(t.Reach())); next, ok = t.due(next.Unix() + 1) {
		if w.Has(t.NominalOf(next)) {
			return true
		}
	}
	return false
}

// Reach returns how far the due time of an occurrence may be from its nominal time.
func (t *Timetable) Reach() time.Duration {
	if t.plan == nil || !t.moves {
		return 0
	}
	return (calendars.MaxReach + 1) * 24 * time.Hour
}

// Skipped returns the occurrences after at that are skipped, in order. To find the next one it looks for an occurrence
// at each skipped time and in each window at most once.
func (t *Timetable) Skipped(at time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if t.plan != nil {
			for next, ok := t.skippedBy(at); ok && yield(next); next, ok = t.skippedBy(next) {
			}
			return
		}
		from := at.Unix() + 1
		i, _ := slices.BinarySearch(t.skipped, from)
		// singly yields those that are skipped one by one, before a time
		singly := func(until int64) bool {
			for ; i < len(t.skipped) && t.skipped[i] < until; i++ {
				one := time.Unix(t.skipped[i], 0).UTC()
				if next, ok := t.due(t.skipped[i]); ok && next.Equal(one) && t.window(one) == nil && !yield(one) {
					return false
				}
			}
			return true
		}
		for _, w := range t.windows {
			for start := max(from, ceil(w.From)); ; {
				next, ok := t.due(start)
				if !ok || !next.Before(w.Until) {
					break
				}
				if !singly(next.Unix()) || !yield(next) {
					return
				}
				start = next.Unix() + 1
			}
		}
		singly(int64(1) << 62)
	}
}

// SkippedAfter returns the first occurrence after at that is skipped, or false if there is none.
func (t *Timetable) SkippedAfter(at time.Time) (time.Time, bool) {
	for first := range t.Skipped(at) {
		return first, true
	}
	return time.Time{}, false
}

// SkippedBefore returns the last occurrence before at that is skipped, or false if there is none; with calendars of the
// last hundred days.
func (t *Timetable) SkippedBefore(at time.Time) (last time.Time, ok bool) {
	if t.plan != nil {
		for next := range t.Skipped(at.AddDate(0, 0, -calendars.MaxReach)) {
			if !next.Before(at) {
				break
			}
			last, ok = next, true
		}
		return last, ok
	}
	for _, one := range slices.Backward(t.skipped) {
		if next, found := t.due(one); one < at.Unix() && found && next.Unix() == one {
			last, ok = next, true
			break
		}
	}
	for _, w := range slices.Backward(t.windows) {
		by := min(ceil(at), ceil(w.Until)) - 1
		if found, is := t.last(by); is && w.Has(found) {
			if !ok || found.After(last) {
				last, ok = found, true
			}
			break
		}
	}
	return last, ok
}
