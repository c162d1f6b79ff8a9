package calendar_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/calendar"
	"almanac/cmd/almanac/internal/cli/exit"
)

// types returns what a command line prints and its error.
func types(t *testing.T, stdin string, args ...string) (out, problems string, err error) {
	t.Helper()
	root := &cobra.Command{Use: "almanac", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(calendar.Command(func(string) (string, bool) { return "", false }))
	var o, p strings.Builder
	root.SetOut(&o)
	root.SetErr(&p)
	root.SetIn(strings.NewReader(stdin))
	root.SetArgs(append([]string{"calendar"}, args...))
	err = root.ExecuteContext(t.Context())
	return o.String(), p.String(), err
}

func TestMakePrintsACalendarAsTheAPITakesIt(t *testing.T) {
	t.Parallel()
	out, problems, err := types(t, "", "make", "SE,de-by", "2026..2031")
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Contains(t, out, "weekendDays: [saturday, sunday]\n")
	require.Contains(t, out, "  - date: \"2026-06-06\"\n    name: Nationaldagen (SE)\n")
	require.Contains(t, out, "completeUntil: \"2031-12-31\"\n")
	require.Contains(t, out, "source: 'Public holidays of SE, DE-BY: holidays ")

	out, problems, err = types(t, "", "make", "CN", "2026", "--english", "-o", "json")
	require.NoError(t, err)
	require.Empty(t, problems)
	var made struct {
		WeekendDays      []string
		Days, MakeUpDays []struct{ Date, Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	require.Equal(t, []string{"saturday", "sunday"}, made.WeekendDays)
	require.Contains(t, out, "Dragon Boat Festival")
	require.Equal(t, "2026-01-04", made.MakeUpDays[0].Date)

	_, problems, err = types(t, "", "make", "EG", "2026..2028")
	require.NoError(t, err)
	require.Contains(t, problems, "the days of EG are certain until ")
}

func TestMakeRefusesWhatItCannotMake(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"Did you mean SE (Sweden)?":                            {"Sweden", "2026"},
		"Did you mean DE (Germany)?":                           {"Germny", "2026"},
		"DE has no part \"XX\"; its parts are":                 {"DE-XX", "2026"},
		`"26" is no year; allowed: such as 2026 or 2026..`:     {"SE", "26"},
		`"2027..2026" ends before it begins`:                   {"SE", "2027..2026"},
		"did you mean bank?":                                   {"SE", "2026", "--with", "bnk"},
		"there are no holidays of the years 1999 to 1999; all": {"SE", "1999"},
	} {
		_, _, err := types(t, "", append([]string{"make"}, args...)...)
		require.ErrorContains(t, err, want)
		require.Equal(t, exit.Usage, exit.Status(err), args)
	}
}
