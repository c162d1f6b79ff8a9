package rrule

import (
	"slices"
	"strconv"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/internal/grid"
)

// bySetPos reads a position: among the days of a month that are one weekday, or the last of clampedDays.
func (p *parser) bySetPos(r *recurrence.Rule) error {
	value, ok := p.parts["BYSETPOS"]
	if !ok {
		return nil
	}
	nth, err := strconv.Atoi(value)
	days := r.MonthlyOccurrences
	if p.clamps(r) && nth == -1 {
		r.MonthDays, p.clamped = nil, true
		return nil
	}
	if err != nil || nth == 0 || nth < -5 || nth > 5 || r.Frequency != recurrence.Month || len(days) != 1 || days[0].Occurrence != 0 ||
		len(r.MonthDays) > 0 || len(r.Hours) > 1 || len(r.Minutes) > 1 {
		if r.Positions = positions(value, r); r.Positions != nil {
			return nil
		}
		return bad("BYSETPOS", value, "1 to 31 or -31 to -1, with MONTHLY and BYDAY or BYMONTHDAY, once a day")
	}
	days[0].Occurrence = nth
	return nil
}

// position reads one position.
func position(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n != 0 && n >= -31 && n <= 31
}

// clamps reports whether the last of the days is the start's, or the last of a shorter month.
func (p *parser) clamps(r *recurrence.Rule) bool {
	return r.Frequency == recurrence.Month && len(r.MonthlyOccurrences) == 0 && !p.start.IsZero() && len(r.Hours) <= 1 && len(r.Minutes) <= 1 &&
		slices.Equal(sorted(r.MonthDays), clampedDays(p.local().Day()))
}

// dates settles the frequency that can express the days. BYDAY was read into MonthlyOccurrences.
func (p *parser) dates(r *recurrence.Rule) error {
	days := len(r.MonthlyOccurrences)+len(r.MonthDays)+len(r.Months) > 0
	// Every hour or minute of some days is each time of each of those days.
	if days && r.Frequency <= recurrence.Hour && r.Interval == 1 {
		if r.Frequency == recurrence.Minute && len(r.Minutes) == 0 {
			r.Minutes = span(0, 59)
		}
		if len(r.Hours) == 0 {
			r.Hours = span(0, 23)
		}
		r.Frequency = recurrence.Day
	}
	switch r.Frequency {
	case recurrence.Day:
		return p.daily(r)
	case recurrence.Week:
		return p.weekly(r)
	case recurrence.Month:
		if len(r.MonthlyOccurrences)+len(r.MonthDays) == 0 && !p.clamped {
			return p.startDay(r)
		}
	case recurrence.Year:
		return p.yearly(r)
	default:
		if days {
			return bad("INTERVAL", r.Interval, "1 where there is BYDAY, BYMONTHDAY or BYMONTH")
		}
	}
	return nil
}

// daily makes weeks of days that BYDAY filters, and months of those that BYMONTHDAY or BYMONTH filters.
func (p *parser) daily(r *recurrence.Rule) error {
	byMonth := len(r.MonthDays)+len(r.Months) > 0
	switch {
	case !byMonth && len(r.MonthlyOccurrences) == 0:
		return nil
	case r.Interval > 1:
		return bad("INTERVAL", r.Interval, "1 where there is BYDAY, BYMONTHDAY or BYMONTH")
	case !byMonth:
		r.Frequency = recurrence.Week
		plainDays(r)
		return nil
	}
	r.Frequency = recurrence.Month
	if len(r.MonthDays)+len(r.MonthlyOccurrences) == 0 {
		r.MonthDays = span(1, 31)
	}
	return nil
}

// weekly makes months of weeks that BYMONTH filters.
func (p *parser) weekly(r *recurrence.Rule) error {
	if len(r.MonthDays) > 0 {
		return bad("BYMONTHDAY", p.parts["BYMONTHDAY"], "none with WEEKLY")
	}
	if r.Interval > 1 && !p.mondayWeeks(r) {
		return bad("WKST", p.parts["WKST"], "MO with an INTERVAL, or any day that separates none of BYDAY from DTSTART")
	}
	if len(r.Months) == 0 {
		plainDays(r)
		return nil
	}
	if r.Interval > 1 {
		return bad("INTERVAL", r.Interval, "1 where there is BYMONTH")
	}
	if len(r.MonthlyOccurrences) == 0 {
		if p.start.IsZero() {
			return bad("BYDAY", nil, "a day of the week, or a DTSTART")
		}
		r.MonthlyOccurrences = []recurrence.MonthlyOccurrence{{Day: p.local().Weekday()}}
	}
	r.Frequency = recurrence.Month
	return nil
}

// mondayWeeks reports whether the days of the rule and the start are in the same weeks, whether weeks begin on
// WKST or on Monday.
func (p *parser) mondayWeeks(r *recurrence.Rule) bool {
	value, ok := p.parts["WKST"]
	if !ok || value == "MO" {
		return true
	}
	sinceMonday := func(day int) int { return (day + 6) % 7 }
	first := sinceMonday(slices.Index(weekdays, value))
	moved := func(day time.Weekday) bool { return sinceMonday(int(day)) < first }
	return !p.start.IsZero() && !slices.ContainsFunc(r.MonthlyOccurrences, func(o recurrence.MonthlyOccurrence) bool {
		return moved(o.Day) != moved(p.local().Weekday())
	})
}

// plainDays moves days of the week that are not counted to WeekDays.
func plainDays(r *recurrence.Rule) {
	for _, o := range r.MonthlyOccurrences {
		r.WeekDays = append(r.WeekDays, o.Day)
	}
	r.MonthlyOccurrences = nil
}

// startDay gives a month the day of the start, without which the month is skipped.
func (p *parser) startDay(r *recurrence.Rule) error {
	if p.start.IsZero() {
		return bad("BYMONTHDAY", nil, "a day of the month, or a DTSTART")
	}
	r.MonthDays = []int{p.local().Day()}
	return nil
}

// yearly makes months of years, except with an INTERVAL.
func (p *parser) yearly(r *recurrence.Rule) error {
	if r.Interval > 1 {
		return p.everySomeYears(r)
	}
	r.Frequency = recurrence.Month
	switch {
	case len(r.MonthlyOccurrences) > 0 && len(r.MonthDays)+len(r.Months) == 0:
		r.Frequency = recurrence.Week
		plainDays(r)
		return nil
	case len(r.MonthlyOccurrences)+len(r.MonthDays) > 0:
		return nil
	}
	if len(r.Months) == 0 {
		if p.start.IsZero() {
			return bad("BYMONTH", nil, "a month, or a DTSTART")
		}
		r.Months = []int{int(p.local().Month())}
	}
	return p.startDay(r)
}

// everySomeYears keeps the frequency Year, which knows the day of the anchor only.
func (p *parser) everySomeYears(r *recurrence.Rule) error {
	day := sorted(r.MonthDays)
	switch {
	case len(r.MonthlyOccurrences) > 0:
		return bad("BYDAY", p.parts["BYDAY"], "none with YEARLY and an INTERVAL")
	case p.start.IsZero():
		return bad("DTSTART", nil, "the first day, since there is YEARLY and an INTERVAL")
	case len(day) > 0 && (len(r.Months) == 0 || len(day) > 1 || day[0] != p.local().Day()):
		return bad("BYMONTHDAY", p.parts["BYMONTHDAY"], "with YEARLY and an INTERVAL only the day of DTSTART, and a BYMONTH")
	case p.local().Day() > shortest(r, p.local().Month()):
		return bad("DTSTART", p.local().Format("20060102"), "with YEARLY and an INTERVAL a day that each of its months has")
	}
	r.MonthDays = nil
	return nil
}

// times settles the times of day. In a Rule, minutes without hours are those of every hour, at second 0. In RFC
// 5545, hours and seconds that are left out are the start's.
func (p *parser) times(r *recurrence.Rule) error {
	if len(r.Minutes) > 0 && len(r.Hours) == 0 && r.Frequency > recurrence.Hour {
		if p.start.IsZero() {
			return bad("BYHOUR", nil, "hours, or a DTSTART")
		}
		r.Hours = []int{p.local().Hour()}
	}
	second := 0
	if !p.start.IsZero() {
		second = p.local().Second()
	}
	wanted := second
	if len(p.seconds) > 0 {
		wanted = p.seconds[0]
	}
	switch {
	case len(r.Minutes) > 0 && wanted != 0:
		return bad("BYSECOND", wanted, "0 where there is BYMINUTE")
	case len(r.Minutes) > 0 || wanted == second && (len(p.seconds) == 0 || !p.start.IsZero()):
		return nil
	case wanted != 0 || p.start.IsZero() || r.Frequency == recurrence.Minute:
		return bad("BYSECOND", wanted, "the second of DTSTART, or 0 where there is BYMINUTE")
	}
	r.Minutes = []int{p.local().Minute()} // at second 0, unlike the start
	if len(r.Hours) == 0 && r.Frequency > recurrence.Hour {
		r.Hours = []int{p.local().Hour()}
	}
	return nil
}

// shortest returns the length of the shortest month in which a rule of months or years fires.
func shortest(r *recurrence.Rule, anchor time.Month) int {
	if r.Frequency == recurrence.Year && len(r.Months) == 0 {
		return grid.ShortestMonth([]int{int(anchor)})
	}
	return grid.ShortestMonth(r.Months)
}
