package preview

import (
	"fmt"
	"time"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// An Adjustment is what calendars make of the occurrences of a job: they move one, or drop some of a day for one reason.
type Adjustment struct {
	Nominal time.Time        // of the first of those that are dropped
	Due     time.Time        // zero: dropped
	Count   int              // how many occurrences it is about; 1 if one is moved
	By      *job.CalendarDay // nil: what follows from the others, such as two that are due at one time
	Why     string           // it follows "because"

	zone *time.Location // nil: UTC
}

// String returns the adjustment in English, in the zone of the job: "moved from Fri 2026-06-19 because SE has …".
func (a Adjustment) String() string {
	nominal, due := a.Nominal.UTC(), a.Due.UTC()
	if a.zone != nil {
		nominal, due = nominal.In(a.zone), due.In(a.zone)
	}
	switch {
	case a.Due.IsZero() && a.Count > 1:
		return fmt.Sprintf("%d skipped because %s", a.Count, a.Why)
	case a.Due.IsZero():
		return "skipped because " + a.Why
	case nominal.Format(time.TimeOnly) == due.Format(time.TimeOnly):
		return "moved from " + nominal.Format("Mon 2006-01-02") + " because " + a.Why
	}
	return "moved from " + nominal.Format("Mon 2006-01-02 15:04") + " because " + a.Why
}

// An Adjusted is an [Adjustment] as the API answers it.
type Adjusted struct {
	Change    string            `json:"change"`
	Nominal   *job.Time         `json:"nominalTime"`
	Due       *job.Time         `json:"expectedExecutionTime,omitempty"`
	Count     int               `json:"count,omitempty"`
	Text      string            `json:"text"`
	Reason    string            `json:"reason"`
	Calendars []job.CalendarDay `json:"calendars,omitempty"`
}

// Answer returns the adjustment as the API answers it.
func (a *Adjustment) Answer() Adjusted {
	out := Adjusted{Change: "moved", Nominal: job.NewTime(a.Nominal), Text: a.String(), Reason: a.Why}
	if a.Due.IsZero() {
		out.Change, out.Count = "skipped", a.Count
	} else {
		out.Due = job.NewTime(a.Due)
	}
	if a.By != nil {
		out.Calendars = []job.CalendarDay{*a.By}
	}
	return out
}

// answers returns adjustments as the API answers them; nil if there are none.
func answers(all []Adjustment) (out []Adjusted) {
	for i := range all {
		out = append(out, all[i].Answer())
	}
	return out
}

// The bounds of a list of adjustments: how many it has, and how many occurrences are looked at, in parts.
const (
	mostAdjustments = 500
	lookedAt        = 2_000
	mostParts       = 10
)

// adjustments returns what calendars make of the occurrences that are decided from one time to another, both included,
// and the time up to which the list is complete.
func adjustments(
	t *timetable.Timetable, from, until time.Time, zone *time.Location,
) (all []Adjustment, complete time.Time) {
	if !t.ByDays() {
		return nil, until
	}
	for range mostParts {
		end := t.Within(from, until, lookedAt)
		for _, o := range t.Occurrences(from, end) {
			if all = add(all, &o, zone); len(all) > mostAdjustments {
				return all[:mostAdjustments], all[mostAdjustments-1].Nominal
			}
		}
		if !end.Before(until) {
			return all, until
		}
		from = end.Add(time.Second)
	}
	return all, from
}

// toEnd returns the end of a timetable, which is not before the last occurrence, or 100 years from now.
func toEnd(r *job.Recurrence, t *timetable.Timetable, last, now time.Time) time.Time {
	until := now.AddDate(100, 0, 0)
	if r == nil || r.EndTime == nil {
		return until
	}
	if _, end := t.Span(); end.Before(until) {
		return later(end, last)
	}
	return until
}

// add adds what becomes of an occurrence, unless it runs at its nominal time. Those of a day that are dropped for one
// reason are one adjustment.
func add(all []Adjustment, o *calendars.Occurrence, zone *time.Location) []Adjustment {
	if o.Ran() && o.Due.Equal(o.Nominal) {
		return all
	}
	a := Adjustment{Nominal: o.Nominal, Count: 1, By: job.CalendarDayOf(o), Why: job.Because(o, zone), zone: zone}
	if o.Ran() {
		a.Due = o.Due
		return append(all, a)
	}
	if last := len(all) - 1; last >= 0 && all[last].joins(&a) {
		all[last].Count++
		return all
	}
	return append(all, a)
}

// joins reports whether both are dropped on one day, for one reason.
func (a *Adjustment) joins(b *Adjustment) bool {
	return a.Due.IsZero() && a.Why == b.Why &&
		a.Nominal.In(a.zone).Format(time.DateOnly) == b.Nominal.In(b.zone).Format(time.DateOnly)
}

// beyond returns a sentence about the calendars behind whose horizon a job runs up to a time; "" if there are none.
func beyond(uses []calendars.Use, until time.Time) string {
	for _, use := range uses {
		if last := use.Table.Horizon(); last != nil && until.Unix() >= (int64(*last)+2)*86400 {
			return fmt.Sprintf("The days of the calendar %s are known until %s only: after that its weekends go on, and nothing else.", use.Name, last)
		}
	}
	return ""
}
