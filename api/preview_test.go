package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	daysoff "almanac/recurrence/calendars"
)

// midsummer is a question about a job on a day that two calendars do not have; # stands for the calendars of the request.
const midsummer = `{"now":"2026-01-01T00:00:00Z","take":1,#"properties":{"startTime":"2026-01-01T09:00","recurrence":{"frequency":"month",` +
	`"timeZone":"Europe/Stockholm","schedule":{"months":[6],"monthDays":[19]},"calendars":[{"name":"SE","onMatch":"nextWorkingDay"},{"name":"shut"}]}}}`

const (
	swedish = `"SE":{"weekendDays":["saturday","sunday"],"days":[{"date":"2026-06-19","name":"Midsommarafton"}]}`
	shut    = `"Shut":{"properties":{"weekendDays":[]}}`
)

func askedWith(calendars string) string {
	if calendars != "" {
		calendars = `"calendars":{` + calendars + `},`
	}
	return strings.Replace(midsummer, "#", calendars, 1)
}

func TestAPreviewSaysFromWhereCalendarsMoveARun(t *testing.T) {
	t.Parallel()
	h := api.New(&fake{}, api.Options{})
	got := send(h, http.MethodPost, "/previewRecurrence", askedWith(swedish+","+shut))
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, got.body, `{"occurrences":["2026-06-22T07:00:00Z"],"done":false,"adjustments":[{"change":"moved","nominalTime":"2026-06-19T07:00:00Z",`+
		`"expectedExecutionTime":"2026-06-22T07:00:00Z","text":"moved from Fri 2026-06-19 because SE has Midsommarafton",`+
		`"reason":"SE has Midsommarafton","calendars":[{"name":"SE","day":"Midsommarafton"}]}],"text":`)

	got = send(h, http.MethodPost, "/previewRecurrence", askedWith(swedish))
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.body, `properties.recurrence.calendars[1].name`)
	require.Contains(t, got.body, `job collection`)
	got = send(h, http.MethodPost, "/previewRecurrence", askedWith(`"SE":{"days":[{"date":"2026-06-31"}]},"x/y":7`))
	require.Equal(t, http.StatusBadRequest, got.status)
	for _, path := range []string{"calendars.SE.weekendDays", "calendars.SE.days[0].date", "calendars.x/y"} {
		require.Contains(t, got.body, `"target":"`+path+`"`)
	}
}

func TestAPreviewInACollectionReadsTheCalendarsThatARequestLacks(t *testing.T) {
	t.Parallel()
	var names []string
	f := &fake{calendarUses: func(k job.CollectionKey, r *job.Recurrence) ([]daysoff.Use, error) {
		names = append([]string{k.Name}, r.CalendarNames()...)
		return r.Uses([]job.KeptCalendar{{Version: 7, Calendar: job.Calendar{WeekendDays: []string{}, Days: []job.NamedDay{{Date: "2026-06-22"}}}}})
	}}
	h := api.New(f, api.Options{Now: func() time.Time { return at("2026-01-01T00:00:00Z") }})
	got := send(h, http.MethodPost, "/jobCollections/c/previewRecurrence", askedWith(swedish))
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, []string{"c", "shut"}, names)
	require.Contains(t, got.body, `"occurrences":["2026-06-23T07:00:00Z"]`, "both are days off")
	names = nil
	got = send(h, http.MethodPost, "/jobCollections/c/previewRecurrence", askedWith(swedish+","+shut))
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Nil(t, names)
}
