package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/workflows/jobloop/state"
)

// After half a minute a worker that takes it up once more returns it to the plan, which decides it again.
func TestAnOccurrenceThatIsDecidedAgainSaysHowOftenItWasPutOff(t *testing.T) {
	t.Parallel()
	w := newLeadEnv(t, callEveryMinute("/j"))
	w.workerFate = fates(time.Minute, hostFull, hostFull, hostFull)
	w.run(2*time.Minute + 30*time.Second)
	require.Len(t, w.sent, 3)
	require.Equal(t, newYear.Add(time.Minute), w.sent[1].Execution.Due)
	require.Equal(t, 3, w.sent[1].PutOff)
	require.Zero(t, w.sent[2].PutOff)
	w.requireSound()
}

func TestAnOccurrenceThatWasPutOffUntilAnotherWasDueIsMissedForItsHost(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{`+minutely+`}`)
	w.next.PutOffs = []state.PutOff{{Due: newYear, Times: 4}}
	w.now = newYear.Add(3*time.Minute + 10*time.Second)
	w.run(4*time.Minute + 30*time.Second)
	require.Equal(t, []string{"Missed 1: 00:00:00 to 00:00:00", "Missed 2: 00:01:00 to 00:02:00"}, w.dropped())
	require.Equal(t, job.WhyHostFull, w.recorded.dropped[0].Why)
	require.Equal(t, job.WhyDown, w.recorded.dropped[1].Why)
	require.Equal(t, []string{"00:03:00", "00:04:00"}, w.dues())
	w.requireSound()
}

func TestAnOccurrenceThatWasPutOffRunsWithinTheCatchUpWindow(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, `"action":{`+get+`},"recurrence":{`+minutely+`,"catchUpWindow":"PT5M"}`)
	w.next.PutOffs = []state.PutOff{{Due: newYear, Times: 4}}
	w.now = newYear.Add(2*time.Minute + 10*time.Second)
	w.run(2*time.Minute + 30*time.Second)
	require.Empty(t, w.dropped())
	require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, w.dues())
	require.Equal(t, 4, w.sent[0].PutOff)
	w.requireSound()
}
