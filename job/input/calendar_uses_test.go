package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
)

func TestRefusedCalendarsOfJobs(t *testing.T) {
	t.Parallel()
	nine := strings.TrimSuffix(strings.Repeat(`{"name":"A"},`, 9), ",")
	for given, path := range map[string]string{
		`{"frequency":"hour","calendars":[{"name":"SE","onMatch":"nextWorkingDay"}]}`:                                         "calendars[0].onMatch",
		`{"frequency":"minute","calendars":[{"name":"SE"},{"name":"NY","onMatch":"previousWorkingDayInMonth"}]}`:              "calendars[1].onMatch",
		`{"frequency":"day","also":[{"frequency":"hour"}],"calendars":[{"name":"SE","onMatch":"nextWorkingDay"}]}`:            "calendars[0].onMatch",
		`{"frequency":"day","calendars":[{"name":"SE","onMatch":"later"}]}`:                                                   "calendars[0].onMatch",
		`{"frequency":"day","calendars":[{"onMatch":"skip"}]}`:                                                                "calendars[0].name",
		`{"frequency":"day","calendars":[{"name":"a/b"}]}`:                                                                    "calendars[0].name",
		`{"frequency":"day","calendars":[{"name":"SE"},{"name":"se"}]}`:                                                       "calendars[1].name",
		`{"frequency":"day","calendars":[{"name":"SE","version":1}]}`:                                                         "calendars[0].version",
		`{"frequency":"day","calendars":["SE"]}`:                                                                              "calendars[0]",
		`{"frequency":"day","calendars":[` + nine + `]}`:                                                                      "calendars",
		`{"frequency":"month","schedule":{"workingDays":[1]}}`:                                                                "schedule.workingDays",
		`{"frequency":"day","schedule":{"workingDays":[1]},"calendars":[{"name":"SE"}]}`:                                      "schedule.workingDays",
		`{"frequency":"month","schedule":{"workingDays":[0]},"calendars":[{"name":"SE"}]}`:                                    "schedule.workingDays[0]",
		`{"frequency":"month","schedule":{"workingDays":[1,32]},"calendars":[{"name":"SE"}]}`:                                 "schedule.workingDays[1]",
		`{"frequency":"month","schedule":{"workingDays":[-32]},"calendars":[{"name":"SE"}]}`:                                  "schedule.workingDays[0]",
		`{"frequency":"day","also":[{"frequency":"year","schedule":{"workingDays":[1]}}],"calendars":[{"name":"SE"}]}`:        "also[0].schedule.workingDays",
		`{"frequency":"day","exclusions":[{"frequency":"month","schedule":{"workingDays":[1]}}],"calendars":[{"name":"SE"}]}`: "exclusions[0].schedule.workingDays",
	} {
		_, err := parse(withRecurrence(given))
		require.True(t, strings.HasPrefix(complaints(t, err), "properties.recurrence."+path+": "), "%s\n%v", given, err)
	}
}

func TestCalendarsOfJobs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][2]string{
		`{"frequency":"day","calendars":[{"name":"SE"}]}`: {
			`{"frequency":"day","interval":1,"calendars":[{"name":"SE","onMatch":"skip"}]}`, "every day; not on days off in SE"},
		`{"frequency":"Hour","Calendars":[{"Name":"SE","onMatch":"ONLY"}]}`: {
			`{"frequency":"hour","interval":1,"calendars":[{"name":"SE","onMatch":"only"}]}`, "every hour; only on days of SE"},
		`{"cron":"*/5 9 * * *","calendars":[{"name":"SE","onMatch":"nextWorkingDay"}]}`: {
			`{"interval":1,"frequency":"day","schedule":{"minutes":[0,5,10,15,20,25,30,35,40,45,50,55],"hours":[9]},"cron":"*/5 9 * * *","calendars":[{"name":"SE","onMatch":"nextWorkingDay"}]}`, ""},
		`{"frequency":"month","schedule":{"workingDays":["1",-1],"hours":[9],"minutes":[0]},"timeZone":"Europe/Stockholm","calendars":[{"name":"SE"}]}`: {
			"", "the first and the last working day of every month at 09:00, Europe/Stockholm; not on days off in SE"},
		`{"frequency":"month","schedule":{"workingDays":[-2],"monthDays":[1,2]},"calendars":[{"name":"SE"},{"name":"NY","onMatch":"previousWorkingDay"}]}`: {
			"", "the 1st and the 2nd of every month, only on the second to last working day of the month; not on days off in SE; if that is a day off in NY, on the working day before"},
		`{"frequency":"week","also":[{"frequency":"month","schedule":{"workingDays":[2],"months":[3]}}],"calendars":[{"name":"SE","onMatch":"nextWorkingDayInMonth"}]}`: {
			"", "every week; and the second working day of every March; if that is a day off in SE, on the next working day, or the one before if that is in another month"},
	} {
		d := mustParse(t, withRecurrence(given))
		if want[0] != "" {
			require.JSONEq(t, want[0], recurrenceOf(t, &d))
		}
		if want[1] != "" {
			require.Equal(t, want[1], d.When())
		}
	}
}

func TestAPUTKeepsTheCalendarsThatItsClientDropped(t *testing.T) {
	t.Parallel()
	put := func(t *testing.T, stored *job.Definition, recurrence string) (job.Definition, error) {
		t.Helper()
		return input.ParseDefinition([]byte(withRecurrence(recurrence)), input.ParseOptions{Now: now, Stored: stored})
	}
	for given, read := range map[string]string{
		`{"frequency":"day","calendars":[{"name":"SE","onMatch":"nextWorkingDay"}]}`:                                                  `{"frequency":"Day"}`,
		`{"frequency":"month","schedule":{"workingDays":[-1]},"calendars":[{"name":"SE"}]}`:                                           `{"frequency":"Month","schedule":{}}`,
		`{"frequency":"month","schedule":{"workingDays":[-1],"hours":[9],"minutes":[0]},"calendars":[{"name":"SE"}]}`:                 `{"frequency":"Month","schedule":{"hours":[9],"minutes":[0]}}`,
		`{"frequency":"day","also":[{"frequency":"month","schedule":{"workingDays":[1]}}],"calendars":[{"name":"SE"}]}`:               `{"frequency":"Day"}`,
		`{"cron":"0 9 15W * *","exclusions":["2026-01-19"],"calendars":[{"name":"SE"}],"timeZone":"Europe/Stockholm"}`:                `{"interval":1}`,
		`{"frequency":"day","catchUpWindow":"PT1H","calendars":[{"name":"SE"}],"timeZone":"Europe/Stockholm","overlapPolicy":"Skip"}`: `{"frequency":"Day"}`,
	} {
		stored := mustParse(t, withRecurrence(given))
		kept, err := put(t, &stored, read)
		require.NoError(t, err, given)
		require.Equal(t, recurrenceOf(t, &stored), recurrenceOf(t, &kept))
	}
	stored := mustParse(t, withRecurrence(`{"frequency":"month","schedule":{"workingDays":[-1]},"calendars":[{"name":"SE"}]}`))
	_, err := put(t, &stored, `{"frequency":"day"}`)
	require.Contains(t, complaints(t, err), "properties.recurrence.calendars: required; this change of the recurrence would lose")
	_, err = put(t, &stored, `{"frequency":"month","schedule":{"workingDays":[-1]},"calendars":null}`)
	require.Contains(t, complaints(t, err), "properties.recurrence.schedule.workingDays: not allowed")
	d, err := put(t, &stored, `{"frequency":"month","calendars":null}`)
	require.NoError(t, err)
	require.Equal(t, `{"frequency":"month","interval":1}`, recurrenceOf(t, &d))
	d, err = put(t, &stored, `{"frequency":"month","calendars":[{"name":"SE"}]}`)
	require.NoError(t, err, "who knows the one knows the other")
	require.Nil(t, d.Recurrence.Schedule)
}

func TestAPatchOfCalendars(t *testing.T) {
	t.Parallel()
	stored := mustParse(t, withRecurrence(`{"frequency":"month","schedule":{"workingDays":[-1]},"calendars":[{"name":"SE"}]}`))
	for patch, want := range map[string]string{
		`{"state":"disabled"}`: recurrenceOf(t, &stored),
		`{"recurrence":{"calendars":[{"name":"NY"},{"name":"SE"}]}}`: `{"frequency":"month","interval":1,"schedule":{"workingDays":[-1]},"calendars":[{"name":"NY","onMatch":"skip"},{"name":"SE","onMatch":"skip"}]}`,
		`{"recurrence":{"schedule":null,"calendars":null}}`:          `{"frequency":"month","interval":1}`,
	} {
		d, err := input.MergeDefinition(stored, []byte(`{"properties":`+patch+`}`), input.ParseOptions{Now: now})
		require.NoError(t, err, patch)
		require.Equal(t, want, recurrenceOf(t, &d), patch)
	}
	_, err := input.MergeDefinition(stored, []byte(`{"properties":{"recurrence":{"calendars":null}}}`), input.ParseOptions{Now: now})
	require.Contains(t, complaints(t, err), "recurrence.schedule.workingDays: not allowed")
}
