package recurrence

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var isoTime = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:(Z)|([+-])(\d\d):(\d\d))?)?$`)

// ParseTime parses an ISO 8601 date, 2006-01-02, or date-time, 2006-01-02T15:04[:05[.999…]][Z|±07:00], and
// cuts it to the whole second. A date means the midnight at its start. Without an offset the value is local
// time in loc, or UTC if loc is nil. A local time that loc's clock skips is read with the offset before the
// gap; of one that occurs twice, the first instant is returned.
//
// The result is in UTC. It is never the zero [time.Time], which means no time, as in the End of a [Rule]: that
// instant is returned one nanosecond later, and [New] cuts fractions off.
func ParseTime(s string, loc *time.Location) (time.Time, error) {
	m := isoTime.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, fmt.Errorf("%q is not an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T17:15:00+01:00", s)
	}
	year, month, day := number(m[1]), number(m[2]), number(m[3])
	hour, minute, second := number(m[4]), number(m[5]), number(m[6])
	offsetHour, offsetMinute := number(m[9]), number(m[10])
	switch {
	case month < 1 || month > 12:
		return time.Time{}, fmt.Errorf("%q has month %d, want 1 to 12", s, month)
	case day < 1 || day > daysIn(monthNumber(year, time.Month(month))):
		return time.Time{}, fmt.Errorf("%q has day %d, which that month lacks", s, day)
	case hour > 23 || minute > 59 || second > 59:
		return time.Time{}, fmt.Errorf("%q has time of day %02d:%02d:%02d, want 00:00:00 to 23:59:59", s, hour, minute, second)
	case offsetHour > 23 || offsetMinute > 59:
		return time.Time{}, fmt.Errorf("%q has offset %02d:%02d from UTC, want less than a day", s, offsetHour, offsetMinute)
	}
	local := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix()
	offset := int64(offsetHour*3600 + offsetMinute*60)
	var t time.Time
	switch {
	case m[8] == "+":
		t = instant(local - offset)
	case m[8] == "-":
		t = instant(local + offset)
	case m[7] == "Z" || loc == nil:
		t = instant(local)
	default:
		t = instant(zone{loc: loc}.wall(local))
	}
	if t.IsZero() {
		t = t.Add(time.Nanosecond)
	}
	return t, nil
}

// number returns the value of digits; 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the pattern allows only a few digits
	return n
}
