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
