package recurrence_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/recurrence"
)

// series returns a series of rules, all with one anchor.
func series(t testing.TB, anchor time.Time, exclusions []recurrence.Exclusion, rules ...recurrence.Rule) *recurrence.Series {
	t.Helper()
	var schedules []*recurrence.Schedule
	for _, rule := range rules {
		s, err := recurrence.New(rule, anchor)
		require.NoError(t, err)
		schedules = append(schedules, s)
	}
	s, err := recurrence.NewSeries(anchor, exclusions, schedules...)
	require.NoError(t, err)
	return s
}

func TestSeries(t *testing.T) {
	t.Parallel()
	anchor := at("2026-01-01T09:00:00Z")
	daily := recurrence.Rule{Frequency: recurrence.Day}
	weekends := recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Saturday, time.Sunday}}
	noon := recurrence.Rule{Frequency: recurrence.Day, Hours: []int{12}, Minutes: []int{0}}
	s := series(t, anchor, []recurrence.Exclusion{
		{Rule: &weekends},
		{Range: recurrence.Date(2026, time.January, 2, nil)},
		{Rule: &recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Monday}, Hours: []int{12}, Minutes: []int{0}}},
	}, daily, noon, daily)
	var got []string
	for t := range s.Between(anchor, at("2026-01-07T00:00:00Z")) {
		got = append(got, t.Format("02T15"))
	}
	assert.Equal(t, []string{"01T09", "01T12", "05T09", "06T09", "06T12"}, got)
	prev, ok := s.Prev(at("2026-01-05T09:00:00Z"))
	assert.True(t, ok)
	assert.Equal(t, at("2026-01-01T12:00:00Z"), prev)
	for text, want := range map[string]int{"2026-01-03T09:00:00Z": 0, "2026-01-02T12:00:00Z": 1, "2026-01-05T12:00:00Z": 2} {
		i, ok := s.Removed(at(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, i, text)
	}
	for _, text := range []string{"2026-01-03T05:00:00Z", "2026-01-05T09:00:00Z"} {
		_, ok := s.Removed(at(text))
		assert.False(t, ok, text)
	}
	assert.Equal(t, 3*time.Hour, s.Spacing())
}

func TestSeriesThatExclusionsEmptyEnds(t *testing.T) {
	t.Parallel()
	anchor := at("2026-01-01T09:00:00Z")
	for name, one := range map[string][2]recurrence.Rule{
		"dates":    {{Frequency: recurrence.Minute}, {Frequency: recurrence.Day}},
		"instants": {{Frequency: recurrence.Day, Hours: []int{9}, Minutes: minutesOf60()}, {Frequency: recurrence.Day, Hours: []int{9}, Minutes: minutesOf60()}},
	} {
		s := series(t, anchor, []recurrence.Exclusion{{Rule: &one[1]}}, one[0])
		_, ok := s.Next(anchor)
		assert.False(t, ok, name)
		_, ok = s.Prev(at("2226-01-01T00:00:00Z"))
		assert.False(t, ok, name)
	}
}

func minutesOf60() (all []int) {
	for m := range 60 {
		all = append(all, m)
	}
	return all
}

func TestSeriesRefuses(t *testing.T) {
	t.Parallel()
	anchor := at("2026-01-01T09:00:00Z")
	_, err := recurrence.NewSeries(anchor, []recurrence.Exclusion{
		{Range: recurrence.Range{From: anchor, Until: anchor.Add(-1)}},
		{Rule: &recurrence.Rule{Frequency: recurrence.Hour}},
		{Rule: &recurrence.Rule{Frequency: recurrence.Month, Hours: []int{24}}},
		{Rule: &recurrence.Rule{Frequency: recurrence.Month, MonthDays: []int{31}, Months: []int{2}}},
	})
	require.Error(t, err)
	for _, field := range []string{"Exclusions[0] is", "Exclusions[1].Frequency is hour", "Exclusions[2].Hours[0] is 24", "Exclusions[3]: the rule never fires"} {
		assert.Contains(t, err.Error(), field)
	}
	assert.Len(t, strings.Split(err.Error(), "\n"), 4)
}

// TestSeriesAgainstItsParts compares random series with what their schedules and exclusions say one by one.
func TestSeriesAgainstItsParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(47, 47))
	for range 400 {
		first := randomSample(t, r)
		rule, anchor := first.rule(t)
		loc := rule.Location
		rules := []recurrence.Rule{rule}
		for range r.IntN(3) {
			next, _ := randomSample(t, r).rule(t)
			next.Location = loc
			rules = append(rules, next)
		}
		var parts []*recurrence.Schedule
		for _, rule := range rules {
			if s, err := recurrence.New(rule, anchor); err == nil {
				parts = append(parts, s)
			}
		}
		var exclusions []recurrence.Exclusion
		var removes []*recurrence.Schedule
		for range r.IntN(4) {
			e, _ := randomSample(t, r).rule(t)
			e.Location, e.Frequency = loc, max(e.Frequency, recurrence.Day)
			if s, err := recurrence.New(e, anchor); err == nil {
				exclusions, removes = append(exclusions, recurrence.Exclusion{Rule: &e}), append(removes, s)
			}
		}
		s, err := recurrence.NewSeries(anchor, exclusions, parts...)
		require.NoError(t, err)

		from := max(anchor.Unix(), first.unix(first.now)) - 3600
		until := from + 3*86400
		var want []int64
		for _, part := range parts {
			want = append(want, between(part, from, until)...)
		}
		slices.Sort(want)
		want = slices.DeleteFunc(slices.Compact(want), func(t int64) bool {
			return slices.ContainsFunc(removes, func(e *recurrence.Schedule) bool { return removesPlainly(e, t) })
		})
		var got []int64
		for next := range s.Between(time.Unix(from, 0), time.Unix(until+1, 0)) {
			got = append(got, next.Unix())
		}
		require.Equal(t, times(want...), times(got...), "%v", rules)
		for i := 1; i < min(len(got), 5); i++ {
			prev, _ := s.Prev(time.Unix(got[i], 0))
			require.Equal(t, got[i-1], prev.Unix())
		}
	}
}

// removesPlainly reports whether a rule removes an instant: it fires then, or, without hours and minutes, on its date.
func removesPlainly(e *recurrence.Schedule, t int64) bool {
	rule := e.Rule()
	if len(rule.Hours)+len(rule.Minutes) > 0 {
		next, ok := e.Next(time.Unix(t-1, 0))
		return ok && next.Unix() == t
	}
	o := newOracle(&rule, e.Anchor())
	return o.on(date(o.read(t)))
}

func TestSeriesAllocatesNothing(t *testing.T) {
	anchor := at("2026-01-01T09:00:00Z")
	stockholm := load(t, "Europe/Stockholm")
	weekends := recurrence.Rule{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Saturday, time.Sunday}, Location: stockholm}
	s := series(t, anchor, []recurrence.Exclusion{{Rule: &weekends}}, recurrence.Rule{Frequency: recurrence.Day, Location: stockholm})
	assert.Zero(t, testing.AllocsPerRun(100, func() { s.Next(anchor) }))
}

// Many exclusions that remove instants do not make a search endless, nor end one that finds something soon.
func TestManyExclusionsOfInstantsAreBounded(t *testing.T) {
	t.Parallel()
	anchor := at("2026-01-01T00:00:00Z")
	var none, all []recurrence.Exclusion
	hour := func(h int) recurrence.Exclusion {
		rule := recurrence.Rule{Frequency: recurrence.Day, Hours: []int{h}}
		for m := range 60 {
			rule.Minutes = append(rule.Minutes, m)
		}
		return recurrence.Exclusion{Rule: &rule}
	}
	for range 76 {
		none = append(none, recurrence.Exclusion{Rule: &recurrence.Rule{Frequency: recurrence.Day, Hours: []int{0}, Minutes: []int{0}}})
	}
	for h := range 24 {
		all = append(all, hour(h))
	}
	minutely := recurrence.Rule{Frequency: recurrence.Minute}
	s := series(t, anchor, slices.Concat(none, all), minutely)
	_, ok := s.Next(anchor)
	assert.False(t, ok)
	_, ok = s.Prev(at("2126-01-01T00:00:00Z"))
	assert.False(t, ok)
	s = series(t, anchor, slices.Concat(none, all[:23]), minutely)
	next, ok := s.Next(anchor)
	assert.True(t, ok)
	assert.Equal(t, at("2026-01-01T23:00:00Z"), next)
}

// Two rules that meet in one month of the year alone, half a year from the anchor.
func TestTheSpacingOfRulesThatMeetLate(t *testing.T) {
	t.Parallel()
	days := func(r recurrence.Rule) recurrence.Rule {
		for d := 1; d <= 31; d++ {
			r.MonthDays = append(r.MonthDays, d)
		}
		return r
	}
	hourly := recurrence.Rule{Frequency: recurrence.Hour, Minutes: []int{0}}
	july := days(recurrence.Rule{Frequency: recurrence.Month, Months: []int{7}, Minutes: []int{30}})
	assert.Equal(t, 30*time.Minute, series(t, at("2026-01-01T00:00:00Z"), nil, hourly, july).Spacing())
}
