package rrule

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/internal/grid"
)

// Format writes a schedule as two lines, the anchor as DTSTART and the rule as RRULE. [Parse] reads them as a
// schedule of the same instants, not always with the same Rule. A Count together with an End becomes an UNTIL.
//
// Some schedules cannot be written, which is a [*recurrence.FieldError] for each reason:
//
//   - Ranges: instants are left out;
//   - Location: it has no name that [recurrence.LoadLocation] accepts, such as time.Local;
//   - Anchor: it is the second pass of a local time, or in the years 0 and 1, or its day is one that some of the
//     months lack. RFC 5545 skips such months; Format can write their last day only for frequency Month with one
//     time of day;
//   - Rule: it has a field that only other notations have; see [recurrence.Rule.Plain];
//   - Schedule: it is nil or the zero Schedule.
//
// Some programs take DTSTART for an occurrence even if the rule does not fire at it. For them, anchor a schedule
// at one of its instants.
func Format(s *recurrence.Schedule) (string, error) {
	if s == nil || s.Rule().Frequency == 0 {
		return "", bad("Schedule", nil, "one that recurrence.New made")
	}
	r := s.Rule()
	anchor := s.Anchor().In(location(&r))
	onceADay := len(r.Hours) <= 1 && len(r.Minutes) <= len(r.Hours)
	clamped := r.Frequency >= recurrence.Month && len(r.MonthDays)+len(r.MonthlyOccurrences) == 0 && anchor.Day() > shortest(&r, anchor.Month())
	if err := writable(s, &r, anchor, clamped && (r.Frequency == recurrence.Year || !onceADay)); err != nil {
		return "", err
	}

	w := parts{"FREQ=" + frequencies[r.Frequency]}
	if r.Interval > 1 {
		w.add("INTERVAL", r.Interval)
	}
	w.end(s, &r)
	if clamped {
		r.MonthDays = clampedDays(anchor.Day())
	}
	w.add("BYMONTH", r.Months...)
	w.add("BYMONTHDAY", r.MonthDays...)
	w.days(&r)
	if len(r.Minutes) > 0 && len(r.Hours) == 0 && r.Frequency > recurrence.Hour {
		r.Hours = span(0, 23)
	}
	w.add("BYHOUR", r.Hours...)
	w.add("BYMINUTE", r.Minutes...)
	if len(r.Minutes) > 0 {
		w.add("BYSECOND", 0)
	}
	if clamped {
		w.add("BYSETPOS", -1)
	}
	start := "DTSTART;TZID=" + anchor.Location().String() + anchor.Format(":20060102T150405")
	if anchor.Location() == time.UTC {
		start = anchor.Format("DTSTART:20060102T150405Z")
	}
	return start + "\nRRULE:" + strings.Join(w, ";"), nil
}

// writable returns the reasons why a schedule cannot be written. lacking says that some months lack its day.
func writable(s *recurrence.Schedule, r *recurrence.Rule, anchor time.Time, lacking bool) error {
	var errs []error
	refuse := func(reason bool, field string, value any, allowed string) {
		if reason {
			errs = append(errs, bad(field, value, allowed))
		}
	}
	excluded := len(s.Excluded())
	_, unknown := recurrence.LoadLocation(anchor.Location().String())
	_, offset := anchor.Zone()
	second := grid.Wall(anchor.Location(), anchor.Unix()+int64(offset)) != anchor.Unix()
	refuse(!r.Plain(), "Rule", r, "none of NearestWeekdays, EitherDay, Positions, Years and EveryPass")
	refuse(excluded > 0, "Ranges", excluded, "none left out")
	refuse(unknown != nil, "Location", r.Location, "one that LoadLocation returns")
	refuse(anchor.Year() < 2, "Anchor", anchor, "the year 2 or later")
	refuse(lacking, "Anchor", anchor, "a day that each month has")
	refuse(second, "Anchor", anchor, "the first pass of a local time")
	return errors.Join(errs...)
}

// parts are the parts of a rule.
type parts []string

// add adds a part with numbers.
func (w *parts) add(name string, values ...int) {
	var texts []string
	for _, n := range values {
		texts = append(texts, strconv.Itoa(n))
	}
	w.join(name, texts)
}

// join adds a part with each value once, unless there are none.
func (w *parts) join(name string, values []string) {
	var unique []string
	for _, value := range values {
		if !slices.Contains(unique, value) {
			unique = append(unique, value)
		}
	}
	if unique != nil {
		*w = append(*w, name+"="+strings.Join(unique, ","))
	}
}

// end adds COUNT or UNTIL. RFC 5545 allows one of them: with an End, UNTIL is the last instant that Count allows.
func (w *parts) end(s *recurrence.Schedule, r *recurrence.Rule) {
	switch {
	case r.End.IsZero() && r.Count > 0:
		w.add("COUNT", r.Count)
	case !r.End.IsZero():
		end := r.End.UTC()
		switch last, ok := s.Prev(end.Add(time.Second)); {
		case !ok:
			end = s.Anchor().Add(-time.Second)
		case r.Count > 0 || end.Year() > 9999:
			end = last
		}
		*w = append(*w, end.Format("UNTIL=20060102T150405Z"))
	}
}

// days adds the days of the week.
func (w *parts) days(r *recurrence.Rule) {
	var texts []string
	for _, day := range r.WeekDays {
		texts = append(texts, weekdays[day])
	}
	for _, o := range r.MonthlyOccurrences {
		number := ""
		if o.Occurrence != 0 {
			number = strconv.Itoa(o.Occurrence)
		}
		texts = append(texts, number+weekdays[o.Day])
	}
	w.join("BYDAY", texts)
}
