package input_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/timetable"
)

// recurrenceOf returns the JSON of a definition's recurrence.
func recurrenceOf(t testing.TB, d *job.Definition) string {
	t.Helper()
	text, err := json.Marshal(d.Recurrence)
	require.NoError(t, err)
	return string(text)
}

// firstRuns returns the first runs of a definition that is created now, in UTC.
func firstRuns(t testing.TB, d *job.Definition, n int) string {
	t.Helper()
	plan, err := timetable.New(d, now, now)
	require.NoError(t, err)
	var all []string
	for at := range plan.All() {
		all = append(all, at.Format("01-02T15:04"))
		if len(all) == n {
			break
		}
	}
	return strings.Join(all, " ")
}

func TestARecurrenceInAnotherNotation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, given, stored, when, runs string }{
		{
			"cron with a meaning", `{"cron":"0 9 * * 1-5"}`,
			`{"frequency":"week","interval":1,"schedule":{"minutes":[0],"hours":[9],"weekDays":["monday","tuesday","wednesday","thursday","friday"]},"cron":"0 9 * * 1-5"}`,
			"every week on Monday to Friday at 09:00", "01-12T09:00 01-13T09:00 01-14T09:00",
		},
		{
			"cron without one", `{"cron":"0 9 13 * FRI"}`, `{"interval":1,"cron":"0 9 13 * FRI"}`,
			"the 13th and every Friday of every month at 09:00", "01-13T09:00 01-16T09:00 01-23T09:00",
		},
		{
			"its zone", `{"cron":"CRON_TZ=Europe/Stockholm 0 9 15W * *"}`, `{"interval":1,"timeZone":"Europe/Stockholm","cron":"CRON_TZ=Europe/Stockholm 0 9 15W * *"}`,
			"the weekday nearest the 15th of every month at 09:00, Europe/Stockholm", "01-15T08:00 02-16T08:00 03-16T08:00",
		},
		{
			"an RRULE", `{"rrule":"FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0","count":2}`,
			`{"frequency":"week","count":2,"interval":1,"schedule":{"minutes":[0],"hours":[9],"weekDays":["monday"]},"rrule":"FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0"}`,
			"every week on Monday at 09:00, 2 times", "01-12T09:00 01-19T09:00",
		},
		{
			"an RRULE that ends", `{"rrule":"FREQ=DAILY;COUNT=3\nEXDATE:20260111T120000"}`, `{"interval":1,"rrule":"FREQ=DAILY;COUNT=3\nEXDATE:20260111T120000"}`,
			"every day, 3 times", "01-12T12:00",
		},
		{
			"further rules and exclusions",
			`{"frequency":"month","schedule":{"monthDays":[1],"hours":[9],"minutes":[0]},"timeZone":"Europe/Stockholm",
			  "also":[{"cron":"0 10 15 * *"},{"frequency":"day","interval":30,"schedule":{"hours":[8],"minutes":[0]}}],
			  "exclusions":["2026-02-01",{"first":"2026-03-01","last":"2026-03-31"},{"frequency":"week","schedule":{"weekDays":["sunday"]}}]}`,
			`{"frequency":"month","interval":1,"schedule":{"minutes":[0],"hours":[9],"monthDays":[1]},"timeZone":"Europe/Stockholm",` +
				`"also":[{"cron":"0 10 15 * *"},{"frequency":"day","interval":30,"schedule":{"minutes":[0],"hours":[8]}}],` +
				`"exclusions":["2026-02-01",{"first":"2026-03-01","last":"2026-03-31"},{"frequency":"week","schedule":{"weekDays":["sunday"]}}]}`,
			"the 1st of every month at 09:00, Europe/Stockholm; and the 15th of every month at 10:00; and every 30 days at 08:00; " +
				"except 2026-02-01, 2026-03-01 to 2026-03-31; except every week on Sunday",
			"01-10T12:00 01-15T09:00 02-09T07:00 04-01T07:00 04-10T06:00 04-15T08:00",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withRecurrence(tt.given))
			require.Equal(t, tt.stored, recurrenceOf(t, &d))
			require.Equal(t, tt.when, d.When())
			require.Equal(t, tt.runs, firstRuns(t, &d, 1+strings.Count(tt.runs, " ")))
			require.NoError(t, input.ValidateDefinition(&d, input.ParseOptions{Now: now}))

			again := mustParse(t, withRecurrence(tt.stored)) // as an answer has it
			require.True(t, again.Equal(&d), recurrenceOf(t, &again))
			var read job.Definition
			text, err := json.Marshal(&d)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &read))
			require.True(t, read.Equal(&d))
		})
	}
}

func TestTheRunAtOnceMayBeExcluded(t *testing.T) {
	t.Parallel()
	d := mustParse(t, withRecurrence(`{"frequency":"day","schedule":{"hours":[9],"minutes":[0]},"exclusions":["2026-01-10"]}`))
	require.Equal(t, "01-11T09:00 01-12T09:00", firstRuns(t, &d, 2))
}

func TestADTSTARTStandsForTheStartTime(t *testing.T) {
	t.Parallel()
	d := mustParse(t, withRecurrence(`{"rrule":"DTSTART;TZID=Europe/Stockholm:20260401T090000\nRRULE:FREQ=DAILY"}`))
	require.Equal(t, "Europe/Stockholm", d.Recurrence.TimeZone)
	require.Equal(t, time.Date(2026, time.April, 1, 7, 0, 0, 0, time.UTC), d.StartTime.UTC())
	require.Equal(t, "2026-04-01T09:00:00", d.Local.Start, "with newer zone data it stays 09:00 there")
	require.Equal(t, "04-01T07:00 04-02T07:00", firstRuns(t, &d, 2))
}

func TestRefusedNotations(t *testing.T) {
	t.Parallel()
	also := strings.TrimSuffix(strings.Repeat(`{"frequency":"day"},`, 8), ",")
	for given, path := range map[string]string{
		`{"frequency":"day","cron":"0 9 * * *"}`:                                                        "cron",
		`{"cron":"0 9 * * *","rrule":"FREQ=DAILY"}`:                                                     "rrule",
		`{"schedule":{"hours":[9]},"cron":"0 9 * * *"}`:                                                 "schedule",
		`{"interval":2,"cron":"0 9 * * *"}`:                                                             "interval",
		`{"cron":"0 25 * * *"}`:                                                                         "cron",
		`{"cron":"0 9 31 2 *"}`:                                                                         "cron",
		`{"cron":"quartz: 0 0 9 1 1 ? 2020"}`:                                                           "cron",
		`{"rrule":"FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2"}`:                                              "rrule",
		`{"rrule":"FREQ=FORTNIGHTLY"}`:                                                                  "rrule",
		`{}`:                                                                                            "frequency",
		`{"frequency":"month","schedule":{"monthDays":[31],"months":[2]}}`:                              "schedule",
		`{"cron":"TZ=Asia/Tokyo 0 9 * * *","timeZone":"Europe/Stockholm"}`:                              "cron",
		`{"frequency":"day","also":[{"frequency":"day","count":3}]}`:                                    "also[0].count",
		`{"frequency":"day","also":[` + also + `]}`:                                                     "also",
		`{"frequency":"day","also":[{"interval":2}]}`:                                                   "also[0].frequency",
		`{"frequency":"day","also":[{"frequency":"day","cron":"0 9 * * *"}]}`:                           "also[0].cron",
		`{"frequency":"day","also":[{"cron":"TZ=Asia/Tokyo 0 9 * * *"}]}`:                               "also[0].cron",
		`{"frequency":"day","also":[{"rrule":"DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY"}]}`:           "also[0].rrule",
		`{"frequency":"day","also":[{"frequency":"year","interval":2}]}`:                                "also[0].interval",
		`{"frequency":"day","also":[{"frequency":"day","schedule":{"weekDays":["monday"]}}]}`:           "also[0].schedule.weekDays",
		`{"frequency":"day","also":[{"frequency":"month","schedule":{"monthDays":[30],"months":[2]}}]}`: "also[0].schedule",
		`{"frequency":"day","exclusions":["christmas"]}`:                                                "exclusions[0]",
		`{"frequency":"day","exclusions":[{"from":"2026-05-02T00:00","until":"2026-05-01"}]}`:           "exclusions[0].until",
		`{"frequency":"day","exclusions":[{"first":"2026-05-02","last":"2026-05-01"}]}`:                 "exclusions[0].last",
		`{"frequency":"day","exclusions":[{"first":"2026-05-02"}]}`:                                     "exclusions[0].last",
		`{"frequency":"day","exclusions":[{"frequency":"hour"}]}`:                                       "exclusions[0].frequency",
		`{"frequency":"day","exclusions":[{"schedule":{"weekDays":["monday"]}}]}`:                       "exclusions[0].frequency",
		`{"frequency":"day","exclusions":[{"frequency":"day","first":"2026-05-02"}]}`:                   "exclusions[0]",
		`{"frequency":"day","exclusions":[` + strings.Repeat(`"2026-01-01",`, 100) + `"2026-01-01"]}`:   "exclusions",
	} {
		_, err := parse(withRecurrence(given))
		require.True(t, strings.HasPrefix(complaints(t, err), "properties.recurrence."+path+": "), "%s\n%v", given, err)
	}
}

// A client that does not know the members sends a job back without them.
func TestAPUTKeepsTheRulesThatItsClientDropped(t *testing.T) {
	t.Parallel()
	put := func(t *testing.T, stored *job.Definition, recurrence string) (job.Definition, error) {
		t.Helper()
		return input.ParseDefinition([]byte(withRecurrence(recurrence)), input.ParseOptions{Now: now, Stored: stored})
	}
	const weekly = `{"frequency":"week","interval":1,"schedule":{"minutes":[0],"hours":[9],"weekDays":["monday"]}`
	for given, read := range map[string]string{
		`{"cron":"0 9 * * 1"}`:   weekly + `}`,
		`{"cron":"0 9 15W * *"}`: `{"interval":1}`,
		`{"rrule":"FREQ=DAILY"}`: `{"frequency":"Day"}`,
		weekly + `,"count":3,"exclusions":["2026-01-19"],"also":[{"cron":"@daily"}]}`:                      weekly + `,"count":3}`,
		`{"cron":"0 9 * * 1","timeZone":"Europe/Stockholm","catchUpWindow":"PT1H","overlapPolicy":"Skip"}`: weekly + `}`,
		`{"cron":"CRON_TZ=Europe/Stockholm 0 9 * * 1"}`:                                                    weekly + `}`,
		`{"cron":"0 9 * * 1","timeZone":"Europe/Stockholm","exclusions":["2026-01-19"]}`:                   weekly + `,"timeZone":"Europe/Stockholm"}`,
	} {
		stored := mustParse(t, withRecurrence(given))
		kept, err := put(t, &stored, read)
		require.NoError(t, err, given)
		require.Equal(t, recurrenceOf(t, &stored), recurrenceOf(t, &kept))
	}

	stored := mustParse(t, withRecurrence(`{"cron":"0 9 * * 1","exclusions":["2026-01-19"]}`))
	for given, lost := range map[string]string{
		`{"frequency":"day"}`:                               "cron exclusions",
		`{"cron":"0 10 * * 1"}`:                             "exclusions",
		weekly + `,"count":2}`:                              "cron exclusions",
		`{"frequency":"day","cron":null}`:                   "exclusions",
		`{"rrule":"FREQ=DAILY","exclusions":null}`:          "",
		`{"frequency":"day","cron":null,"exclusions":null}`: "",
		`null`: "",
	} {
		_, err := put(t, &stored, given)
		if lost == "" {
			require.NoError(t, err, given)
			continue
		}
		text := complaints(t, err)
		for name := range strings.FieldsSeq(lost) {
			require.Contains(t, text, "properties.recurrence."+name+": required; this change of the recurrence would lose")
		}
		require.Len(t, strings.Split(text, "\n"), len(strings.Fields(lost)), text)
	}
	_, err := input.ParseDefinition([]byte(withAction(httpAction)), input.ParseOptions{Now: now, Stored: &stored})
	require.Contains(t, complaints(t, err), "properties.recurrence.cron: required")
	stored = mustParse(t, withRecurrence(`{"cron":"0 9 * * 1","timeZone":"Europe/Stockholm"}`))
	_, err = put(t, &stored, `{"frequency":"day"}`)
	require.Contains(t, complaints(t, err), "properties.recurrence.timeZone: required; this change of the recurrence would lose")
	other, err := put(t, &stored, `{"cron":"0 10 * * 1"}`)
	require.NoError(t, err)
	require.Empty(t, other.Recurrence.TimeZone, "another expression is taken as it is")
}

func TestAPatchOfACronExpression(t *testing.T) {
	t.Parallel()
	stored := mustParse(t, withRecurrence(`{"cron":"0 9 * * 1","exclusions":["2026-01-19"]}`))
	for patch, want := range map[string]string{
		`{"state":"disabled"}`:                                                recurrenceOf(t, &stored),
		`{"recurrence":{"cron":"0 9 15W * *"}}`:                               `{"interval":1,"cron":"0 9 15W * *","exclusions":["2026-01-19"]}`,
		`{"recurrence":{"cron":null,"exclusions":null}}`:                      `{"frequency":"week","interval":1,"schedule":{"minutes":[0],"hours":[9],"weekDays":["monday"]}}`,
		`{"recurrence":{"cron":null,"rrule":"FREQ=DAILY","exclusions":null}}`: `{"frequency":"day","interval":1,"rrule":"FREQ=DAILY"}`,
	} {
		d, err := input.MergeDefinition(stored, []byte(`{"properties":`+patch+`}`), input.ParseOptions{Now: now})
		require.NoError(t, err, patch)
		require.Equal(t, want, recurrenceOf(t, &d), patch)
	}
	_, err := input.MergeDefinition(stored, []byte(`{"properties":{"recurrence":{"interval":2}}}`), input.ParseOptions{Now: now})
	require.Contains(t, complaints(t, err), "recurrence.cron: not allowed")
}

// What an expression means depends on the start and on the time zone.
func TestAPatchOfTheStartOrTheZoneOfAnExpression(t *testing.T) {
	t.Parallel()
	monthly := mustParse(t, `{"properties":{"startTime":"2026-12-10T09:00:00Z","action":`+httpAction+`,"recurrence":{"rrule":"FREQ=MONTHLY"}}}`)
	d, err := input.MergeDefinition(monthly, []byte(`{"properties":{"startTime":"2026-12-15T09:00:00Z"}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Equal(t, `{"frequency":"month","interval":1,"schedule":{"monthDays":[15]},"rrule":"FREQ=MONTHLY"}`, recurrenceOf(t, &d))
	d, err = input.MergeDefinition(monthly, []byte(`{"properties":{"recurrence":{"timeZone":"Pacific/Kiritimati"}}}`), input.ParseOptions{Now: now})
	require.NoError(t, err)
	require.Contains(t, recurrenceOf(t, &d), `"monthDays":[10]`)

	// 02:30 comes twice on a Sunday in October: no schedule says that it fires twice
	twice := mustParse(t, withRecurrence(`{"cron":"*/30 * * * SUN","timeZone":"Europe/Stockholm"}`))
	require.Equal(t, `{"interval":1,"timeZone":"Europe/Stockholm","cron":"*/30 * * * SUN"}`, recurrenceOf(t, &twice))
}
