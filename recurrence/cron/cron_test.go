package cron_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"almanac/recurrence"
	"almanac/recurrence/cron"
	_ "almanac/recurrence/tzdata" // the tests depend on no machine's time zone files
)

// An anchor for the tests: a Monday.
var monday = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"* * * * *":                          "every minute",
		"*/15 * * * *":                       "every hour at minutes 0, 15, 30 and 45",
		"5/20 * * * *":                       "every hour at minutes 5, 25 and 45",
		"30 * * * *":                         "every hour at minute 30",
		"0 9 * * *":                          "every day at 09:00",
		"0 9,17 * * ?":                       "every day at 09:00 and 17:00",
		"0 */6 * * *":                        "every hour at minute 0, only in hours 0, 6, 12 and 18",
		"0 0,6,12 * * *":                     "every day at 00:00, 06:00 and 12:00",
		"? * * * *":                          "every minute",
		"0 9 15W * *":                        "the weekday nearest the 15th of every month at 09:00",
		"0 9 1,LW * *":                       "the 1st and the last weekday of every month at 09:00",
		"0 9 L-3w * *":                       "the weekday nearest the fourth to last day of every month at 09:00",
		"0 9 13 * 5":                         "the 13th and every Friday of every month at 09:00",
		"0 9 L * 5L":                         "the last day and the last Friday of every month at 09:00",
		"0 9 */10 * 5":                       "the 1st, the 11th, the 21st and the 31st of every month at 09:00, only if that day is a Friday",
		"0 9 13 * */2":                       "the 13th of every month at 09:00, only if that day is a Sunday, a Tuesday, a Thursday or a Saturday",
		"quartz: 0 0 9 ? * 2-6":              "every week on Monday to Friday at 09:00",
		"quartz: 0 0 9 ? * FRI-MON":          "every week on Monday and Friday to Sunday at 09:00",
		"quartz: 0 0 9 ? * 6#3":              "the third Friday of every month at 09:00",
		"quartz: 0 0 9 ? * L":                "every Saturday of every month at 09:00",
		"quartz: 0 0 22-1 L * ?":             "the last day of every month at 00:00, 01:00, 22:00 and 23:00",
		"Quartz:0 0 9 LW * ? 2026-2028":      "the last weekday of every month at 09:00, only in 2026 to 2028",
		"spring: 0 0 9 * * 1-5":              "every week on Monday to Friday at 09:00",
		"spring: 0 0 9 13 * FRI":             "the 13th of every month at 09:00, only if that day is a Friday",
		"spring: CRON_TZ=UTC 0 0 9 * * *":    "every day at 09:00, UTC",
		"spring: @daily":                     "every day at 00:00",
		"* 9 * * *":                          "every day at every minute of hour 9",
		"0 9 * * 1-5":                        "every week on Monday to Friday at 09:00",
		"0 9 * * MON-FRI":                    "every week on Monday to Friday at 09:00",
		"0 9 * * mon,Wed,fri":                "every week on Monday, Wednesday and Friday at 09:00",
		"0 9 * * 0":                          "every week on Sunday at 09:00",
		"0 9 * * 7":                          "every week on Sunday at 09:00",
		"0 9 * * 5-7":                        "every week on Friday to Sunday at 09:00",
		"0 9 * * 0-0":                        "every week on Sunday at 09:00",
		"0 9 * * FRI-SUN":                    "every week on Friday to Sunday at 09:00",
		"0 9 * * 1/2":                        "every week on Monday, Wednesday and Friday at 09:00",
		"0 9 * * 7/2":                        "every week on Tuesday, Thursday, Saturday and Sunday at 09:00",
		"0 9 * * 0/2":                        "every week on Tuesday, Thursday, Saturday and Sunday at 09:00",
		"0 9 * * */2":                        "every week on Tuesday, Thursday, Saturday and Sunday at 09:00",
		"*/15 9-17 * * 1-5":                  "every week on Monday to Friday at minutes 0, 15, 30 and 45 of hours 9 to 17",
		"*/30 * * * 6":                       "every week on Saturday at minutes 0 and 30 of every hour",
		"0 0 1,15 * *":                       "the 1st and the 15th of every month at 00:00",
		"0 0 */10 * *":                       "the 1st, the 11th, the 21st and the 31st of every month at 00:00",
		"0 0 L * *":                          "the last day of every month at 00:00",
		"0 0 L-2,15 * ?":                     "the 15th and the third to last day of every month at 00:00",
		"0 9 * * 5L":                         "the last Friday of every month at 09:00",
		"0 9 ? * FRIL":                       "the last Friday of every month at 09:00",
		"0 9 * * 1#2":                        "the second Monday of every month at 09:00",
		"0 9 * * MON#2,FRI":                  "the second Monday and every Friday of every month at 09:00",
		"0 0 9 ? * MON#2":                    "the second Monday of every month at 09:00",
		"0 0 9 ? * MON-FRI/2":                "every week on Monday, Wednesday and Friday at 09:00",
		"0 9 * 6 *":                          "every day of every June at 09:00",
		"0 9 * JUN-AUG MON":                  "every Monday of every June, July and August at 09:00",
		"0 0 29 2 *":                         "the 29th of every February at 00:00",
		"@yearly":                            "the 1st of every January at 00:00",
		"@annually":                          "the 1st of every January at 00:00",
		"@monthly":                           "the 1st of every month at 00:00",
		"@weekly":                            "every week on Sunday at 00:00",
		"@daily":                             "every day at 00:00",
		"@midnight":                          "every day at 00:00",
		"@hourly":                            "every hour at minute 0",
		"@every 90m":                         "every 90 minutes",
		"@every 1h30m":                       "every 90 minutes",
		"@every 48h":                         "every 48 hours",
		"CRON_TZ=Europe/Stockholm 0 9 * * *": "every day at 09:00, Europe/Stockholm",
		"TZ=Asia/Tokyo @daily":               "every day at 00:00, Asia/Tokyo",
		"  0\t9 *  * * ":                     "every day at 09:00",
	} {
		rule, err := cron.Parse(expr)
		if err != nil || rule.String() != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", expr, rule, err, want)
			continue
		}
		if _, err := recurrence.New(rule, monday); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":                 `expression is ""; allowed: minute, hour, day of month, month and day of week; or six or seven fields after quartz: or spring:`,
		"* * * *":          "expression is",
		"0 0 9 * * * 2026": "expression is",
		"@reboot":          `expression is "@reboot"; allowed: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a duration`,
		"@every 30s":       `@every is "30s"; allowed: 1 to 1000000 whole minutes, such as 90m or 1h30m`,
		"@every -1h":       "@every is",
		"@every 0m":        "@every is",
		"@every soon":      "@every is",
		"@every 2000000h":  "@every is",
		"@every 1h TZ=UTC": "@every is",
		"*/10 * * * * *":   `second is "*/10"; allowed: 0`,
		"60 * * * *":       `minute is "60"; allowed: 0 to 59`,
		"-1 * * * *":       "minute is",
		"+1 * * * *":       "minute is",
		"*/0 * * * *":      `minute is "*/0"; allowed: a step of 1 to 59`,
		"*/90 * * * *":     "minute is",
		"1,,2 * * * *":     `minute is ""`,
		"H * * * *":        "minute is",
		"* 24 * * *":       `hour is "24"; allowed: 0 to 23`,
		"* 22-2 * * *":     `hour is "22-2"; allowed: a range that begins before it ends`,
		"* 1-2-3 * * *":    "hour is",
		"* * 0 * *":        `day of month is "0"; allowed: 1 to 31, L or L-1 to L-30, or one of them with W`,
		"* * 32 * *":       "day of month is",
		"* * L-31 * *":     "day of month is",
		"* * * 13 *":       `month is "13"; allowed: 1 to 12 or JAN to DEC`,
		"* * * JANUARY *":  "month is",
		"* * * * 8":        `day of week is "8"; allowed: 0 to 7 or SUN to SAT, also with L or #1 to #5`,
		"* * * * L":        "day of week is",
		"* * * * MON#6":    "day of week is",
		"* * * * MO":       "day of week is",
		"0 0 9 ? * 2-6": `expression is "0 0 9 ? * 2-6"; allowed: with 6 fields quartz: or spring: before it. ` +
			`"quartz: 0 0 9 ? * 2-6" is every week on Monday to Friday at 09:00. "spring: 0 0 9 ? * 2-6" is every week on Tuesday to Saturday at 09:00`,
		"0 0 9 * * *":              `expression is "0 0 9 * * *"; allowed: with 6 fields quartz: or spring: before it. "quartz: 0 0 9 * * *" is refused`,
		"0 0 9 ? * 6#3":            "expression is",
		"* * 16WW * *":             "day of month is",
		"* * 1-5W * *":             "day of month is",
		"quartz: 0 0 9 * * *":      `day of month is "*"; allowed: ? either here or as the day of week, which is "*"`,
		"quartz: 0 0 9 ? * ?":      "day of month is",
		"quartz: 0 9 * * ?":        "expression is",
		"quartz: @daily":           "expression is",
		"quartz: 0 0 9 ? * 0":      `day of week is "0"; allowed: 1 (Sunday) to 7`,
		"quartz: 0 0 9 ? * 8":      "day of week is",
		"quartz: 0 0 9 1 1 ? 999":  `year is "999"; allowed: 1970 to 2199`,
		"spring: 0 0 9 1 1 ? 2026": "expression is",
		"spring: 5 0 9 * * *":      `second is "5"; allowed: 0`,
		"TZ=Mars/Phobos @daily":    `time zone is "Mars/Phobos"; allowed: an IANA name`,
		"CRON_TZ= @daily":          `time zone is ""`,
		"UTC=1 0 9 * * *":          "second is",
	} {
		rule, err := cron.Parse(expr)
		if _, ok := errors.AsType[*recurrence.FieldError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %s, %v\nwant %s", expr, rule, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, expr := range []string{"*/15 9-17 * * 1-5", "0 0 9 ? * MON#2", "@every 1h30m", "CRON_TZ=UTC 0 0 L-3,1/5 JAN *", "0 9 13 * 5"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		rule, err := cron.Parse(expr)
		if err != nil {
			return
		}
		if _, err := recurrence.New(rule, monday); err != nil && !errors.Is(err, recurrence.ErrNever) {
			t.Errorf("%q is no rule: %v", expr, err)
		}
	})
}
