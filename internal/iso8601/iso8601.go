// Package iso8601 has times and durations in the forms of Azure Scheduler's REST API.
package iso8601

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"almanac/recurrence"
)

// A Time is a point in time in the form of the REST API: UTC, with up to seven fractional digits without
// trailing zeros.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.9999999Z"

// NewTime returns t; nil if t is zero.
func NewTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t.UTC()}
}

// String returns the wire form.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSON returns the wire form.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON parses the wire form.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	parsed, err := ParseTime(s, time.UTC)
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

var fraction = regexp.MustCompile(`\.\d+`)

// ParseTime parses an ISO 8601 date or date and time, which is in loc if it has no offset. It rounds
// fractions of a second to 100 ns, but never up to the next second.
func ParseTime(s string, loc *time.Location) (Time, error) {
	const tick = 100 * time.Nanosecond
	t, err := recurrence.ParseTime(extended(s), loc)
	if err != nil {
		return Time{}, err
	}
	t = t.UTC()
	if t.Year() > 9999 { // because of its offset from UTC; no job runs later
		return Time{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}, nil
	}
	if t.Year() < 0 {
		return Time{}, fmt.Errorf("%s is before the year 0000 in UTC", s)
	}
	seconds, err := strconv.ParseFloat("0"+fraction.FindString(s), 64)
	if err != nil {
		return Time{}, err
	}
	ticks := min(time.Duration(math.Round(seconds*1e7)), time.Second/tick-1)
	return Time{t.Add(ticks * tick)}, nil
}

// otherForms matches a date and time in a form that RFC 3339 or ISO 8601 also has: with letters in lower case, and an
// offset without a colon or without minutes.
var otherForms = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:([Zz])|([+-]\d\d)(?::?(\d\d))?)?$`)

// extended returns a date and time in the form that package recurrence parses; another text as it is.
func extended(s string) string {
	m := otherForms.FindStringSubmatch(s)
	switch {
	case m == nil:
		return s
	case m[4] != "":
		return m[1] + "T" + m[2] + m[4] + ":" + cmp.Or(m[5], "00")
	}
	return m[1] + "T" + m[2] + strings.ToUpper(m[3])
}

// A Duration is a length of time in the user's spelling: ISO 8601 (PT30S, P1D) or a .NET TimeSpan
// ([d.]hh:mm:ss). The zero value means none.
type Duration string

// Value returns the length; 0 for none or for a text that is not a duration.
func (d Duration) Value() time.Duration {
	v, _ := ParseDuration(string(d))
	return v
}

// In durations a year counts 365 days and a month 30.
const (
	day   = 24 * time.Hour
	month = 30 * day
	year  = 365 * day
)

var (
	isoDuration  = regexp.MustCompile(`^P(?:(\d{1,4})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})D)?(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$`)
	timeSpan     = regexp.MustCompile(`^(?:(\d{1,6})\.)?(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d{1,7})?)$`)
	isoUnits     = []time.Duration{year, month, 7 * day, day, day, time.Hour, time.Minute, time.Second}
	timeSpanUnit = []time.Duration{day, time.Hour, time.Minute, time.Second}
)

// ParseDuration parses an ISO 8601 duration or a .NET TimeSpan. Negative durations are errors. Days may
// also follow the T, because Azure Scheduler's documentation writes one day as PT1D.
func ParseDuration(s string) (time.Duration, error) {
	if m := isoDuration.FindStringSubmatch(s); m != nil && s != "P" && !strings.HasSuffix(s, "T") {
		return sum(m[1:], isoUnits)
	}
	if m := timeSpan.FindStringSubmatch(s); m != nil && within(m[2], 24) && within(m[3], 60) && within(m[4], 60) {
		return sum(m[1:], timeSpanUnit)
	}
	return 0, fmt.Errorf("%q is not a duration such as PT30S or 00:00:30", s)
}

func within(digits string, limit float64) bool {
	v, err := strconv.ParseFloat(digits, 64)
	return err == nil && v < limit
}

// longest prevents sums from overflowing. It is far above every limit of a duration.
const longest = 100 * year

var errTooLong = errors.New("a duration of more than 100 years")

func sum(parts []string, units []time.Duration) (time.Duration, error) {
	var total time.Duration
	for i, p := range parts {
		if p == "" {
			continue
		}
		v, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return 0, err
		}
		if v > float64(longest)/float64(units[i]) {
			return 0, errTooLong
		}
		total += time.Duration(math.Round(v * float64(units[i])))
		if total > longest {
			return 0, errTooLong
		}
	}
	return total, nil
}

// FormatDuration returns a duration of whole seconds in ISO 8601, in the largest unit without a remainder.
func FormatDuration(d time.Duration) string {
	switch {
	case d > 0 && d%day == 0:
		return fmt.Sprintf("P%dD", d/day)
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("PT%dH", d/time.Hour)
	case d > 0 && d%time.Minute == 0:
		return fmt.Sprintf("PT%dM", d/time.Minute)
	default:
		return fmt.Sprintf("PT%dS", d/time.Second)
	}
}
