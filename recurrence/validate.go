package recurrence

import (
	"errors"
	"fmt"
	"time"
)

const secondsPerDay = 86400

// The range of ISO 8601 with a four-digit year.
const (
	firstInstant = -62167219200 - secondsPerDay // 0000-01-01 in the earliest zone, at most
	lastInstant  = 253402300799                 // 9999-12-31T23:59:59Z
)

// The maximum values of a [Rule].
const (
	MaxInterval = 1_000_000
	MaxCount    = 1_000_000
)

// ErrNever is the error of [New] for a rule that can never fire, because its months lack its days or its Interval
// skips its Hours. It does not depend on Count and End.
var ErrNever = errors.New("the rule never fires")

// A FieldError is an error in one field of a [Rule], of a cron expression or of an RFC 5545 rule, in an anchor, a
// [Range], a time or the name of a time zone. Get it by [errors.As] or [errors.AsType]: errors may join several.
type FieldError struct {
	Field   string // its name in the input, such as "Hours[2]", "day of month" or "BYDAY"
	Value   any    // the given value; nil if it is missing
	Allowed string // what is allowed, such as "0 to 23"
}

// Error returns a text such as "Hours[2] is 24; allowed: 0 to 23".
func (e *FieldError) Error() string {
	switch v := e.Value.(type) {
	case nil:
		return fmt.Sprintf("%s is missing; allowed: %s", e.Field, e.Allowed)
	case string:
		return fmt.Sprintf("%s is %q; allowed: %s", e.Field, v, e.Allowed)
	case time.Time:
		return fmt.Sprintf("%s is %s; allowed: %s", e.Field, v.Format(time.RFC3339), e.Allowed)
	default:
		return fmt.Sprintf("%s is %v; allowed: %s", e.Field, v, e.Allowed)
	}
}

// A check collects bad fields.
type check struct {
	errs []error
}

// require reports a field unless ok is true.
func (c *check) require(ok bool, field string, value any, allowed string) {
	if !ok {
		c.errs = append(c.errs, &FieldError{Field: field, Value: value, Allowed: allowed})
	}
}

func (c *check) err() error { return errors.Join(c.errs...) }

const (
	allowedAnchor      = "a time in the years 0 to 9999"
	allowedFrequencies = "minute, hour, day, week, month or year"
)

// rule makes all checks of a rule that need neither dates nor the time zone.
func (c *check) rule(r *Rule) {
	if f := r.Frequency; f.valid() {
		c.only(f, len(r.WeekDays), "WeekDays", r.WeekDays, Week, Week)
		c.only(f, len(r.MonthDays), "MonthDays", r.MonthDays, Month, Month)
		c.only(f, len(r.MonthlyOccurrences), "MonthlyOccurrences", r.MonthlyOccurrences, Month, Month)
		c.only(f, len(r.NearestWeekdays), "NearestWeekdays", r.NearestWeekdays, Month, Month)
		c.only(f, len(r.Positions), "Positions", r.Positions, Month, Month)
		c.require(!r.EitherDay || f == Month, "EitherDay", r.EitherDay, "true only with frequency month")
		c.require(!r.EveryPass || f > Hour && len(r.Hours)+len(r.Minutes) > 0, "EveryPass", r.EveryPass,
			"true only with frequency day or longer, with Hours or Minutes")
		c.only(f, len(r.Months), "Months", r.Months, Month, Year)
	} else {
		var value any
		if f != 0 {
			value = f
		}
		c.require(false, "Frequency", value, allowedFrequencies)
	}
	c.require(r.Interval >= 0 && r.Interval <= MaxInterval, "Interval", r.Interval, fmt.Sprintf("1 to %d", MaxInterval))
	c.require(r.Count >= 0 && r.Count <= MaxCount, "Count", r.Count, fmt.Sprintf("1 to %d", MaxCount))
	c.ints("Minutes", r.Minutes, "0 to 59", func(n int) bool { return n >= 0 && n <= 59 })
	c.ints("Hours", r.Hours, "0 to 23", func(n int) bool { return n >= 0 && n <= 23 })
	c.ints("MonthDays", r.MonthDays, "1 to 31 or -31 to -1", func(n int) bool { return n != 0 && n >= -31 && n <= 31 })
	c.ints("NearestWeekdays", r.NearestWeekdays, "1 to 31 or -31 to -1", func(n int) bool { return n != 0 && n >= -31 && n <= 31 })
	c.ints("Positions", r.Positions, "1 to 31 or -31 to -1", func(n int) bool { return n != 0 && n >= -31 && n <= 31 })
	c.ints("Years", r.Years, "1 to 9999", func(n int) bool { return n >= 1 && n <= 9999 })
	c.ints("Months", r.Months, "1 to 12", func(n int) bool { return n >= 1 && n <= 12 })
	for i, day := range r.WeekDays {
		c.weekday(fmt.Sprintf("WeekDays[%d]", i), day)
	}
	for i, o := range r.MonthlyOccurrences {
		field := fmt.Sprintf("MonthlyOccurrences[%d]", i)
		c.weekday(field+".Day", o.Day)
		c.require(o.Occurrence >= -5 && o.Occurrence <= 5, field+".Occurrence", o.Occurrence, "1 to 5 or -5 to -1")
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
	c.require(false, field, value, fmt.Sprintf("none with frequency %s, only with %s", f, takers))
}

func (c *check) ints(field string, list []int, allowed string, ok func(int) bool) {
	for i, n := range list {
		if !ok(n) {
			c.require(false, fmt.Sprintf("%s[%d]", field, i), n, allowed)
		}
	}
}

func (c *check) weekday(field string, day time.Weekday) {
	c.require(day >= time.Sunday && day <= time.Saturday, field, int(day), "a day of the week")
}
