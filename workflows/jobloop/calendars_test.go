package jobloop_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/recurrence/calendars"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// A shelf is a calendar SE with free weekends, as it is read at a time. New Year's Day of 2026 is a Thursday.
type shelf struct {
	version  int
	off      []string
	weekdays bool // it has no free weekends
	broken   error
}

// put changes the calendar, and tells the job.
func (w *jobEnv) put(s *shelf, at time.Duration, off ...string) {
	w.at(at, func() {
		s.version++
		s.off = off
		w.env.SignalWorkflow(workflows.SignalCalendar, workflows.CalendarChange{Key: key.Collection.Calendar("SE"), Generation: s.generation()})
	})
}

func (s *shelf) generation() int { return 100 + s.version }

func (s *shelf) read(_ context.Context, r *plan.Request) (*plan.Calendars, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	c := job.Calendar{WeekendDays: []string{"saturday", "sunday"}}
	if s.weekdays {
		c.WeekendDays = []string{}
	}
	for _, d := range s.off {
		c.Days = append(c.Days, job.NamedDay{Date: d, Name: "off"})
	}
	table, err := c.Table(s.version)
	policy, _ := r.Recurrence.Calendars[0].Policy()
	return &plan.Calendars{
		Uses: []calendars.Use{{Name: "SE", OnMatch: policy, Table: table}},
		Of:   []plan.CalendarVersion{{Name: "SE", Version: s.version, Generation: s.generation()}},
	}, err
}

// byCalendar returns the environment of a job with the calendar.
func byCalendar(t *testing.T, s *shelf, properties, onMatch string) *jobEnv {
	t.Helper()
	w := newJobEnv(t, properties)
	d := w.next.Definition
	d.Recurrence.Calendars = []job.CalendarUse{{Name: "SE", OnMatch: onMatch}}
	s.version++
	c, err := s.read(context.Background(), &plan.Request{Recurrence: d.Recurrence})
	require.NoError(t, err)
	in, err := state.NewBy(key, d, registration, workflows.CollectionState{}, newYear, c)
	require.NoError(t, err)
	in.Lead, in.Hold = w.next.Lead, w.next.Hold
	w.next, w.calendars = in, s.read
	return w
}

func daily() string { return `"startTime":"2026-01-01T09:00:00Z",` + every(`"frequency":"day"`) }

// onDays returns the days of January on which the job ran.
func (w *jobEnv) onDays() (days []int) {
	for _, s := range w.executions() {
		days = append(days, s.Execution.Due.Day())
	}
	return days
}

func TestAJobWithACalendarRunsByIt(t *testing.T) {
	t.Parallel()
	w := byCalendar(t, new(shelf), daily(), "skip")
	w.run(12 * dayLong)
	require.Equal(t, []int{1, 2, 5, 6, 7, 8, 9, 12}, w.onDays())
	require.Equal(t, []string{
		"Skipped 1: 2026-01-03 09:00:00 to 2026-01-03 09:00:00", "Skipped 1: 2026-01-04 09:00:00 to 2026-01-04 09:00:00",
		"Skipped 1: 2026-01-10 09:00:00 to 2026-01-10 09:00:00", "Skipped 1: 2026-01-11 09:00:00 to 2026-01-11 09:00:00",
	}, w.dropped())
	require.Equal(t, &job.CalendarDay{Name: "SE", Version: 1, Day: "Saturday"}, w.recorded.dropped[0].Calendar)
	require.True(t, newYear.Add(2*dayLong+9*time.Hour).Equal(w.recorded.droppedAt[0]), "at its nominal time, not %s", w.recorded.droppedAt[0])
	w.requireSound()
}

func TestAMovedOccurrenceKeepsItsIDWhateverItsCalendarSays(t *testing.T) {
	t.Parallel()
	weekly := `"startTime":"2026-01-03T09:00:00Z",` + every(`"frequency":"week"`)
	ids := map[string]int{}
	for _, off := range [][]string{nil, {"2026-01-05"}, {"2026-01-05", "2026-01-06"}} {
		w := byCalendar(t, &shelf{off: off}, weekly, "nextWorkingDay")
		w.run(8 * dayLong)
		require.Equal(t, []int{5 + len(off)}, w.onDays())
		e := w.executions()[0].Execution
		ids[e.ID]++
		require.Equal(t, newYear.Add(2*dayLong+9*time.Hour), e.By.Nominal)
		require.Equal(t, []job.CalendarDay{{Name: "SE", Version: 1, Day: "Saturday"}}, e.By.Calendars)
	}
	require.Len(t, ids, 1)
}

func TestAChangedCalendarMovesWhatWaits(t *testing.T) {
	t.Parallel()
	weekly := `"startTime":"2026-01-03T09:00:00Z",` + every(`"frequency":"week"`)
	for _, tt := range []struct {
		name string
		at   time.Duration
		want []int
	}{
		{"long before", 2 * dayLong, []int{7, 12}},
		{"after its nominal time", 4 * dayLong, []int{7, 12}},
		{"when it is held", 4*dayLong + 8*time.Hour + 59*time.Minute + 30*time.Second, []int{7, 12}},
		{"when it has run", 4*dayLong + 10*time.Hour, []int{5, 12}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := new(shelf)
			w := byCalendar(t, s, weekly, "nextWorkingDay")
			w.next.Hold = int((2 * time.Minute).Milliseconds())
			w.put(s, tt.at, "2026-01-05", "2026-01-06")
			w.run(13 * dayLong)
			require.Equal(t, tt.want, w.onDays())
			w.requireSound()
		})
	}
}

func TestAChangedCalendarRunsNothingTwice(t *testing.T) {
	t.Parallel()
	weekly := `"startTime":"2026-01-03T09:00:00Z",` + every(`"frequency":"week"`)
	s := new(shelf)
	w := byCalendar(t, s, weekly, "previousWorkingDay")
	w.put(s, dayLong+10*time.Hour, "2026-01-02") // it ran that day
	w.put(s, dayLong+11*time.Hour, "2026-01-02", "2026-01-09")
	w.run(13 * dayLong)
	require.Equal(t, []int{2, 8}, w.onDays())
	w.requireSound()
}

func TestWhatIsPlannedRunsWhileACalendarCannotBeRead(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := byCalendar(t, s, daily(), "skip")
	w.next.Alerts.Inherited = nil
	w.at(time.Hour, func() { s.broken = errors.New("it does not answer") })
	got := w.snapshot(20 * dayLong)
	w.at(20*dayLong+time.Hour, func() { s.broken, s.off = nil, []string{"2026-01-22"} })
	w.run(26 * dayLong)
	require.Contains(t, got.Status.Reason, "it does not answer")
	days := w.onDays()
	require.Equal(t, []int{1, 2, 5, 6, 7, 8}, days[:6], "as they were planned before")
	require.False(t, slices.ContainsFunc(days, func(d int) bool { return d%7 == 3 || d%7 == 4 || d == 22 }), "%v: nothing runs by the bare rule", days)
	require.Equal(t, []int{23, 26}, days[len(days)-2:])
	w.requireSound()
}

func TestACalendarsDaysOffOfAJobOfMinutesAreOneEntryADay(t *testing.T) {
	t.Parallel()
	w := byCalendar(t, new(shelf), `"startTime":"2026-01-02T23:55:00Z",`+every(`"frequency":"minute"`), "skip")
	w.run(4*dayLong + 5*time.Minute)
	require.Len(t, w.executions(), 5+6)
	counts := []int{}
	for _, d := range w.recorded.dropped {
		counts = append(counts, d.Count)
	}
	require.Equal(t, []int{1440, 1440}, counts)
	require.Less(t, len(w.runs), 3)
}

func TestAnOccurrenceThatIsSkippedByARequestIsKnownByItsNominalTime(t *testing.T) {
	t.Parallel()
	weekly := `"startTime":"2026-01-03T09:00:00Z",` + every(`"frequency":"week"`)
	s := new(shelf)
	w := byCalendar(t, s, weekly, "nextWorkingDay")
	a := w.update(dayLong, workflows.UpdateSkip, job.SkipRequest{Next: 1}, 0)
	w.put(s, 2*dayLong, "2026-01-05")
	w.run(13 * dayLong)
	require.Equal(t, []time.Time{newYear.Add(2*dayLong + 9*time.Hour)}, a.ok(t).Skips)
	require.Equal(t, []int{12}, w.onDays())
}

// What is not run has an entry that says what calendars made of it, whatever the reason.
func TestAMovedOccurrenceThatDoesNotRunSaysWhatMovedIt(t *testing.T) {
	t.Parallel()
	const two = `"startTime":"2026-01-03T00:00:00Z",` + once + `,"recurrence":{"frequency":"week",` +
		`"schedule":{"weekDays":["saturday"],"hours":[9],"minutes":[0]},` +
		`"also":[{"frequency":"week","schedule":{"weekDays":["monday"],"hours":[8],"minutes":[50]}}]}`
	for _, tt := range []struct {
		name, want string
		do         func(*jobEnv)
	}{
		{"skipped by a request", "Cancelled", func(w *jobEnv) {
			w.update(dayLong, workflows.UpdateSkip, job.SkipRequest{Due: newYear.Add(4*dayLong + 9*time.Hour)}, 0)
		}},
		{"skipped with a window of nominal times", "Cancelled", func(w *jobEnv) {
			w.update(dayLong, workflows.UpdateSkip, job.SkipRequest{From: newYear.Add(2 * dayLong), Until: newYear.Add(3 * dayLong)}, 0)
			w.update(4*dayLong+8*time.Hour+55*time.Minute, workflows.UpdateSkip, job.SkipRequest{From: newYear.Add(13 * dayLong), Until: newYear.Add(20 * dayLong)}, 0)
		}},
		{"while another one runs", "Skipped", func(w *jobEnv) {
			w.takes(time.Hour)
			w.next.Definition.Recurrence.OverlapPolicy = job.OverlapSkip
		}},
		{"held by a pause that runs nothing", "Skipped", func(w *jobEnv) {
			w.update(dayLong, workflows.UpdateDisable, workflows.StateRequest{Promise: job.Promise{Recover: job.RecoverLatest}})
			w.update(5*dayLong, workflows.UpdateEnable, workflows.StateRequest{Promise: job.Promise{Recover: job.RecoverNone}})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := byCalendar(t, new(shelf), two, "nextWorkingDay")
			tt.do(w)
			w.run(8 * dayLong)
			due, nominal := newYear.Add(4*dayLong+9*time.Hour), newYear.Add(2*dayLong+9*time.Hour)
			i := slices.IndexFunc(w.recorded.dropped, func(d plan.Dropped) bool { return slices.ContainsFunc(d.Newest, due.Equal) })
			require.GreaterOrEqual(t, i, 0, w.dropped())
			require.Equal(t, tt.want, string(w.recorded.dropped[i].Outcome))
			require.Equal(t, &job.ByCalendars{
				Nominal: nominal, Calendars: []job.CalendarDay{{Name: "SE", Version: 1, Day: "Saturday"}},
			}, w.recorded.dropped[i].Note(due).ByCalendars())
			require.NotContains(t, w.startedAt(), due)
			w.requireSound()
		})
	}
}

func (w *jobEnv) startedAt() (all []time.Time) {
	for _, s := range w.executions() {
		all = append(all, s.Execution.Due)
	}
	return all
}

// A window skips by nominal times: what is moved into it runs, and what is moved out of it does not.
func TestAWindowSkipsByNominalTimes(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := byCalendar(t, s, daily(), "nextWorkingDay")
	in := w.update(dayLong, workflows.UpdateSkip, job.SkipRequest{From: newYear.Add(4 * dayLong), Until: newYear.Add(5 * dayLong)}, 0)
	none := w.update(dayLong+time.Hour, workflows.UpdateSkip, job.SkipRequest{From: newYear.Add(3*dayLong + 12*time.Hour), Until: newYear.Add(4 * dayLong)}, 0)
	w.run(7 * dayLong)
	require.Len(t, in.ok(t).SkipWindows, 1)
	requireType(t, none.err, workflows.ErrTypeConflict)
	require.Equal(t, []int{1, 2, 6, 7}, w.onDays(), "Saturday's and Sunday's collide with Monday's on Monday")
}
