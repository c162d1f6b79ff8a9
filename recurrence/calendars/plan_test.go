package calendars_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/recurrence"
	"almanac/recurrence/calendars"
)

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := recurrence.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

// A draw is a random job with calendars.
type draw struct {
	in        calendars.Input
	calendars []calendars.Calendar // those of in
	series    *recurrence.Series
	now       time.Time
}

var zones = []string{"UTC", "Europe/Stockholm", "America/New_York", "Asia/Tokyo", "Pacific/Apia", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu"}

func random(t testing.TB, r *rand.Rand) draw {
	loc := load(t, zones[r.IntN(len(zones))])
	d := draw{now: time.Unix(1767225600+r.Int64N(2*365*86400), 0).UTC()}
	anchor := d.now.Add(-time.Duration(r.IntN(200*86400)) * time.Second)
	moves := r.IntN(3) > 0
	var schedule func() *recurrence.Schedule
	schedule = func() *recurrence.Schedule {
		rule := recurrence.Rule{Frequency: recurrence.Day, Interval: 1 + r.IntN(3), Location: loc}
		switch r.IntN(4) {
		case 0:
			rule.Frequency = recurrence.Week
			for range 1 + r.IntN(4) {
				rule.WeekDays = append(rule.WeekDays, time.Weekday(r.IntN(7)))
			}
		case 1:
			rule.Frequency, rule.Interval = recurrence.Month, 1
			rule.MonthDays = []int{1 + r.IntN(28), -1 - r.IntN(5)}
		case 2:
			if !moves {
				rule.Frequency, rule.Interval = recurrence.Hour, 1+r.IntN(30)
			}
		}
		if r.IntN(2) == 0 {
			rule.Hours, rule.Minutes = []int{r.IntN(24), r.IntN(4)}, []int{0, r.IntN(60)}
		}
		s, err := recurrence.New(rule, anchor)
		if errors.Is(err, recurrence.ErrNever) { // hours that its interval never meets
			return schedule()
		}
		require.NoError(t, err)
		return s
	}
	schedules := []*recurrence.Schedule{schedule()}
	if r.IntN(2) == 0 {
		schedules = append(schedules, schedule())
	}
	var exclusions []recurrence.Exclusion
	for range r.IntN(3) {
		exclusions = append(exclusions, recurrence.Exclusion{Rule: &recurrence.Rule{Frequency: recurrence.Week, Interval: 1 + r.IntN(3), WeekDays: []time.Weekday{time.Weekday(r.IntN(7))}, Location: loc}})
	}
	var err error
	d.series, err = recurrence.NewSeries(anchor, exclusions, schedules...)
	require.NoError(t, err)
	d.in = calendars.Input{Series: d.series, Location: loc}
	if r.IntN(4) == 0 {
		d.in.End = d.now.Add(time.Duration(r.IntN(100*86400)) * time.Second)
	}
	for i := range r.IntN(4) {
		c := randomCalendar(t, r, d.now)
		table, err := calendars.NewTable(c)
		require.NoError(t, err)
		policy := calendars.Policy(r.IntN(2))
		if moves {
			policy = calendars.Policy(r.IntN(6))
		}
		d.calendars = append(d.calendars, c)
		d.in.Calendars = append(d.in.Calendars, calendars.Use{Name: string(rune('a' + i)), OnMatch: policy, Table: table})
	}
	return d
}

func randomCalendar(t testing.TB, r *rand.Rand, near time.Time) calendars.Calendar {
	c := calendars.Calendar{WeekendDays: []time.Weekday{}}
	if r.IntN(2) == 0 {
		c.WeekendDays = []time.Weekday{time.Weekday(r.IntN(7)), time.Weekday(r.IntN(7))}
	}
	if r.IntN(3) == 0 {
		c.Location = load(t, zones[r.IntN(len(zones))])
	}
	day := func() calendars.Date { return calendars.DateOf(near.Year(), near.Month(), near.Day()+r.IntN(200)-50) }
	for range r.IntN(20) {
		c.Days = append(c.Days, calendars.Day{Date: day()})
	}
	for range r.IntN(3) {
		first := day()
		c.Periods = append(c.Periods, calendars.Period{First: first, Last: first + calendars.Date(r.IntN(1+r.IntN(110)))})
	}
	for range r.IntN(4) {
		d := day()
		if !slices.ContainsFunc(c.Days, func(o calendars.Day) bool { return o.Date == d }) {
			c.MakeUpDays = append(c.MakeUpDays, calendars.Day{Date: d})
		}
	}
	return c
}

// An oracle decides by trying every day. It shares no code with the package.
type oracle struct{ draw }

// matches says whether a calendar matches a date.
func matches(c *calendars.Calendar, date calendars.Date, weekday time.Weekday) bool {
	is := func(d calendars.Day) bool { return d.Date == date }
	if slices.ContainsFunc(c.MakeUpDays, is) {
		return false
	}
	return slices.ContainsFunc(c.Days, is) || slices.Contains(c.WeekendDays, weekday) ||
		slices.ContainsFunc(c.Periods, func(p calendars.Period) bool { return p.First <= date && date <= p.Last })
}

// objects returns the first calendar that objects to an instant; -1 for none.
func (o oracle) objects(t time.Time) int {
	for i := range o.calendars {
		loc := o.in.Location
		if o.calendars[i].Location != nil {
			loc = o.calendars[i].Location
		}
		local := t.In(loc)
		if matches(&o.calendars[i], calendars.DateOf(local.Date()), local.Weekday()) != (o.in.Calendars[i].OnMatch == calendars.Only) {
			return i
		}
	}
	return -1
}

// shifted returns an instant at the same local time some days later.
func (o oracle) shifted(t time.Time, days int) time.Time {
	local := t.In(o.in.Location)
	day := time.Date(local.Year(), local.Month(), local.Day()+days, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	at, _ := recurrence.ParseTime(day+local.Format("T15:04:05"), o.in.Location)
	return at
}

// due returns when an occurrence is due, and whether it runs.
func (o oracle) due(nominal time.Time) (time.Time, bool) {
	i := o.objects(nominal)
	if i < 0 {
		return nominal, true
	}
	policy := o.in.Calendars[i].OnMatch
	step := 1
	if policy == calendars.PreviousWorkingDay || policy == calendars.PreviousWorkingDayInMonth {
		step = -1
	}
	if policy == calendars.Skip || policy == calendars.Only {
		return nominal, false
	}
	inMonth := policy >= calendars.NextWorkingDayInMonth
	for range 2 {
		for n := 1; n <= calendars.MaxReach; n++ {
			at := o.shifted(nominal, n*step)
			if inMonth && at.In(o.in.Location).Month() != nominal.In(o.in.Location).Month() {
				break
			}
			if o.objects(at) < 0 {
				return at, true
			}
		}
		if !inMonth {
			break
		}
		step = -step
	}
	return nominal, false
}

// runs returns the runs from one time to another, long after the plan was made: nominal and due times.
func (o oracle) runs(from, until time.Time) (all []string) {
	type run struct{ nominal, due time.Time }
	byDue := map[time.Time][]run{}
	for nominal := range o.series.Between(from.AddDate(0, 0, -103), until.AddDate(0, 0, 103)) {
		if !o.in.End.IsZero() && nominal.After(o.in.End) {
			break
		}
		if due, ok := o.due(nominal); ok && !due.Before(from) && !due.After(until) {
			byDue[due] = append(byDue[due], run{nominal, due})
		}
	}
	for _, same := range byDue {
		best := same[0]
		for _, other := range same[1:] {
			if other.nominal.Sub(other.due).Abs() < best.nominal.Sub(best.due).Abs() {
				best = other
			}
		}
		all = append(all, best.due.UTC().Format(time.RFC3339)+" "+best.nominal.UTC().Format(time.RFC3339))
	}
	slices.Sort(all)
	return all
}

// TestAgainstOracle compares random plans, and the quick way to the next run, with the oracle.
func TestAgainstOracle(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(47, 2026))
	compared := 0
	for n := range 600 {
		d := random(t, r)
		made := d.now.AddDate(0, 0, -210)
		plan := calendars.NewPlan(d.in, made)
		from := d.now.AddDate(0, 0, r.IntN(60))
		until := from.AddDate(0, 0, 1+r.IntN(60))
		want := oracle{d}.runs(from, until)
		var got []string
		for _, o := range plan.Occurrences(from, until) {
			if o.Ran() {
				got = append(got, o.Due.Format(time.RFC3339)+" "+o.Nominal.Format(time.RFC3339))
			}
		}
		require.Equal(t, want, got, "draw %d: %+v", n, d.in.Calendars)
		var quick []string
		for at := from.Add(-time.Second); ; {
			nominal, due, ok := plan.Due(at)
			if !ok || due.After(until) {
				break
			}
			quick = append(quick, due.Format(time.RFC3339)+" "+nominal.Format(time.RFC3339))
			at = due
		}
		require.Equal(t, want, quick, "draw %d, quickly: %+v", n, d.in.Calendars)
		compared += len(want)
	}
	assert.Greater(t, compared, 5_000)
}

// TestDueIsThatOfThePlanFromItsBeginning compares the quick way with the whole plan where the time matters at which it is
// made.
func TestDueIsThatOfThePlanFromItsBeginning(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 27))
	for n := range 100 {
		d := random(t, r)
		plan := calendars.NewPlan(d.in, d.now)
		until := d.now.AddDate(0, 0, 20)
		var want, got []string
		for _, o := range plan.Occurrences(d.now, until) {
			if o.Ran() {
				want = append(want, o.Due.Format(time.RFC3339)+" "+o.Nominal.Format(time.RFC3339))
			}
		}
		for at := d.now.Add(-time.Second); ; {
			nominal, due, ok := plan.Due(at)
			if !ok || due.After(until) {
				break
			}
			got = append(got, due.Format(time.RFC3339)+" "+nominal.Format(time.RFC3339))
			at = due
		}
		require.Equal(t, want, got, "draw %d: %+v", n, d.in.Calendars)
	}
}

// payroll is the job of the benchmarks: daily or monthly, with the holidays of a country, weekends and three exclusions.
func payroll(t testing.TB, rule recurrence.Rule, policy calendars.Policy) *calendars.Plan {
	t.Helper()
	loc := load(t, "Europe/Stockholm")
	c := calendars.Calendar{WeekendDays: []time.Weekday{time.Saturday, time.Sunday}}
	for year := 2025; year < 2035; year++ {
		for _, day := range [][2]int{{1, 1}, {1, 6}, {5, 1}, {6, 6}, {12, 24}, {12, 25}, {12, 26}, {12, 31}} {
			c.Days = append(c.Days, calendars.Day{Date: calendars.DateOf(year, time.Month(day[0]), day[1]), Name: "holiday"})
		}
	}
	table, err := calendars.NewTable(c)
	require.NoError(t, err)
	anchor := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	rule.Location = loc
	schedule, err := recurrence.New(rule, anchor)
	require.NoError(t, err)
	series, err := recurrence.NewSeries(anchor, []recurrence.Exclusion{
		{Range: recurrence.Date(2026, time.July, 15, loc)},
		{Range: recurrence.Range{From: anchor.AddDate(0, 8, 0), Until: anchor.AddDate(0, 8, 3)}},
		{Rule: &recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{13}, Location: loc}},
	}, schedule)
	require.NoError(t, err)
	return calendars.NewPlan(calendars.Input{
		Series: series, Location: loc, Calendars: []calendars.Use{{Name: "SE", OnMatch: policy, Table: table}},
	}, anchor)
}

var monthEnd = recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{-1}}

func TestDueAllocatesNothing(t *testing.T) {
	for _, policy := range []calendars.Policy{calendars.Skip, calendars.NextWorkingDay, calendars.PreviousWorkingDayInMonth} {
		plan := payroll(t, monthEnd, policy)
		after := time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC) // 31 May is a Sunday
		assert.Zero(t, testing.AllocsPerRun(100, func() { plan.Due(after) }), policy)
	}
}

func BenchmarkDue(b *testing.B) {
	daily := recurrence.Rule{Frequency: recurrence.Day}
	minutely := recurrence.Rule{Frequency: recurrence.Minute}
	for _, bm := range []struct {
		name   string
		rule   recurrence.Rule
		policy calendars.Policy
		after  time.Time
	}{
		{"daily, on a working day", daily, calendars.Skip, time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)},
		{"daily, across a weekend, skipped", daily, calendars.Skip, time.Date(2026, 5, 22, 12, 0, 0, 0, time.UTC)},
		{"daily, across Christmas, skipped", daily, calendars.Skip, time.Date(2026, 12, 23, 12, 0, 0, 0, time.UTC)},
		{"every minute, across a weekend, skipped", minutely, calendars.Skip, time.Date(2026, 5, 22, 23, 0, 0, 0, time.UTC)},
		{"daily, across a weekend, moved", daily, calendars.NextWorkingDay, time.Date(2026, 5, 22, 12, 0, 0, 0, time.UTC)},
		{"month end, moved to the day before", monthEnd, calendars.PreviousWorkingDay, time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)},
		{"month end, moved within the month", monthEnd, calendars.NextWorkingDayInMonth, time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)},
	} {
		plan := payroll(b, bm.rule, bm.policy)
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plan.Due(bm.after)
			}
		})
	}
}
