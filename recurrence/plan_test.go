package recurrence_test

import (
	"slices"
	"sync"
	"testing"
	"time"

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
			plan := compile(t, recurrence.Spec{Created: at(tt.start), Start: at(tt.start), Rule: &tt.rule})
			var got []string
			for due := range plan.All() {
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

func TestPlan(t *testing.T) {
	t.Parallel()
	const created = "2026-01-10T12:00:00Z"
	daily := func() *recurrence.Rule { return &recurrence.Rule{Frequency: recurrence.Day} }
	ending := func(end string) *recurrence.Rule {
		return &recurrence.Rule{Frequency: recurrence.Day, End: at(end)}
	}
	for _, tt := range []struct {
		name  string
		start string
		rule  *recurrence.Rule
		want  []string // the first occurrences, at most two
	}{
		{"once, at once", "", nil, []string{created}},
		{"once, at once, for a start in the past", "2026-01-01T00:00:00Z", nil, []string{created}},
		{"once, at the start", "2026-02-01T00:00:00Z", nil, []string{"2026-02-01T00:00:00Z"}},
		{"at once, then the grid after it", "", daily(), []string{created, "2026-01-11T12:00:00Z"}},
		{"at once, off the grid", "", &recurrence.Rule{Frequency: recurrence.Day, Hours: []int{15}}, []string{created, "2026-01-10T15:00:00Z"}},
		{"a start in the past only sets the phase", "2026-01-01T15:00:00Z", daily(), []string{"2026-01-10T15:00:00Z", "2026-01-11T15:00:00Z"}},
		{"a start now", created, daily(), []string{created, "2026-01-11T12:00:00Z"}},
		{"a start ahead", "2026-02-01T00:00:00Z", daily(), []string{"2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"}},
		{"an end in the past stops even the run at once", "", ending("2026-01-10T11:59:59Z"), nil},
		{"an end right now lets it run", "", ending(created), []string{created}},
		{"an end at an occurrence includes it", "", ending("2026-01-11T12:00:00Z"), []string{created, "2026-01-11T12:00:00Z"}},
		{"an end before an occurrence excludes it", "", ending("2026-01-11T11:59:59Z"), []string{created}},
		{"an end before the first instant", "2026-02-01T00:00:00Z", ending("2026-01-31T00:00:00Z"), nil},
		{"a count of one is the run at once", "", &recurrence.Rule{Frequency: recurrence.Day, Count: 1}, []string{created}},
		{
			"instants before the creation do not count", "2026-01-01T15:00:00Z",
			&recurrence.Rule{Frequency: recurrence.Day, Count: 2},
			[]string{"2026-01-10T15:00:00Z", "2026-01-11T15:00:00Z"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := recurrence.Spec{Created: at(created).Add(750 * time.Millisecond), Start: at(tt.start), Rule: tt.rule}
			plan := compile(t, spec)
			var got []string
			for due := range plan.All() {
				if len(got) == 2 {
					break
				}
				got = append(got, due.Format(time.RFC3339Nano))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			first, ok := plan.First()
			if ok != (len(tt.want) > 0) || ok && first.Format(time.RFC3339) != tt.want[0] {
				t.Errorf("First() = %v, %v; want %v", first, ok, tt.want)
			}
		})
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	past := recurrence.Spec{
		Created: at("2026-01-10T12:00:00Z"), Start: at("2026-01-01T12:00:00Z"),
		Rule: &recurrence.Rule{Frequency: recurrence.Day, Count: 1},
	}
	now := past
	now.Start = time.Time{}
	once := recurrence.Spec{Created: at("2026-01-10T12:00:00Z"), Start: at("2026-02-01T12:00:00Z")}
	for _, tt := range []struct {
		name  string
		spec  recurrence.Spec
		after time.Time
		want  string
	}{
		{"strictly after", past, at("2026-01-11T12:00:00Z"), "2026-01-12T12:00:00Z"},
		{"a fraction before is before", past, at("2026-01-11T11:59:59.999999999Z"), "2026-01-11T12:00:00Z"},
		{"a fraction after is after", past, at("2026-01-11T12:00:00.000000001Z"), "2026-01-12T12:00:00Z"},
		{"never before the creation", past, at("2026-01-02T00:00:00Z"), "2026-01-10T12:00:00Z"},
		{"the run at once counts as an occurrence", now, at("2026-01-01T00:00:00Z"), "2026-01-10T12:00:00Z"},
		{"after the run at once", now, at("2026-01-10T12:00:00Z"), "2026-01-11T12:00:00Z"},
		{"in another century", past, at("2226-01-10T13:00:00Z"), "2226-01-11T12:00:00Z"},
		{"before a single run", once, at("2026-01-31T00:00:00Z"), "2026-02-01T12:00:00Z"},
		{"after a single run", once, at("2026-02-01T12:00:00Z"), ""},
		{"after the last year", past, at("9999-12-31T12:00:00Z"), ""},
		{"after the end of time", past, time.Unix(1<<63-1, 0), ""},
		{"before its beginning", past, time.Unix(-1<<63, 0), "2026-01-10T12:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := compile(t, tt.spec).After(tt.after); ok != (tt.want != "") || !got.Equal(at(tt.want)) {
				t.Errorf("After(%v) = %v, %v; want %q", tt.after, got, ok, tt.want)
			}
		})
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	created := at("2026-01-10T12:00:00Z")
	daily := &recurrence.Rule{Frequency: recurrence.Day, End: at("2026-03-01T00:00:00Z")}
	for _, tt := range []struct {
		name, start string
		rule        *recurrence.Rule
		from, want  string
	}{
		{"an instant at the time itself", "", daily, "2026-01-12T12:00:00Z", "2026-01-12T12:00:00Z"},
		{"an instant in its second", "", daily, "2026-01-12T12:00:00.9Z", "2026-01-12T12:00:00Z"},
		{"the one after", "", daily, "2026-01-12T12:00:01Z", "2026-01-13T12:00:00Z"},
		{"a start ahead", "2026-02-01T15:00:00Z", daily, "2026-01-12T00:00:00Z", "2026-02-01T15:00:00Z"},
		{"nothing runs at once", "", &recurrence.Rule{Frequency: recurrence.Day, Hours: []int{15}}, "2026-01-10T12:00:00Z", "2026-01-10T15:00:00Z"},
		{"nothing after the end", "", daily, "2026-03-01T00:00:00Z", ""},
		{"a single run ahead", "2026-02-01T00:00:00Z", nil, "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"a single run that has passed", "2026-02-01T00:00:00Z", nil, "2026-02-01T00:00:01Z", ""},
		{"a single run without start", "", nil, "2026-01-10T12:00:00Z", "2026-01-10T12:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plan := compile(t, recurrence.Spec{Created: created, Start: at(tt.start), Rule: tt.rule})
			if got, ok := plan.From(at(tt.from)); ok != (tt.want != "") || !got.Equal(at(tt.want)) {
				t.Errorf("From(%s) = %v, %v; want %q", tt.from, got, ok, tt.want)
			}
		})
	}
}

func TestCountIsTheCallersToApply(t *testing.T) {
	t.Parallel()
	plan := compile(t, recurrence.Spec{Created: at("2026-01-10T12:00:00Z"), Rule: &recurrence.Rule{Frequency: recurrence.Hour, Count: 3}})
	if plan.Count() != 3 {
		t.Errorf("Count() = %d, want 3", plan.Count())
	}
	if n := len(slices.Collect(plan.All())); n != 3 {
		t.Errorf("All yields %d occurrences, want 3", n)
	}
	if _, ok := plan.After(at("2026-01-20T12:00:00Z")); !ok {
		t.Error("After stops at the count")
	}
}

func TestAfterAllocatesNothing(t *testing.T) {
	plan := compile(t, recurrence.Spec{
		Created: at("2026-01-10T12:00:00Z"),
		Rule:    &recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{29}, Months: []int{2}, Location: load(t, "Europe/Stockholm")},
	})
	after := at("2060-07-08T09:10:11Z")
	if n := testing.AllocsPerRun(100, func() { plan.After(after) }); n != 0 {
		t.Errorf("After allocates %v times", n)
	}
}

func TestPlanKeepsNothingOfItsRule(t *testing.T) {
	t.Parallel()
	rule := recurrence.Rule{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{30}}
	plan := compile(t, recurrence.Spec{Created: at("2026-01-10T12:00:00Z"), Rule: &rule})
	rule.Hours[0], rule.Minutes[0], rule.Frequency = 17, 0, recurrence.Year
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, _ := plan.After(at("2026-01-10T12:00:00Z")); !got.Equal(at("2026-01-11T09:30:00Z")) {
				t.Errorf("After = %v", got)
			}
		})
	}
	wg.Wait()
}

func compile(t testing.TB, s recurrence.Spec) *recurrence.Plan {
	t.Helper()
	plan, err := recurrence.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
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
