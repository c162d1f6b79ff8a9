package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMomentsAreReadByTheClockHere(t *testing.T) {
	t.Parallel()
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	require.NoError(t, err)
	friday := time.Date(2026, 11, 27, 20, 15, 0, 0, stockholm)
	for text, want := range map[string]string{
		"2026-11-30T06:00:00Z": "2026-11-30T06:00:00Z", "2026-11-30": "2026-11-30T00:00:00+01:00",
		"2026-11-30T06:00": "2026-11-30T06:00:00+01:00", "2026-11-30 06:00:30": "2026-11-30T06:00:30+01:00",
		"monday 06:00": "2026-11-30T06:00:00+01:00", "Mon 06:00": "2026-11-30T06:00:00+01:00", "monday": "2026-11-30T00:00:00+01:00",
		"friday 20:15": "2026-12-04T20:15:00+01:00", "friday 20:16": "2026-11-27T20:16:00+01:00",
		"today 23:00": "2026-11-27T23:00:00+01:00", "tomorrow": "2026-11-28T00:00:00+01:00", "Yesterday 01:00": "2026-11-26T01:00:00+01:00",
	} {
		got, err := readMoment(text, friday)
		require.NoError(t, err, text)
		require.Equal(t, want, got.Format(time.RFC3339), text)
	}
}

func TestWhatIsNoMomentOrTwoIsRefused(t *testing.T) {
	t.Parallel()
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	require.NoError(t, err)
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, stockholm)
	for text, why := range map[string]string{
		"":                 "no time",
		"soon":             "no time",
		"2026-02-30":       "no time",
		"monday 25:00":     "no time",
		"06:00":            "no time",
		"monday 06:00 utc": "no time",
		"2026-03-29 02:30": "put forward",
		"2026-10-25 02:30": "2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00",
	} {
		_, err := readMoment(text, now)
		require.ErrorContains(t, err, why, text)
	}
}
