package recurrence

import (
	"regexp"
	"strconv"
	"time"

	"almanac/recurrence/internal/grid"
)

var isoTime = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:(Z)|([+-])(\d\d):(\d\d))?)?$`)

// ParseTime reads an ISO 8601 date, 2006-01-02, or date-time, 2006-01-02T15:04[:05[.999…]][Z|±07:00], and
// cuts it to the whole second. A date means the midnight at its start. Without an offset the value is local
// time in loc, or UTC if loc is nil. A local time that loc's clock skips is read with the offset before the
// gap; of one that occurs twice, the first instant is returned. Other text is a [*FieldError].
//
// The result is in UTC. It is never the zero [time.Time], which means no time, as in the End of a [Rule]: that
// instant is returned one nanosecond later, and [New] cuts fractions off.
func ParseTime(s string, loc *time.Location) (time.Time, error) {
	bad := func(allowed string) (time.Time, error) {
		return time.Time{}, &FieldError{Field: "time", Value: s, Allowed: allowed}
	}
	m := isoTime.FindStringSubmatch(s)
	if m == nil {
		return bad("an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T17:15:00+01:00")
	}
	year, month, day := number(m[1]), number(m[2]), number(m[3])
	hour, minute, second := number(m[4]), number(m[5]), number(m[6])
	offsetHour, offsetMinute := number(m[9]), number(m[10])
	utc := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	switch {
	case month < 1 || month > 12:
		return bad("a month of 01 to 12")
	case hour > 23 || minute > 59 || second > 59:
		return bad("a time of day of 00:00:00 to 23:59:59")
	case day < 1 || utc.Day() != day:
		return bad("a day that the month has")
	case offsetHour > 23 || offsetMinute > 59:
		return bad("an offset from UTC of less than a day")
	}
	local := utc.Unix()
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
		t = instant(grid.Wall(loc, local))
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
