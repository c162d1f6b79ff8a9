package client

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// A Time is a date, or a date and time, as a user writes it: without an offset it is in the time zone of the recurrence,
// and UTC if there is none. The API answers it in UTC.
type Time string

// At returns a point in time.
func At(t time.Time) Time {
	if t.IsZero() {
		return ""
	}
	return Time(t.UTC().Format("2006-01-02T15:04:05.9999999Z"))
}

// Instant returns the point in time; the zero time if there is none, or if it is a local time.
func (t Time) Instant() time.Time {
	at, err := time.Parse(time.RFC3339Nano, string(t))
	if err != nil {
		return time.Time{}
	}
	return at
}

// A Duration is a duration in ISO 8601, such as PT30S, or a .NET TimeSpan, such as 00:00:30. The API answers it as it
// was written.
type Duration string

// Length returns how long a duration in ISO 8601 is, which has no months or years; 0 for any other.
func (d Duration) Length() (length time.Duration) {
	m := isoDuration.FindStringSubmatch(string(d))
	if m == nil {
		return 0
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] != "" {
			n, _ := strconv.ParseFloat(m[i+1], 64) // the pattern matches numbers only
			length += time.Duration(n * float64(unit))
		}
	}
	return length
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// Lasting returns a duration, with a precision of a second.
func Lasting(d time.Duration) Duration { return Duration(fmt.Sprintf("PT%dS", int64(d/time.Second))) }
