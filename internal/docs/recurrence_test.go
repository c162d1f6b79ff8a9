package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
)

func TestTheExamplesOfTheRecurrencePageHaveTheirOccurrences(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| `({.+})` \\| (20.+) \\|$").FindAllStringSubmatch(read(t, "docs/recurrence.md"), -1)
	require.Greater(t, len(rows), 5)
	for _, row := range rows {
		want := strings.Split(row[2], ", ")
		p, err := input.ParsePreview(fmt.Appendf(nil, `{"now": "2026-01-01T00:00:00Z", "take": %d, "properties": %s}`, len(want), row[1]), time.Time{})
		require.NoError(t, err, row[1])
		var got []string
		for _, at := range p.Run().Occurrences {
			got = append(got, at.UTC().Format(time.RFC3339))
		}
		require.Equal(t, want, got, row[1])
	}
}
