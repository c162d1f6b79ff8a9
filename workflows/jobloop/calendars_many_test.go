package jobloop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// Of many days off in a row a plan says only of the first ones what is dropped.
func TestAJobOfMinutesGoesOnAfterFourDaysOff(t *testing.T) {
	t.Parallel()
	s := &shelf{off: []string{"2026-01-02", "2026-01-05"}}
	w := byCalendar(t, s, `"startTime":"2026-01-01T23:00:00Z",`+every(`"frequency":"minute"`), "skip")
	asked := 0
	w.calendars = func(ctx context.Context, r *plan.Request) (*plan.Calendars, error) {
		asked++
		return s.read(ctx, r)
	}
	w.run(5*dayLong + 30*time.Minute)
	require.Len(t, w.executions(), 60+31)
	require.Less(t, asked, 40)
	count := 0
	for _, d := range w.recorded.dropped {
		count += d.Count
	}
	require.Equal(t, 4*24*60, count)
	w.requireSound()
}

// often are the properties of a job that runs 120 times on each of its days.
func often(rule string) string {
	return `"startTime":"2026-01-03T00:00:00Z",` + once + `,"recurrence":{"schedule":{` +
		`"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14],"minutes":[0,3,7,16,25,31,44,52],` + rule + `}`
}

// countReads counts how often the calendar of a job is read.
func (w *jobEnv) countReads(s *shelf) *int {
	asked := new(int)
	w.calendars = func(ctx context.Context, r *plan.Request) (*plan.Calendars, error) {
		if *asked++; *asked > 200 {
			return nil, errors.New("it is read again and again")
		}
		return s.read(ctx, r)
	}
	return asked
}

// entries returns the nominal times of what did not run; each has one entry.
func (w *jobEnv) entries() map[time.Time]int {
	found := map[time.Time]int{}
	for _, d := range w.recorded.dropped {
		for at := range d.All() {
			found[at.UTC()]++
		}
	}
	for at, n := range found {
		require.Equal(w.t, 1, n, "%s has %d entries", at, n)
	}
	return found
}

// Of hundreds of occurrences that a change of a calendar drops at once, each for another reason, each has its entry, and
// the job goes on.
func TestAJobWhoseCalendarDropsHundredsAtOnceIsPlannedFewTimes(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := byCalendar(t, s, often(`"weekDays":["saturday","tuesday"]},"frequency":"week"`), "nextWorkingDay")
	asked := w.countReads(s)
	w.put(s, 3*dayLong+time.Hour, "2026-01-05") // what waits for Monday is due with the runs of Tuesday
	w.run(6 * dayLong)
	require.Less(t, *asked, 20)
	require.Len(t, w.executions(), 120)
	require.Len(t, w.entries(), 120)
	w.requireSound()
}

// The working day of a number that was past when the job was created is decided, whatever day has the number later.
func TestAWorkingDayByNumberIsDecidedOnItsDay(t *testing.T) {
	t.Parallel()
	s := &shelf{weekdays: true, off: []string{"2026-01-05"}}
	w := byCalendar(t, s, often(`"workingDays":[1,2,3,4,5]},"frequency":"month","calendars":[{"name":"SE"}]`), "skip")
	asked := w.countReads(s)
	w.put(s, 2*dayLong+13*time.Hour+45*time.Minute, "2026-01-01", "2026-01-05") // the third one is on the fourth then
	w.run(8 * dayLong)
	require.Less(t, *asked, 40)
	ran := map[int]int{}
	for _, day := range w.onDays() {
		ran[day]++
	}
	require.Equal(t, map[int]int{3: 13*8 + 7, 4: 1 + 8, 6: 120, 7: 120}, ran)
	require.Empty(t, w.entries())
	w.requireSound()
}

// A planner that never says more than before is not asked in one workflow task without end, nor soon again.
func TestAPlannerThatMakesNoProgressIsAskedSeldom(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := byCalendar(t, s, `"startTime":"2026-01-01T09:00:00Z",`+every(`"frequency":"hour"`), "skip")
	asked := 0
	w.planned = func(p *plan.Plan) {
		asked++
		p.Off, p.Covered = nil, newYear
	}
	w.put(s, time.Hour)
	w.run(3 * time.Hour)
	require.Empty(t, w.executions())
	require.Greater(t, asked, 60)
	require.LessOrEqual(t, asked, 125)
}

// What calendars drop has one entry, however often the job or its calendars change on the day.
func TestWhatIsDroppedAroundChangesHasOneEntry(t *testing.T) {
	t.Parallel()
	const half = `"startTime":"2026-01-02T00:00:00Z",` + once + `,"recurrence":{"frequency":"minute","interval":30}`
	s := new(shelf)
	w := byCalendar(t, s, half, "skip")
	w.uses(2*dayLong+10*time.Hour+10*time.Minute, `"state":"enabled",`+half, "skip")
	w.uses(2*dayLong+12*time.Hour+10*time.Minute, `"state":"enabled",`+half, "skip")
	w.put(s, 2*dayLong+15*time.Hour+10*time.Minute, "2026-01-08")
	w.update(2*dayLong+15*time.Hour+20*time.Minute, workflows.UpdateSkip, job.SkipRequest{Next: 1}, 0)
	w.at(2*dayLong+18*time.Hour+10*time.Minute, func() { s.version++; s.off = nil }) // nobody tells the job
	w.update(2*dayLong+18*time.Hour+20*time.Minute, workflows.UpdateUnskip, job.SkipRequest{Next: 1}, 0)
	w.run(5*dayLong - time.Hour)
	require.Len(t, w.executions(), 48+47)
	require.Len(t, w.entries(), 48+48)
	w.requireSound()
}

// A job of which calendars drop all that is left waits for their change, until its rule ends.
func TestAJobWithoutAnyWorkingDayWaitsForAnotherCalendar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, end string
		put       bool
		want      []int
		done      bool
	}{
		{"it gets a day", `,"endTime":"2026-01-20T00:00:00Z"`, true, []int{15}, true},
		{"it gets a day, and the rule goes on", ``, true, []int{15}, false},
		{"it gets none", `,"endTime":"2026-01-20T00:00:00Z"`, false, nil, true},
		{"it gets none, and the rule goes on", ``, false, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{weekdays: true}
			w := byCalendar(t, s, `"startTime":"2026-01-01T09:00:00Z",`+once+`,"recurrence":{"frequency":"day"`+tt.end+`}`, "only")
			asked := w.countReads(s)
			if tt.put {
				w.put(s, 12*dayLong, "2026-01-15")
			}
			waits, last := w.snapshot(13*dayLong), w.snapshot(25*dayLong)
			w.run(26 * dayLong)
			require.Equal(t, tt.want, w.onDays())
			require.Equal(t, job.StateEnabled, waits.Definition.State)
			require.Equal(t, !tt.put, waits.Status.NextExecutionTime == nil)
			require.Equal(t, !tt.put, waits.Status.Reason == job.WhyLeftOut, waits.Status.Reason)
			require.Equal(t, tt.done, last.Definition.State == job.StateCompleted)
			require.Less(t, *asked, 20)
			if tt.done {
				require.Len(t, w.entries(), 19-len(tt.want))
			}
			w.requireSound()
		})
	}
}

// A job of a working day that no month has waits likewise.
func TestAJobOfAWorkingDayThatNoMonthHasWaitsForAnotherCalendar(t *testing.T) {
	t.Parallel()
	s := new(shelf)
	w := byCalendar(t, s, `"startTime":"2026-01-01T09:00:00Z",`+once+`,"recurrence":{"frequency":"month",`+
		`"calendars":[{"name":"SE"}],"schedule":{"workingDays":[24],"hours":[9],"minutes":[0]}}`, "skip")
	waits := w.snapshot(2 * dayLong)
	w.at(3*dayLong, func() { s.weekdays = true })
	w.put(s, 3*dayLong+time.Minute)
	w.run(26 * dayLong)
	require.Equal(t, job.WhyLeftOut, waits.Status.Reason)
	require.Equal(t, []int{24}, w.onDays())
	w.requireSound()
}
