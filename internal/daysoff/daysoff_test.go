package daysoff_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/daysoff"
	"almanac/recurrence/calendars"
)

var years = daysoff.Options{First: calendars.DateOf(2026, 1, 1), Last: calendars.DateOf(2028, 12, 31)}

// calendar returns an iCalendar file with the lines of its events.
func calendar(events ...string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nX-WR-CALNAME:Days off\r\n")
	for i, e := range events {
		fmt.Fprintf(&b, "BEGIN:VEVENT\r\nUID:%d\r\n%s\r\nEND:VEVENT\r\n", i, strings.ReplaceAll(strings.TrimSpace(e), "\n", "\r\n"))
	}
	return b.String() + "END:VCALENDAR\r\n"
}

func shown(f *daysoff.Found) (all []string) {
	for _, d := range f.Days {
		all = append(all, d.Date.String()+" "+d.Name)
	}
	for _, p := range f.Periods {
		all = append(all, p.First.String()+".."+p.Last.String()+" "+p.Name)
	}
	for _, d := range f.MakeUpDays {
		all = append(all, "+"+d.Date.String()+" "+d.Name)
	}
	return all
}

func TestEventsAreDaysOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		event string
		want  []string
	}{
		"a day":                        {"DTSTART;VALUE=DATE:20260501\nDTEND;VALUE=DATE:20260502\nSUMMARY:May\\, Day", []string{"2026-05-01 May, Day"}},
		"a day without an end":         {"DTSTART;VALUE=DATE:20260501\nSUMMARY:May", []string{"2026-05-01 May"}},
		"a day that ends as it begins": {"DTSTART;VALUE=DATE:20260501\nDTEND;VALUE=DATE:20260501", []string{"2026-05-01 "}},
		"some days":                    {"DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20270107\nSUMMARY:Freeze", []string{"2026-12-24..2027-01-06 Freeze"}},
		"a duration":                   {"DTSTART;VALUE=DATE:20261224\nDURATION:P2D", []string{"2026-12-24..2026-12-25 "}},
		"folded lines":                 {"DTSTART;VALUE=DA\n TE:20260501\nSUMMARY:Ma\n y\n\t Day", []string{"2026-05-01 May Day"}},
		"a time that is a whole day":   {"DTSTART;TZID=Europe/Stockholm:20260501T000000\nDTEND;TZID=Europe/Stockholm:20260502T000000", []string{"2026-05-01 "}},
		"until a minute before":        {"DTSTART:20260501T000000Z\nDTEND:20260501T235900Z", []string{"2026-05-01 "}},
		"every year":                   {"DTSTART;VALUE=DATE:20200501\nRRULE:FREQ=YEARLY", []string{"2026-05-01 ", "2027-05-01 ", "2028-05-01 "}},
		"every year but one":           {"DTSTART;VALUE=DATE:20200501\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20270501", []string{"2026-05-01 ", "2028-05-01 "}},
		"the fourth Thursday":          {"DTSTART;VALUE=DATE:20201126\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;UNTIL=20271231", []string{"2026-11-26 ", "2027-11-25 "}},
		"a count from the start":       {"DTSTART;VALUE=DATE:20250501\nRRULE:FREQ=YEARLY;COUNT=3", []string{"2026-05-01 ", "2027-05-01 "}},
		"a start that no rule has":     {"DTSTART;VALUE=DATE:20260502\nRRULE:FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=1;UNTIL=20271231", []string{"2026-05-02 ", "2027-05-01 "}},
		"further dates":                {"DTSTART;VALUE=DATE:20260501\nRDATE;VALUE=DATE:20270503,20280505", []string{"2026-05-01 ", "2027-05-03 ", "2028-05-05 "}},
		"weeks that repeat":            {"DTSTART;VALUE=DATE:20250701\nDTEND;VALUE=DATE:20250708\nRRULE:FREQ=YEARLY;COUNT=2", []string{"2026-07-01..2026-07-07 "}},
		"cut at the years":             {"DTSTART;VALUE=DATE:20251220\nDTEND;VALUE=DATE:20260107", []string{"2026-01-01..2026-01-06 "}},
		"a zone of the file":           {"DTSTART;TZID=\"Customized Time Zone\":20260501T000000\nDTEND;TZID=\"Customized Time Zone\":20260502T000000", []string{"2026-05-01 "}},
		"a zone of Windows":            {"DTSTART;TZID=W. Europe Standard Time:20200501T000000\nDURATION:P1D\nRRULE:FREQ=YEARLY;COUNT=7", []string{"2026-05-01 "}},
		"cancelled":                    {"DTSTART;VALUE=DATE:20260501\nSTATUS:CANCELLED", nil},
		"a meeting":                    {"DTSTART:20260501T090000Z\nDTEND:20260501T100000Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := daysoff.Read([]byte(calendar(tt.event)), years)
			require.NoError(t, err)
			require.Equal(t, tt.want, shown(f))
			require.Equal(t, "Days off", f.Name)
		})
	}
}

func TestTimesCountIfTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	text := []byte(calendar("DTSTART:20260501T220000Z\nDTEND:20260502T000000Z\nSUMMARY:a", "DTSTART:20260503T220000Z\nDTEND:20260504T000100Z\nSUMMARY:b"))
	f, err := daysoff.Read(text, years)
	require.NoError(t, err)
	require.Equal(t, 2, f.Timed)
	timed := years
	timed.Timed = true
	f, err = daysoff.Read(text, timed)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-05-01 a", "2026-05-03..2026-05-04 b"}, shown(f))
}

func TestAnotherVersionOfAnInstanceReplacesIt(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(calendar(
		"DTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY;COUNT=2\nSUMMARY:May",
		"DTSTART;VALUE=DATE:20270503\nRECURRENCE-ID;VALUE=DATE:20270501\nSUMMARY:May, moved"), "UID:1", "UID:0")
	f, err := daysoff.Read([]byte(text), years)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-05-01 May", "2027-05-03 May, moved"}, shown(f))
}

func TestNamesMakeMakeUpDays(t *testing.T) {
	t.Parallel()
	o := years
	o.MakeUp = regexp.MustCompile("班$")
	f, err := daysoff.Read([]byte(calendar("DTSTART;VALUE=DATE:20260102\nSUMMARY:元旦 休", "DTSTART;VALUE=DATE:20260104\nSUMMARY:元旦 班")), o)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-01-02 元旦 休", "+2026-01-04 元旦 班"}, shown(f))
}

func TestHostileFilesAreRefusedInBoundedTime(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"it has more than 20000 events":                         strings.Repeat("BEGIN:VEVENT\r\nEND:VEVENT\r\n", 20001),
		"components in components":                              "BEGIN:VCALENDAR\r\n" + strings.Repeat("BEGIN:X\r\n", 100_000),
		"it has no events":                                      calendar(),
		"it is no iCalendar file":                               "BEGIN:VEVENT\r\nSUMMARY:x\r\n",
		`"x" has no DTSTART`:                                    calendar("SUMMARY:x"),
		`"x": DTSTART: "20260231" is no time; allowed: such as`: calendar("SUMMARY:x\nDTSTART:20260231"),
		`"x" of 2026-05-01: RRULE is "BYWEEKNO=20"`:             calendar("SUMMARY:x\nDTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY;BYWEEKNO=20"),
		"is before the start":                                   calendar("SUMMARY:x\nDTSTART;VALUE=DATE:20260501\nDTEND;VALUE=DATE:20260401"),
		"has several rules":                                     calendar("SUMMARY:x\nDTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY\nRRULE:FREQ=DAILY"),
		"and 5 more":                                            calendar(strings.Split(strings.Repeat("SUMMARY:x|", 25), "|")[:25]...),
		"than a calendar may have":                              calendar(strings.Split(strings.Repeat("DTSTART;VALUE=DATE:20200101\nRRULE:FREQ=DAILY|", 30), "|")[:30]...),
		"it has more than 4194304 bytes":                        strings.Repeat("x", 4<<20+1),
		"it is neither iCalendar":                               "\xff\xfe",
		"it is empty":                                           "",
	} {
		_, err := daysoff.Read([]byte(text), years)
		require.ErrorContains(t, err, want)
	}
	_, err := daysoff.Read([]byte(calendar("DTSTART:20200101T000000Z\nRRULE:FREQ=MINUTELY\nDURATION:P1D")), years)
	require.NoError(t, err, "each day once")
}

// Without a heading, all lines say what the second column is.
func TestTheSecondColumnIsADateInAllLinesOrInNone(t *testing.T) {
	t.Parallel()
	dmy := years
	dmy.Order = "dmy"
	for text, o := range map[string]daysoff.Options{
		"24/12/2026,31/12/2026,Freeze\n": dmy, "24/12/2026,25/12/2026,Freeze\n24/12/2027,,Eve\n": years,
	} {
		f, err := daysoff.Read([]byte(text), o)
		require.NoError(t, err, text)
		require.Equal(t, calendars.DateOf(2026, 12, 24), f.Periods[0].First)
		require.Equal(t, "Freeze", f.Periods[0].Name)
	}
	for _, text := range []string{
		"2026-01-01,New Year\n2026-12-24,2026-12-31,Freeze\n", "2026-12-24,2026-12-31,Freeze\n2026-01-01,New Year\n",
	} {
		_, err := daysoff.Read([]byte(text), years)
		require.ErrorContains(t, err, "its second column is a date in line", text)
		require.ErrorContains(t, err, "a heading such as first,last,name says which column is which")
	}
}

func TestColumnsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	f, err := daysoff.Read([]byte("Start,Finish,Name,Where\n2026-01-01,2026-01-02,Freeze,here\n"), years)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-01-01..2026-01-02 Freeze"}, shown(f))
	require.Equal(t, []string{"Where"}, f.Ignored)
	_, err = daysoff.Read([]byte("Start,Closing,Name\n2026-01-01,2026-01-02,Freeze\n"), years)
	require.ErrorContains(t, err, `line 2: the column "Closing" has the date 2026-01-02, and is not known; allowed: such as first,last,name`)
}

func TestTimesInCSV(t *testing.T) {
	t.Parallel()
	const text = "Subject,Start Date,Start Time,End Date,End Time,All day event\n" +
		"New Year,1/1/2026,12:00:00 AM,1/2/2026,12:00:00 AM,TRUE\n" +
		"Meeting,1/5/2026,9:00:00 AM,1/5/2026,10:00:00 AM,FALSE\n" +
		"Two days,1/7/2026,00:00,1/9/2026,00:00,False\n"
	o := years
	o.Order = "mdy"
	f, err := daysoff.Read([]byte(text), o)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-01-01 New Year", "2026-01-07..2026-01-08 Two days"}, shown(f))
	require.Equal(t, 1, f.Timed)
	require.Empty(t, f.Ignored)
	o.Timed = true
	f, err = daysoff.Read([]byte(text), o)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-01-01 New Year", "2026-01-05 Meeting", "2026-01-07..2026-01-08 Two days"}, shown(f))
	_, err = daysoff.Read([]byte("Start Date,Start Time\n2026-01-01,noon\n"), years)
	require.ErrorContains(t, err, `line 2: "noon" is no time of day`)
}

func TestARuleThatEndsGivesItsLastDate(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]calendars.Date{
		"DTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY":                0,
		"DTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY;UNTIL=20270601": calendars.DateOf(2027, 5, 1),
		"DTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY;COUNT=1":        calendars.DateOf(2026, 5, 1),
		"DTSTART;VALUE=DATE:20100501\nRRULE:FREQ=YEARLY;COUNT=2":        calendars.DateOf(2010, 5, 1),
	} {
		f, err := daysoff.Read([]byte(calendar(event)), years)
		require.NoError(t, err)
		require.Equal(t, want, f.LastGiven, event)
	}
}

func TestInstancesAreFoundInTheZoneOfTheirEvent(t *testing.T) {
	t.Parallel()
	const moved = "DTSTART;VALUE=DATE:20270503\nRECURRENCE-ID:20270430T220000Z\nSUMMARY:moved"
	text := strings.ReplaceAll(calendar(
		"DTSTART;TZID=Europe/Stockholm:20260501T000000\nDURATION:P1D\nRRULE:FREQ=YEARLY;COUNT=2\nSUMMARY:May", moved), "UID:1", "UID:0")
	f, err := daysoff.Read([]byte(text), years)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-05-01 May", "2027-05-03 moved"}, shown(f))
	_, err = daysoff.Read([]byte(strings.Replace(text, "RECURRENCE-ID", "RECURRENCE-ID;RANGE=THISANDFUTURE", 1)), years)
	require.ErrorContains(t, err, "THISANDFUTURE")
}

func TestCSV(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"2026-05-01,May Day\n20260606,\"National, Day\"\n":                          {"2026-05-01 May Day", "2026-06-06 National, Day"},
		"\ufeffDatum;Name\r\n1.5.2026;Tag der Arbeit\r\n":                           {"2026-05-01 Tag der Arbeit"},
		"first\tlast\tname\n2026-12-24\t2027-01-06\tFreeze\n":                       {"2026-12-24..2027-01-06 Freeze"},
		"2026-12-24,2026-12-25,Christmas\n# a comment\n":                            {"2026-12-24..2026-12-25 Christmas"},
		"Date,Holiday,Type\n2026-01-02,New Year,holiday\n2026-01-04,Work,make-up\n": {"2026-01-02 New Year", "+2026-01-04 Work"},
		"date,name\n31/12/2026,Eve\n":                                               {"2026-12-31 Eve"},
		"2020-01-01,past\n":                                                         nil,
		"2026-05-01,twice\n2026-05-01,twice\n":                                      {"2026-05-01 twice"},
	} {
		f, err := daysoff.Read([]byte(text), years)
		require.NoError(t, err, text)
		require.Equal(t, want, shown(f), text)
	}
	for text, want := range map[string]string{
		"2026-05-01,ok\n1/2/2026,x\n3/2/2026,y\n": `line 2: "1/2/2026" may be 2026-01-02 or 2026-02-01: say which order the file has`,
		"date,name\n2026-02-30,x\n":               `line 2: "2026-02-30" is no date; allowed: such as 2026-01-31`,
		"2026-05-02,2026-05-01,x\n":               "line 1: 2026-05-01 is before 2026-05-02",
	} {
		_, err := daysoff.Read([]byte(text), years)
		require.ErrorContains(t, err, want)
	}
	ordered := years
	ordered.Order = "dmy"
	f, err := daysoff.Read([]byte("1/2/2026,x\n"), ordered)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-02-01 x"}, shown(f))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(calendar("DTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20270501\nSUMMARY:x")))
	f.Add([]byte(calendar("DTSTART;TZID=Europe/Stockholm:20260329T023000\nDURATION:PT24H\nRDATE:20270501T000000Z")))
	f.Add([]byte("date;name\n1.5.2026;x\n"))
	o := years
	o.Timed, o.MakeUp = true, regexp.MustCompile("x")
	f.Fuzz(func(t *testing.T, text []byte) {
		begun := time.Now()
		found, err := daysoff.Read(text, o)
		if spent := time.Since(begun); spent > 10*time.Second && len(text) < 10_000 {
			t.Fatalf("it took %s", spent)
		}
		if err != nil {
			return
		}
		for _, d := range append(found.Days, found.MakeUpDays...) {
			if d.Date < o.First || d.Date > o.Last {
				t.Fatalf("%s is outside", d.Date)
			}
		}
		for _, p := range found.Periods {
			if p.First < o.First || p.Last > o.Last || p.Last < p.First {
				t.Fatalf("%s..%s", p.First, p.Last)
			}
		}
	})
}
