package cronline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	robfig "github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer/cronline"
	"almanac/recurrence"
	_ "almanac/recurrence/tzdata"
)

var now = time.Date(2026, 11, 27, 12, 0, 30, 0, time.UTC)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := recurrence.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

func first(l *cronline.Line, from time.Time, zone *time.Location, n int) (all []time.Time) {
	for t := range l.Runs(from, zone) {
		if all = append(all, t); len(all) == n {
			break
		}
	}
	return all
}

// Kubernetes runs robfig/cron; so this package has to fire when that does, whatever the zone and the clock.
func TestKubernetesFiresAsRobfigDoes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	zones := []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata"}
	compared := 0
	for range 600 {
		expr := randomExpression(random)
		want, err := robfig.ParseStandard(expr)
		line, ours := cronline.Parse(expr, cronline.Kubernetes)
		require.Equal(t, err == nil, ours == nil, "%s: %v, %v", expr, err, ours)
		if err != nil {
			continue
		}
		in := zone(t, zones[random.IntN(len(zones))])
		from := now.Add(time.Duration(random.IntN(400*24)) * time.Hour)
		at := from.Add(-time.Second).In(in)
		for _, got := range first(line, from, in, 30) {
			at = want.Next(at)
			require.Equal(t, at.UTC(), got, "%s in %s after %s", expr, in, from)
			compared++
		}
	}
	require.Greater(t, compared, 4000)
}

func randomExpression(random *rand.Rand) string {
	field := func(low, high int) string {
		n := func() int { return low + random.IntN(high-low+1) }
		switch random.IntN(6) {
		case 0, 1:
			return "*"
		case 2:
			return fmt.Sprintf("*/%d", 1+random.IntN(high+3))
		case 3:
			a, b := n(), n()
			return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		case 4:
			return fmt.Sprintf("%d,%d", n(), n())
		}
		return fmt.Sprintf("%d/%d", n(), 1+random.IntN(9))
	}
	return strings.Join([]string{field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6)}, " ")
}

// Where no clock changes and no field begins with a star and has a step, cron fires as robfig does.
func TestCronFiresAsRobfigDoesInUTC(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		expr := randomExpression(random)
		fields := strings.Fields(expr)
		line, err := cronline.Parse(expr, cronline.Unix)
		if err != nil || strings.HasPrefix(fields[2], "*/") || strings.HasPrefix(fields[4], "*/") {
			continue
		}
		want, err := robfig.ParseStandard(expr)
		require.NoError(t, err)
		at := now.Add(-time.Second)
		for _, got := range first(line, now, time.UTC, 30) {
			at = want.Next(at)
			require.Equal(t, at, got, expr)
		}
	}
}

func TestCronAtClockChanges(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	march := time.Date(2027, 3, 28, 0, 0, 0, 0, time.UTC)
	october := time.Date(2027, 10, 30, 23, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		expr string
		from time.Time
		want string
	}{
		{"30 2 * * *", march, "01:00 00:30"},                 // as soon as the gap is over
		{"15,30 2 * * *", march, "01:00 00:15"},              // once
		{"0 3 * * *", march, "01:00 01:00"},                  // the end of the gap is 03:00
		{"30 */2 * * *", march, "02:30 04:30"},               // 00:30 UTC is 01:30; 02:30 does not come
		{"30 2 * * *", october, "00:30 01:30"},               // the first time, and the next day
		{"30 * * * *", october, "23:30 00:30 01:30"},         // each hour
		{"0 */2 * * *", october, "00:00 01:00 03:00"},        // 02:00 comes twice
		{"0 0 * * *", october, "23:00"},                      // on Monday
		{"*/30 2 * * *", october, "00:00 00:30 01:00 01:30"}, // the minute begins with a star
	} {
		line, err := cronline.Parse(c.expr, cronline.Unix)
		require.NoError(t, err)
		var got []string
		for _, at := range first(line, c.from, berlin, len(strings.Fields(c.want))) {
			got = append(got, at.Format("15:04"))
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.expr)
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr           string
		program        cronline.Program
		month, week, e bool
	}{
		{"0 9 13 * 5", cronline.Unix, true, true, true},
		{"0 9 */2 * 5", cronline.Unix, true, true, false},
		{"0 9 */2 * 5", cronline.Kubernetes, true, true, true},
		{"0 9 1-31 * 5", cronline.Unix, false, false, false},
		{"0 9 * * 1-5", cronline.Kubernetes, false, true, false},
		{"0 9 ? * 1-5", cronline.Kubernetes, false, true, false},
	} {
		line, err := cronline.Parse(c.expr, c.program)
		require.NoError(t, err, c.expr)
		month, week, either := line.Days()
		require.Equal(t, []bool{c.month, c.week, c.e}, []bool{month, week, either}, c.expr)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for expr, why := range map[string]string{
		"* * * *":        "it has 4 fields",
		"60 * * * *":     "minute",
		"5/20 * * * *":   "write the range",
		"0 9 L * *":      "L, W, # and H",
		"0 9 * * 6L":     "L, W, # and H",
		"0 9 * * 5-2":    "ends before it begins",
		"0 9 * * ?":      "? is not known",
		"0~59 * * * *":   "random",
		"*/0 * * * *":    "a step is a number from 1",
		"0 9 * * hunter": "none of its values",
		"1,,2 * * * *":   "none of its values",
	} {
		_, err := cronline.Parse(expr, cronline.Unix)
		require.ErrorContains(t, err, why, expr)
		require.NotContains(t, err.Error(), "hunter")
	}
	_, err := cronline.Parse("0 9 * * 7", cronline.Kubernetes)
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	for _, expr := range []string{"*/15 9-17 * * 1-5", "@daily", "@every 1h30m", "0 0 29 2 *", "5/7 * 1,2 jan-feb sun"} {
		f.Add(expr)
	}
	f.Fuzz(func(_ *testing.T, expr string) {
		for _, program := range []cronline.Program{cronline.Unix, cronline.Kubernetes} {
			line, err := cronline.Parse(expr, program)
			if err != nil {
				continue
			}
			first(line, now, time.UTC, 3)
			_, _ = line.Recurrences("UTC", 1)
		}
	})
}
