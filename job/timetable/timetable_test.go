package timetable_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/timetable"
)

// now is the time at which the jobs of these tests are sent.
var now = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

const httpAction = `{"type":"Http","request":{"uri":"http://example.com/","method":"GET"}}`

func parse(properties string) (job.Definition, error) {
	return input.ParseDefinition([]byte(properties), input.ParseOptions{Now: now})
}

func mustParse(t *testing.T, properties string) job.Definition {
	t.Helper()
	d, err := parse(properties)
	require.NoError(t, err, properties)
	return d
}

// lines joins the expected complaints.
func lines(l ...string) string { return strings.Join(l, "\n") }

// created is when the jobs of these tests are created.
var created = now.Add(750 * time.Millisecond)

// compiled compiles a job with a start time, or none, and the JSON of a
// recurrence, or none.
func compiled(t *testing.T, start, recurrence string) *timetable.Timetable {
	t.Helper()
	body := `{"action":` + httpAction
	if start != "" {
		body += `,"startTime":"` + start + `"`
	}
	if recurrence != "" {
		body += `,"recurrence":` + recurrence
	}
	d := mustParse(t, body+"}")
	compiled, err := timetable.New(&d, created, created)
	require.NoError(t, err)
	return compiled
}

func rfc3339(all ...time.Time) []string {
	var texts []string
	for _, t := range all {
		texts = append(texts, t.Format(time.RFC3339Nano))
	}
	return texts
}

// shown returns the time that was found, or nothing.
func shown(at time.Time, ok bool) string {
	if !ok {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at
}

func TestTimetable(t *testing.T) {
	t.Parallel()
	const creation, daily = "2026-01-10T12:00:00Z", `{"frequency":"day"}`
	ending := func(end string) string { return `{"frequency":"day","endTime":"` + end + `"}` }
	for _, tt := range []struct {
		name, start, recurrence string
		want                    []string // the first occurrences, at most two
	}{
		{"once, at once", "", "", []string{creation}},
		{"once, at once, for a start in the past", "2026-01-01T00:00:00Z", "", []string{creation}},
		{"once, at the start", "2026-02-01T00:00:00Z", "", []string{"2026-02-01T00:00:00Z"}},
		{"at once, then on the schedule after it", "", daily, []string{creation, "2026-01-11T12:00:00Z"}},
		{"at once, off the schedule", "", `{"frequency":"day","schedule":{"hours":[15]}}`, []string{creation, "2026-01-10T15:00:00Z"}},
		{"a start in the past only sets the phase", "2026-01-01T15:00:00Z", daily, []string{"2026-01-10T15:00:00Z", "2026-01-11T15:00:00Z"}},
		{"a start now", creation, daily, []string{creation, "2026-01-11T12:00:00Z"}},
		{"a start ahead", "2026-02-01T00:00:00Z", daily, []string{"2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"}},
		{"an end in the past stops even the run at once", "", ending("2026-01-10T11:59:59Z"), nil},
		{"an end right now lets it run", "", ending(creation), []string{creation}},
		{"an end at an occurrence includes it", "", ending("2026-01-11T12:00:00Z"), []string{creation, "2026-01-11T12:00:00Z"}},
		{"an end before an occurrence excludes it", "", ending("2026-01-11T11:59:59Z"), []string{creation}},
		{"an end before the first instant", "2026-02-01T00:00:00Z", ending("2026-01-31T00:00:00Z"), nil},
		{"an end before the first one of a rare schedule", creation, `{"frequency":"month","endTime":"2027-01-01","schedule":{"monthDays":[29],"months":[2]}}`, nil},
		{"a count of one is the run at once", "", `{"frequency":"day","count":1}`, []string{creation}},
		{"instants before the creation do not count", "2026-01-01T15:00:00Z", `{"frequency":"day","count":2}`, []string{"2026-01-10T15:00:00Z", "2026-01-11T15:00:00Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			timetable := compiled(t, tt.start, tt.recurrence)
			var got []time.Time
			for due := range timetable.All() {
				if len(got) == 2 {
					break
				}
				got = append(got, due)
			}
			require.Equal(t, tt.want, rfc3339(got...))
			first := ""
			if len(tt.want) > 0 {
				first = tt.want[0]
			}
			require.Equal(t, first, shown(timetable.First()))
		})
	}
}

func TestTimetableAfter(t *testing.T) {
	t.Parallel()
	past := func(t *testing.T) *timetable.Timetable {
		return compiled(t, "2026-01-01T12:00:00Z", `{"frequency":"day","count":1}`)
	}
	atOnce := func(t *testing.T) *timetable.Timetable { return compiled(t, "", `{"frequency":"day","count":1}`) }
	once := func(t *testing.T) *timetable.Timetable { return compiled(t, "2026-02-01T12:00:00Z", "") }
	for _, tt := range []struct {
		name  string
		of    func(*testing.T) *timetable.Timetable
		after time.Time
		want  string
	}{
		{"strictly after", past, instantOf(t, "2026-01-11T12:00:00Z"), "2026-01-12T12:00:00Z"},
		{"a fraction before is before", past, instantOf(t, "2026-01-11T11:59:59.999999999Z"), "2026-01-11T12:00:00Z"},
		{"a fraction after is after", past, instantOf(t, "2026-01-11T12:00:00.000000001Z"), "2026-01-12T12:00:00Z"},
		{"never before the creation", past, instantOf(t, "2026-01-02T00:00:00Z"), "2026-01-10T12:00:00Z"},
		{"the run at once counts as an occurrence", atOnce, instantOf(t, "2026-01-01T00:00:00Z"), "2026-01-10T12:00:00Z"},
		{"after the run at once", atOnce, instantOf(t, "2026-01-10T12:00:00Z"), "2026-01-11T12:00:00Z"},
		{"in another century", past, instantOf(t, "2226-01-10T13:00:00Z"), "2226-01-11T12:00:00Z"},
		{"before a single run", once, instantOf(t, "2026-01-31T00:00:00Z"), "2026-02-01T12:00:00Z"},
		{"after a single run", once, instantOf(t, "2026-02-01T12:00:00Z"), ""},
		{"after the last year", past, instantOf(t, "9999-12-31T12:00:00Z"), ""},
		{"after the end of time", past, time.Unix(1<<63-1, 0), ""},
		{"before its beginning", past, time.Unix(-1<<63, 0), "2026-01-10T12:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, shown(tt.of(t).After(tt.after)))
		})
	}
}

func TestTheLastOccurrenceIsThatOfALookAtEachOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ start, recurrence string }{
		{"", ""},
		{"2026-01-11T12:00:00Z", ""},
		{"", `{"frequency":"minute"}`},
		{"2026-01-01T00:00:30Z", `{"frequency":"minute","interval":7}`},
		{"", `{"frequency":"week"}`},
		{"", `{"frequency":"month","schedule":{"monthDays":[-1]}}`},
		{"2026-01-11T12:00:00Z", `{"frequency":"day","schedule":{"hours":[0,23],"minutes":[0,1,59]}}`},
		{"", `{"frequency":"minute","endTime":"2026-01-10T18:00:00Z"}`},
		{"", `{"frequency":"minute","endTime":"2026-01-10T11:59:59Z"}`},
	} {
		timetable := compiled(t, tt.start, tt.recurrence)
		for _, away := range []time.Duration{-time.Second, 0, time.Second - 1, time.Second, time.Minute, time.Hour, 25 * time.Hour, 40*24*time.Hour + 7*time.Second} {
			by, want := now.Add(away), ""
			for next, ok := timetable.First(); ok && !next.After(by); next, ok = timetable.After(next) {
				want = shown(next, true)
			}
			require.Equal(t, want, shown(timetable.Last(by)), "%s, %s later", tt.recurrence, away)
		}
	}
	far := now.AddDate(30, 0, 0)
	require.Equal(t, shown(far, true), shown(compiled(t, "", `{"frequency":"minute"}`).Last(far.Add(59*time.Second))))
}

func TestTimetableFrom(t *testing.T) {
	t.Parallel()
	const daily = `{"frequency":"day","endTime":"2026-03-01"}`
	for _, tt := range []struct{ name, start, recurrence, from, want string }{
		{"an instant at the time itself", "", daily, "2026-01-12T12:00:00Z", "2026-01-12T12:00:00Z"},
		{"an instant in its second", "", daily, "2026-01-12T12:00:00.9Z", "2026-01-12T12:00:00Z"},
		{"the one after", "", daily, "2026-01-12T12:00:01Z", "2026-01-13T12:00:00Z"},
		{"a start ahead", "2026-02-01T15:00:00Z", daily, "2026-01-12T00:00:00Z", "2026-02-01T15:00:00Z"},
		{"nothing runs at once", "", `{"frequency":"day","schedule":{"hours":[15]}}`, "2026-01-10T12:00:00Z", "2026-01-10T15:00:00Z"},
		{"nothing after the end", "", daily, "2026-03-01T00:00:00Z", ""},
		{"a single run ahead", "2026-02-01T00:00:00Z", "", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"a single run that has passed", "2026-02-01T00:00:00Z", "", "2026-02-01T00:00:01Z", ""},
		{"a single run without start", "", "", "2026-01-10T12:00:00Z", "2026-01-10T12:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, shown(compiled(t, tt.start, tt.recurrence).From(instantOf(t, tt.from))))
		})
	}
}

func TestOccurrencesThatWereSkippedAreOnNoTimetable(t *testing.T) {
	t.Parallel()
	first := now.Add(30 * time.Second)
	daily := compiled(t, first.Format(time.RFC3339), `{"frequency":"day"}`)
	day := func(n int) time.Time { return first.AddDate(0, 0, n) }
	rest := daily.Without([]time.Time{day(0), day(2)}).Without([]time.Time{day(3), now})
	for _, tt := range []struct {
		name string
		want time.Time
		got  func() (time.Time, bool)
	}{
		{"First", day(1), rest.First},
		{"After", day(4), func() (time.Time, bool) { return rest.After(day(1)) }},
		{"From", day(4), func() (time.Time, bool) { return rest.From(day(2)) }},
		{"Last", day(1), func() (time.Time, bool) { return rest.Last(day(3)) }},
		{"Last before the first", time.Time{}, func() (time.Time, bool) { return rest.Last(day(0)) }},
		{"First of all", day(0), daily.First},
		{"First of one", time.Time{}, compiled(t, first.Format(time.RFC3339), "").Without([]time.Time{first}).First},
	} {
		got, ok := tt.got()
		require.Equal(t, shown(tt.want, !tt.want.IsZero()), shown(got, ok), tt.name)
	}
}

func TestTheCountOfATimetableIsTheCallersToApply(t *testing.T) {
	t.Parallel()
	hourly := compiled(t, "", `{"frequency":"hour","count":3}`)
	require.Equal(t, 3, hourly.Count())
	require.Len(t, slices.Collect(hourly.All()), 3)
	_, ok := hourly.After(instantOf(t, "2026-01-20T12:00:00Z"))
	require.True(t, ok)
}

func TestTimetableSpacing(t *testing.T) {
	t.Parallel()
	require.Zero(t, compiled(t, "", "").Spacing())
	require.Equal(t, 6*time.Hour, compiled(t, "", `{"frequency":"hour","interval":6,"count":1}`).Spacing())
}

func TestStartIsAtMost18MonthsAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, created, now, start string
		ok                        bool
	}{
		{"exactly", "2026-01-10T12:00:00Z", "", "2027-07-10T12:00:00Z", true},
		{"a fraction more is dropped", "2026-01-10T12:00:00Z", "", "2027-07-10T12:00:00.9Z", true},
		{"a second more", "2026-01-10T12:00:00Z", "", "2027-07-10T12:00:01Z", false},
		{"to the last day of a shorter month", "2026-08-31T12:00:00Z", "", "2028-02-29T12:00:00Z", true},
		{"not to the first of the next", "2026-08-31T12:00:00Z", "", "2028-03-01T00:00:00Z", false},
		{"in UTC, not in the start's offset", "2026-08-31T23:00:00Z", "", "2028-03-01T01:00:00+02:00", true},
		{"long past", "2026-01-10T12:00:00Z", "", "1626-01-10T12:00:00Z", true},
		{"counted from the change", "2026-01-10T12:00:00Z", "2026-02-10T12:00:00Z", "2027-08-10T12:00:00Z", true},
		{"and no further", "2026-01-10T12:00:00Z", "2026-02-10T12:00:00Z", "2027-08-10T12:00:01Z", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			created := instantOf(t, tt.created)
			now := created
			if tt.now != "" {
				now = instantOf(t, tt.now)
			}
			d := job.Definition{StartTime: job.NewTime(instantOf(t, tt.start))}
			_, err := timetable.New(&d, created, now)
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "startTime: ")
			require.ErrorContains(t, err, " is out of range; allowed: at most 18 months from now, ")
		})
	}
}

// A schedule must be due within 100 years of its start or of when it was written,
// whichever is later; that it was due before is no help.
func TestDueWithin100Years(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, start, created, now string
		ok                        bool
	}{
		{"at the start itself", "2036-02-29T12:00:00Z", "2035-01-01T00:00:00Z", "", true},
		{"at the creation itself", "2036-02-29T12:00:00Z", "2036-02-29T12:00:00Z", "", true},
		{"only before the creation", "2036-02-29T12:00:00Z", "2036-02-29T12:00:01Z", "", false},
		{"only before the change", "2036-02-29T12:00:00Z", "2036-01-01T00:00:00Z", "2036-03-01T00:00:00Z", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			created := instantOf(t, tt.created)
			now := created
			if tt.now != "" {
				now = instantOf(t, tt.now)
			}
			d := job.Definition{StartTime: job.NewTime(instantOf(t, tt.start)), Recurrence: &job.Recurrence{
				Frequency: "month", Interval: 5,
				Schedule: &job.Schedule{MonthDays: []int{29}, Months: []int{2}, MonthlyOccurrences: []job.MonthlyOccurrence{{Day: "friday"}}},
			}}
			_, err := timetable.New(&d, created, now)
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years")
		})
	}
}

// The fields are named as the API names them, in the order of their checks.
func TestTimetableReportsEveryBadField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		d    job.Definition
		want string
	}{
		{"all kinds", job.Definition{
			StartTime: job.NewTime(instantOf(t, "2030-01-10T12:00:00Z")),
			Recurrence: &job.Recurrence{Frequency: "day", Interval: 1000, Count: -1, Schedule: &job.Schedule{
				Hours: []int{24, 12, 25}, Months: []int{0}, MonthlyOccurrences: []job.MonthlyOccurrence{{Day: "friday", Occurrence: 6}},
			}},
		}, lines("startTime: 2030-01-10T12:00:00Z is out of range; allowed: at most 18 months from now, 2027-07-10T12:00:00Z",
			"recurrence.schedule.monthlyOccurrences: not allowed; allowed: with frequency month",
			"recurrence.schedule.months: not allowed; allowed: with frequency month and year",
			"recurrence.interval: 1000 is out of range; allowed: 1 to 548",
			"recurrence.count: -1 is out of range; allowed: 1 to 2147483647",
			"recurrence.schedule.hours[0]: 24 is out of range; allowed: 0 to 23",
			"recurrence.schedule.hours[2]: 25 is out of range; allowed: 0 to 23",
			"recurrence.schedule.months[0]: 0 is out of range; allowed: 1 to 12",
			"recurrence.schedule.monthlyOccurrences[0].occurrence: 6 is out of range; allowed: 1 to 5 or -5 to -1")},
		{"no frequency", job.Definition{Recurrence: &job.Recurrence{Frequency: "second", Interval: 1001}},
			lines("recurrence.frequency: required; allowed: minute, hour, day, week, month or year", "recurrence.interval: 1001 is out of range; allowed: 1 to 1000")},
		{"minutes", job.Definition{Recurrence: &job.Recurrence{Frequency: "minute", Interval: 1001}}, "recurrence.interval: 1001 is out of range; allowed: 1 to 1000"},
		{"hours", job.Definition{Recurrence: &job.Recurrence{Frequency: "hour", Interval: 1001}}, "recurrence.interval: 1001 is out of range; allowed: 1 to 1000"},
		{"days", job.Definition{Recurrence: &job.Recurrence{Frequency: "day", Interval: 549}}, "recurrence.interval: 549 is out of range; allowed: 1 to 548"},
		{"weeks", job.Definition{Recurrence: &job.Recurrence{Frequency: "week", Interval: 79}}, "recurrence.interval: 79 is out of range; allowed: 1 to 78"},
		{"months", job.Definition{Recurrence: &job.Recurrence{Frequency: "month", Interval: 19}}, "recurrence.interval: 19 is out of range; allowed: 1 to 18"},
		{"years", job.Definition{Recurrence: &job.Recurrence{Frequency: "year", Interval: 2}}, "recurrence.interval: 2 is out of range; allowed: 1"},
		{"never", job.Definition{Recurrence: &job.Recurrence{Frequency: "month", Schedule: &job.Schedule{MonthDays: []int{31}, Months: []int{2}}}},
			"recurrence.schedule: the value is not valid; allowed: a schedule that is due within 100 years"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := timetable.New(&tt.d, created, created)
			require.EqualError(t, err, tt.want)
		})
	}
	var d job.Definition
	d.Recurrence = &job.Recurrence{Frequency: "day"}
	_, err := timetable.New(&d, time.Time{}, created)
	require.Error(t, err, "a job without a creation")
}

func TestTimetableOfAStoredDefinition(t *testing.T) {
	t.Parallel()
	d := job.Definition{StartTime: job.NewTime(now.Add(time.Hour)), Recurrence: &job.Recurrence{Frequency: "hour", Interval: 6, TimeZone: "Asia/Kathmandu"}}
	plan, err := timetable.New(&d, now, now)
	require.NoError(t, err)
	first, ok := plan.First()
	require.True(t, ok)
	require.Equal(t, now.Add(time.Hour), first)

	d.Recurrence.TimeZone = "Mars/Phobos"
	_, err = timetable.New(&d, now, now)
	require.ErrorContains(t, err, `recurrence.timeZone: "Mars/Phobos" is not valid`)
	require.Nil(t, job.NewTime(time.Time{}))
}

func TestTheFirstInstantIsATimeToo(t *testing.T) {
	t.Parallel()
	// In package time this is the zero time, which means no time elsewhere.
	d := mustParse(t, `{"startTime":"0001-01-01T00:00:00Z","action":`+httpAction+`,"recurrence":{"frequency":"hour"}}`)
	var stored job.Definition
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &stored))
	plan, err := timetable.New(&stored, now.Add(time.Minute), now.Add(time.Minute))
	require.NoError(t, err)
	first, ok := plan.First()
	require.True(t, ok)
	require.Equal(t, now.Add(time.Hour), first, "a past start only sets the phase")
}
