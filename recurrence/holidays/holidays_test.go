package holidays_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/recurrence/calendars"
	"almanac/recurrence/holidays"
)

var release = flag.Bool("release", false, "check that the data is new enough for a release of Almanac")

// The data is as new as it can be for so long after `task holidays` took the newest.
const maxAge = 120 * 24 * time.Hour

func TestTheDataIsNewForARelease(t *testing.T) {
	t.Parallel()
	day, err := time.Parse(time.DateOnly, holidays.From().Checked)
	require.NoError(t, err)
	first, last := holidays.Years()
	require.Equal(t, day.Year()-1, first)
	require.Equal(t, day.Year()+15, last)
	if *release {
		require.Less(t, time.Since(day), maxAge, "run `task holidays`, which takes the newest data")
	}
}

func made(t *testing.T, o holidays.Options, first, last int, places ...string) *holidays.Made {
	t.Helper()
	m, err := holidays.Make(places, first, last, o)
	require.NoError(t, err)
	return m
}

func shown(m *holidays.Made) (all []string) {
	for _, d := range m.Days {
		all = append(all, d.Date.String()+" "+d.Name)
	}
	return all
}

func TestSwedenAndBavaria(t *testing.T) {
	t.Parallel()
	sweden := made(t, holidays.Options{}, 2026, 2026, "se")
	require.Equal(t, []time.Weekday{time.Saturday, time.Sunday}, sweden.WeekendDays)
	require.Equal(t, []string{
		"2026-01-01 Nyårsdagen", "2026-01-06 Trettondedag jul", "2026-04-03 Långfredagen", "2026-04-05 Påskdagen", "2026-04-06 Annandag påsk",
		"2026-05-01 Första maj", "2026-05-14 Kristi himmelsfärdsdag", "2026-05-24 Pingstdagen", "2026-06-06 Nationaldagen", "2026-06-20 Midsommardagen",
		"2026-10-31 Alla helgons dag", "2026-12-25 Juldagen", "2026-12-26 Annandag jul",
	}, shown(sweden))
	require.Equal(t, "2026-12-31", sweden.CompleteUntil.String())
	require.Empty(t, sweden.Notes)
	require.Contains(t, shown(made(t, holidays.Options{With: []string{"de_facto"}, English: true}, 2026, 2026, "SE")), "2026-06-19 Midsummer Eve")

	both := made(t, holidays.Options{}, 2026, 2031, "SE", "DE-BY")
	require.Contains(t, shown(both), "2026-01-06 Trettondedag jul / Heilige Drei Könige")
	require.Contains(t, shown(both), "2026-06-04 Fronleichnam (DE-BY)")
	require.Contains(t, both.Source, "Public holidays of SE, DE-BY: holidays ")
}

func TestTheWeekendIsThatOfTheCountry(t *testing.T) {
	t.Parallel()
	require.Equal(t, []time.Weekday{time.Friday, time.Saturday}, made(t, holidays.Options{}, 2026, 2026, "EG").WeekendDays)
	require.Equal(t, []time.Weekday{time.Friday, time.Sunday}, made(t, holidays.Options{}, 2026, 2026, "BN").WeekendDays)
}

// China's Sunday 4 January 2026 is worked on, for Friday 2 January.
func TestMakeUpDaysAreWorkingDaysUnlessAnotherPlaceHasThemOff(t *testing.T) {
	t.Parallel()
	sunday := calendars.DateOf(2026, time.January, 4)
	isMadeUp := func(m *holidays.Made) bool {
		return slices.ContainsFunc(m.MakeUpDays, func(d calendars.Day) bool { return d.Date == sunday })
	}
	china := made(t, holidays.Options{}, 2026, 2027, "CN")
	require.True(t, isMadeUp(china))
	require.Equal(t, "2026-12-31", china.CompleteUntil.String())
	require.Len(t, china.Notes, 1)
	require.False(t, isMadeUp(made(t, holidays.Options{}, 2026, 2026, "CN", "SE")))
}

// With several places a date is off if it is for any of them alone.
func TestEveryPlaceMakesACalendar(t *testing.T) {
	t.Parallel()
	first, last := holidays.Years()
	require.Greater(t, len(holidays.Places()), 800)
	for _, p := range holidays.Places() {
		m := made(t, holidays.Options{}, first, last, p.Code)
		table, err := calendars.NewTable(m.Calendar)
		require.NoError(t, err, p.Code)
		for _, d := range m.Days {
			require.True(t, table.Matches(d.Date), "%s %s", p.Code, d.Date)
		}
	}
	table := func(places ...string) *calendars.Table {
		table, err := calendars.NewTable(made(t, holidays.Options{}, 2026, 2026, places...).Calendar)
		require.NoError(t, err)
		return table
	}
	several := []string{"CN", "EG", "HU"}
	all, each := table(several...), []*calendars.Table{table("CN"), table("EG"), table("HU")}
	for d := calendars.DateOf(2026, 1, 1); d <= calendars.DateOf(2026, 12, 31); d++ {
		require.Equal(t, slices.ContainsFunc(each, func(one *calendars.Table) bool { return one.Matches(d) }), all.Matches(d), d)
	}
}

func TestErrorsNameWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for text, of := range map[string]func() (*holidays.Made, error){
		`there are no holidays of "XX"; allowed: the ISO code of a country such as SE, or of a part such as DE-BY`: func() (*holidays.Made, error) {
			return holidays.Make([]string{"XX"}, 2026, 2026, holidays.Options{})
		},
		`DE has no part "XX"; its parts are Augsburg, BB, BE`: func() (*holidays.Made, error) {
			return holidays.Make([]string{"DE-XX"}, 2026, 2026, holidays.Options{})
		},
		`there are no holidays of parts of SE; allowed: SE`: func() (*holidays.Made, error) {
			return holidays.Make([]string{"SE-AB"}, 2026, 2026, holidays.Options{})
		},
		`there are no holidays of the years 1999 to 2026; allowed: from `: func() (*holidays.Made, error) {
			return holidays.Make([]string{"SE"}, 1999, 2026, holidays.Options{})
		},
		`there is no category "banks"; allowed: `: func() (*holidays.Made, error) {
			return holidays.Make([]string{"SE"}, 2026, 2026, holidays.Options{With: []string{"banks"}})
		},
	} {
		_, err := of()
		require.ErrorContains(t, err, text)
	}
	_, err := holidays.Make(nil, 2026, 2026, holidays.Options{})
	require.ErrorContains(t, err, "name a country")
	require.Contains(t, strings.Join(holidays.Categories("SE"), " "), "de_facto")
}
