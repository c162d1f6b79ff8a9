package jobloop_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// uses replaces the definition by one with the calendar SE; onMatch "" leaves it without.
func (w *jobEnv) uses(after time.Duration, properties, onMatch string) *answer {
	d := definition(w.t, properties)
	if onMatch != "" {
		d.Recurrence.Calendars = []job.CalendarUse{{Name: "SE", OnMatch: onMatch}}
	}
	return w.update(after, workflows.UpdateReplace, workflows.ReplaceRequest{Definition: d, Text: d.Text()})
}

// saturdays are the properties of a job of Saturdays; the first of 2026 is 3 January.
const saturdays = `"startTime":"2026-01-03T09:00:00Z",` + once + `,"recurrence":{"frequency":"week"}`

const andWednesdays = `"startTime":"2026-01-03T09:00:00Z",` + once +
	`,"recurrence":{"frequency":"week","schedule":{"weekDays":["wednesday","saturday"],"hours":[9],"minutes":[0]}}`

// A change of the calendars of a job, or of what becomes of days off, runs no nominal time twice and loses none that is
// to come.
func TestANominalTimeIsDecidedOnceWhateverCalendarsTheJobGets(t *testing.T) {
	t.Parallel()
	const friday, sunday, monday = dayLong + 10*time.Hour, 3*dayLong + 10*time.Hour, 4*dayLong + 10*time.Hour
	disabled := func(t *testing.T) string {
		t.Helper()
		return `"state":"disabled",` + saturdays
	}
	for _, tt := range []struct {
		name, onMatch string
		do            func(*testing.T, *jobEnv, *shelf)
		want          []int
	}{
		{"removed after a run on an earlier day", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday, saturdays, "")
		}, []int{2, 10, 17}},
		{"removed long after it", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday+20*time.Hour, saturdays, "")
		}, []int{2, 10, 17}},
		{"removed, and the bare rule is another one", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday, `"startTime":"2026-01-03T09:00:00Z",`+once+`,"recurrence":{"frequency":"day","interval":2}`, "")
		}, []int{2, 5, 7, 9, 11, 13, 15, 17}},
		{"removed, added and removed again", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday, saturdays, "")
			w.uses(friday+time.Hour, saturdays, "nextWorkingDay")
			w.uses(friday+2*time.Hour, saturdays, "")
		}, []int{2, 10, 17}},
		{"to a later day after a run on an earlier one", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday, saturdays, "nextWorkingDay")
		}, []int{2, 12}},
		{"the same after the nominal time", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(sunday, saturdays, "nextWorkingDay")
		}, []int{2, 12}},
		{"to skip after a run on an earlier day", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday, saturdays, "skip")
		}, []int{2}},
		{"to an earlier day while the later one is to come", "nextWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(sunday, saturdays, "previousWorkingDay")
		}, []int{5, 9, 16}},
		{"to a later day when it was skipped", "nextWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(time.Hour, andWednesdays, "skip")
			w.uses(sunday, andWednesdays, "nextWorkingDay")
		}, []int{7, 12, 14}},
		{"the day of a run that was moved is off, and the schedule changes", "nextWorkingDay", func(_ *testing.T, w *jobEnv, s *shelf) {
			w.put(s, monday, "2026-01-05")
			w.uses(monday+time.Hour, `"startTime":"2026-01-03T09:00:00Z",`+once+`,"recurrence":{"frequency":"week","endTime":"2026-06-01T00:00:00Z"}`, "nextWorkingDay")
		}, []int{5, 12}},
		{"the day of a run that was moved is off, and the job is disabled and enabled", "nextWorkingDay", func(t *testing.T, w *jobEnv, s *shelf) {
			t.Helper()
			w.put(s, monday, "2026-01-05")
			w.uses(monday+time.Hour, disabled(t), "nextWorkingDay")
			w.uses(monday+2*time.Hour, saturdays, "nextWorkingDay")
		}, []int{5, 12}},
		{"disabled and enabled while a later day is to come", "nextWorkingDay", func(t *testing.T, w *jobEnv, _ *shelf) {
			t.Helper()
			w.uses(friday, disabled(t), "nextWorkingDay")
			w.uses(sunday, saturdays, "nextWorkingDay")
		}, []int{5, 12}},
		{"added after a run at the nominal time", "", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(sunday, saturdays, "nextWorkingDay")
		}, []int{3, 12}},
		{"added before it", "", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(friday, saturdays, "nextWorkingDay")
		}, []int{5, 12}},
		{"added while the calendar cannot be read", "", func(_ *testing.T, w *jobEnv, s *shelf) {
			s.broken = errors.New("it does not answer")
			w.uses(sunday, saturdays, "nextWorkingDay")
			w.at(sunday+time.Hour, func() { s.broken = nil })
			w.put(s, sunday+2*time.Hour)
		}, []int{3, 12}},
		{"added while the job is disabled", "", func(t *testing.T, w *jobEnv, _ *shelf) {
			t.Helper()
			w.replace(sunday, disabled(t))
			w.uses(sunday+time.Hour, disabled(t), "nextWorkingDay")
			w.uses(sunday+2*time.Hour, saturdays, "nextWorkingDay")
		}, []int{3, 12}},
		{"removed while the job is disabled", "previousWorkingDay", func(t *testing.T, w *jobEnv, _ *shelf) {
			t.Helper()
			w.uses(friday, disabled(t), "previousWorkingDay")
			w.uses(friday+time.Hour, disabled(t), "")
			w.uses(friday+2*time.Hour, saturdays, "")
		}, []int{2, 10, 17}},
		{"removed while the run is held by a pause", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.update(time.Hour, workflows.UpdateDisable, workflows.StateRequest{Promise: job.Promise{Recover: job.RecoverAll}})
			w.uses(friday, `"state":"disabled",`+saturdays, "")
			w.update(friday+time.Hour, workflows.UpdateEnable, workflows.StateRequest{})
		}, []int{10, 17}},
		{"to a later day during a pause that holds nothing of it", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.update(friday, workflows.UpdateDisable, workflows.StateRequest{Promise: job.Promise{Recover: job.RecoverAll}})
			w.uses(friday+time.Hour, `"state":"disabled",`+saturdays, "nextWorkingDay")
			w.update(5*dayLong, workflows.UpdateEnable, workflows.StateRequest{Promise: job.Promise{Recover: job.RecoverAll}})
		}, []int{2, 12}},
		{"removed after it was skipped on request", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.update(time.Hour, workflows.UpdateSkip, job.SkipRequest{Next: 1}, 0)
			w.uses(friday, saturdays, "")
		}, []int{10, 17}},
		{"the calendar changes twice after it was skipped on request", "previousWorkingDay", func(_ *testing.T, w *jobEnv, s *shelf) {
			w.update(time.Hour, workflows.UpdateSkip, job.SkipRequest{Next: 1}, 0)
			w.put(s, friday, "2026-01-08")
			w.put(s, friday+time.Hour, "2026-01-09")
			w.uses(friday+2*time.Hour, saturdays, "")
		}, []int{10, 17}},
		{"removed after the job is over", "previousWorkingDay", func(_ *testing.T, w *jobEnv, _ *shelf) {
			w.uses(time.Hour, `"startTime":"2026-01-03T09:00:00Z",`+once+`,"recurrence":{"frequency":"week","endTime":"2026-01-04T00:00:00Z"}`, "previousWorkingDay")
			w.uses(friday, saturdays, "")
		}, []int{2, 10, 17}},
		{"the calendar has no days off any more", "previousWorkingDay", func(_ *testing.T, w *jobEnv, s *shelf) {
			w.at(friday, func() { s.weekdays = true })
			w.put(s, friday+time.Minute)
		}, []int{2, 10, 17}},
	} {
		for _, suggest := range []time.Duration{0, 30 * time.Minute} {
			name := tt.name
			if suggest > 0 {
				name += ", in many runs"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := new(shelf)
				w := newJobEnv(t, saturdays)
				w.calendars = s.read
				if tt.onMatch != "" {
					w = byCalendar(t, s, saturdays, tt.onMatch)
				}
				w.suggest = suggest
				tt.do(t, w, s)
				w.run(18 * dayLong)
				require.Equal(t, tt.want, w.onDays())
				ids := map[string]bool{}
				for _, e := range w.executions() {
					require.False(t, ids[e.Execution.ID], "the execution of %s has the id of another one", e.Execution.Due)
					ids[e.Execution.ID] = true
				}
				w.requireSound()
			})
		}
	}
}

// An occurrence that another one overlaps is decided, too.
func TestAMovedOccurrenceThatWasSkippedForOverlapIsDecided(t *testing.T) {
	t.Parallel()
	const two = `"startTime":"2026-01-02T00:00:00Z",` + once + `,"recurrence":{"frequency":"week",` +
		`"schedule":{"weekDays":["saturday"],"hours":[9],"minutes":[0]},` +
		`"overlapPolicy":"skip","also":[{"frequency":"week","schedule":{"weekDays":["friday"],"hours":[8],"minutes":[50]}}]}`
	w := byCalendar(t, new(shelf), two, "previousWorkingDay")
	w.takes(time.Hour)
	w.uses(dayLong+10*time.Hour, two, "")
	w.run(9 * dayLong)
	require.Equal(t, []int{2, 9}, w.onDays())
	require.Equal(t, []string{"Skipped 1: 2026-01-02 09:00:00 to 2026-01-02 09:00:00"}, w.dropped()[:1])
}

// What calendars have moved to a later day is past by the bare rule: it has an entry.
func TestWhatWaitsForALaterDayHasAnEntryWhenCalendarsAreRemoved(t *testing.T) {
	t.Parallel()
	w := byCalendar(t, new(shelf), saturdays, "nextWorkingDay")
	w.uses(3*dayLong, saturdays, "")
	w.run(12 * dayLong)
	require.Equal(t, []int{10}, w.onDays())
	require.Equal(t, []string{"Cancelled 1: 2026-01-03 09:00:00 to 2026-01-03 09:00:00"}, w.dropped())
	w.requireSound()
}

// A run on an earlier day that is held when the calendar changes has not been decided, and is not lost.
func TestAHeldRunOfALaterNominalTimeIsNotLostWhenItReturnsToThePlan(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := byCalendar(t, s, saturdays, "previousWorkingDay")
	w.next.Hold = int((2 * time.Minute).Milliseconds())
	w.put(s, dayLong+8*time.Hour+59*time.Minute, "2026-01-08")
	w.run(9 * dayLong)
	require.Equal(t, []int{2, 9}, w.onDays())
	w.requireSound()
}

// A schedule of working days begins with what is nominally to come.
func TestAJobThatGetsWorkingDaysRunsNoneThatIsPast(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := newJobEnv(t, saturdays)
	w.calendars = s.read
	w.uses(20*dayLong, `"startTime":"2026-01-03T09:00:00Z",`+once+
		`,"recurrence":{"frequency":"month","calendars":[{"name":"SE"}],"schedule":{"workingDays":[1,-1],"hours":[9],"minutes":[0]}}`, "")
	w.run(30 * dayLong)
	days := w.onDays()
	require.Equal(t, []int{3, 10, 17, 30}, slices.Compact(days))
}
