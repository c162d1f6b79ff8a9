package preview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/preview"
	"almanac/recurrence/calendars"
)

// swedish are a use of a calendar with free weekends, and the recurrence of a job of days that has it.
func swedish(t *testing.T, onMatch string, off ...string) (*job.Recurrence, []calendars.Use) {
	t.Helper()
	c := job.Calendar{WeekendDays: []string{"saturday", "sunday"}}
	for _, day := range off {
		c.Days = append(c.Days, job.NamedDay{Date: day})
	}
	r := &job.Recurrence{Frequency: "day", Interval: 1, Calendars: []job.CalendarUse{{Name: "SE", OnMatch: onMatch}}}
	uses, err := r.Uses([]job.KeptCalendar{{Calendar: c, Version: 1}})
	require.NoError(t, err)
	return r, uses
}

func days(all []time.Time) (text []string) {
	for _, at := range all {
		text = append(text, at.Format("01-02"))
	}
	return text
}

// 2 January 2026 is a Friday.
var friday = time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)

func TestAPreviewByCalendars(t *testing.T) {
	t.Parallel()
	r, uses := swedish(t, "skip", "2026-01-06")
	p := preview.Preview{Now: friday, Take: 3, Definition: job.Definition{StartTime: job.NewTime(friday), Recurrence: r}}
	got := p.RunBy(uses)
	require.Equal(t, []string{"01-02", "01-05", "01-07"}, days(got.Occurrences))
	require.Equal(t, "every day at 09:00, from 2026-01-02 09:00; not on days off in SE", got.Text)

	got = p.Run()
	require.NotNil(t, got.Error, "without the calendar there is no answer")
	require.Empty(t, got.Occurrences)

	r.Calendars = append(r.Calendars, job.CalendarUse{Name: "never", OnMatch: "only"})
	all, err := r.Uses([]job.KeptCalendar{{Calendar: job.Calendar{WeekendDays: []string{"saturday", "sunday"}}}, {Calendar: job.Calendar{WeekendDays: []string{}}}})
	require.NoError(t, err)
	got = p.RunBy(all)
	require.Empty(t, got.Occurrences)
	require.Contains(t, got.Notes[0], "its calendars leave no day")
}

func TestWhatCalendarsMoveAndSkip(t *testing.T) {
	t.Parallel()
	said := func(r job.Recurrence, take int, c ...job.Calendar) (all []string) {
		p := preview.Preview{Now: friday, Take: take, Definition: job.Definition{StartTime: job.NewTime(friday), Recurrence: &r}, Calendars: map[string]job.Calendar{}}
		for i, use := range r.Calendars {
			p.Calendars[job.NormalizeName(use.Name)] = c[i]
		}
		got := p.Run()
		require.Nil(t, got.Error)
		for _, a := range got.Adjustments {
			all = append(all, a.Nominal.Format("01-02 15:04 ")+a.String())
		}
		return append(all, got.Notes...)
	}
	weekend := job.Calendar{WeekendDays: []string{"saturday", "sunday"}, Days: []job.NamedDay{{Date: "2026-01-06", Name: "Trettondedag"}, {Date: "2026-01-07"}}}
	by := func(onMatch string) []job.CalendarUse { return []job.CalendarUse{{Name: "SE", OnMatch: onMatch}} }
	require.Equal(t, []string{"01-03 09:00 skipped because SE has Saturday", "01-04 09:00 skipped because SE has Sunday"},
		said(job.Recurrence{Frequency: "day", Interval: 1, Calendars: by("")}, 2, weekend))
	require.Equal(t, []string{"01-03 09:00 2 skipped because SE has Saturday", "01-04 09:00 2 skipped because SE has Sunday"},
		said(job.Recurrence{Frequency: "hour", Interval: 12, Calendars: by("")}, 3, weekend)[:2], "those of a day are one")
	require.Equal(t, []string{
		"01-03 09:00 skipped because SE has Saturday, and the run of Mon 2026-01-05 09:00 is due at the same time",
		"01-04 09:00 skipped because SE has Sunday, and the run of Mon 2026-01-05 09:00 is due at the same time",
		"01-07 09:00 skipped because SE has 2026-01-07, and the run of Thu 2026-01-08 09:00 is due at the same time",
		"01-06 09:00 skipped because SE has Trettondedag, and the run of Thu 2026-01-08 09:00 is due at the same time",
	}[:2], said(job.Recurrence{Frequency: "day", Interval: 1, Calendars: by("nextWorkingDay")}, 3, weekend)[:2])
	stockholm := job.Recurrence{Frequency: "month", Interval: 1, TimeZone: "Europe/Stockholm", Schedule: &job.Schedule{MonthDays: []int{28}, Months: []int{3}, Hours: []int{2}, Minutes: []int{30}}, Calendars: by("nextWorkingDay")}
	require.Equal(t, []string{"03-28 01:30 moved from Sat 2026-03-28 02:30 because SE has Saturday"},
		said(stockholm, 1, job.Calendar{WeekendDays: []string{"saturday"}}), "into the hour that the clock skips")
	never := job.Calendar{WeekendDays: []string{}, Periods: []job.NamedPeriod{{First: "2026-01-01", Last: "2199-12-31", Name: "Shut"}}}
	got := said(job.Recurrence{Frequency: "day", Interval: 1, Calendars: by("")}, 1, never)
	require.Len(t, got, 502)
	require.Contains(t, got[500], "its calendars leave no day")
	require.Contains(t, got[501], "is listed up to 2027-05-16 only")
	known := job.Calendar{WeekendDays: []string{}, CompleteUntil: "2026-01-31"}
	require.Empty(t, said(job.Recurrence{Frequency: "week", Interval: 1, Calendars: by("")}, 4, known))
	require.Contains(t, said(job.Recurrence{Frequency: "week", Interval: 1, Calendars: by("")}, 9, known)[0], "known until 2026-01-31 only")
	last := job.Recurrence{Frequency: "day", Interval: 1, EndTime: job.NewTime(friday.Add(25 * time.Hour)), Calendars: by("")}
	require.Equal(t, []string{"01-03 09:00 skipped because SE has Saturday"}, said(last, 5, weekend), "up to its end")
}

func TestAChangeToCalendarsAndOfThem(t *testing.T) {
	t.Parallel()
	r, uses := swedish(t, "nextWorkingDay")
	bare := *r
	bare.Calendars = nil
	of := func(r *job.Recurrence) job.Definition {
		return job.Definition{StartTime: job.NewTime(friday), Recurrence: r, State: job.StateEnabled}
	}
	saturday := friday.Add(27 * time.Hour)
	j := job.Job{Created: friday.Add(-time.Hour), Definition: of(&bare), Started: 2, Decided: friday.Add(24 * time.Hour)}
	after, _, err := preview.Change{Job: j, New: of(r), Now: saturday, Take: 2, Uses: uses}.After()
	require.NoError(t, err)
	require.Equal(t, []string{"01-05", "01-06"}, days(after), "Saturday's run was")
	_, _, err = preview.Change{Job: j, New: of(r), Now: saturday, Take: 2}.After()
	require.Error(t, err, "not by the bare rule")
}

func TestWhatIsHeldByCalendars(t *testing.T) {
	t.Parallel()
	r, uses := swedish(t, "skip")
	j := job.Job{Created: friday.Add(-time.Hour), Decided: friday, Definition: job.Definition{StartTime: job.NewTime(friday), Recurrence: r, State: job.StateEnabled}}
	p := job.Promise{Until: friday.Add(5*24*time.Hour + time.Hour), Recover: job.RecoverAll}
	held, err := preview.OfState(&j, uses, job.StateDisabled, &p, friday.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 3, held.Count, "Monday to Wednesday")
	_, err = preview.OfState(&j, nil, job.StateDisabled, &p, friday)
	require.Error(t, err)
}
