package client

import (
	"fmt"
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

// Lasting returns a duration, with a precision of a second.
func Lasting(d time.Duration) Duration { return Duration(fmt.Sprintf("PT%dS", int64(d/time.Second))) }
