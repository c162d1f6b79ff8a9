package rrule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/recurrence"
	"almanac/recurrence/rrule"
)

// firstOf returns the first instants of a set, in its zone.
func firstOf(t *testing.T, text string, start time.Time, loc *time.Location, n int) string {
	t.Helper()
	set, err := rrule.ParseSet(text, start, loc)
	require.NoError(t, err)
	anchor := start
	if !set.Start.IsZero() {
		anchor = set.Start
	}
	s, err := set.Schedule(anchor)
	require.NoError(t, err)
	var all []string
	for at := range s.All() {
		all = append(all, at.In(loc).Format("01-02T15:04"))
		if len(all) == n {
			break
		}
	}
	return strings.Join(all, " ")
}

func TestParseSet(t *testing.T) {
	t.Parallel()
	stockholm, err := recurrence.LoadLocation("Europe/Stockholm")
	require.NoError(t, err)
	start := time.Date(2026, time.January, 1, 8, 0, 0, 0, time.UTC) // 09:00 in Stockholm
	for text, want := range map[string]string{
		"FREQ=DAILY": "01-01T09:00 01-02T09:00 01-03T09:00",
		"FREQ=DAILY\nEXDATE:20260102T090000\nRDATE:20260103T121500":          "01-01T09:00 01-03T09:00 01-03T12:15",
		"EXDATE;VALUE=DATE:20260101,20260102\nRRULE:FREQ=DAILY":              "01-03T09:00 01-04T09:00 01-05T09:00",
		"FREQ=DAILY\nEXDATE;TZID=Asia/Tokyo:20260101T170000":                 "01-02T09:00 01-03T09:00 01-04T09:00",
		"FREQ=DAILY;UNTIL=20260102":                                          "01-01T09:00 01-02T09:00",
		"FREQ=DAILY;COUNT=2\nRDATE:20260110T090000":                          "01-01T09:00 01-02T09:00 01-10T09:00",
		"FREQ=DAILY;COUNT=2\nRDATE:20260110T090000\nEXDATE:20260110T080000Z": "01-01T09:00 01-02T09:00",
		"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1":                      "01-30T09:00 02-27T09:00 03-31T09:00",
		"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,2":                     "01-01T09:00 01-02T09:00 02-02T09:00",
		"DTSTART:20260105T100000\nRRULE:FREQ=WEEKLY":                         "01-05T10:00 01-12T10:00 01-19T10:00",
		"DTSTART;TZID=UTC:20260105T100000\nRRULE:FREQ=WEEKLY":                "01-05T11:00 01-12T11:00 01-19T11:00",
	} {
		assert.Equal(t, want, firstOf(t, text, start, stockholm, 3), text)
	}
	for text, field := range map[string]string{
		"FREQ=DAILY\nEXDATE:yesterday":                           "EXDATE",
		"FREQ=DAILY\nRDATE;VALUE=PERIOD:20260101T090000Z/PT1H":   "RDATE",
		"FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1":                     "BYSETPOS",
		"FREQ=DAILY\nEXRULE:FREQ=WEEKLY":                         "EXRULE",
		"DTSTART:20260101T090000\nDTSTART:20260101T090000\nFREQ": "DTSTART",
	} {
		_, err := rrule.ParseSet(text, start, stockholm)
		require.Error(t, err, text)
		assert.True(t, strings.HasPrefix(err.Error(), field), "%s: %v", text, err)
	}
}
