package calendars

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"almanac/recurrence"
)

// A Date is a day without a time zone, as days since 1970-01-01.
type Date int64

// DateOf returns a date. Days beyond the month are those of the next one, as with [time.Date].
func DateOf(year int, month time.Month, day int) Date {
	return Date(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

// ParseDate reads a date such as 2026-01-31.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, &recurrence.FieldError{Field: "date", Value: text, Allowed: "a date such as 2026-01-31"}
	}
	return DateOf(t.Date()), nil
}

// String returns the date as in 2026-01-31.
func (d Date) String() string { return d.time().Format(time.DateOnly) }

func (d Date) time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d Date) weekday() time.Weekday {
	return time.Weekday((int64(d)%7 + 7 + int64(time.Thursday)) % 7)
}

// month returns the number of the date's month, from year 0 on.
func (d Date) month() int {
	year, month, _ := d.time().Date()
	return year*12 + int(month) - 1
}

const secondsPerDay = 86400

// The limits of a calendar and of a job.
const (
	MaxEntries   = 2000 // days, periods and make-up days of a calendar together
	MaxCalendars = 8    // of a job
	MaxBlackouts = 20   // of a job, and of a collection
	MaxReach     = 100  // days that a run moves at most
)

// A Day is a date with a name, which may be empty.
type Day struct {
	Date Date
	Name string
}

// A Period is the dates from First to Last, both included.
type Period struct {
	First, Last Date
	Name        string
}

// A Calendar says which days are off. It matches a date in Days, in Periods or on a weekend day, unless that is one of
// MakeUpDays.
type Calendar struct {
	WeekendDays []time.Weekday // required; an empty list is not nil
	Days        []Day
	Periods     []Period
	MakeUpDays  []Day

	// Location says which date an instant has. nil: the calendar is floating, and that is the zone of the job.
	Location *time.Location

	// CompleteUntil is the last date for which the days are known; nil if nobody says so. Behind it the calendar
	// applies as it is.
	CompleteUntil *Date

	Version int // shown beside its name
}

// A Table is a [Calendar] that is ready for use. It is immutable.
type Table struct {
	weekend  [7]bool
	off      []Period // days and periods, disjoint and sorted
	names    []Period // as they were given, sorted by their first date
	makeUp   []Date   // sorted
	location *time.Location
	horizon  *Date
	version  int
}

// NewTable checks a calendar. The error joins a [*recurrence.FieldError] for each bad field, such as "Days[2].Date".
func NewTable(c Calendar) (*Table, error) {
	var errs []error
	bad := func(is bool, field string, value any, allowed string) {
		if is {
			errs = append(errs, &recurrence.FieldError{Field: field, Value: value, Allowed: allowed})
		}
	}
	t := &Table{location: c.Location, horizon: c.CompleteUntil, version: c.Version}
	working := 7
	for i, day := range c.WeekendDays {
		if day < time.Sunday || day > time.Saturday {
			bad(true, fmt.Sprintf("WeekendDays[%d]", i), int(day), "a day of the week")
			continue
		}
		if !t.weekend[day] {
			working--
		}
		t.weekend[day] = true
	}
	bad(c.WeekendDays == nil, "WeekendDays", nil, "the days of the weekend, or an empty list")
	bad(working == 0, "WeekendDays", "every day", "at most six days")
	bad(len(c.Days)+len(c.Periods)+len(c.MakeUpDays) > MaxEntries, longest(&c), len(c.Days)+len(c.Periods)+len(c.MakeUpDays),
		fmt.Sprintf("at most %d days, periods and make-up days together", MaxEntries))
	for _, day := range c.Days {
		t.names = append(t.names, Period{day.Date, day.Date, day.Name})
	}
	for i, p := range c.Periods {
		bad(p.Last < p.First, fmt.Sprintf("Periods[%d].Last", i), p.Last.String(), "a date that is not before "+p.First.String())
		t.names = append(t.names, p)
	}
	for i, day := range c.MakeUpDays {
		listed := slices.ContainsFunc(c.Days, func(d Day) bool { return d.Date == day.Date })
		bad(listed, fmt.Sprintf("MakeUpDays[%d].Date", i), day.Date.String(), "a date that is not among the days")
		t.makeUp = append(t.makeUp, day.Date)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	slices.Sort(t.makeUp)
	slices.SortStableFunc(t.names, func(a, b Period) int { return int(a.First - b.First) })
	for _, p := range t.names {
		if last := len(t.off) - 1; last >= 0 && p.First <= t.off[last].Last+1 {
			t.off[last].Last = max(t.off[last].Last, p.Last)
		} else {
			t.off = append(t.off, Period{First: p.First, Last: p.Last})
		}
	}
	return t, nil
}

// longest returns the name of the calendar's longest list.
func longest(c *Calendar) string {
	switch n := len(c.Days); {
	case n >= len(c.Periods) && n >= len(c.MakeUpDays):
		return "Days"
	case len(c.Periods) >= len(c.MakeUpDays):
		return "Periods"
	default:
		return "MakeUpDays"
	}
}

// Matches reports whether the calendar matches a date.
func (t *Table) Matches(d Date) bool {
	_, off := t.offUntil(d)
	return off
}

// offUntil returns whether a date is off, and until which date all are because of the same entry.
func (t *Table) offUntil(d Date) (Date, bool) {
	i, _ := slices.BinarySearchFunc(t.off, d, func(p Period, d Date) int {
		if p.Last < d {
			return -1
		}
		return 1
	})
	listed := i < len(t.off) && t.off[i].First <= d
	if !listed && !t.weekend[d.weekday()] {
		return 0, false
	}
	last := d
	if listed {
		last = t.off[i].Last
	}
	if k, madeUp := slices.BinarySearch(t.makeUp, d); madeUp {
		return 0, false
	} else if k < len(t.makeUp) {
		last = min(last, t.makeUp[k]-1)
	}
	return last, true
}

// day names why the calendar matches a date: the name of the day or the period, the period's or the day's first date, or
// the weekday.
func (t *Table) day(d Date) string {
	for _, p := range t.names {
		if p.First <= d && d <= p.Last {
			if p.Name != "" {
				return p.Name
			}
			return p.First.String()
		}
	}
	return d.weekday().String()
}

// Horizon returns the last date for which the days are known; nil if nobody says so.
func (t *Table) Horizon() *Date { return t.horizon }

// beyond reports whether a date is behind the calendar's horizon.
func (t *Table) beyond(d Date) bool { return t.horizon != nil && d > *t.horizon }
