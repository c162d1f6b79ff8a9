package input_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
)

// Each recurrence that is read is accepted as that of a job, with the same words.
func TestEnglishIsReadAsMembersOfAJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"last Friday 17:15 Europe/Stockholm": `{"interval":1,"frequency":"month","schedule":{"minutes":[15],"hours":[17],"monthlyOccurrences":[{"day":"friday","occurrence":-1}]},"timeZone":"Europe/Stockholm"}`,
		"15m":                                `{"frequency":"minute","interval":15}`,
		"every day at 09:00 and 17:30":       `{"frequency":"day","interval":1,"schedule":{"minutes":[0],"hours":[9]},"also":[{"frequency":"day","interval":1,"schedule":{"minutes":[30],"hours":[17]}}]}`,
		"the weekday nearest the 15th of every month at 09:00":         `{"interval":1,"cron":"0 9 15W * *"}`,
		"the 13th and every Friday of every month at 09:00":            `{"interval":1,"cron":"0 9 13 * FRI"}`,
		"the second weekday of every month at 09:00":                   `{"interval":1,"rrule":"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2;BYHOUR=9;BYMINUTE=0"}`,
		"every day at 09:00, only in 2027 and 2028":                    `{"interval":1,"cron":"quartz: 0 0 9 * * ? 2027,2028"}`,
		"every Monday at 09:00, 10 times":                              `{"frequency":"week","count":10,"interval":1,"schedule":{"minutes":[0],"hours":[9],"weekDays":["monday"]}}`,
		"every day at 09:00, until 2027-03-01 12:00, Europe/Stockholm": `{"frequency":"day","endTime":"2027-03-01T11:00:00Z","interval":1,"schedule":{"minutes":[0],"hours":[9]},"timeZone":"Europe/Stockholm"}`,
	} {
		body, err := json.Marshal(map[string]string{"text": text})
		require.NoError(t, err)
		found, err := input.ParseEnglish(body)
		require.NoError(t, err, text)
		require.Len(t, found.Readings, 1)
		one := found.Readings[0]
		got, err := json.Marshal(one.Recurrence)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), text)
		properties, err := json.Marshal(map[string]any{"properties": map[string]any{"recurrence": one.Recurrence}})
		require.NoError(t, err)
		p, err := input.ParsePreview(properties, now)
		require.NoError(t, err, text)
		require.NotEmpty(t, p.Definition.When())
	}
}

func TestEnglishThatIsAmbiguousOrUnread(t *testing.T) {
	t.Parallel()
	found, err := input.ParseEnglish([]byte(`{"text":"Fridays at 9 until 2026-12-31","timeZone":"Europe/Berlin"}`))
	require.NoError(t, err)
	require.Equal(t, "until 2026-12-31", found.Ambiguous)
	require.Len(t, found.Readings, 4)
	require.Equal(t, "Fridays at 21:00 until 2026-12-31 00:00", found.Readings[1].Sentence)
	require.Equal(t, "Europe/Berlin", found.Readings[0].Recurrence.TimeZone)
	found, err = input.ParseEnglish([]byte(`{"text":"every day at 09:00 from 2026-12-01, Europe/Berlin"}`))
	require.NoError(t, err)
	require.Equal(t, "2026-12-01T00:00:00", found.Readings[0].StartTime)
	for body, want := range map[string]string{
		`{}`:                                 "text",
		`{"text":"every blue moon"}`:         `"blue" is not understood`,
		`{"text":"daily","timeZone":"Mars"}`: "timeZone",
		`{"text":5}`:                         "text",
	} {
		_, err := input.ParseEnglish([]byte(body))
		require.ErrorContains(t, err, want)
	}
}

// Every sentence about a job with calendars, working days and exclusions is read as the same members.
func TestEnglishOfCalendarsIsReadAsTheSame(t *testing.T) {
	t.Parallel()
	rules := []string{
		`"frequency":"day","interval":1,"schedule":{"hours":[9],"minutes":[0]}`,
		`"frequency":"week","interval":2,"schedule":{"weekDays":["monday","friday"],"hours":[9],"minutes":[0,30]}`,
		`"frequency":"month","interval":1,"schedule":{"monthDays":[-1],"hours":[17],"minutes":[0]}`,
		`"frequency":"month","interval":1,"schedule":{"workingDays":[1,-1,15,-2],"hours":[17],"minutes":[0]}`,
		`"frequency":"month","interval":1,"schedule":{"months":[3,9],"workingDays":[3],"hours":[17],"minutes":[0]}`,
		`"frequency":"month","interval":1,"schedule":{"monthDays":[1,2,3],"workingDays":[1],"hours":[17],"minutes":[0]}`,
		`"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":1}],"workingDays":[-1],"hours":[17],"minutes":[0]}`,
		`"frequency":"month","interval":3,"schedule":{"workingDays":[1],"hours":[9],"minutes":[0]},"also":[{"frequency":"month","interval":1,"schedule":{"workingDays":[-1],"hours":[17],"minutes":[0]}},` +
			`{"frequency":"week","interval":1,"schedule":{"weekDays":["sunday"],"hours":[3],"minutes":[0]}}]`,
	}
	uses := []string{`{"name":"SE","onMatch":"skip"}`, `{"name":"a b, c; d","onMatch":"only"}`, `{"name":"x-1","onMatch":"nextWorkingDay"}`,
		`{"name":"SE.2","onMatch":"previousWorkingDay"}`, `{"name":"Öst_1","onMatch":"nextWorkingDayInMonth"}`, `{"name":"and","onMatch":"previousWorkingDayInMonth"}`}
	exclusions := []string{"", `"2026-12-24","2026-12-25T09:00:00",{"first":"2026-12-27","last":"2026-12-31"}`,
		`{"from":"2026-12-24T12:00","until":"2026-12-26T12:00:00+01:00"},{"frequency":"week","interval":1,"schedule":{"weekDays":["saturday","sunday"]}},"2027-01-06",{"frequency":"month","interval":1,"schedule":{"monthDays":[13]}}`}
	ends := []string{"", `,"timeZone":"Europe/Stockholm"`, `,"timeZone":"Europe/Stockholm","count":10`, `,"endTime":"2027-03-01T11:00:00Z"`}
	for i, rule := range rules {
		for n, use := range uses {
			recurrence := `{` + rule + `,"calendars":[` + use
			if n%2 == 0 {
				recurrence += "," + uses[(n+1)%len(uses)]
			}
			recurrence += "]"
			if e := exclusions[(i+n)%3]; e != "" {
				recurrence += `,"exclusions":[` + e + "]"
			}
			recurrence += ends[(i+n)%4] + "}"
			p, err := input.ParsePreview([]byte(`{"now":"2026-01-01","properties":{"startTime":"2026-11-27T08:15","recurrence":`+recurrence+`}}`), time.Time{})
			require.NoError(t, err, recurrence)
			said := p.Definition.When()
			body, err := json.Marshal(map[string]string{"text": said})
			require.NoError(t, err)
			found, err := input.ParseEnglish(body)
			require.NoError(t, err, said)
			require.Len(t, found.Readings, 1, said)
			got, err := json.Marshal(found.Readings[0].Recurrence)
			require.NoError(t, err)
			stored, err := json.Marshal(p.Definition.Recurrence)
			require.NoError(t, err)
			require.JSONEq(t, string(stored), string(got), said)
			require.Equal(t, said, found.Readings[0].Text)
		}
	}
}

func TestEnglishThatNamesNoCalendarMayMeanEach(t *testing.T) {
	t.Parallel()
	found, err := input.ParseEnglish([]byte(`{"text":"month end 17:00, but the working day before, Stockholm","calendars":["SE","SE banks"]}`))
	require.NoError(t, err)
	require.Equal(t, "but the working day before", found.Ambiguous)
	require.Len(t, found.Readings, 2)
	require.Equal(t, `month end 17:00, but the working day before in "SE banks", Stockholm`, found.Readings[1].Sentence)
	require.Equal(t, "previousWorkingDay", found.Readings[1].Recurrence.Calendars[0].OnMatch)
	require.Equal(t, "Europe/Stockholm", found.Readings[1].Recurrence.TimeZone)
	for body, want := range map[string]string{
		`{"text":"daily","calendars":["a/b"]}`: "calendars[0]",
		`{"text":"daily","calendars":[{}]}`:    "calendars[0]",
	} {
		_, err := input.ParseEnglish([]byte(body))
		require.ErrorContains(t, err, want)
	}
}
