package timetable_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
)

// Every recipe of docs/cookbook.md is a definition that is accepted, and has the occurrences
// that the recipe names.
func TestCookbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cookbook.md")
	require.NoError(t, err)
	recipe := regexp.MustCompile("(?s)^(.*?)\n.*?```json\n(.*?)```(.*)$")
	first := regexp.MustCompile(`(?m)^- first: (.*)$`)
	recipes, checked := 0, 0
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		m := recipe.FindStringSubmatch(section)
		if m == nil {
			continue
		}
		recipes++
		t.Run(m[1], func(t *testing.T) {
			body := fmt.Sprintf(`{"now": "2026-01-01T00:00:00Z", "take": 2, "properties": %s}`, m[2])
			p, err := input.ParsePreview([]byte(body), time.Time{})
			require.NoError(t, err)
			r := p.Run()
			require.Empty(t, r.Notes)
			require.NotEmpty(t, r.Occurrences)
			if want := first.FindStringSubmatch(m[3]); want != nil {
				checked++
				var got []string
				for _, at := range r.Occurrences {
					got = append(got, at.Format("Mon 2006-01-02 15:04"))
				}
				require.Equal(t, want[1], strings.Join(got, ", "))
			}
		})
	}
	require.Greater(t, recipes, 40)
	require.Greater(t, checked, 40)
}
