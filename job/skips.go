package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// MaxSkips is how many occurrences and times of a job may be skipped that are to come; a time counts as one.
const MaxSkips = 100

// A SkipWindow is a time in which no occurrence of a job runs.
type SkipWindow struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"` // the first instant after it
}

// Has reports whether t is in the window.
func (w SkipWindow) Has(t time.Time) bool { return !t.Before(w.From) && t.Before(w.Until) }

// MergeWindows returns windows in order, of which no two overlap or follow each other without a gap, that have the same
// times.
func MergeWindows(windows []SkipWindow) []SkipWindow {
	var merged []SkipWindow
	for _, w := range slices.SortedFunc(slices.Values(windows), func(a, b SkipWindow) int { return a.From.Compare(b.From) }) {
		if n := len(merged); n > 0 && !w.From.After(merged[n-1].Until) {
			if w.Until.After(merged[n-1].Until) {
				merged[n-1].Until = w.Until
			}
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// Skipped reports whether an occurrence is among those that are skipped, one by one or by a window.
func Skipped(t time.Time, skips []time.Time, windows []SkipWindow) bool {
	return slices.ContainsFunc(skips, t.Equal) ||
		slices.ContainsFunc(windows, func(w SkipWindow) bool { return w.Has(t) })
}

// A SkipWindowStatus is a [SkipWindow] in the form of the REST API.
type SkipWindowStatus struct {
	From  *Time `json:"from"`
	Until *Time `json:"until"`
}

// skipsToCome returns what is skipped of a job after now, in order.
func skipsToCome(j *Job, now time.Time) (skips []*Time, windows []SkipWindowStatus) {
	for _, due := range slices.SortedFunc(slices.Values(j.Skips), time.Time.Compare) {
		if due.After(now) {
			skips = append(skips, NewTime(due))
		}
	}
	for _, w := range j.SkipWindows {
		if w.Until.After(now) {
			windows = append(windows, SkipWindowStatus{NewTime(w.From), NewTime(w.Until)})
		}
	}
	slices.SortFunc(windows, func(a, b SkipWindowStatus) int { return a.From.Compare(b.From.Time) })
	return skips, windows
}

// A SkipRequest says which occurrences are to be skipped, or not to be skipped any more. With Due it is one, with From
// and Until all of a time, and else the next ones: Next of them, or one if that is 0.
type SkipRequest struct {
	Due   time.Time `json:"due,omitzero"`
	Next  int       `json:"next,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Text says what the request did, for people.
func (r *SkipRequest) Text(undo bool) string {
	did := "skipped"
	if undo {
		did = "to run after all"
	}
	switch n := max(1, r.Next); {
	case !r.Due.IsZero():
		return fmt.Sprintf("The occurrence that is due at %s is %s.", NewTime(r.Due), did)
	case !r.Until.IsZero():
		return fmt.Sprintf("The occurrences that are due from %s until %s are %s.", NewTime(r.From), NewTime(r.Until), did)
	case n == 1:
		return "The next occurrence is " + did + "."
	default:
		return fmt.Sprintf("The next %d occurrences are %s.", n, did)
	}
}

// UnmarshalJSON reads an object, or a string with Due.
func (r *SkipRequest) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &r.Due)
	}
	type plain SkipRequest
	return json.Unmarshal(text, (*plain)(r))
}
