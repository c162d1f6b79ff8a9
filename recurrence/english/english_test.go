package english_test

import (
	"errors"
	"strings"
	"testing"

	"almanac/recurrence/english"
)

func TestWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"last Friday 17:15 Europe/Stockholm":     "the last Friday of every month at 17:15, Europe/Stockholm",
		"15m":                                    "every 15 minutes",
		"2h":                                     "every 2 hours",
		"every 15m":                              "every 15 minutes",
		"hourly":                                 "every hour",
		"daily at 9:00":                          "every day at 09:00",
		"every day at 5pm":                       "every day at 17:00",
		"every day at 5:30 p.m.":                 "every day at 17:30",
		"Every weekday at 09:00, Europe/Berlin.": "every week on Monday to Friday at 09:00, Europe/Berlin",
		"weekdays 9:00":                          "every week on Monday to Friday at 09:00",
		"monday to friday at 9am":                "every week on Monday to Friday at 09:00",
		"mondays and thursdays at noon":          "every week on Monday and Thursday at 12:00",
		"every other Monday at 08:00":            "every 2 weeks on Monday at 08:00",
		"the second Tuesday of the month at 10:00":                       "the second Tuesday of every month at 10:00",
		"every last Friday at 17:15":                                     "the last Friday of every month at 17:15",
		"first Monday of January":                                        "the first Monday of every January",
		"the 1st and the 15th of every month at 08:00":                   "the 1st and the 15th of every month at 08:00",
		"1st and 15th at 08:00":                                          "the 1st and the 15th of every month at 08:00",
		"monthly on the last day at 23:00":                               "the last day of every month at 23:00",
		"the last weekday of the month at 16:00":                         "the last weekday of every month at 16:00",
		"every 3 months on the 1st at 06:00":                             "the 1st of every third month at 06:00",
		"March 15th at 12:00":                                            "the 15th of every March at 12:00",
		"yearly on December 24 at 12:00":                                 "the 24th of every December at 12:00",
		"every day at 09:00 and 17:30":                                   "every day at 09:00; and every day at 17:30",
		"every day at 9 and 17":                                          "every day at 09:00 and 17:00",
		"every 10 minutes, only in hours 9 to 16, Europe/London":         "every 10 minutes, only in hours 9 to 16, Europe/London",
		"every Friday at 17:00 from 2026-12-01 until 2027-03-01 12:00":   "every week on Friday at 17:00, from 2026-12-01 until 2027-03-01 12:00",
		"every Monday at 9:00, 10 times":                                 "every week on Monday at 09:00, 10 times",
		"every Friday in March at 9:00":                                  "every Friday of every March at 09:00",
		"every day at midnight":                                          "every day at 00:00",
		"fortnightly on Friday at 08:00":                                 "every 2 weeks on Friday at 08:00",
		"every day at 09:00, W. Europe Standard Time":                    "every day at 09:00, Europe/Berlin",
		"once a day at 09:00":                                            "every day at 09:00",
		"the 13th of every month at 09:00, only if that day is a Friday": "the 13th of every month at 09:00, only if that day is a Friday",

		"every weekday 06:00 Europe/Stockholm, not on SE holidays":                                                      "every week on Monday to Friday at 06:00, Europe/Stockholm; not on days off in SE",
		"every day at 06:00 except days off in SE":                                                                      "every day at 06:00; not on days off in SE",
		"every day at 06:00, only on days of peak":                                                                      "every day at 06:00; only on days of peak",
		"month end at 17:00, but the working day before in SE, Stockholm":                                               "the last day of every month at 17:00, Europe/Stockholm; if that is a day off in SE, on the working day before",
		"the 25th at 09:00, or the next business day in SE":                                                             "the 25th of every month at 09:00; if that is a day off in SE, on the next working day",
		"the 25th at 09:00, or the next working day in the same month, in \"SE banks\"":                                 "the 25th of every month at 09:00; if that is a day off in \"SE banks\", on the next working day, or the one before if that is in another month",
		"the 1st at 09:00, if it is a day off in SE, the previous working day within the month":                         "the 1st of every month at 09:00; if that is a day off in SE, on the working day before, or the next one if that is in another month",
		"the last working day of every month at 17:00; not on days off in SE":                                           "the last working day of every month at 17:00; not on days off in SE",
		"first working day of the month at 9:00 by calendar SE":                                                         "the first working day of every month at 09:00; not on days off in SE",
		"every working day at 06:00; not on days off in SE":                                                             "every day at 06:00; not on days off in SE",
		"every day at 09:00 except 2026-12-24, 2026-12-27 to 2026-12-31":                                                "every day at 09:00; except 2026-12-24, 2026-12-27 to 2026-12-31",
		"every hour; except from 2026-12-24T12:00 until 2026-12-25T12:00":                                               "every hour; except from 2026-12-24T12:00 until 2026-12-25T12:00",
		"every day at 09:00; except every week on Sunday; not on days off in SE":                                        "every day at 09:00; except every week on Sunday; not on days off in SE",
		"end of the month at 09:00":                                                                                     "the last day of every month at 09:00",
		"every month end at 09:00":                                                                                      "the last day of every month at 09:00",
		"every day at 06:00 new york":                                                                                   "every day at 06:00, America/New_York",
		"the 1st to the 7th of every month at 09:00, only on the first working day of the month; not on days off in SE": "the 1st to the 7th of every month at 09:00, only on the first working day of the month; not on days off in SE",
		"the first working day of every month at 09:00 and 17:30; not on days off in SE":                                "the first working day of every month at 09:00; and the first working day of every month at 17:30; not on days off in SE",
	} {

		r, err := english.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := r.String(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// Each candidate is read, and as something else than the others.
func TestWhatIsAmbiguousHasCandidates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"every day at 9":                         2,
		"every day at 12":                        2,
		"every Monday at 7 and 9, Europe/Berlin": 2,
		"every second Tuesday at 09:00":          2,
		"biweekly":                               2,
		"quarterly":                              2,
		"bimonthly":                              2,
		"weekends":                               2,
		"every Friday at midnight":               2,
		"every day at 09:00 until 2026-12-31":    2,
		"every month on Friday at 09:00":         3,
		"Friday the 13th at 09:00":               2,
		"every 15 minutes between 9:00 and 17:00, Europe/London": 2,
		"every 15 minutes from 9am to 5pm":                       2,
	} {
		_, err := english.Parse(text)
		var ambiguous *english.AmbiguousError
		if !errors.As(err, &ambiguous) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		meanings := map[string]bool{}
		for _, candidate := range ambiguous.Candidates {
			r, err := english.Parse(candidate)
			if err != nil {
				t.Errorf("%s: the candidate %q: %v", text, candidate, err)
				continue
			}
			meanings[r.String()] = true
		}
		if len(meanings) != want {
			t.Errorf("%s: %q mean %v", text, ambiguous.Candidates, meanings)
		}
	}
}

// What needs a calendar and names none may mean each that there is, and none is guessed.
func TestACalendarThatIsNotNamedHasCandidates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"month end at 09:00, but the working day before, Stockholm": {
			"the last day of every month at 09:00, Europe/Stockholm; if that is a day off in SE, on the working day before",
			"the last day of every month at 09:00, Europe/Stockholm; if that is a day off in \"SE banks\", on the working day before",
		},
		"the last working day of every month at 17:00": {
			"the last working day of every month at 17:00; not on days off in SE", "the last working day of every month at 17:00; not on days off in \"SE banks\"",
		},
		"every weekday at 06:00 except public holidays": {
			"every week on Monday to Friday at 06:00; not on days off in SE", "every week on Monday to Friday at 06:00; not on days off in \"SE banks\"",
		},
		"every working day at 06:00": {"every day at 06:00; not on days off in SE", "every day at 06:00; not on days off in \"SE banks\""},
	} {
		_, err := english.ParseBy(text, nil, []string{"SE", "SE banks"})
		ambiguous, ok := errors.AsType[*english.AmbiguousError](err)
		if !ok {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, candidate := range ambiguous.Candidates {
			r, err := english.Parse(candidate)
			if err != nil || r.String() != want[i] {
				t.Errorf("%s: the candidate %q is %v, %v", text, candidate, r, err)
			}
		}
		if _, err = english.Parse(text); err == nil || !strings.Contains(err.Error(), "the name of a calendar") {
			t.Errorf("%s: %v", text, err)
		}
	}
	r, err := english.ParseBy("the last working day of every month in se Banks at 17:00", nil, []string{"SE", "SE banks"})
	if err != nil || r.String() != "the last working day of every month at 17:00; not on days off in \"se Banks\"" {
		t.Error(r, err)
	}
	for text, want := range map[string]string{
		"month end at 09:00, but the working day before in SE, never in the year-end freeze, Stockholm": `"never in the year-end freeze" is not understood; allowed: the rest of the text: ` +
			`when nothing is to run is no part of a recurrence; the rest is "the last day of every month at 09:00, Europe/Stockholm; if that is a day off in SE, on the working day before"`,
		"month end at 09:00, but the working day before, never in the year-end freeze": "the name of a calendar",
		"every day at 06:00, not on SE holidays":                                       "not on days off in SE, which are its holidays and its weekends",
		"every day at 06:00; not on days off in SE; only on days of se":                "each calendar once",
		"the first working day and the 15th at 09:00; not on days off in SE":           "working days alone",
		"the 1st and the last working day at 09:00; not on days off in SE":             "such as the first and the last working day",
		"every day at 06:00 by the calendar SE":                                        "what the calendar says",
		"every day at 09:00; except every day at 09:00, 3 times":                       "a rule that means one thing",
		"every day at 09:00; and every week on Monday at 10:00, not on days off in SE": "the calendars of all rules in the first one",
		"every day at 06:00 louisville":                                                "",
	} {
		_, err := english.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A candidate stands for the whole text. Where one would lack something, the text is refused.
func TestWhatACandidateWouldLackIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Friday biweekly":                             "in its place",
		"every day at 09:00 quarterly":                "in its place",
		"Friday every 2 months at 09:00":              "which of these days",
		"Friday every month on the 2nd Monday at 9am": "which of these days",
		"Friday the 13th every 2 months at 09:00":     "only if that day is a Friday",
		"Friday the 13th every week at 09:00":         "only if that day is a Friday",
		"Friday the 13th and the last Monday at 9am":  "only if that day is a Friday",
		"Friday the 13th and the last day at 9am":     "only if that day is a Friday",
	} {
		_, err := english.Parse(text)
		if _, unread := errors.AsType[*english.UnreadError](err); !unread || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := english.Parse("every 15 minutes between 9:00 and 17:00; and every Friday at 10:00")
	ambiguous, ok := errors.AsType[*english.AmbiguousError](err)
	if !ok || ambiguous.Candidates[0] != "every 15 minutes, only in hours 9 to 16; and every Friday at 10:00" {
		t.Error(err)
	}
}

func TestWhatIsSaidTwiceIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"every day at 09:00 Europe/Stockholm America/New_York":             `"America/New_York" is not understood; allowed: one time zone`,
		"every 5 minutes, only in hours 9 to 11, only in hours 14 to 16":   "hours once",
		"every day at 09:00, 3 times, 5 times":                             "one count",
		"every day at 09:00 from 2026-01-01 from 2026-02-01":               "one start",
		"every day at 09:00 until 2026-01-01 10:00 until 2026-02-01 10:00": "one end",
		"the 1st of every month at 09:00, only in 2026, only in 2027":      "years once",
		"every hour at minute 5, at minute 10":                             "minutes once",
		"every month on 15 at 09:00":                                       `"15" is not understood`,
		"the 1st and 15 of every month at 09:00":                           `"15" is not understood`,
		"every year on 15 March at 09:00":                                  `"15" is not understood`,
	} {
		_, err := english.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"every day at 09:00, Europe/Berlin, W. Europe Standard Time", "every day at 09:00, 3 times, 3 times"} {
		if _, err := english.Parse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWhatIsNotReadIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             `the text ends too early; allowed: such as "every 15 minutes"`,
		"every":                        "the text ends too early",
		"every blue moon":              `"blue" is not understood; allowed: such as`,
		"at 09:00":                     "the text ends too early; allowed: how often",
		"every day at 25:00":           `"25:00" is not understood`,
		"every 15 minutes at 09:00":    "no time of day with minutes or hours",
		"every day and":                "what comes after and",
		"every day at 09:00 Mars/Base": `"Mars/Base" is not understood`,
		"every day every week":         "one frequency",
		"every 3 days in March":        "an interval of 1 with days and months",
		"every day from tomorrow":      `"tomorrow" is not understood; allowed: a date such as 2026-01-31`,
	} {
		_, err := english.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"last Friday 17:15 Europe/Stockholm", "the 1st to the 3rd of every March, only if that day is a Friday", "every 2 weeks on Monday; and every day at 9:00, from 2026-01-31 until 2027-01-01 the second time",
		"the first and the last working day of every month at 17:00; except 2026-12-24, 2026-12-27 to 2026-12-31; except every week on Sunday; not on days off in SE; if that is a day off in \"a b\", on the next working day, or the one before if that is in another month"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := english.Parse(text)
		if err != nil {
			return
		}
		again, err := english.Parse(r.String())
		if err != nil {
			t.Fatalf("%q is %q, which is not read: %v", text, r, err)
		}
		if again.String() != r.String() {
			t.Fatalf("%q is %q, which is %q", text, r, again)
		}
	})
}
