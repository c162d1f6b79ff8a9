package recurrence

import (
	"strconv"
	"strings"
	"time"
)

// RRule returns the schedule in the words of RFC 5545, which [ParseRRule] reads: a
// line with the start, and one with the rule. The same instants come back, not
// always the same Rule.
//
// RFC 5545 skips a month that lacks the anchor's day, except for one time of a day
// by month. It cannot say that a local time is its second pass, or that ranges are
// left out. A schedule with any of these is a [*FieldError].
func (s *Schedule) RRule() (string, error) {
	r := s.rule.clone()
	local := instant(s.anchor).In(r.location())
	_, offset := local.Zone()
	clamped := r.Frequency >= Month && len(r.MonthDays)+len(r.MonthlyOccurrences) == 0 && local.Day() > shortest(&r, local.Month())
	onceADay := len(r.Hours) <= 1 && len(r.Minutes) <= len(r.Hours)
	var c check
	c.that(len(s.out) == 0, "Ranges", len(s.out), "none left out")
	c.that(!clamped || r.Frequency == Month && onceADay, "Anchor", local, "a day that each month has")
	c.that(newZone(r.Location).wall(s.anchor+int64(offset)) == s.anchor, "Anchor", local, "the first pass of a local time")
	if err := c.err(); err != nil {
		return "", err
	}

	w := rruleWriter{"FREQ=" + rruleFrequencies[r.Frequency]}
	if r.Interval > 1 {
		w.add("INTERVAL", r.Interval)
	}
	switch {
	case !r.End.IsZero(): // or what Count allows, if that is less
		w = append(w, instant(s.until).Format("UNTIL=20060102T150405Z"))
	case r.Count > 0:
		w.add("COUNT", r.Count)
	}
	if clamped {
		r.MonthDays = clampedDays(local.Day())
	}
	w.add("BYMONTH", r.Months...)
	w.add("BYMONTHDAY", r.MonthDays...)
	w.days(&r)
	if len(r.Minutes) > 0 && len(r.Hours) == 0 && r.Frequency > Hour {
		r.Hours = upTo(24)
	}
	w.add("BYHOUR", r.Hours...)
	w.add("BYMINUTE", r.Minutes...)
	if len(r.Minutes) > 0 {
		w.add("BYSECOND", 0)
	}
	if clamped {
		w.add("BYSETPOS", -1)
	}
	start := "DTSTART;TZID=" + r.location().String() + local.Format(":20060102T150405")
	if r.location() == time.UTC {
		start = local.Format("DTSTART:20060102T150405Z")
	}
	return start + "\nRRULE:" + strings.Join(w, ";"), nil
}

// An rruleWriter holds the parts of a rule.
type rruleWriter []string

// add adds a part, unless it has no values.
func (w *rruleWriter) add(name string, values ...int) {
	var texts []string
	for _, n := range values {
		texts = append(texts, strconv.Itoa(n))
	}
	if texts != nil {
		*w = append(*w, name+"="+strings.Join(texts, ","))
	}
}

// days adds the days of the week.
func (w *rruleWriter) days(r *Rule) {
	var texts []string
	for _, day := range r.WeekDays {
		texts = append(texts, rruleDays[day])
	}
	for _, o := range r.MonthlyOccurrences {
		number := ""
		if o.Occurrence != 0 {
			number = strconv.Itoa(o.Occurrence)
		}
		texts = append(texts, number+rruleDays[o.Day])
	}
	if texts != nil {
		*w = append(*w, "BYDAY="+strings.Join(texts, ","))
	}
}
