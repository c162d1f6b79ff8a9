package timetable

import (
	"slices"
	"time"
)

// A Kept is an occurrence that is due as an earlier plan says, whatever calendars say now: its due time has passed.
type Kept struct {
	Due     time.Time `json:"due"`
	Nominal time.Time `json:"nominal"`
}

// Keeping returns the timetable by calendars with occurrences, in the order of their due times, that were due before it
// was made.
func (t *Timetable) Keeping(kept []Kept) *Timetable {
	if t.plan == nil || len(kept) == 0 {
		return t
	}
	with := *t
	with.before = kept
	return &with
}

// firstKept returns the first occurrence that is kept and due at or after a time; false if there is none.
func (t *Timetable) firstKept(from int64) (time.Time, bool) {
	i := slices.IndexFunc(t.before, func(k Kept) bool { return k.Due.Unix() >= from })
	if i < 0 {
		return time.Time{}, false
	}
	return t.before[i].Due.UTC(), true
}

// lastKept returns the last occurrence that is kept and due at or before a time; false if there is none.
func (t *Timetable) lastKept(by int64) (time.Time, bool) {
	for _, k := range slices.Backward(t.before) {
		if k.Due.Unix() <= by {
			return k.Due.UTC(), true
		}
	}
	return time.Time{}, false
}
