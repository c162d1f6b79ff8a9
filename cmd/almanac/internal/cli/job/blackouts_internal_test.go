package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABlackoutIsWrittenInALine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tree{
		"night 22:00-06:00 runAtEnd":                         {"name": "night", "from": "22:00", "until": "06:00", "onMatch": "runAtEnd"},
		"year end freeze 2026-12-18..2027-01-06 skip":        {"name": "year end freeze", "first": "2026-12-18", "last": "2027-01-06", "onMatch": "skip"},
		"b Saturday,sunday 10:00-12:00 nextAllowedDay":       {"name": "b", "weekDays": []string{"saturday", "sunday"}, "from": "10:00", "until": "12:00", "onMatch": "nextAllowedDay"},
		"move 2026-06-04T18:00..2026-06-06T06:30Z anyPolicy": {"name": "move", "from": "2026-06-04T18:00", "until": "2026-06-06T06:30Z", "onMatch": "anyPolicy"},
	} {
		got, ok := blackoutOf(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "night", "night skip", "22:00-06:00 skip", "night at night skip"} {
		_, ok := blackoutOf(text)
		require.False(t, ok, text)
	}
}
