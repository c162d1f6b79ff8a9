package jobloop_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/recurrence"
	"almanac/workflows"
	"almanac/workflows/jobloop"
	"almanac/workflows/plan"
)

// The zone of these tests is eight hours behind UTC in one release, and seven in a later one.
const vancouver = `"timeZone":"America/Vancouver"`

var (
	pacific  = map[string]string{"America/Vancouver": "PST8"}
	mountain = map[string]string{"America/Vancouver": "MST7"}
)

const dayLong = 24 * time.Hour

// dailyAt is the properties of a job that runs at hours in the zone, and once when it is created.
func dailyAt(hours string) string {
	return every(`"frequency":"day","schedule":{"hours":[` + hours + `],"minutes":[0]},` + vancouver)
}

// becomes has the worker use another release from a time on, and asks the job to plan again as a worker does that
// starts with it.
func (w *jobEnv) becomes(at time.Duration, release string, rules map[string]string) {
	zones := workflowtest.Zones(w.t, release, rules)
	w.at(at, func() {
		recurrence.UseZones(zones)
		w.env.SignalWorkflow(workflows.SignalZones, plan.Zone{Release: release, Rules: zones.Rules("America/Vancouver")})
	})
}

// planHere runs the activity of a worker that reads calendars. As a variable it is none of the workflow's code for
// workflowcheck.
var planHere = func(calendars jobloop.CalendarReader, r plan.Request) (answer plan.Plan, err error) {
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	planner := jobloop.NewPlanner(calendars)
	env.RegisterActivity(planner.Plan)
	value, err := env.ExecuteActivity(planner.Plan, r)
	if err != nil {
		return answer, err
	}
	return answer, value.Get(&answer)
}

// planElsewhere is the activity that plans with another worker, in which the server gives it to one after the other.
func (w *jobEnv) planElsewhere(ctx workflow.Context, arguments ...any) (any, error) {
	var r plan.Request
	if err := w.copy(&r, arguments...); err != nil {
		return nil, err
	}
	pause := 30 * time.Second
	if r.By != nil {
		pause = 6 * time.Hour
	}
	for {
		if w.newerZones != nil {
			before := recurrence.CurrentZones()
			w.newerZones()
			answer, err := planHere(nil, r)
			recurrence.UseZones(before)
			return answer, err
		}
		if answer, err := planHere(w.calendars, r); r.By != nil && err == nil {
			return answer, nil
		} else if err == nil {
			return nil, errors.New("this worker could have planned itself")
		}
		if err := workflow.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func days(list ...string) []string { return append([]string{"00:00:00"}, list...) }

func TestAnHourThatMovesRunsNoLocalTimeTwiceAndLeavesNoneOut(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after map[string]string
		hours         string
		at            time.Duration // when the newer release comes
		want          []string      // due times, as long as it matters
	}{
		{"earlier, long before the occurrence", pacific, mountain, "9", 3*dayLong + 12*time.Hour, days(
			"2026-01-01 17:00:00", "2026-01-02 17:00:00", "2026-01-03 17:00:00", "2026-01-04 16:00:00", "2026-01-05 16:00:00")},
		{"earlier, when the new time has just passed: it runs at once", pacific, mountain, "9", 3*dayLong + 16*time.Hour + 20*time.Minute, days(
			"2026-01-01 17:00:00", "2026-01-02 17:00:00", "2026-01-03 17:00:00", "2026-01-04 16:00:00", "2026-01-05 16:00:00")},
		{"earlier, after the old time: that day is over", pacific, mountain, "9", 3*dayLong + 17*time.Hour + 20*time.Minute, days(
			"2026-01-01 17:00:00", "2026-01-02 17:00:00", "2026-01-03 17:00:00", "2026-01-04 17:00:00", "2026-01-05 16:00:00")},
		{"later, between the two times: that day is over", mountain, pacific, "9", 3*dayLong + 16*time.Hour + 20*time.Minute, days(
			"2026-01-01 16:00:00", "2026-01-02 16:00:00", "2026-01-03 16:00:00", "2026-01-04 16:00:00", "2026-01-05 17:00:00")},
		{"later, before the occurrence", mountain, pacific, "9", 3*dayLong + 12*time.Hour, days(
			"2026-01-01 16:00:00", "2026-01-02 16:00:00", "2026-01-03 16:00:00", "2026-01-04 17:00:00", "2026-01-05 17:00:00")},
		{"earlier, between two hours: the second has the time of the first", pacific, mountain, "9,10", dayLong + 17*time.Hour + 20*time.Minute, days(
			"2026-01-01 17:00:00", "2026-01-01 18:00:00", "2026-01-02 17:00:00", "2026-01-02 17:00:00", "2026-01-03 16:00:00")},
		{"later, between two hours", mountain, pacific, "9,10", dayLong + 16*time.Hour + 20*time.Minute, days(
			"2026-01-01 16:00:00", "2026-01-01 17:00:00", "2026-01-02 16:00:00", "2026-01-02 18:00:00", "2026-01-03 17:00:00")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			workflowtest.UseZones(t, "2026a", tt.before)
			w := newJobEnv(t, dailyAt(tt.hours))
			w.becomes(tt.at, "2026b", tt.after)
			w.run(6 * dayLong)
			got := w.dues()
			for i := range got {
				if len(got[i]) == len("17:00:00") && i > 0 { // of the first day
					got[i] = "2026-01-01 " + got[i]
				}
			}
			require.Equal(t, tt.want, got[:len(tt.want)])
			ids := map[string]bool{}
			for _, s := range w.executions() {
				require.False(t, ids[s.Execution.ID], "a receiver takes %s for one that it has had", clock(s.Execution.Due))
				ids[s.Execution.ID] = true
			}
			require.Empty(t, w.dropped())
			require.Equal(t, "2026b", w.outlines[len(w.outlines)-1].Zones)
		})
	}
}

// What was due after the creation of a job may move to a time before it.
func TestAnHourThatMovesBeforeTheCreationOfTheJobLeavesNothingOut(t *testing.T) {
	workflowtest.UseZones(t, "2026a", pacific)
	const daily = `"startTime":"2025-12-01T00:00:00Z","recurrence":{"frequency":"day",` + vancouver + `,"schedule":{"hours":[16],"minutes":[20]}}`
	w := newJobEnv(t, `"action":{`+get+`},`+daily)
	w.becomes(10*time.Minute, "2026b", mountain)
	w.run(3 * dayLong)
	require.Equal(t, []string{"2025-12-31 23:20:00", "23:20:00", "2026-01-02 23:20:00", "2026-01-03 23:20:00"}, w.dues())
	require.Equal(t, newYear.Add(10*time.Minute), w.sent[0].at.Truncate(time.Minute), "it runs at once")
	w.requireSound()
}

// A start without an offset from UTC is a local time, and so are the occurrences that follow from it.
func TestAStartInLocalTimeMovesWithItsHour(t *testing.T) {
	workflowtest.UseZones(t, "2026a", pacific)
	const zoned = `"frequency":"day","endTime":"2026-01-05T09:00",` + vancouver
	w := newJobEnv(t, `"startTime":"2026-01-03T09:00",`+every(zoned))
	w.becomes(12*time.Hour, "2026b", mountain)
	moved := w.snapshot(13 * time.Hour)
	// A client sends back the instants that it read, with another change.
	changed := w.replace(14*time.Hour, `"disableAfter":3,"startTime":"2026-01-03T16:00:00Z",`+every(`"frequency":"day","endTime":"2026-01-05T16:00:00Z",`+vancouver))
	w.becomes(3*dayLong, "2026c", pacific)
	w.run(6 * dayLong)
	require.Equal(t, 3, changed.ok(t).Definition.DisableAfter)
	require.Equal(t, []string{"2026-01-03 16:00:00", "2026-01-04 17:00:00", "2026-01-05 17:00:00"}, w.dues())
	require.Equal(t, "2026-01-03T16:00:00Z", moved.Definition.StartTime.String())
	require.Equal(t, "2026-01-05T16:00:00Z", moved.Definition.Recurrence.EndTime.String())
	require.Equal(t, "2026-01-03T16:00:00Z", moved.Status.NextExecutionTime.String())
	w.requireSound()
}

func TestAnOccurrenceThatWasSkippedStaysSkippedWhenItsHourMoves(t *testing.T) {
	workflowtest.UseZones(t, "2026a", pacific)
	w := newJobEnv(t, dailyAt("9"))
	a := w.update(12*time.Hour, workflows.UpdateSkip, time.Time{})
	w.becomes(13*time.Hour, "2026b", mountain)
	w.run(2*dayLong + 20*time.Hour)
	require.Equal(t, job.NewTime(newYear.Add(dayLong+17*time.Hour)), a.ok(t).Status.NextExecutionTime)
	require.Equal(t, []string{"00:00:00", "2026-01-02 16:00:00", "2026-01-03 16:00:00"}, w.dues())
	require.Equal(t, []string{"Cancelled 1: 16:00:00 to 16:00:00"}, w.dropped())
	w.requireSound()
}

func TestAHeldOccurrenceReturnsToThePlanWhenItsHourMoves(t *testing.T) {
	workflowtest.UseZones(t, "2026a", mountain)
	w := newHoldEnv(t, dailyAt("9"))
	w.becomes(16*time.Hour-30*time.Second, "2026b", pacific) // it is held, and due in half a minute
	w.run(dayLong + 20*time.Hour)
	require.Equal(t, []string{"00:00:00 00:00:00", "17:00:00 17:00:00", "2026-01-02 17:00:00 2026-01-02 17:00:00"}, w.starts())
	require.Empty(t, w.dropped())
	w.requireSound()
}

func TestANewReleaseThatChangesNothingForTheZoneChangesNothing(t *testing.T) {
	workflowtest.UseZones(t, "2026a", pacific)
	w := newJobEnv(t, dailyAt("9"))
	w.becomes(time.Hour, "2026b", pacific)
	w.run(dayLong + 20*time.Hour)
	require.Equal(t, []string{"00:00:00", "17:00:00", "2026-01-02 17:00:00"}, w.dues())
	require.Len(t, w.outlines, 1, "it is not planned again")
	w.requireSound()
}

func TestAJobThatGetsAnotherZoneIsPlannedFromThenOn(t *testing.T) {
	workflowtest.UseZones(t, "2026a", map[string]string{"America/Vancouver": "PST8", "Europe/Stockholm": "CET-1"})
	w := newJobEnv(t, dailyAt("9"))
	w.replace(12*time.Hour, every(`"frequency":"day","schedule":{"hours":[14],"minutes":[0]},"timeZone":"Europe/Stockholm"`))
	w.run(2 * dayLong)
	require.Equal(t, []string{"00:00:00", "13:00:00", "2026-01-02 13:00:00"}, w.dues())
	w.requireSound()
}

// Nobody asks the job, which plans further occurrences all the same.
func TestAWorkerWithNewerTimeZonesPlansFromTheLocalTimeOn(t *testing.T) {
	workflowtest.UseZones(t, "2026a", mountain)
	w := newJobEnv(t, dailyAt("9"))
	newer := workflowtest.Zones(t, "2026b", pacific)
	w.at(time.Hour, func() { recurrence.UseZones(newer) })
	w.run(10 * dayLong)
	dues := w.dues()
	require.Equal(t, "2026-01-06 16:00:00", dues[6], "it was planned")
	require.Equal(t, []string{"2026-01-07 17:00:00", "2026-01-08 17:00:00"}, dues[7:9])
	w.requireSound()
}

func TestAWorkerWithOlderTimeZonesPlansNothing(t *testing.T) {
	older := workflowtest.Zones(t, "2026a", mountain)
	t.Run("and asks another one, which plans", func(t *testing.T) {
		workflowtest.UseZones(t, "2026b", pacific)
		newer := recurrence.CurrentZones()
		w := newJobEnv(t, dailyAt("9"))
		w.newerZones = func() { recurrence.UseZones(newer) }
		w.at(time.Hour, func() { recurrence.UseZones(older) })
		w.replace(10*dayLong, dailyAt("12")) // which is planned anew
		w.run(20 * dayLong)
		dues := w.dues()
		require.Equal(t, []string{"2026-01-08 17:00:00", "2026-01-09 17:00:00", "2026-01-10 17:00:00", "2026-01-11 20:00:00"}, dues[8:12])
		require.Len(t, dues, 1+10+10, "one each day")
		w.requireSound()
	})
	t.Run("and runs what is planned until there is another one", func(t *testing.T) {
		workflowtest.UseZones(t, "2026b", pacific)
		newer := recurrence.CurrentZones()
		w := newJobEnv(t, dailyAt("9"))
		w.at(time.Hour, func() { recurrence.UseZones(older) })
		waiting := w.snapshot(9 * dayLong)
		w.at(9*dayLong+17*time.Hour+30*time.Minute, func() { w.newerZones = func() { recurrence.UseZones(newer) } })
		w.run(12 * dayLong)
		dues := w.dues()
		require.Equal(t, []string{"2026-01-06 17:00:00", "2026-01-07 17:00:00"}, dues[6:8], "they were planned")
		require.Nil(t, waiting.Status.NextExecutionTime)
		require.Equal(t, job.StateEnabled, waiting.Definition.State)
		require.Equal(t, "Nothing is planned: the workers that were asked have time zones of 2026a, and the job was planned with those of 2026b.", waiting.Status.Reason)
		require.True(t, slices.Contains(dues, "2026-01-11 17:00:00"), "it goes on when it is planned")
		require.False(t, slices.Contains(dues, "2026-01-10 16:00:00"), "nothing runs by the older rules")
		w.requireSound()
	})
}

// The only worker with the newer release asks the jobs, and is gone before it has planned them.
func TestAJobThatNoWorkerCanPlanWithANewerReleaseGoesOnByItsOwn(t *testing.T) {
	workflowtest.UseZones(t, "2026a", mountain)
	newer := workflowtest.Zones(t, "2026b", pacific)
	w := newJobEnv(t, dailyAt("9"))
	w.at(12*time.Hour, func() {
		w.env.SignalWorkflow(workflows.SignalZones, plan.Zone{Release: "2026b", Rules: newer.Rules("America/Vancouver")})
	})
	w.at(20*dayLong, func() { w.newerZones = func() { recurrence.UseZones(newer) } })
	w.run(23 * dayLong)
	dues := w.dues()
	require.Len(t, dues, 1+23, "one each day")
	require.Equal(t, []string{"2026-01-19 16:00:00", "2026-01-20 16:00:00", "2026-01-21 17:00:00"}, dues[19:22])
	w.requireSound()
}

// A reader's time zones may be of another release, and its list of what comes next goes on from there.
func TestTheStatusTellsReadersWhichLocalTimesArePlanned(t *testing.T) {
	workflowtest.UseZones(t, "2026a", mountain)
	w := newLeadEnv(t, dailyAt("9"))
	planned := w.snapshot(12 * time.Hour)
	ahead := w.snapshot(16*time.Hour - 5*time.Second)
	w.run(dayLong)
	require.Equal(t, []string{"2026-01-01T09:00:00-07:00", "2026-01-02T09:00:00-07:00"}, texts(planned.Planned[:2]))
	require.NotNil(t, ahead.Ahead, "it is held")
	require.Equal(t, texts(planned.Planned[:2]), texts(ahead.Planned[:2]))
	w.requireSound()
}

func texts(times []time.Time) (all []string) {
	for _, t := range times {
		all = append(all, t.Format(time.RFC3339))
	}
	return all
}

// More is skipped than a plan lists, and only a worker with the newer release can list what follows.
func TestWhatIsSkippedWaitsForAWorkerThatCanPlan(t *testing.T) {
	older := workflowtest.Zones(t, "2026a", mountain)
	workflowtest.UseZones(t, "2026b", pacific)
	newer := recurrence.CurrentZones()
	w := newJobEnv(t, every(`"frequency":"day","schedule":{"hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23],"minutes":[0]},`+vancouver))
	w.update(90*time.Minute, workflows.UpdateSkip, job.SkipRequest{From: newYear.Add(2 * time.Hour), Until: newYear.Add(42 * time.Hour)})
	w.at(3*time.Hour, func() { recurrence.UseZones(older) })
	w.at(30*time.Hour+30*time.Minute, func() { w.newerZones = func() { recurrence.UseZones(newer) } })
	w.run(44*time.Hour + time.Minute)
	require.Equal(t, []string{"00:00:00", "01:00:00", "2026-01-02 18:00:00", "2026-01-02 19:00:00", "2026-01-02 20:00:00"}, w.dues())
	noted := 0
	for _, d := range w.recorded.dropped {
		require.Equal(t, job.WhySkipped, d.Why)
		noted += d.Count
	}
	require.Equal(t, 40, noted)
	w.requireSound()
}
