package job

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/flags"
)

// momentForms says how a moment may be written, for help and errors.
const momentForms = `RFC 3339, or here: 2026-01-31, "2026-01-31 08:00", "tomorrow 08:00", "monday 06:00"`

// momentFlag is a point in time, as [readMoment] reads it.
func momentFlag(to *time.Time) flags.Value {
	return flags.NewValue("time", momentForms, func(text string) (err error) {
		*to, err = readMoment(text, time.Now())
		return err
	})
}

// readMoment reads a point in time: in RFC 3339, or by the clock of now's time zone as a date, today, tomorrow,
// yesterday or a weekday, which is the next one, each with a time of day or at its beginning.
func readMoment(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 1 && len(text) > len(time.DateOnly) && strings.ToLower(text)[len(time.DateOnly)] == 't' {
		words = []string{text[:len(time.DateOnly)], text[len(time.DateOnly)+1:]}
	}
	if len(words) == 0 || len(words) > 2 {
		return time.Time{}, momentError(text)
	}
	clock := time.Time{}
	if len(words) == 2 {
		var err error
		if clock, err = time.Parse("15:04", words[1]); err != nil {
			if clock, err = time.Parse(time.TimeOnly, words[1]); err != nil {
				return time.Time{}, momentError(text)
			}
		}
	}
	at := func(day time.Time) (time.Time, error) { return onTheClock(day, clock, now.Location()) }
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if day, err := time.Parse(time.DateOnly, words[0]); err == nil {
		return at(day)
	}
	if days, ok := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}[words[0]]; ok {
		return at(midnight.AddDate(0, 0, days))
	}
	weekday := slices.IndexFunc(weekdays, func(name string) bool { return words[0] == name || words[0] == name[:3] })
	if weekday < 0 {
		return time.Time{}, momentError(text)
	}
	day := midnight.AddDate(0, 0, (weekday-int(midnight.Weekday())+7)%7)
	t, err := at(day)
	if err == nil && !t.After(now) {
		t, err = at(day.AddDate(0, 0, 7))
	}
	return t, err
}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// onTheClock returns when a clock of a zone shows a time of day on a day. That is no moment, or two, when clocks change.
func onTheClock(day, clock time.Time, zone *time.Location) (time.Time, error) {
	const form = "2006-01-02 15:04:05"
	t := time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, zone)
	wall := day.Format(time.DateOnly) + " " + clock.Format(time.TimeOnly)
	if t.Format(form) != wall {
		return t, fmt.Errorf("%s is no time here, where clocks are put forward then: give its offset from UTC", wall)
	}
	for _, apart := range []time.Duration{-time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour} {
		if other := t.Add(apart); other.Format(form) == wall {
			if apart < 0 {
				t, other = other, t
			}
			return t, fmt.Errorf("%s is twice here, where clocks are put back then: %s or %s", wall,
				t.Format(time.RFC3339), other.Format(time.RFC3339))
		}
	}
	return t, nil
}

func momentError(text string) error { return fmt.Errorf("%q is no time", text) }
