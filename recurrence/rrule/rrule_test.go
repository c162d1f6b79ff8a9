package rrule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/recurrence"
	"almanac/recurrence/rrule"
	_ "almanac/recurrence/tzdata" // the tests depend on no machine's time zone files
)

func TestParse(t *testing.T) {
	t.Parallel()
	const start = "DTSTART:20260131T091500Z\n" // a Saturday
	for text, want := range map[string]string{
		"FREQ=DAILY":                                                    "every day",
		"RRULE:FREQ=DAILY;INTERVAL=2;COUNT=10":                          "every 2 days, 10 times",
		"freq=daily;byhour=9;byminute=0;bysecond=0":                     "every day at 09:00",
		"FREQ=DAILY;UNTIL=20270101T000000Z":                             "every day, until 2027-01-01 00:00",
		"FREQ=HOURLY;INTERVAL=3;BYMINUTE=5,50":                          "every 3 hours at minutes 5 and 50",
		"FREQ=MINUTELY;INTERVAL=15":                                     "every 15 minutes",
		"FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10,11":                      "every 15 minutes, only in hours 9 to 11",
		"FREQ=HOURLY;BYDAY=MO,TU;BYMINUTE=30":                           "every week on Monday and Tuesday at minute 30 of every hour",
		"FREQ=MINUTELY;BYDAY=MO;BYHOUR=9":                               "every week on Monday at every minute of hour 9",
		"FREQ=WEEKLY;BYDAY=MO,FR;INTERVAL=2;WKST=MO":                    "every 2 weeks on Monday and Friday",
		"FREQ=WEEKLY;WKST=SU;BYDAY=MO":                                  "every week on Monday",
		"FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR":                               "every week on Monday to Friday",
		"FREQ=DAILY;BYMONTH=6":                                          "every day of every June",
		"FREQ=DAILY;BYMONTH=6;BYDAY=MO":                                 "every Monday of every June",
		"FREQ=WEEKLY;BYMONTH=6;BYDAY=MO":                                "every Monday of every June",
		"FREQ=MONTHLY;BYDAY=-1FR;INTERVAL=3":                            "the last Friday of every third month",
		"FREQ=MONTHLY;BYDAY=+1MO,WE":                                    "the first Monday and every Wednesday of every month",
		"FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1":                             "the last Friday of every month",
		"FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13":                           "the 13th of every month, only if that day is a Friday",
		"FREQ=MONTHLY;BYMONTHDAY=1,-1":                                  "the 1st and the last day of every month",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29":                           "the 29th of every February",
		"FREQ=YEARLY;BYMONTH=11;BYDAY=4TH":                              "the fourth Thursday of every November",
		"FREQ=YEARLY;BYDAY=MO":                                          "every week on Monday",
		"FREQ=YEARLY;BYMONTHDAY=13;BYDAY=FR":                            "the 13th of every month, only if that day is a Friday",
		start + "RRULE:FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1": "every month",
		start + "RRULE:FREQ=MONTHLY":                                    "the 31st of every month",
		start + "RRULE:FREQ=YEARLY":                                     "the 31st of every January",
		start + "RRULE:FREQ=YEARLY;BYMONTH=3":                           "the 31st of every March",
		start + "RRULE:FREQ=YEARLY;INTERVAL=2":                          "every 2 years",
		start + "RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=1,3":              "January and March of every second year",
		start + "RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYMONTHDAY=31":  "January of every second year",
		start + "RRULE:FREQ=WEEKLY;BYMONTH=2":                           "every Saturday of every February",
		start + "RRULE:FREQ=DAILY;BYMINUTE=0,30":                        "every day at 09:00 and 09:30",
		"DTSTART:20260131T091530Z\nRRULE:FREQ=DAILY;BYSECOND=0":         "every day at 09:15",
		"DTSTART:20260131T091530Z\nRRULE:FREQ=DAILY;BYSECOND=30":        "every day",
		"DTSTART;TZID=Europe/Stockholm:20260131T091500\r\nRRULE:FREQ=DAILY;BY\r\n HOUR=8;UNTIL=20260701T080000": "every day once in hour 8, until 2026-07-01 08:00, Europe/Stockholm",
		"DTSTART;TZID=W. Europe Standard Time:20260131T091500\nRRULE:FREQ=DAILY":                                "every day, Europe/Berlin",
		"DTSTART;VALUE=DATE:20260131\nRRULE:FREQ=DAILY;UNTIL=20260203":                                          "every day, until 2026-02-03 23:59:59",
	} {
		rule, anchor, err := rrule.Parse(text)
		if err != nil || rule.String() != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", text, rule, err, want)
			continue
		}
		if strings.Contains(text, "DTSTART") == anchor.IsZero() {
			t.Errorf("%s: the anchor is %v", text, anchor)
		}
	}
	_, anchor, err := rrule.Parse("DTSTART;TZID=Europe/Stockholm:20260329T023000\nFREQ=DAILY")
	if err != nil || !anchor.Equal(at(t, "2026-03-29T01:30:00Z")) {
		t.Errorf("a start in a gap: got %v, %v", anchor, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const start = "DTSTART:20260131T091530Z\nRRULE:"
	for text, want := range map[string]string{
		"":                                                      "RRULE is missing; allowed: FREQ and what goes with it",
		"INTERVAL=2":                                            "FREQ is missing; allowed: MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY",
		"FREQ=SECONDLY":                                         `FREQ is "SECONDLY"; allowed: MINUTELY`,
		"FREQ=DAILY;FREQ=DAILY":                                 `FREQ is "FREQ=DAILY"; allowed: one FREQ`,
		"FREQ=DAILY;BYEASTER=0":                                 `RRULE is "BYEASTER=0"; allowed: only FREQ, UNTIL, COUNT`,
		"FREQ=YEARLY;BYWEEKNO=20":                               `RRULE is "BYWEEKNO=20"`,
		"FREQ=YEARLY;BYYEARDAY=100":                             `RRULE is "BYYEARDAY=100"`,
		"FREQ=DAILY;INTERVAL=0":                                 `INTERVAL is "0"; allowed: 1 to 1000000`,
		"FREQ=DAILY;INTERVAL=1,2":                               "INTERVAL is",
		"FREQ=DAILY;COUNT=":                                     "COUNT is missing; allowed: a value after COUNT=",
		"FREQ=DAILY;COUNT=x":                                    "COUNT is",
		"FREQ=DAILY;BYHOUR=24":                                  `BYHOUR is "24"; allowed: 0 to 23`,
		"FREQ=DAILY;BYMINUTE=-1;BYHOUR=1":                       "BYMINUTE is",
		"FREQ=DAILY;BYMINUTE=30":                                "BYHOUR is missing; allowed: hours, or a DTSTART",
		"FREQ=DAILY;BYSECOND=0":                                 "BYSECOND is 0; allowed: the second of DTSTART, or 0 where there is BYMINUTE",
		"FREQ=DAILY;BYSECOND=0,30":                              "BYSECOND is",
		"FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=30":            "BYSECOND is",
		start + "FREQ=DAILY;BYHOUR=9;BYMINUTE=0":                "BYSECOND is 30; allowed: 0 where there is BYMINUTE",
		start + "FREQ=DAILY;BYSECOND=10":                        "BYSECOND is",
		start + "FREQ=MINUTELY;BYSECOND=0":                      "BYSECOND is",
		"FREQ=MONTHLY;BYMONTHDAY=0":                             "BYMONTHDAY is",
		"FREQ=MONTHLY;BYMONTHDAY=-32":                           `BYMONTHDAY is "-32"; allowed: 1 to 31 or -31 to -1`,
		"FREQ=MONTHLY;BYMONTH=-1":                               "BYMONTH is",
		"FREQ=MONTHLY":                                          "BYMONTHDAY is missing; allowed: a day of the month, or a DTSTART",
		"FREQ=YEARLY":                                           "BYMONTH is missing",
		"FREQ=YEARLY;BYMONTH=2":                                 "BYMONTHDAY is missing",
		"FREQ=WEEKLY;BYMONTH=2":                                 "BYDAY is missing",
		"FREQ=WEEKLY;BYDAY=1MO":                                 "BYDAY is",
		"FREQ=YEARLY;BYDAY=20MO":                                "BYDAY is",
		"FREQ=YEARLY;BYDAY=1MO":                                 `BYDAY is "1MO"; allowed: a number only with MONTHLY, or with YEARLY and BYMONTH`,
		"FREQ=MONTHLY;BYDAY=6MO":                                "BYDAY is",
		"FREQ=MONTHLY;BYDAY=0MO":                                "BYDAY is",
		"FREQ=MONTHLY;BYDAY=XX":                                 "BYDAY is",
		"FREQ=MONTHLY;BYDAY=M":                                  "BYDAY is",
		"FREQ=WEEKLY;BYMONTHDAY=1":                              "BYMONTHDAY is",
		"FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO":               `WKST is "SU"; allowed: MO with an INTERVAL`,
		"FREQ=WEEKLY;INTERVAL=2;BYMONTH=1;BYDAY=MO":             "INTERVAL is",
		"FREQ=DAILY;INTERVAL=2;BYDAY=MO":                        "INTERVAL is 2; allowed: 1 where there is BYDAY, BYMONTHDAY or BYMONTH",
		"FREQ=HOURLY;INTERVAL=2;BYDAY=MO":                       "INTERVAL is",
		"FREQ=MONTHLY;BYDAY=FR;BYSETPOS=1;BYHOUR=1,2":           "BYSETPOS is",
		"FREQ=YEARLY;INTERVAL=2":                                "DTSTART is missing",
		start + "FREQ=YEARLY;INTERVAL=2;BYDAY=MO;BYMONTH=1":     "BYDAY is",
		start + "FREQ=YEARLY;INTERVAL=2;BYMONTHDAY=31":          "BYMONTHDAY is",
		start + "FREQ=YEARLY;INTERVAL=2;BYMONTH=2":              "DTSTART is",
		start + "FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYMONTHDAY=5": "BYMONTHDAY is",
		"FREQ=DAILY;COUNT=2;UNTIL=20270101T000000Z":             "UNTIL is",
		"FREQ=DAILY;UNTIL=00010101T000000Z":                     "UNTIL is",
		"FREQ=DAILY;UNTIL=2027-01-01":                           "UNTIL is",
		"DTSTART:20260131\nRRULE:FREQ=DAILY":                    "DTSTART is",
		"DTSTART;VALUE=DATE:20260131T000000\nRRULE:FREQ=DAILY":  "DTSTART is",
		"DTSTART;TZID=UTC:20260131T000000Z\nRRULE:FREQ=DAILY":   "DTSTART is",
		"DTSTART:20260231T000000Z\nRRULE:FREQ=DAILY":            "DTSTART is",
		"DTSTART:20260131T000000.5Z\nRRULE:FREQ=DAILY":          "DTSTART is",
		"DTSTART;ŉŉŉŉTZID=x:20260131T000000\nRRULE:FREQ=DAILY":  "DTSTART is",
		"DTSTART;X=1:20260131T000000Z\nRRULE:FREQ=DAILY":        "DTSTART is",
		"DTSTART;TZID=Mars:20260131T000000\nRRULE:FREQ=DAILY":   `time zone is "Mars"`,
		"RRULE:FREQ=DAILY\nRRULE:FREQ=DAILY":                    "RRULE is",
		"RRULE:FREQ=DAILY\nEXDATE:20260131T000000Z":             "EXDATE is",
		"FREQ=DAILY\nFREQ=DAILY":                                "FREQ=DAILY is",
	} {
		rule, _, err := rrule.Parse(text)
		if _, ok := errors.AsType[*recurrence.FieldError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %s, %v\nwant %s", text, rule, err, want)
		}
	}
}

func TestFormatRefusesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	daily := recurrence.Rule{Frequency: recurrence.Day}
	excluded, err := schedule(t, daily, "2026-01-01T00:00:00Z").Exclude(recurrence.Date(2026, time.May, 1, nil))
	require.NoError(t, err)
	in := func(loc *time.Location) recurrence.Rule {
		return recurrence.Rule{Frequency: recurrence.Day, Location: loc}
	}
	for _, tt := range []struct {
		name, field string
		schedule    *recurrence.Schedule
	}{
		{"a range left out", "Ranges", excluded},
		{"the 31st of each month, twice a day", "Anchor", schedule(t, recurrence.Rule{Frequency: recurrence.Month, Hours: []int{9, 17}}, "2026-01-31T00:00:00Z")},
		{"29 February of each year", "Anchor", schedule(t, recurrence.Rule{Frequency: recurrence.Year}, "2024-02-29T00:00:00Z")},
		{"the second pass of a local time", "Anchor", schedule(t, in(stockholm(t)), "2026-10-25T02:30:00+01:00")},
		{"a year that RFC 5545 cannot write", "Anchor", schedule(t, daily, "0001-06-01T00:00:00Z")},
		{"an offset without a known name", "Location", schedule(t, in(time.FixedZone("Office", 3600)), "2026-01-01T00:00:00Z")},
		{"the machine's zone", "Location", schedule(t, in(time.Local), "2026-01-01T00:00:00Z")},
		{"no schedule", "Schedule", nil},
		{"the zero schedule", "Schedule", &recurrence.Schedule{}},
	} {
		text, err := rrule.Format(tt.schedule)
		bad, ok := errors.AsType[*recurrence.FieldError](err)
		if assert.True(t, ok, "%s: got %q, %v", tt.name, text, err) {
			assert.Equal(t, tt.field, bad.Field, tt.name)
		}
	}
}

func TestFormatWritesAnEndBeforeTheAnchorOrAfterTheYear9999(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]string{
		"2025-01-01T00:00:00Z": "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY;UNTIL=20251231T235959Z",
		"9999-12-31T23:00:00Z": "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY;UNTIL=99991231T230000Z",
	} {
		text, err := rrule.Format(schedule(t, recurrence.Rule{Frequency: recurrence.Day, End: at(t, end)}, "2026-01-01T00:00:00Z"))
		require.NoError(t, err)
		assert.Equal(t, want, text)
	}
	text, err := rrule.Format(schedule(t, recurrence.Rule{Frequency: recurrence.Day, End: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)}, "2026-01-01T00:00:00Z"))
	require.NoError(t, err)
	assert.Equal(t, "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY;UNTIL=99991231T000000Z", text)
}

// Some programs count a number that stands twice as two occurrences.
func TestFormatWritesEachValueOnce(t *testing.T) {
	t.Parallel()
	text, err := rrule.Format(schedule(t, recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{5, 1, 5}, Hours: []int{17, 9, 17}, Minutes: []int{0, 0}}, "2026-01-05T00:00:00Z"))
	require.NoError(t, err)
	assert.Equal(t, "DTSTART:20260105T000000Z\nRRULE:FREQ=WEEKLY;BYDAY=FR,MO;BYHOUR=17,9;BYMINUTE=0;BYSECOND=0", text)
}

// An INTERVAL counts weeks from WKST on. Google Calendar writes WKST=SU.
func TestWeeksThatBeginOnAnotherDayAreReadWhereThatMakesNoDifference(t *testing.T) {
	t.Parallel()
	const monday, sunday = "DTSTART:20260105T090000Z\nRRULE:", "DTSTART:20260104T090000Z\nRRULE:"
	for text, want := range map[string]bool{
		monday + "FREQ=WEEKLY;INTERVAL=2;WKST=SU":                true,
		monday + "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,WE,SA": true,
		monday + "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,SU":    false,
		sunday + "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU":       true,
		sunday + "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO":       false,
		monday + "FREQ=WEEKLY;INTERVAL=2;WKST=WE;BYDAY=MO,TU":    true,
		monday + "FREQ=WEEKLY;INTERVAL=2;WKST=WE;BYDAY=WE":       false,
		"FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO":                false,
		"FREQ=WEEKLY;WKST=SU;BYDAY=MO,SU":                        true,
		"FREQ=WEEKLY;WKST=XX":                                    false,
	} {
		_, _, err := rrule.Parse(text)
		if want {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, "WKST is", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"DTSTART;TZID=Europe/Stockholm:20260105T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=10", "FREQ=YEARLY;INTERVAL=2;BYMONTH=1",
		"DTSTART;VALUE=DATE:20260131\r\nRRULE:FREQ=DA\r\n ILY;UNTIL=20260203;BYHOUR=1,2;BYMINUTE=3;BYSECOND=0", "FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1;WKST=SU",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, anchor, err := rrule.Parse(text)
		if err != nil {
			return
		}
		if anchor.IsZero() {
			anchor = at(t, "2026-01-31T09:00:00Z")
		}
		s, err := recurrence.New(rule, anchor)
		if errors.Is(err, recurrence.ErrNever) {
			return
		}
		require.NoError(t, err, text)
		written, err := rrule.Format(s)
		if err != nil {
			return
		}
		rule, anchor, err = rrule.Parse(written)
		require.NoError(t, err, written)
		again, err := recurrence.New(rule, anchor)
		require.NoError(t, err, written)
		want, got := s.Anchor(), s.Anchor()
		for range 20 {
			want, _ = s.Next(want)
			got, _ = again.Next(got)
			require.Equal(t, want, got, written)
		}
	})
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return instant
}

func stockholm(t testing.TB) *time.Location {
	t.Helper()
	loc, err := recurrence.LoadLocation("Europe/Stockholm")
	require.NoError(t, err)
	return loc
}

func schedule(t testing.TB, rule recurrence.Rule, anchor string) *recurrence.Schedule {
	t.Helper()
	s, err := recurrence.New(rule, at(t, anchor))
	require.NoError(t, err)
	return s
}
