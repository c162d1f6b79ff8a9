package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows"
)

// delayOf is how long after its due time an occurrence of the job starts, which is by its name.
func delayOf(window time.Duration) time.Duration { return job.Spread(key, window) }

func TestAFlexibleWindowDelaysTheStartAndNothingElse(t *testing.T) {
	t.Parallel()
	delay := delayOf(5 * time.Minute)
	require.Greater(t, delay, 10*time.Second, "otherwise the test shows nothing")
	for kind, newEnv := range aheadEnvs {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, every(minutely+`,"count":12`)+`,"flexibleWindow":"PT5M"`+notified(`"on":["late"],"lateBy":"PT1S"`))
			w.suggest = 150 * time.Second
			shown := w.snapshot(time.Second)
			w.run(time.Hour)
			require.Equal(t, minutes(0, 11), w.dues())
			for _, s := range w.sent {
				require.Equal(t, s.Execution.Due.Add(delay).UTC(), s.at.UTC(), "sent")
				require.Equal(t, s.Execution.Due.Add(delay).UTC(), s.Execution.PlannedStart.UTC())
			}
			require.Equal(t, job.NewTime(newYear), shown.At(newYear.Add(time.Second)).Status.NextExecutionTime, "it is due, and has not started")
			require.Empty(t, w.dropped())
			require.Empty(t, w.alerts)
			w.requireSound()
		})
	}
}

func TestAFlexibleWindowComesFromTheCollectionUnlessTheJobHasOne(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute","interval":10`))
	w.update(time.Minute, workflows.UpdateCollection, workflows.CollectionState{Generation: 2, FlexibleWindow: "PT5M"})
	w.replace(21*time.Minute+delayOf(5*time.Minute), every(`"frequency":"minute","interval":10`)+`,"flexibleWindow":"PT1M"`)
	w.replace(41*time.Minute, every(`"frequency":"minute","interval":10`)+`,"flexibleWindow":"PT0S"`)
	w.run(55 * time.Minute)
	var delays []time.Duration
	for _, s := range w.sent {
		delays = append(delays, s.at.Sub(s.Execution.Due))
	}
	five, one := delayOf(5*time.Minute), delayOf(time.Minute)
	require.Equal(t, []time.Duration{0, five, five, one, one, 0}, delays)
	w.requireSound()
}

func TestWhatIsDueAndHasNotStartedIsCancelledWithTheJob(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"minute","interval":10`)+`,"flexibleWindow":"PT5M"`)
	w.update(10*time.Minute+delayOf(5*time.Minute)/2, workflows.UpdateDisable)
	w.update(15*time.Minute, workflows.UpdateEnable)
	w.run(30 * time.Minute)
	require.Equal(t, []string{"00:00:00", "00:20:00"}, w.dues())
	require.Equal(t, []string{"Cancelled 1: 00:10:00 to 00:10:00"}, w.dropped())
	w.requireSound()
}

func TestAFlexibleWindowDelaysNothingThatIsRecovered(t *testing.T) {
	t.Parallel()
	const daily = `"frequency":"day"`
	delay := delayOf(24 * time.Hour)
	require.Greater(t, delay, time.Hour, "otherwise the test shows nothing")
	w := newJobEnv(t, every(daily)+`,"flexibleWindow":"P1D"`)
	until := newYear.Add(24*time.Hour + 10*time.Second)
	w.update(delay+time.Minute, workflows.UpdateDisable, stateAs(job.Promise{Until: until, Recover: job.RecoverLatest}))
	w.run(72 * time.Hour)
	var at []time.Time
	for _, s := range w.sent {
		at = append(at, s.at.UTC())
	}
	require.Equal(t, []time.Time{newYear.Add(delay), until, newYear.Add(48*time.Hour + delay)}, at)
	w.requireSound()
}
