package recurrence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// wireRule is the JSON of a Rule.
type wireRule struct {
	Frequency Frequency     `json:"frequency"`
	Interval  int           `json:"interval,omitempty"`
	Count     int           `json:"count,omitempty"`
	EndTime   string        `json:"endTime,omitempty"`
	TimeZone  string        `json:"timeZone,omitempty"`
	Schedule  *wireSchedule `json:"schedule,omitempty"`
}

type wireSchedule struct {
	Minutes            []int            `json:"minutes,omitempty"`
	Hours              []int            `json:"hours,omitempty"`
	WeekDays           []weekday        `json:"weekDays,omitempty"`
	MonthDays          []int            `json:"monthDays,omitempty"`
	MonthlyOccurrences []wireOccurrence `json:"monthlyOccurrences,omitempty"`
	Months             []int            `json:"months,omitempty"`
}

type wireOccurrence struct {
	Day        weekday `json:"day"`
	Occurrence int     `json:"occurrence,omitempty"`
}

// MarshalJSON writes the rule. A Frequency or a weekday out of range is a [*FieldError], as is a Location whose name
// [LoadLocation] does not accept, such as that of time.Local, and a field that JSON lacks; see [Rule.Plain].
func (r Rule) MarshalJSON() ([]byte, error) {
	if !r.Plain() {
		return nil, &FieldError{Field: "Rule", Value: r.String(), Allowed: "a rule without NearestWeekdays, EitherDay, Positions, Years and EveryPass"}
	}
	w := wireRule{Frequency: r.Frequency, Interval: r.Interval, Count: r.Count}
	if !r.End.IsZero() {
		w.EndTime = r.End.UTC().Format("2006-01-02T15:04:05Z")
	}
	if r.Location != nil {
		w.TimeZone = r.Location.String()
		if _, err := LoadLocation(w.TimeZone); err != nil {
			return nil, &FieldError{Field: "Location", Value: w.TimeZone, Allowed: allowedZones}
		}
	}
	s := wireSchedule{Minutes: r.Minutes, Hours: r.Hours, MonthDays: r.MonthDays, Months: r.Months}
	for _, day := range r.WeekDays {
		s.WeekDays = append(s.WeekDays, weekday(day))
	}
	for _, o := range r.MonthlyOccurrences {
		s.MonthlyOccurrences = append(s.MonthlyOccurrences, wireOccurrence{weekday(o.Day), o.Occurrence})
	}
	if len(s.Minutes)+len(s.Hours)+len(s.WeekDays)+len(s.MonthDays)+len(s.MonthlyOccurrences)+len(s.Months) > 0 {
		w.Schedule = &s
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a rule. Names of members, frequencies and weekdays are in any case; an unknown member is an
// error. An endTime is as for [ParseTime], in the timeZone if it has no offset. [New] checks the numbers.
func (r *Rule) UnmarshalJSON(text []byte) error {
	var w wireRule
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return fmt.Errorf("read a recurrence rule: %w", err)
	}
	rule := Rule{Frequency: w.Frequency, Interval: w.Interval, Count: w.Count}
	var err error
	if w.TimeZone != "" {
		if rule.Location, err = LoadLocation(w.TimeZone); err != nil {
			return err
		}
	}
	if w.EndTime != "" {
		if rule.End, err = ParseTime(w.EndTime, rule.Location); err != nil {
			return fmt.Errorf("endTime: %w", err)
		}
	}
	if s := w.Schedule; s != nil {
		rule.Minutes, rule.Hours, rule.MonthDays, rule.Months = s.Minutes, s.Hours, s.MonthDays, s.Months
		for _, day := range s.WeekDays {
			rule.WeekDays = append(rule.WeekDays, time.Weekday(day))
		}
		for _, o := range s.MonthlyOccurrences {
			rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, MonthlyOccurrence{time.Weekday(o.Day), o.Occurrence})
		}
	}
	*r = rule
	return nil
}

// MarshalText returns the frequency's name, as its String method does.
func (f Frequency) MarshalText() ([]byte, error) {
	if !f.valid() {
		return nil, &FieldError{Field: "Frequency", Value: f, Allowed: allowedFrequencies}
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads a frequency's name, as [ParseFrequency] does.
func (f *Frequency) UnmarshalText(text []byte) error {
	frequency, ok := ParseFrequency(string(text))
	if !ok {
		return &FieldError{Field: "Frequency", Value: string(text), Allowed: allowedFrequencies}
	}
	*f = frequency
	return nil
}

// A weekday is one that JSON calls by its name.
type weekday time.Weekday

func (d weekday) MarshalText() ([]byte, error) {
	if d < 0 || d > 6 {
		return nil, &FieldError{Field: "WeekDays", Value: int(d), Allowed: "a day of the week"}
	}
	return []byte(strings.ToLower(time.Weekday(d).String())), nil
}

func (d *weekday) UnmarshalText(text []byte) error {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if sameWord(string(text), day.String()) {
			*d = weekday(day)
			return nil
		}
	}
	return &FieldError{Field: "WeekDays", Value: string(text), Allowed: "monday to sunday"}
}
