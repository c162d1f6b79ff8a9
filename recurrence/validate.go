package recurrence

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// How far ahead of now a plan may begin and may be idle, in calendar months.
const (
	maxStartMonths = 18
	maxIdleMonths  = 100 * 12
)

// The range of ISO 8601 with a four-digit year.
const (
	firstInstant = -62167219200 - secondsPerDay // 0000-01-01 in the earliest zone, at most
	lastInstant  = 253402300799                 // 9999-12-31T23:59:59Z
)

// A FieldError is an error in one field of a job.
type FieldError struct {
	Field string // path within the job's properties, such as "recurrence.schedule.hours[2]"
	Value any    // the given value; nil if it is missing
	Want  string // what is allowed, such as "0 to 23"
}

// Error returns a text such as "recurrence.interval is 19, want 1 to 18".
func (e *FieldError) Error() string {
	switch v := e.Value.(type) {
	case nil:
		return fmt.Sprintf("%s is missing, want %s", e.Field, e.Want)
	case string:
		return fmt.Sprintf("%s is %q, want %s", e.Field, v, e.Want)
	case time.Time:
		return fmt.Sprintf("%s is %s, want %s", e.Field, v.Format(time.RFC3339), e.Want)
	default:
		return fmt.Sprintf("%s is %v, want %s", e.Field, v, e.Want)
	}
}

// A phrase is the Value of a FieldError that concerns several fields.
type phrase string

// A check collects the bad fields of a Spec.
type check struct {
	errs []error
}

// that reports a field unless ok is true.
func (c *check) that(ok bool, field string, value any, want string) {
	if !ok {
		c.errs = append(c.errs, &FieldError{Field: field, Value: value, Want: want})
	}
}

func (c *check) err() error { return errors.Join(c.errs...) }

// start checks the start time of a Spec written at now.
func (c *check) start(start time.Time, now int64) {
	const field = "startTime"
	if limit := addMonths(now, maxStartMonths); start.Unix() > limit {
		want := fmt.Sprintf("at most %d months from now, %s", maxStartMonths, instant(limit).Format(time.RFC3339))
		c.that(false, field, start, want)
	}
	c.that(start.Unix() >= firstInstant, field, start, "the year 0 or later")
}

// rule makes all checks of a rule that need neither dates nor the time zone.
func (c *check) rule(r *Rule) {
	const recurrence, schedule = "recurrence.", "recurrence.schedule."
	longest := maxInterval[Minute]
	if r.Frequency.valid() {
		longest = maxInterval[r.Frequency]
		c.only(r.Frequency, len(r.WeekDays), schedule+"weekDays", r.WeekDays, Week, Week)
		c.only(r.Frequency, len(r.MonthDays), schedule+"monthDays", r.MonthDays, Month, Month)
		c.only(r.Frequency, len(r.MonthlyOccurrences), schedule+"monthlyOccurrences", r.MonthlyOccurrences, Month, Month)
		c.only(r.Frequency, len(r.Months), schedule+"months", r.Months, Month, Year)
	} else {
		var value any
		if r.Frequency != 0 {
			value = r.Frequency
		}
		c.that(false, recurrence+"frequency", value, "minute, hour, day, week, month or year")
	}
	c.that(r.Interval >= 0 && r.Interval <= longest, recurrence+"interval", r.Interval, oneTo(longest))
	c.that(r.Count >= 0 && r.Count <= math.MaxInt32, recurrence+"count", r.Count, oneTo(math.MaxInt32))
	c.ints(schedule+"minutes", r.Minutes, "0 to 59", func(n int) bool { return n >= 0 && n <= 59 })
	c.ints(schedule+"hours", r.Hours, "0 to 23", func(n int) bool { return n >= 0 && n <= 23 })
	c.ints(schedule+"monthDays", r.MonthDays, "1 to 31 or -31 to -1", func(n int) bool { return n != 0 && n >= -31 && n <= 31 })
	c.ints(schedule+"months", r.Months, "1 to 12", func(n int) bool { return n >= 1 && n <= 12 })
	for i, day := range r.WeekDays {
		c.weekday(fmt.Sprintf("%sweekDays[%d]", schedule, i), day)
	}
	for i, o := range r.MonthlyOccurrences {
		field := fmt.Sprintf("%smonthlyOccurrences[%d]", schedule, i)
		c.weekday(field+".day", o.Day)
		c.that(o.Occurrence >= -5 && o.Occurrence <= 5, field+".occurrence", o.Occurrence, "1 to 5 or -5 to -1")
	}
}

// only reports a list of n elements if the frequency does not allow it.
func (c *check) only(f Frequency, n int, field string, value any, first, last Frequency) {
	if n == 0 || f >= first && f <= last {
		return
	}
	takers := first.String()
	if first != last {
		takers += " and " + last.String()
	}
	c.that(false, field, value, fmt.Sprintf("none with frequency %s, only with %s", f, takers))
}

func (c *check) ints(field string, list []int, want string, ok func(int) bool) {
	for i, n := range list {
		if !ok(n) {
			c.that(false, fmt.Sprintf("%s[%d]", field, i), n, want)
		}
	}
}

func (c *check) weekday(field string, day time.Weekday) {
	c.that(day >= time.Sunday && day <= time.Saturday, field, int(day), "a day of the week")
}

func oneTo(n int) string {
	if n == 1 {
		return "1"
	}
	return fmt.Sprintf("1 to %d", n)
}
