package recurrence_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
)

// A vector is one job in testdata/recurrence-input.jsonl.
type vector struct {
	ID         string
	Now        string
	Take       int
	Properties struct {
		StartTime  *string
		Recurrence *struct {
			Frequency string
			Interval  *int
			Count     *int
			EndTime   *string
			TimeZone  *string
			Schedule  struct {
				Minutes, Hours, MonthDays, Months []int
				WeekDays                          []string
				MonthlyOccurrences                []struct {
					Day        string
					Occurrence *int
				}
			}
		}
	}
}

// An answer is the expected result in testdata/recurrence-expected.jsonl.
type answer struct {
	ID          string
	Occurrences []string
	Done        bool
	Error       bool
}

func TestVectors(t *testing.T) {
	t.Parallel()
	inputs := lines(t, "testdata/recurrence-input.jsonl")
	answers := lines(t, "testdata/recurrence-expected.jsonl")
	if len(inputs) == 0 || len(inputs) != len(answers) {
		t.Fatalf("%d inputs, %d answers", len(inputs), len(answers))
	}
	for i, line := range inputs {
		var want answer
		if err := json.Unmarshal(answers[i], &want); err != nil {
			t.Fatal(err)
		}
		t.Run(want.ID, func(t *testing.T) {
			t.Parallel()
			got, done, err := preview(line)
			if want.Error {
				if err == nil {
					t.Fatalf("accepted: %v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want.Occurrences) || done != want.Done {
				t.Errorf("got %v, done %v\nwant %v, done %v", got, done, want.Occurrences, want.Done)
			}
		})
	}
}

// preview returns the first occurrences of a vector's job, and whether no more follow.
func preview(line []byte) (due []string, done bool, err error) {
	spec, take, err := decode(line)
	if err != nil {
		return nil, false, err
	}
	plan, err := recurrence.Compile(spec)
	if err != nil {
		return nil, false, err
	}
	for occurrence := range plan.All() {
		if len(due) == take {
			return due, false, nil
		}
		due = append(due, occurrence.Format(time.RFC3339))
	}
	return due, true, nil
}

// decode converts JSON to a Spec, as far as the vectors need it.
func decode(line []byte) (recurrence.Spec, int, error) {
	var v vector
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return recurrence.Spec{}, 0, err
	}
	var errs []error
	loc := time.UTC
	parse := func(s *string) (at time.Time) {
		if s != nil {
			var err error
			at, err = recurrence.ParseTime(*s, loc)
			errs = append(errs, err)
		}
		return at
	}
	positive := func(name string, n *int) int {
		if n == nil {
			return 0
		}
		if *n == 0 {
			errs = append(errs, fmt.Errorf("%s is 0", name))
		}
		return *n
	}
	weekday := func(name string) time.Weekday {
		for d := time.Sunday; d <= time.Saturday; d++ {
			if strings.EqualFold(name, d.String()) {
				return d
			}
		}
		errs = append(errs, fmt.Errorf("weekday is %q", name))
		return 0
	}
	spec := recurrence.Spec{Created: parse(&v.Now)}
	if r := v.Properties.Recurrence; r != nil {
		if r.TimeZone != nil {
			var err error
			if loc, err = recurrence.LoadLocation(*r.TimeZone); err != nil {
				return spec, 0, err
			}
		}
		frequency, _ := recurrence.ParseFrequency(r.Frequency)
		spec.Rule = &recurrence.Rule{
			Frequency: frequency,
			Interval:  positive("interval", r.Interval),
			Count:     positive("count", r.Count),
			End:       parse(r.EndTime),
			Location:  loc,
			Minutes:   r.Schedule.Minutes,
			Hours:     r.Schedule.Hours,
			MonthDays: r.Schedule.MonthDays,
			Months:    r.Schedule.Months,
		}
		for _, name := range r.Schedule.WeekDays {
			spec.Rule.WeekDays = append(spec.Rule.WeekDays, weekday(name))
		}
		for _, o := range r.Schedule.MonthlyOccurrences {
			occurrence := recurrence.MonthlyOccurrence{Day: weekday(o.Day)}
			if o.Occurrence != nil {
				occurrence.Occurrence = positive("occurrence", o.Occurrence)
			}
			spec.Rule.MonthlyOccurrences = append(spec.Rule.MonthlyOccurrences, occurrence)
		}
	}
	spec.Start = parse(v.Properties.StartTime)
	return spec, v.Take, errors.Join(errs...)
}

func lines(t *testing.T, name string) (all [][]byte) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		all = append(all, bytes.Clone(s.Bytes()))
	}
	return all
}
