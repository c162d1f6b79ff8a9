package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/workflows"
)

// backfilled returns the due times that backfills sent, in order.
func (w *jobEnv) backfilled() (dues []string) {
	for _, s := range w.sent {
		if s.Execution.Backfill != "" {
			dues = append(dues, clock(s.Execution.Due))
		}
	}
	return dues
}

// regular returns the due times that were sent without a backfill.
func (w *jobEnv) regular() (dues []string) {
	for _, s := range w.sent {
		if s.Execution.Backfill == "" {
			dues = append(dues, clock(s.Execution.Due))
		}
	}
	return dues
}

func backfillOf(from, until int, atOnce int, every time.Duration) job.BackfillRequest {
	return job.BackfillRequest{Name: "again", From: at(from), Until: at(until), AtOnce: atOnce, Every: every}
}

func TestABackfillRunsWhatWasDueAtItsPaceBesideTheSchedule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		atOnce int
		every  time.Duration
		least  time.Duration // that it takes
		most   time.Duration
	}{
		"one after another": {0, 0, 8 * 20 * time.Second, 8*20*time.Second + time.Second},
		"three at once":     {3, 0, 3 * 20 * time.Second, 3*20*time.Second + time.Second},
		"one a minute":      {2, time.Minute, 7*time.Minute + 20*time.Second, 7*time.Minute + 21*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely+`,"count":20`))
			w.took = func(int) time.Duration { return 20 * time.Second }
			w.update(9*time.Minute+30*time.Second, workflows.UpdateBackfill, backfillOf(1, 9, c.atOnce, c.every))
			end := w.snapshot(25 * time.Minute)
			w.run(30 * time.Minute)
			require.Equal(t, minutes(1, 8), w.backfilled())
			require.Equal(t, minutes(0, 19), w.regular(), "no occurrence is left out or counted for it")
			for _, s := range w.sent {
				if s.Execution.Backfill == "" {
					require.Equal(t, s.Execution.Due.UTC(), s.at.UTC(), "no occurrence waits for it")
				}
			}
			require.Len(t, end.Backfills, 1)
			b := end.Backfills[0]
			require.Equal(t, []any{job.BackfillDone, 8, 8, 8, 0}, []any{b.State, b.Total, b.Begun, b.Succeeded, b.Failed})
			took := b.EndedAt.Sub(b.At)
			require.GreaterOrEqual(t, took, c.least)
			require.LessOrEqual(t, took, c.most)
			require.Equal(t, 28, end.Status.ExecutionCount)
			w.requireSound()
		})
	}
}

func TestABackfillHasIdsOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely+`,"count":3`))
	again := backfillOf(0, 3, 5, 0)
	w.update(5*time.Minute, workflows.UpdateBackfill, again)
	again.Name = "once-more"
	w.update(6*time.Minute, workflows.UpdateBackfill, again)
	w.run(time.Hour)
	ids := map[string]bool{}
	for _, s := range w.sent {
		ids[s.Execution.ID] = true
	}
	require.Len(t, w.sent, 9)
	require.Len(t, ids, 9)
	require.Equal(t, append(minutes(0, 2), minutes(0, 2)...), w.backfilled(), "also of a job that is completed")
}

func TestABackfillIsPausedResumedAndEnded(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.suggest = 4 * time.Minute
	w.update(10*time.Minute+time.Second, workflows.UpdateBackfill, backfillOf(0, 10, 1, 20*time.Second)) // two before it is paused
	change := func(after time.Duration, action job.BackfillAction) *answer {
		return w.update(after, workflows.UpdateChangeBackfill, workflows.BackfillChange{Name: "again", Action: action})
	}
	change(10*time.Minute+30*time.Second, job.BackfillPause).w.t = t
	paused := w.snapshot(20 * time.Minute)
	change(20*time.Minute+time.Second, job.BackfillResume)
	change(20*time.Minute+30*time.Second, job.BackfillEnd)
	over := change(21*time.Minute, job.BackfillResume)
	end := w.snapshot(22 * time.Minute)
	w.run(23 * time.Minute)
	require.Equal(t, []any{job.BackfillPaused, 2}, []any{paused.Backfills[0].State, paused.Backfills[0].Succeeded})
	require.Equal(t, job.BackfillEnded, end.Backfills[0].State)
	require.Equal(t, minutes(0, 3), w.backfilled())
	requireType(t, over.err, workflows.ErrTypeConflict)
	w.requireSound()
}

func TestABackfillWaitsWhileTheJobIsDisabledAndEndsWithItsSchedule(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.update(10*time.Minute+time.Second, workflows.UpdateBackfill, backfillOf(0, 10, 1, time.Minute))
	w.update(12*time.Minute+30*time.Second, workflows.UpdateDisable)
	w.update(20*time.Minute+30*time.Second, workflows.UpdateEnable)
	w.replace(22*time.Minute+10*time.Second, every(`"frequency":"minute","interval":7`))
	end := w.snapshot(24 * time.Minute)
	w.run(25 * time.Minute)
	for _, s := range w.sent {
		require.False(t, s.at.After(at(12).Add(30*time.Second)) && s.at.Before(at(20)), "nothing is sent while the job is disabled")
	}
	require.Equal(t, []any{job.BackfillEnded, "The schedule was changed."}, []any{end.Backfills[0].State, end.Backfills[0].Why})
	require.Equal(t, minutes(0, end.Backfills[0].Begun-1), w.backfilled())
	w.requireSound()
}

func TestABackfillIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*job.BackfillRequest)
		why    string
	}{
		"without an occurrence": {func(r *job.BackfillRequest) { r.From, r.Until = at(1).Add(time.Second), at(1).Add(9*time.Second) }, "has no occurrence from"},
		"beyond a role":         {func(r *job.BackfillRequest) { r.Most = 4 }, "An operator may run 4; more take a contributor."},
		"to come":               {func(r *job.BackfillRequest) { r.Until = at(60) }, "until: must not be after now"},
		"backwards":             {func(r *job.BackfillRequest) { r.Until = r.From }, "until: must be after from"},
		"without a name":        {func(r *job.BackfillRequest) { r.Name = "" }, "name: must be"},
		"too many at once":      {func(r *job.BackfillRequest) { r.AtOnce = 11 }, "atOnce: must be between 1 and 10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			r := backfillOf(0, 5, 1, 0)
			c.change(&r)
			a := w.update(9*time.Minute+30*time.Second, workflows.UpdateBackfill, r)
			w.run(11 * time.Minute)
			require.ErrorContains(t, a.err, c.why)
			require.Empty(t, w.backfilled())
		})
	}
}

func TestTheLargestBackfillRunsFromRunToRun(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"startTime":"2025-12-01T00:00:00Z",`+every(minutely+`,"endTime":"2026-01-01T00:02:00Z"`))
	tooLong := job.BackfillRequest{Name: "a", From: newYear.Add(-10_001 * time.Minute), Until: newYear}
	refused := w.update(30*time.Second, workflows.UpdateBackfill, tooLong)
	w.update(31*time.Second, workflows.UpdateBackfill, job.BackfillRequest{Name: "b", From: newYear.Add(-job.MaxBackfill * time.Minute), Until: newYear, AtOnce: job.MaxBackfillAtOnce})
	end := w.snapshot(20 * time.Hour)
	w.run(21 * time.Hour)
	require.ErrorContains(t, refused.err, "which is the maximum of a backfill")
	require.Equal(t, []any{job.BackfillDone, job.MaxBackfill}, []any{end.Backfills[0].State, end.Backfills[0].Succeeded})
	require.Len(t, w.backfilled(), job.MaxBackfill, "those before the job was created, too")
	require.Greater(t, len(w.runs), 10)
}

// Those that a change takes back before they were sent are run again in their order.
func TestABackfillThatIsTakenBackRunsTheOldestFirst(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.update(10*time.Minute+30*time.Second, workflows.UpdateBackfill, backfillOf(0, 10, 4, 0))
	w.update(10*time.Minute+30*time.Second, workflows.UpdateDisable)
	w.update(20*time.Minute+30*time.Second, workflows.UpdateEnable)
	w.run(25 * time.Minute)
	require.Equal(t, minutes(0, 9), w.backfilled())
	w.requireSound()
}

// The last executions still run when another one could begin, if any was left.
func TestTheLastExecutionsOfABackfillTakeLongerThanItsPace(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.takes(8 * time.Second)
	w.update(10*time.Minute+30*time.Second, workflows.UpdateBackfill, backfillOf(0, 10, 3, 3*time.Second))
	end := w.snapshot(12 * time.Minute)
	w.run(12*time.Minute + time.Second)
	require.Equal(t, minutes(0, 9), w.backfilled())
	require.Equal(t, minutes(0, 12), w.regular())
	require.Equal(t, []any{job.BackfillDone, 10}, []any{end.Backfills[0].State, end.Backfills[0].Succeeded})
	w.requireSound()
}

// backfillIDs returns how many executions of backfills have each id.
func (w *jobEnv) backfillIDs() map[string]int {
	ids := map[string]int{}
	for _, s := range w.sent {
		if s.Execution.Backfill != "" {
			ids[s.Execution.ID]++
		}
	}
	return ids
}

// Local time is behind by another hour when the second half of the occurrences is planned, so that all are due an hour
// later.
func TestABackfillRunsEachOccurrenceOnceAcrossReleasesOfItsZone(t *testing.T) {
	workflowtest.UseZones(t, "2026a", mountain)
	w := newJobEnv(t, `"startTime":"2025-01-01T00:00:00Z",`+dailyAt("9"))
	w.update(time.Minute, workflows.UpdateBackfill,
		job.BackfillRequest{Name: "again", From: newYear.AddDate(0, 0, -150), Until: newYear, Every: time.Minute})
	w.becomes(50*time.Minute, "2026b", pacific)
	w.run(5 * time.Hour)
	days := map[string]int{}
	for _, s := range w.sent {
		if s.Execution.Backfill != "" {
			days[s.Execution.Due.Format(time.DateOnly)]++
		}
	}
	require.Len(t, w.backfilled(), 150)
	require.Len(t, days, 150, "no day comes twice")
	require.Len(t, w.backfillIDs(), 150)
}

func TestABackfillKnowsWhatCalendarsMoveByItsNominalTime(t *testing.T) {
	t.Parallel()
	weekly := `"startTime":"2026-01-03T09:00:00Z",` + every(`"frequency":"week"`)
	ids := map[string]int{}
	for _, off := range [][]string{nil, {"2026-01-05"}} {
		w := byCalendar(t, &shelf{off: off}, weekly, "nextWorkingDay")
		again := job.BackfillRequest{Name: "again", From: newYear.AddDate(0, 0, 2), Until: newYear.AddDate(0, 0, 7)}
		w.update(8*dayLong, workflows.UpdateBackfill, again)
		w.run(9 * dayLong)
		require.Len(t, w.backfilled(), 1)
		for _, s := range w.sent {
			if e := s.Execution; e.Backfill != "" {
				ids[e.ID]++
				require.Equal(t, 5+len(off), e.Due.Day())
				require.Equal(t, newYear.Add(2*dayLong+9*time.Hour), e.By.Nominal)
				require.Equal(t, []job.CalendarDay{{Name: "SE", Version: 1, Day: "Saturday"}}, e.By.Calendars)
			}
		}
	}
	require.Len(t, ids, 1)
}
