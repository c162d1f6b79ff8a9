package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

const (
	night    = `{"name":"night","from":"22:00","until":"06:00","onMatch":`
	nightEnd = night + `"runAtEnd"}`
)

// hourly returns the properties of a job at these hours, with these blackouts.
func hourly(hours, blackouts string) string {
	return `"startTime":"2026-01-01T00:00:00Z",` + every(`"frequency":"day","schedule":{"hours":[`+hours+`],"minutes":[0]}`) + `,"blackouts":[` + blackouts + `]`
}

func TestABlackoutSkipsWhatIsDueInIt(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, hourly("5,12,23", night+`"skip"}`))
	w.run(dayLong + 13*time.Hour)
	require.Equal(t, []string{"12:00:00", "2026-01-02 12:00:00"}, w.dues())
	require.Equal(t, []string{
		"Skipped 1: 05:00:00 to 05:00:00", "Skipped 2: 23:00:00 to 2026-01-02 05:00:00", // of one night
	}, w.dropped())
	d := w.recorded.dropped[0]
	require.Equal(t, &job.BlackoutUse{Name: "night"}, d.Blackout)
	require.Equal(t, "the blackout night covers that time, until 2026-01-01T06:00:00Z", d.Why)
	require.True(t, newYear.Add(5*time.Hour).Equal(w.recorded.droppedAt[0]), "at its due time, not %s", w.recorded.droppedAt[0])
	require.Empty(t, w.alerts)
	w.requireSound()
}

func TestTheLatestOfWhatABlackoutHoldsRunsAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, hourly("1,3,12", nightEnd))
	w.run(13 * time.Hour)
	require.Equal(t, []string{"06:00:00 06:00:00", "12:00:00 12:00:00"}, w.starts())
	require.Equal(t, []string{"Skipped 1: 01:00:00 to 01:00:00"}, w.dropped())
	e := w.executions()[0].Execution
	require.Equal(t, &job.ByCalendars{Nominal: newYear.Add(3 * time.Hour), Blackout: &job.BlackoutUse{Name: "night"}}, e.By)
	w.requireSound()
}

func TestAJobThatRunsOnceWaitsForTheEndOfABlackout(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"startTime":"2026-01-01T03:00:00Z",`+once+`,"blackouts":[`+nightEnd+`]`)
	w.run(13 * time.Hour)
	require.Equal(t, []string{"06:00:00 06:00:00"}, w.starts())
	w.requireSound()
}

func TestABlackoutThatIsLiftedReleasesWhatItHolds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, blackouts string }{
		{"by another one", night + `"skip","weekDays":["sunday"]}`}, {"by none", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, hourly("3,12", nightEnd))
			w.replace(4*time.Hour, hourly("3,12", tt.blackouts))
			w.run(dayLong + 4*time.Hour)
			require.Equal(t, []string{"04:00:01", "12:00:00", "2026-01-02 03:00:00"}, w.dues())
			require.Empty(t, w.dropped())
			w.requireSound()
		})
	}
}

func TestANewBlackoutHoldsWhatIsToComeAndNothingRunsTwice(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, hourly("1,3,12", ""))
	w.replace(2*time.Hour, hourly("1,3,12", nightEnd))
	w.replace(7*time.Hour, hourly("1,3,12", `{"name":"noon","from":"11:00","until":"13:00","onMatch":"skip"}`))
	w.run(14 * time.Hour)
	require.Equal(t, []string{"01:00:00", "06:00:00"}, w.dues())
	require.Equal(t, []string{"Skipped 1: 12:00:00 to 12:00:00"}, w.dropped())
	w.requireSound()
}

func TestWhatIsLateIntoABlackoutIsAsIfItWereDueInIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		onMatch string
		dues    []string
		dropped []string
	}{
		{`"skip"}`, []string{"21:00:00"}, []string{"Skipped 1: 21:30:00 to 21:30:00"}},
		{`"runAtEnd"}`, []string{"21:00:00", "2026-01-02 06:00:00"}, nil},
		{`"nextAllowedDay"}`, []string{"21:00:00", "2026-01-02 21:00:00"}, nil},
	} {
		t.Run(tt.onMatch, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, `"startTime":"2026-01-01T21:00:00Z",`+every(`"frequency":"day","schedule":{"hours":[21],"minutes":[0,30]}`)+`,"blackouts":[`+night+tt.onMatch+`]`)
			w.takes(90 * time.Minute)
			w.run(dayLong + 21*time.Hour + 10*time.Minute)
			require.Equal(t, tt.dues, w.dues()[:len(tt.dues)])
			if tt.dropped != nil {
				require.Equal(t, tt.dropped, w.dropped())
			}
			w.requireSound()
		})
	}
}

func TestAManualRunInABlackoutIsRefusedUnlessItIsForced(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, hourly("12", nightEnd))
	refused := w.update(4*time.Hour, workflows.UpdateRun, workflows.RunRequest{})
	forced := w.update(5*time.Hour, workflows.UpdateRun, workflows.RunRequest{Force: true})
	after := w.update(7*time.Hour, workflows.UpdateRun, workflows.RunRequest{})
	w.signal(5*time.Hour+time.Minute, workflows.UpdateRun, nil)
	w.run(8 * time.Hour)
	refused.refused(t, workflows.ErrTypeConflict)
	require.ErrorContains(t, refused.err, "It is in the blackout night, which is over at 2026-01-01T06:00:00Z")
	forced.ok(t)
	after.ok(t)
	require.Equal(t, []string{"05:00:00", "07:00:00"}, w.dues())
}

func TestABackfillWaitsForTheEndOfABlackout(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"startTime":"2025-12-01T12:00:00Z",`+every(`"frequency":"day"`)+`,"blackouts":[`+nightEnd+`]`)
	r := job.BackfillRequest{Name: "again", From: newYear.AddDate(0, 0, -3), Until: newYear}
	w.update(time.Hour, workflows.UpdateBackfill, r)
	w.run(7 * time.Hour)
	starts := []string{}
	for _, s := range w.executions() {
		starts = append(starts, clock(s.at))
	}
	require.Equal(t, []string{"06:00:00", "06:00:00", "06:00:00"}, starts)
}

func TestRunsThatAPauseHeldWaitForTheEndOfABlackout(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, hourly("12", nightEnd))
	w.update(10*time.Hour, workflows.UpdateDisable, workflows.StateRequest{Promise: job.Promise{Until: newYear.Add(23 * time.Hour), Recover: job.RecoverAll}})
	w.run(dayLong + 7*time.Hour)
	require.Equal(t, []string{"12:00:00 2026-01-02 06:00:00"}, w.starts())
}

func TestTheBlackoutsOfACollectionReachItsJobs(t *testing.T) {
	t.Parallel()
	shared := []job.Blackout{{Name: "night", OnMatch: "runAtEnd", From: "22:00", Until: "06:00", TimeZone: "UTC"}}
	w := newJobEnv(t, hourly("1,3,12,13", `{"name":"noon","from":"11:00","until":"12:30","onMatch":"skip"}`))
	w.update(2*time.Hour, workflows.UpdateCollection, workflows.CollectionState{Generation: 7, Blackouts: shared})
	w.update(5*time.Hour, workflows.UpdateCollection, workflows.CollectionState{Generation: 6}) // it is an older one
	got := w.snapshot(4 * time.Hour)
	lifted := w.update(dayLong+4*time.Hour, workflows.UpdateCollection, workflows.CollectionState{Generation: 8})
	w.run(dayLong + 5*time.Hour)
	require.Equal(t, []string{"01:00:00", "06:00:00", "13:00:00", "2026-01-02 04:00:01"}, w.dues())
	require.NoError(t, lifted.err)
	require.Equal(t, &job.BlackoutUse{Name: "night", Shared: true}, w.executions()[1].Execution.By.Blackout)
	require.Equal(t, "2026-01-01T06:00:00Z", got.Status.NextExecutionTime.String())
	require.Equal(t, shared, got.SharedBlackouts)
	w.requireSound()
}

func TestANewJobHasTheBlackoutsOfItsCollection(t *testing.T) {
	t.Parallel()
	c := workflows.CollectionState{Blackouts: []job.Blackout{{Name: "night", OnMatch: "skip", From: "22:00", Until: "06:00", TimeZone: "UTC"}}}
	in, err := state.New(key, definition(t, hourly("3,12", "")), registration, c, newYear)
	require.NoError(t, err)
	require.Equal(t, newYear.Add(12*time.Hour), in.Plan.Due[0])
	require.Len(t, in.Outline().Blackouts, 1)
}

func TestAFlexibleWindowEndsBeforeABlackoutBegins(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"flexibleWindow":"PT10H","startTime":"2026-01-01T21:00:00Z",`+every(`"frequency":"day"`)+`,"blackouts":[`+nightEnd+`]`)
	w.run(dayLong + 23*time.Hour)
	require.Len(t, w.executions(), 2)
	for _, s := range w.executions() {
		require.Less(t, s.Execution.PlannedStart.Sub(s.Execution.Due), time.Hour)
		require.Positive(t, s.Execution.PlannedStart.Sub(s.Execution.Due))
		require.Less(t, s.at.UTC().Hour(), 22)
	}
}
