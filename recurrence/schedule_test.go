package recurrence_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/recurrence"
)

// Each case lists the first occurrences from the start on, in local time of the zone.
func TestGrid(t *testing.T) {
	t.Parallel()
	friday := func(n int) []recurrence.MonthlyOccurrence {
		return []recurrence.MonthlyOccurrence{{Day: time.Friday, Occurrence: n}}
	}
	for _, tt := range []struct {
		name  string
		zone  string
		start string
		rule  recurrence.Rule
		want  []string
	}{
		{
			"minutes count elapsed time", "UTC", "2026-01-01T10:07:30Z",
			recurrence.Rule{Frequency: recurrence.Minute, Interval: 25},
			[]string{"2026-01-01T10:07:30Z", "2026-01-01T10:32:30Z", "2026-01-01T10:57:30Z", "2026-01-01T11:22:30Z"},
		},
		{
			"minutes within an hour keep their second", "UTC", "2026-01-01T10:07:30Z",
			recurrence.Rule{Frequency: recurrence.Minute, Interval: 25, Hours: []int{9}},
			[]string{"2026-01-02T09:02:30Z", "2026-01-02T09:27:30Z", "2026-01-02T09:52:30Z", "2026-01-03T09:12:30Z"},
		},
		{
			"minutes that are listed fire at second 0, the first one after the start", "UTC", "2026-01-01T10:07:30Z",
			recurrence.Rule{Frequency: recurrence.Minute, Minutes: []int{7, 8}},
			[]string{"2026-01-01T10:08:00Z", "2026-01-01T11:07:00Z", "2026-01-01T11:08:00Z"},
		},
		{
			"an hour is a slot for all its minutes", "UTC", "2026-01-01T10:07:30Z",
			recurrence.Rule{Frequency: recurrence.Hour, Interval: 3, Minutes: []int{5, 50}},
			[]string{"2026-01-01T10:50:00Z", "2026-01-01T13:05:00Z", "2026-01-01T13:50:00Z", "2026-01-01T16:05:00Z"},
		},
		{
			"an hour that the interval seldom meets", "UTC", "2026-01-01T10:07:30Z",
			recurrence.Rule{Frequency: recurrence.Hour, Interval: 7, Hours: []int{9}},
			[]string{"2026-01-06T09:07:30Z", "2026-01-13T09:07:30Z", "2026-01-20T09:07:30Z"},
		},
		{
			"hours pass a repeated hour twice", "Europe/Stockholm", "2026-10-25T01:30:00+02:00",
			recurrence.Rule{Frequency: recurrence.Hour, Hours: []int{1, 2, 3}},
			[]string{"2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"},
		},
		{
			"hours never pass a skipped one", "Europe/Stockholm", "2026-03-29T01:30:00+01:00",
			recurrence.Rule{Frequency: recurrence.Hour, Hours: []int{1, 2, 3}},
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-30T01:30:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		{
			"every 24 hours is at 8 in summer and so never at 7 then", "Europe/Stockholm", "2026-03-27T07:00:00+01:00",
			recurrence.Rule{Frequency: recurrence.Hour, Interval: 24, Hours: []int{7}},
			[]string{"2026-03-27T07:00:00+01:00", "2026-03-28T07:00:00+01:00", "2026-10-25T07:00:00+01:00", "2026-10-26T07:00:00+01:00"},
		},
		{
			"half an hour of daylight saving moves the slots, not the listed minute", "Australia/Lord_Howe", "2026-04-04T23:10:00+11:00",
			recurrence.Rule{Frequency: recurrence.Hour, Minutes: []int{40}},
			[]string{
				"2026-04-04T23:40:00+11:00", "2026-04-05T00:40:00+11:00", "2026-04-05T01:40:00+11:00",
				"2026-04-05T01:40:00+10:30", "2026-04-05T02:40:00+10:30",
			},
		},
		{
			"daily over the spring gap", "Europe/Stockholm", "2026-03-28T02:30:00+01:00",
			recurrence.Rule{Frequency: recurrence.Day},
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		{
			"daily over the autumn repeat", "Europe/Stockholm", "2026-10-24T02:30:00+02:00",
			recurrence.Rule{Frequency: recurrence.Day},
			[]string{"2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		{
			"a start in the second pass of a repeated hour counts", "Europe/Stockholm", "2026-10-25T02:30:00+01:00",
			recurrence.Rule{Frequency: recurrence.Day},
			[]string{"2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"},
		},
		{
			"but not with a list of hours, whose time has come before", "Europe/Stockholm", "2026-10-25T02:30:00+01:00",
			recurrence.Rule{Frequency: recurrence.Day, Hours: []int{2}},
			[]string{"2026-10-26T02:30:00+01:00"},
		},
		{
			"nor where its date is none of the rule's", "Europe/Stockholm", "2026-10-25T02:30:00+01:00",
			recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Monday}},
			[]string{"2026-10-26T02:30:00+01:00", "2026-11-02T02:30:00+01:00"},
		},
		{
			"two times that meet behind the gap fire once, and stay in order", "Europe/Stockholm", "2026-03-29T00:00:00+01:00",
			recurrence.Rule{Frequency: recurrence.Day, Hours: []int{2, 3}, Minutes: []int{0, 20}},
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		{
			"a skipped time may come after a later one", "Europe/Stockholm", "2026-03-29T00:00:00+01:00",
			recurrence.Rule{Frequency: recurrence.Day, Hours: []int{2, 3}, Minutes: []int{0, 50}},
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:50:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		{
			"Lord Howe skips half an hour", "Australia/Lord_Howe", "2026-10-03T02:10:00+10:30",
			recurrence.Rule{Frequency: recurrence.Day},
			[]string{"2026-10-03T02:10:00+10:30", "2026-10-04T02:40:00+11:00", "2026-10-05T02:10:00+11:00"},
		},
		{
			"Samoa skipped 30 December 2011, whose times are read as the day before would", "Pacific/Apia", "2011-12-29T10:00:00-10:00",
			recurrence.Rule{Frequency: recurrence.Day, Hours: []int{10, 18}},
			[]string{
				"2011-12-29T10:00:00-10:00", "2011-12-29T18:00:00-10:00", "2011-12-31T10:00:00+14:00",
				"2011-12-31T18:00:00+14:00", "2012-01-01T10:00:00+14:00",
			},
		},
		{
			"every second day lands on the skipped date", "Pacific/Apia", "2011-12-28T10:00:00-10:00",
			recurrence.Rule{Frequency: recurrence.Day, Interval: 2},
			[]string{"2011-12-28T10:00:00-10:00", "2011-12-31T10:00:00+14:00", "2012-01-01T10:00:00+14:00"},
		},
		{
			"a month keeps the day of the start and never drifts", "UTC", "2026-01-31T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month},
			[]string{"2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z", "2026-04-30T12:00:00Z"},
		},
		{
			"a leap day is the last of February in other years", "UTC", "2024-02-29T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Year},
			[]string{"2024-02-29T12:00:00Z", "2025-02-28T12:00:00Z", "2026-02-28T12:00:00Z", "2027-02-28T12:00:00Z", "2028-02-29T12:00:00Z"},
		},
		{
			"every third year keeps its months", "UTC", "2026-05-15T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Year, Interval: 3, Months: []int{2, 9}},
			[]string{"2026-09-15T12:00:00Z", "2029-02-15T12:00:00Z", "2029-09-15T12:00:00Z", "2032-02-15T12:00:00Z"},
		},
		{
			"months of the year drop the others of the interval", "UTC", "2026-01-15T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, Interval: 5, Months: []int{6, 4}},
			[]string{"2026-06-15T12:00:00Z", "2027-04-15T12:00:00Z", "2031-06-15T12:00:00Z"},
		},
		{
			"a year's months before the start wait for the next year", "UTC", "2026-05-31T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Year, Months: []int{2, 9}},
			[]string{"2026-09-30T12:00:00Z", "2027-02-28T12:00:00Z", "2027-09-30T12:00:00Z"},
		},
		{
			"day 31 skips the months that lack it", "UTC", "2026-01-31T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{31}},
			[]string{"2026-01-31T12:00:00Z", "2026-03-31T12:00:00Z", "2026-05-31T12:00:00Z"},
		},
		{
			"day -31 is the first of the months that have 31", "UTC", "2026-02-01T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{-31}},
			[]string{"2026-03-01T12:00:00Z", "2026-05-01T12:00:00Z", "2026-07-01T12:00:00Z"},
		},
		{
			"the fifth Friday, where there is one", "UTC", "2026-01-01T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, MonthlyOccurrences: friday(5)},
			[]string{"2026-01-30T12:00:00Z", "2026-05-29T12:00:00Z", "2026-07-31T12:00:00Z"},
		},
		{
			"the fifth Friday from the end is the first of five", "UTC", "2026-01-01T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, MonthlyOccurrences: friday(-5)},
			[]string{"2026-01-02T12:00:00Z", "2026-05-01T12:00:00Z", "2026-07-03T12:00:00Z"},
		},
		{
			"Friday the 13th", "UTC", "2026-01-01T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{13}, MonthlyOccurrences: friday(0)},
			[]string{"2026-02-13T12:00:00Z", "2026-03-13T12:00:00Z", "2026-11-13T12:00:00Z"},
		},
		{
			"Friday 29 February, across the year 2100, which has none", "UTC", "2026-01-01T12:00:00Z",
			recurrence.Rule{Frequency: recurrence.Month, Months: []int{2}, MonthDays: []int{29}, MonthlyOccurrences: friday(0)},
			[]string{"2036-02-29T12:00:00Z", "2064-02-29T12:00:00Z", "2092-02-29T12:00:00Z", "2104-02-29T12:00:00Z", "2132-02-29T12:00:00Z"},
		},
		{
			"a week begins on Monday", "UTC", "2026-01-07T12:00:00Z", // a Wednesday
			recurrence.Rule{Frequency: recurrence.Week, Interval: 2, WeekDays: []time.Weekday{time.Sunday, time.Monday}},
			[]string{"2026-01-11T12:00:00Z", "2026-01-19T12:00:00Z", "2026-01-25T12:00:00Z", "2026-02-02T12:00:00Z"},
		},
		{
			"the last day of a leap year, in a zone with daylight saving", "America/New_York", "2039-12-31T12:00:00-05:00",
			recurrence.Rule{Frequency: recurrence.Year},
			[]string{"2039-12-31T12:00:00-05:00", "2040-12-31T12:00:00-05:00", "2041-12-31T12:00:00-05:00"},
		},
		{
			"minutes over the last day of a leap year", "America/New_York", "2040-12-31T12:00:00-05:00",
			recurrence.Rule{Frequency: recurrence.Minute, Hours: []int{11}, Minutes: []int{59}},
			[]string{"2041-01-01T11:59:00-05:00", "2041-01-02T11:59:00-05:00"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Location = load(t, tt.zone)
			var got []string
			for due := range compile(t, tt.rule, tt.start).All() {
				if len(got) == len(tt.want) {
					break
				}
				got = append(got, due.In(tt.rule.Location).Format(time.RFC3339))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestNextAndPrev(t *testing.T) {
	t.Parallel()
	daily := recurrence.Rule{Frequency: recurrence.Day}
	ending := recurrence.Rule{Frequency: recurrence.Day, End: at("2026-01-12T12:00:00Z")}
	counted := recurrence.Rule{Frequency: recurrence.Week, Count: 3, WeekDays: []time.Weekday{time.Monday, time.Friday}}
	for _, tt := range []struct {
		name       string
		rule       recurrence.Rule
		at         time.Time
		next, prev string
	}{
		{"both are strict", daily, at("2026-01-11T12:00:00Z"), "2026-01-12T12:00:00Z", "2026-01-10T12:00:00Z"},
		{"a fraction before is before", daily, at("2026-01-11T11:59:59.999999999Z"), "2026-01-11T12:00:00Z", "2026-01-10T12:00:00Z"},
		{"a fraction after is after", daily, at("2026-01-11T12:00:00.000000001Z"), "2026-01-12T12:00:00Z", "2026-01-11T12:00:00Z"},
		{"nothing is before the anchor", daily, at("2026-01-02T00:00:00Z"), "2026-01-10T12:00:00Z", ""},
		{"the anchor is the first", daily, at("2026-01-10T12:00:00Z"), "2026-01-11T12:00:00Z", ""},
		{"in another century", daily, at("2226-01-10T13:00:00Z"), "2226-01-11T12:00:00Z", "2226-01-10T12:00:00Z"},
		{"an end includes an instant", ending, at("2026-01-11T12:00:00Z"), "2026-01-12T12:00:00Z", "2026-01-10T12:00:00Z"},
		{"nothing is after the end", ending, at("2026-02-11T12:00:00Z"), "", "2026-01-12T12:00:00Z"},
		{"a count ends as well", counted, at("2026-01-16T12:00:00Z"), "2026-01-19T12:00:00Z", "2026-01-12T12:00:00Z"},
		{"nothing is after the count", counted, at("2026-01-19T12:00:00Z"), "", "2026-01-16T12:00:00Z"},
		{"the last year", daily, at("9999-12-31T12:00:00Z"), "", "9999-12-30T12:00:00Z"},
		{"after the end of time", daily, time.Unix(1<<63-1, 0), "", "9999-12-31T12:00:00Z"},
		{"before its beginning", daily, time.Unix(-1<<63, 0), "2026-01-10T12:00:00Z", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, tt.rule, "2026-01-10T12:00:00.9Z")
			if got, ok := s.Next(tt.at); ok != (tt.next != "") || !got.Equal(at(tt.next)) {
				t.Errorf("Next(%v) = %v, %v; want %q", tt.at, got, ok, tt.next)
			}
			if got, ok := s.Prev(tt.at); ok != (tt.prev != "") || !got.Equal(at(tt.prev)) {
				t.Errorf("Prev(%v) = %v, %v; want %q", tt.at, got, ok, tt.prev)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	s := compile(t, recurrence.Rule{Frequency: recurrence.Hour}, "2026-01-10T12:00:00Z")
	for _, tt := range []struct{ name, from, until, want string }{
		{"takes in its beginning and not its end", "2026-01-10T13:00:00Z", "2026-01-10T15:00:00Z", "13 14"},
		{"cuts no fraction off", "2026-01-10T13:00:00.5Z", "2026-01-10T15:00:00.5Z", "14 15"},
		{"begins at the anchor", "2026-01-01T00:00:00Z", "2026-01-10T14:00:00Z", "12 13"},
		{"may be empty", "2026-01-10T13:00:01Z", "2026-01-10T14:00:00Z", ""},
		{"may be the wrong way round", "2026-01-10T15:00:00Z", "2026-01-10T13:00:00Z", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for due := range s.Between(at(tt.from), at(tt.until)) {
				got = append(got, due.Format("15"))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
	for range s.All() {
		break // an iterator stops when it is told to
	}
}

func TestExclude(t *testing.T) {
	t.Parallel()
	stockholm := load(t, "Europe/Stockholm")
	daily := compile(t, recurrence.Rule{Frequency: recurrence.Day, Hours: []int{0, 12}, Minutes: []int{0}, Location: stockholm, Count: 12}, "2026-12-23T12:00:00+01:00")
	without, err := daily.Exclude(
		recurrence.Date(2026, time.December, 25, stockholm),
		recurrence.Range{From: at("2026-12-26T12:00:00+01:00"), Until: at("2026-12-27T12:00:00+01:00")},
		recurrence.Date(2026, time.December, 26, stockholm),
	)
	if err != nil {
		t.Fatal(err)
	}
	if without, err = without.Exclude(recurrence.Date(2026, time.December, 23, stockholm)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for due := range without.All() {
		got = append(got, due.In(stockholm).Format("02T15"))
	}
	want := []string{"24T00", "24T12", "27T12", "28T00", "28T12", "29T00"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if ranges := without.Excluded(); len(ranges) != 2 || !ranges[1].From.Equal(at("2026-12-25T00:00:00+01:00")) || !ranges[1].Until.Equal(at("2026-12-27T12:00:00+01:00")) {
		t.Errorf("ranges that overlap are not one: %v", ranges)
	}
	if ranges := daily.Excluded(); ranges != nil {
		t.Errorf("the schedule itself leaves out %v", ranges)
	}
	if n := len(slices.Collect(daily.All())); n != 12 {
		t.Errorf("the schedule itself has %d instants left", n)
	}
	if prev, ok := without.Prev(at("2026-12-27T12:00:00+01:00")); !ok || !prev.Equal(at("2026-12-24T12:00:00+01:00")) {
		t.Errorf("Prev = %v, %v", prev, ok)
	}
	if prev, ok := without.Prev(at("2026-12-24T00:00:00+01:00")); ok {
		t.Errorf("Prev = %v, before all that is left", prev)
	}
}

func TestExcludeRefuses(t *testing.T) {
	t.Parallel()
	s := compile(t, recurrence.Rule{Frequency: recurrence.Day}, "2026-01-10T12:00:00Z")
	day := recurrence.Date(2026, time.January, 12, nil)
	for _, r := range []recurrence.Range{{}, {From: day.From}, {Until: day.Until}, {From: day.Until, Until: day.From}} {
		_, err := s.Exclude(day, r)
		if field, ok := errors.AsType[*recurrence.FieldError](err); !ok || field.Field != "Ranges[1]" {
			t.Errorf("%v: got %v", r, err)
		}
	}
}

func TestADateIsAsLongAsItsZoneMakesIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone  string
		month time.Month
		day   int
		year  int
		want  time.Duration
	}{
		{"Europe/Stockholm", time.March, 29, 2026, 23 * time.Hour},
		{"Europe/Stockholm", time.October, 25, 2026, 25 * time.Hour},
		{"Europe/Stockholm", time.June, 1, 2026, 24 * time.Hour},
		{"Pacific/Apia", time.December, 30, 2011, 0},
	} {
		r := recurrence.Date(tt.year, tt.month, tt.day, load(t, tt.zone))
		if got := r.Until.Sub(r.From); got != tt.want {
			t.Errorf("%s %d-%d-%d: got %v, want %v", tt.zone, tt.year, tt.month, tt.day, got, tt.want)
		}
	}
}

func TestTheZeroScheduleIsEmpty(t *testing.T) {
	t.Parallel()
	var s recurrence.Schedule
	if next, ok := s.Next(time.Time{}); ok {
		t.Errorf("Next = %v", next)
	}
	if prev, ok := s.Prev(at("2026-01-01T00:00:00Z")); ok {
		t.Errorf("Prev = %v", prev)
	}
	if s.Spacing() != 0 || s.String() != "never" || len(slices.Collect(s.All())) > 0 {
		t.Errorf("got %v, %s", s.Spacing(), s.String())
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	rule := recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2}, Location: load(t, "Europe/Stockholm")}
	s, err := compile(t, rule, "2026-01-10T12:00:00Z").Exclude(recurrence.Date(2064, time.February, 29, rule.Location))
	if err != nil {
		t.Fatal(err)
	}
	after := at("2060-07-08T09:10:11Z")
	if n := testing.AllocsPerRun(100, func() { s.Next(after) }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
}

func TestScheduleKeepsNothingOfItsRule(t *testing.T) {
	t.Parallel()
	rule := recurrence.Rule{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{30}}
	s := compile(t, rule, "2026-01-10T12:00:00Z")
	s.Rule().Hours[0] = 1
	rule.Hours[0], rule.Minutes[0], rule.Frequency = 17, 0, recurrence.Year
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, _ := s.Next(at("2026-01-10T12:00:00Z")); !got.Equal(at("2026-01-11T09:30:00Z")) {
				t.Errorf("Next = %v", got)
			}
		})
	}
	wg.Wait()
}

func compile(t testing.TB, rule recurrence.Rule, anchor string) *recurrence.Schedule {
	t.Helper()
	s, err := recurrence.New(rule, at(anchor))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at parses a time. "" means none.
func at(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestTimesBeyondAllYearsAreJustEarlyOrLate(t *testing.T) {
	t.Parallel()
	anchor := "2026-01-05T09:00:00Z"
	first := at(anchor)
	long := func(sec, nsec int64) time.Time { return time.Unix(sec, nsec) }
	for _, rule := range []recurrence.Rule{{Frequency: recurrence.Minute}, {Frequency: recurrence.Hour, Minutes: []int{0}}, {Frequency: recurrence.Day}, {Frequency: recurrence.Month}} {
		s := compile(t, rule, anchor)
		for _, late := range []time.Time{long(math.MaxInt64, 0), long(math.MaxInt64, 1), long(1<<55, 1)} {
			next, ok := s.Next(late)
			assert.False(t, ok, "%v: Next = %v", rule, next)
			for due := range s.Between(late, long(math.MaxInt64, 2)) {
				t.Fatalf("%v fires at %v", rule, due)
			}
			without, err := s.Exclude(recurrence.Range{From: first.AddDate(0, 0, 1), Until: long(1<<62, 1)})
			require.NoError(t, err)
			last, ok := without.Prev(late)
			assert.True(t, ok && last.Before(first.AddDate(0, 0, 1)), "%v: Prev = %v", rule, last)
			next, ok = without.Next(first.AddDate(0, 0, 2))
			assert.False(t, ok, "%v: Next = %v", rule, next)
		}
		for _, early := range []time.Time{{}, long(math.MinInt64, 0), long(-1<<55, 1)} {
			next, ok := s.Next(early)
			assert.True(t, ok && next.Equal(first), "%v: Next = %v", rule, next)
			prev, ok := s.Prev(early)
			assert.False(t, ok, "%v: Prev = %v", rule, prev)
		}
	}
}
