package recurrence_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
)

func TestParseRRule(t *testing.T) {
	t.Parallel()
	const start = "DTSTART:20260131T091500Z\n" // a Saturday
	for text, want := range map[string]string{
		"FREQ=DAILY":                                                    "every day",
		"RRULE:FREQ=DAILY;INTERVAL=2;COUNT=10":                          "every 2 days, 10 times",
		"freq=daily;byhour=9;byminute=0;bysecond=0":                     "every day at 09:00",
		"FREQ=DAILY;UNTIL=20270101T000000Z":                             "every day, until 2027-01-01",
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
		"DTSTART;VALUE=DATE:20260131\nRRULE:FREQ=DAILY;UNTIL=20260203":                                          "every day, until 2026-02-03",
	} {
		rule, anchor, err := recurrence.ParseRRule(text)
		if err != nil || rule.String() != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", text, rule, err, want)
			continue
		}
		if strings.Contains(text, "DTSTART") == anchor.IsZero() {
			t.Errorf("%s: the anchor is %v", text, anchor)
		}
	}
	_, anchor, err := recurrence.ParseRRule("DTSTART;TZID=Europe/Stockholm:20260329T023000\nFREQ=DAILY")
	if err != nil || !anchor.Equal(at("2026-03-29T01:30:00Z")) {
		t.Errorf("a start in a gap: got %v, %v", anchor, err)
	}
}

func TestParseRRuleRefuses(t *testing.T) {
	t.Parallel()
	const start = "DTSTART:20260131T091530Z\nRRULE:"
	for text, want := range map[string]string{
		"":                                                      "RRULE is missing; allowed: FREQ and what goes with it",
		"INTERVAL=2":                                            "FREQ is missing; allowed: MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY",
		"FREQ=SECONDLY":                                         `FREQ is "SECONDLY"; allowed: MINUTELY`,
		"FREQ=DAILY;FREQ=DAILY":                                 "FREQ is",
		"FREQ=DAILY;BYEASTER=0":                                 `BYEASTER is "BYEASTER=0"; allowed: each once and with a value: FREQ, UNTIL`,
		"FREQ=YEARLY;BYWEEKNO=20":                               "BYWEEKNO is",
		"FREQ=YEARLY;BYYEARDAY=100":                             "BYYEARDAY is",
		"FREQ=DAILY;INTERVAL=0":                                 `INTERVAL is "0"; allowed: 1 to 1000000`,
		"FREQ=DAILY;INTERVAL=1,2":                               "INTERVAL is",
		"FREQ=DAILY;COUNT=":                                     "COUNT is",
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
		"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1":         "BYSETPOS is",
		start + "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1":  "BYSETPOS is",
		"FREQ=MONTHLY;BYDAY=FR;BYSETPOS=1;BYHOUR=1,2":           "BYSETPOS is",
		"FREQ=YEARLY;INTERVAL=2":                                "DTSTART is missing",
		start + "FREQ=YEARLY;INTERVAL=2;BYDAY=MO;BYMONTH=1":     "BYDAY is",
		start + "FREQ=YEARLY;INTERVAL=2;BYMONTHDAY=31":          "BYMONTHDAY is",
		start + "FREQ=YEARLY;INTERVAL=2;BYMONTH=2":              "DTSTART is",
		start + "FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYMONTHDAY=5": "BYMONTHDAY is",
		"FREQ=DAILY;COUNT=2;UNTIL=20270101T000000Z":             "UNTIL is",
		"FREQ=DAILY;UNTIL=20270101":                             "UNTIL is",
		"FREQ=DAILY;UNTIL=00010101T000000Z":                     "UNTIL is",
		"FREQ=DAILY;UNTIL=2027-01-01":                           "UNTIL is",
		"DTSTART:20260131\nRRULE:FREQ=DAILY":                    "DTSTART is",
		"DTSTART;VALUE=DATE:20260131T000000\nRRULE:FREQ=DAILY":  "DTSTART is",
		"DTSTART;TZID=UTC:20260131T000000Z\nRRULE:FREQ=DAILY":   "DTSTART is",
		"DTSTART:20260231T000000Z\nRRULE:FREQ=DAILY":            "DTSTART is",
		"DTSTART;ŉŉŉŉTZID=x:20260131T000000\nRRULE:FREQ=DAILY":  "DTSTART is",
		"DTSTART;X=1:20260131T000000Z\nRRULE:FREQ=DAILY":        "DTSTART is",
		"DTSTART;TZID=Mars:20260131T000000\nRRULE:FREQ=DAILY":   "TZID is",
		"RRULE:FREQ=DAILY\nRRULE:FREQ=DAILY":                    "RRULE is",
		"RRULE:FREQ=DAILY\nEXDATE:20260131T000000Z":             "EXDATE is",
		"FREQ=DAILY\nFREQ=DAILY":                                "FREQ=DAILY is",
	} {
		rule, _, err := recurrence.ParseRRule(text)
		if _, ok := errors.AsType[*recurrence.FieldError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %s, %v\nwant %s", text, rule, err, want)
		}
	}
}

func TestAnRRuleReadsBackAsTheSameInstants(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	written := 0
	for range 600 {
		rule, anchor := randomSample(t, r).rule(t)
		if anchor.Year() < 1900 { // with offsets of odd seconds
			continue
		}
		if len(rule.Minutes) > 0 {
			anchor = anchor.Truncate(time.Minute)
		}
		rule.Count = r.IntN(3) * r.IntN(50)
		if r.IntN(4) == 0 {
			rule.End = anchor.AddDate(r.IntN(20), 0, 0)
		}
		s, err := recurrence.New(rule, anchor)
		if err != nil {
			continue
		}
		text, err := s.RRule()
		if err != nil {
			continue
		}
		written++
		back, start, err := recurrence.ParseRRule(text)
		if err != nil {
			t.Fatalf("%s\n%s\n%v", describe(rule, anchor), text, err)
		}
		again, err := recurrence.New(back, start)
		if err != nil {
			t.Fatalf("%s\n%s\n%v", describe(rule, anchor), text, err)
		}
		if got, want := first(again, 40), first(s, 40); !slices.Equal(got, want) {
			t.Fatalf("%s\n%s\n%s\ngot  %v\nwant %v", describe(rule, anchor), text, describe(back, start), got, want)
		}
	}
	if written < 200 {
		t.Errorf("only %d rules could be written", written)
	}
}

func TestRRuleRefusesWhatItCannotSay(t *testing.T) {
	t.Parallel()
	stockholm := load(t, "Europe/Stockholm")
	excluded, err := compile(t, recurrence.Rule{Frequency: recurrence.Day}, "2026-01-01T00:00:00Z").Exclude(recurrence.Date(2026, time.May, 1, nil))
	if err != nil {
		t.Fatal(err)
	}
	for field, s := range map[string]*recurrence.Schedule{
		"Ranges":  excluded,
		"Anchor":  compile(t, recurrence.Rule{Frequency: recurrence.Month, Hours: []int{9, 17}}, "2026-01-31T00:00:00Z"),
		"Anchor ": compile(t, recurrence.Rule{Frequency: recurrence.Day, Location: stockholm}, "2026-10-25T02:30:00+01:00"),
	} {
		text, err := s.RRule()
		if bad, ok := errors.AsType[*recurrence.FieldError](err); !ok || bad.Field != strings.TrimSpace(field) {
			t.Errorf("%s: got %q, %v", field, text, err)
		}
	}
}

// first returns some instants of a schedule.
func first(s *recurrence.Schedule, n int) (all []string) {
	for due := range s.All() {
		if len(all) == n {
			break
		}
		all = append(all, due.Format(time.RFC3339))
	}
	return all
}

func FuzzParseRRule(f *testing.F) {
	for _, text := range []string{
		"DTSTART;TZID=Europe/Stockholm:20260105T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=10", "FREQ=YEARLY;INTERVAL=2;BYMONTH=1",
		"DTSTART;VALUE=DATE:20260131\r\nRRULE:FREQ=DA\r\n ILY;UNTIL=20260203;BYHOUR=1,2;BYMINUTE=3;BYSECOND=0", "FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1;WKST=SU",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, anchor, err := recurrence.ParseRRule(text)
		if err != nil {
			return
		}
		if anchor.IsZero() {
			anchor = at("2026-01-31T09:00:00Z")
		}
		if _, err := recurrence.New(rule, anchor); err != nil && !errors.Is(err, recurrence.ErrNever) {
			t.Errorf("%q is no rule: %v", text, err)
		}
	})
}
