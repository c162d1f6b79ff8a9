package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/recurrence/calendars"
	"almanac/workflows/plan"
)

// by returns what is read of a calendar with free weekends and these days off.
func by(t *testing.T, onMatch calendars.Policy, version int, off ...string) plan.Calendars {
	t.Helper()
	c := job.Calendar{WeekendDays: []string{"saturday", "sunday"}, CompleteUntil: "2026-12-31"}
	for _, day := range off {
		c.Days = append(c.Days, job.NamedDay{Date: day, Name: "off"})
	}
	table, err := c.Table(version)
	require.NoError(t, err)
	return plan.Calendars{
		Uses: []calendars.Use{{Name: "SE", OnMatch: onMatch, Table: table}},
		Of:   []plan.CalendarVersion{{Name: "SE", Version: version, Generation: 1700 + version}},
		Made: day(1, 0),
	}
}

// day returns a time in January 2026.
func day(d, hour int) time.Time { return time.Date(2026, 1, d, hour, 0, 0, 0, time.UTC) }

func asked(frequency string, from time.Time) *plan.Request {
	return &plan.Request{
		Created: day(1, 0), StartTime: job.NewTime(day(1, 9)), Recurrence: &job.Recurrence{Frequency: frequency, Interval: 1},
		Step: plan.StepAfter, From: from,
	}
}

func TestAPlanByCalendarsSaysWhatMovesAndWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	// 2 January 2026 is a Friday
	p, err := asked("day", day(2, 9)).AnswerBy(by(t, calendars.Skip, 3, "2026-01-06"))
	require.NoError(t, err)
	require.Equal(t, []time.Time{day(5, 9), day(7, 9), day(8, 9), day(9, 9), day(12, 9)}, p.Due)
	require.Equal(t, []plan.CalendarVersion{{Name: "SE", Version: 3, Generation: 1703}}, p.Calendars)
	require.Empty(t, p.Notes, "those that run do so at their nominal times")
	off := []plan.Dropped{}
	for _, o := range p.Off {
		o.First, o.Last = time.Time{}, time.Time{}
		off = append(off, o)
	}
	skipped := func(what string, on time.Time) plan.Dropped {
		return plan.Dropped{
			Outcome: job.OutcomeSkipped, Why: "the calendar SE (version 3) has " + what, Count: 1, Newest: []time.Time{on},
			Calendar: &job.CalendarDay{Name: "SE", Version: 3, Day: what},
		}
	}
	require.Equal(t, []plan.Dropped{skipped("Saturday", day(3, 9)), skipped("Sunday", day(4, 9)), skipped("off", day(6, 9)),
		skipped("Saturday", day(10, 9)), skipped("Sunday", day(11, 9))}, off)

	p, err = asked("week", day(1, 9)).AnswerBy(by(t, calendars.NextWorkingDay, 3, "2026-01-08"))
	require.NoError(t, err)
	require.Equal(t, []time.Time{day(9, 9), day(15, 9)}, p.Due)
	require.Equal(t, []plan.Note{{Due: day(9, 9), Nominal: day(8, 9), Calendar: &job.CalendarDay{Name: "SE", Version: 3, Day: "off"}}}, p.Notes)
	require.Equal(t, day(8, 9), p.Nominal(day(9, 9)))
	require.Equal(t, day(15, 9), p.Nominal(day(15, 9)))
}

func TestAJobOfMinutesIsPlannedADayAhead(t *testing.T) {
	t.Parallel()
	p, err := asked("minute", day(5, 9)).AnswerBy(by(t, calendars.Skip, 1))
	require.NoError(t, err)
	require.False(t, p.Due[len(p.Due)-1].Before(day(6, 9)), p.Due[len(p.Due)-1])
	require.LessOrEqual(t, len(p.Due), 1500)
	p, err = asked("minute", day(9, 23)).AnswerBy(by(t, calendars.Skip, 1))
	require.NoError(t, err)
	require.Less(t, len(p.Off), 4, "a weekend of minutes is an entry for each day")
	p, err = asked("minute", day(5, 9)).AnswerBy(by(t, calendars.Only, 1, "2026-12-24"))
	require.NoError(t, err)
	require.NotEmpty(t, p.Due)
	require.True(t, p.Covered.Before(p.Due[0]), "so many are not looked at together")
}

func TestWhatCalendarsDropHasItsOwnTimesHoweverManyTheyAre(t *testing.T) {
	t.Parallel()
	r := asked("day", day(1, 18))
	r.Recurrence.Schedule = &job.Schedule{Hours: []int{9, 17}, Minutes: []int{0, 1, 2, 3, 4, 5, 10, 20, 21, 22, 23, 24, 25, 26, 27,
		28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}}
	p, err := r.AnswerBy(by(t, calendars.Skip, 1, "2026-01-02"))
	require.NoError(t, err)
	nominal := map[time.Time]bool{}
	for _, hour := range r.Recurrence.Schedule.Hours {
		for _, minute := range r.Recurrence.Schedule.Minutes {
			nominal[day(2, hour).Add(time.Duration(minute)*time.Minute)] = true
		}
	}
	for i := range p.Off {
		for at := range p.Off[i].All() {
			require.True(t, nominal[at] || at.Day() != 2, at)
			delete(nominal, at)
		}
	}
	require.Empty(t, nominal)

	p, err = asked("minute", day(10, 0).Add(-time.Minute)).AnswerBy(by(t, calendars.Skip, 1))
	require.NoError(t, err)
	require.NotEmpty(t, p.Off)
	require.Greater(t, p.Off[0].Count, 1000, "those that are evenly apart have an entry together")
}

func TestAPlanThatFollowsAChangedCalendarNeedsNotTheOldOne(t *testing.T) {
	t.Parallel()
	old := by(t, calendars.NextWorkingDay, 1, "2026-01-08")
	before, err := asked("week", day(1, 9)).AnswerBy(old)
	require.NoError(t, err)
	noon := day(8, 12) // the run of that Thursday has moved to Friday
	changed := by(t, calendars.NextWorkingDay, 2)
	changed.Made, changed.Memory = noon, before.MemoryAt(noon, nil)
	p, err := asked("week", noon).AnswerBy(changed)
	require.NoError(t, err)
	require.Equal(t, []time.Time{day(9, 9), day(15, 9)}, p.Due, "it is not past, and is not lost")

	after := day(9, 12)
	changed.Made, changed.Memory = after, before.MemoryAt(after, nil)
	p, err = asked("week", after).AnswerBy(changed)
	require.NoError(t, err)
	require.Equal(t, []time.Time{day(15, 9), day(22, 9)}, p.Due, "it has run, and is not made again")

	early := by(t, calendars.PreviousWorkingDay, 1, "2026-01-15")
	before, err = asked("week", day(9, 9)).AnswerBy(early)
	require.NoError(t, err)
	require.Equal(t, []time.Time{day(14, 9), day(22, 9)}, before.Due)
	ran := []calendars.Identity{before.Identity(day(14, 9))}
	changed = by(t, calendars.PreviousWorkingDay, 2)
	changed.Made, changed.Memory = day(14, 12), before.MemoryAt(day(14, 12), ran)
	p, err = asked("week", day(14, 12)).AnswerBy(changed)
	require.NoError(t, err)
	require.Equal(t, []time.Time{day(22, 9), day(29, 9)}, p.Due, "Thursday's ran on Wednesday")
}

// largestByCalendars is the bound of docs/bounds.md of what a plan by calendars takes of the state of a job.
const largestByCalendars = 256 << 10

func TestAPlanByCalendarsIsBounded(t *testing.T) {
	t.Parallel()
	c := plan.Calendars{Made: day(1, 0)}
	for i := range 8 {
		off := job.Calendar{WeekendDays: []string{"saturday", "sunday"}, CompleteUntil: "2025-12-31"}
		for d := range 700 {
			date := day(2+2*d, 0).Format(time.DateOnly)
			off.Days = append(off.Days, job.NamedDay{Date: date, Name: strings.Repeat("<", 100)})
		}
		table, err := off.Table(1)
		require.NoError(t, err)
		name := fmt.Sprint(i) + strings.Repeat("ö", 79)
		c.Uses = append(c.Uses, calendars.Use{Name: name, OnMatch: calendars.NextWorkingDay, Table: table})
		c.Of = append(c.Of, plan.CalendarVersion{Name: name, Version: 1, Generation: 1700})
	}
	minutes := make([]int, 60)
	hours := make([]int, 24)
	for i := range minutes {
		minutes[i] = i
	}
	for i := range hours {
		hours[i] = i
	}
	for _, tt := range []struct {
		name, frequency string
		schedule        *job.Schedule
		onMatch         calendars.Policy
	}{
		{"each minute", "minute", nil, calendars.Skip},
		{"each hour", "hour", nil, calendars.Only},
		{"each day at 1,440 times, moved", "day", &job.Schedule{Hours: hours, Minutes: minutes}, calendars.NextWorkingDay},
		{"each Saturday at 1,440 times, moved", "week", &job.Schedule{Hours: hours, Minutes: minutes, WeekDays: []string{"saturday"}}, calendars.NextWorkingDay},
		{"each day", "day", nil, calendars.Skip},
		{"each week", "week", nil, calendars.Only},
	} {
		for i := range c.Uses {
			c.Uses[i].OnMatch = tt.onMatch
		}
		r := asked(tt.frequency, day(2, 12))
		r.Recurrence.Schedule = tt.schedule
		p, err := r.AnswerBy(c)
		require.NoError(t, err, tt.name)
		require.True(t, p.Done || len(p.Due) > 1, "%s: at least two are planned", tt.name)
		p.Memory = p.MemoryAt(p.Due[0].Add(-time.Second), p.EarlyAt(p.Due[0]))
		text, err := json.Marshal(p)
		require.NoError(t, err)
		t.Logf("%s: %d bytes, %d planned, %d notes, %d entries, %d late", tt.name, len(text), len(p.Due), len(p.Notes), len(p.Off), len(p.Late))
		require.Less(t, len(text), largestByCalendars, tt.name)
	}
}
