// Package daysoff reads days off from files that people have: iCalendar (RFC 5545) and CSV. It reads no clock and opens no
// connection, and what it makes of a file is bounded.
package daysoff

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"almanac/recurrence/calendars"
)

// The limits of a file.
const (
	MaxBytes  = 4 << 20
	maxEvents = 20_000
	maxDepth  = 8 // of components in components
)

// Options say what counts.
type Options struct {
	First, Last calendars.Date // what is outside is left out

	Timed  bool           // events that are not whole days make the days off that they touch; else they are left out
	MakeUp *regexp.Regexp // events with such a name are make-up days; nil: none
	Order  string         // of dates such as 1/2/2026 in CSV: "dmy", "mdy", or "" if those are refused
}

// A Found is what files say. Its days are sorted.
type Found struct {
	Name       string // of the calendar, if the file has one
	Days       []calendars.Day
	Periods    []calendars.Period
	MakeUpDays []calendars.Day

	// LastGiven is the last date that is written in the file, not computed by a rule; 0: there is none.
	LastGiven calendars.Date

	Outside int // entries before First or after Last
	Timed   int // events that are not whole days, and were left out

	Ignored []string // headings of columns that were left out
}

// Read reads a file: iCalendar if it begins as such, else CSV. The error joins one for each entry that cannot be read.
func Read(text []byte, o Options) (*Found, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxBytes)
	}
	f := &Found{}
	var err error
	if head := bytes.TrimSpace(text[:min(len(text), 200)]); len(head) >= 6 && bytes.EqualFold(head[:6], []byte("BEGIN:")) {
		err = readICalendar(f, text, o)
	} else {
		err = readCSV(f, text, o)
	}
	if err != nil {
		return nil, err
	}
	f.sort()
	return f, nil
}

// errTooMany ends what would be more than a calendar may have.
var errTooMany = fmt.Errorf("it has more than %d days in these years, which is more than a calendar may have", calendars.MaxEntries)

// add adds the dates from first to last under a name.
func (f *Found) add(first, last calendars.Date, name string, makeUp bool, o Options) error {
	if last < o.First || first > o.Last {
		f.Outside++
		return nil
	}
	if len(f.Days)+len(f.Periods)+len(f.MakeUpDays) > 4*calendars.MaxEntries { // some may be the same
		return errTooMany
	}
	first, last = max(first, o.First), min(last, o.Last)
	switch {
	case makeUp && last-first > calendars.MaxEntries:
		return errTooMany
	case makeUp:
		for d := first; d <= last; d++ {
			f.MakeUpDays = append(f.MakeUpDays, calendars.Day{Date: d, Name: name})
		}
	case first == last:
		f.Days = append(f.Days, calendars.Day{Date: first, Name: name})
	default:
		f.Periods = append(f.Periods, calendars.Period{First: first, Last: last, Name: name})
	}
	return nil
}

// Merge adds what another file says.
func (f *Found) Merge(other *Found) {
	f.Days, f.Periods = append(f.Days, other.Days...), append(f.Periods, other.Periods...)
	f.MakeUpDays = append(f.MakeUpDays, other.MakeUpDays...)
	f.LastGiven = max(f.LastGiven, other.LastGiven)
	f.Outside, f.Timed = f.Outside+other.Outside, f.Timed+other.Timed
	f.Ignored = append(f.Ignored, other.Ignored...)
	if f.Name == "" {
		f.Name = other.Name
	}
	f.sort()
}

func (f *Found) sort() {
	byDate := func(a, b calendars.Day) int { return int(a.Date - b.Date) }
	slices.SortStableFunc(f.Days, byDate)
	slices.SortStableFunc(f.MakeUpDays, byDate)
	slices.SortStableFunc(f.Periods, func(a, b calendars.Period) int { return int(a.First - b.First) })
	f.Days, f.MakeUpDays = slices.Compact(f.Days), slices.Compact(f.MakeUpDays)
	f.Periods = slices.Compact(f.Periods)
}

// dateOf returns the date that a clock shows.
func dateOf(t time.Time) calendars.Date { return calendars.DateOf(t.Date()) }

// maxErrors is how many entries that cannot be read are named.
const maxErrors = 20

// joined returns the errors, and how many more there are than are named.
func joined(errs []error) error {
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors:maxErrors], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}
