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
