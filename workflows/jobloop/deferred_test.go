package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/workflows"
)

func TestManualRunsThatAlwaysOverlapAreAllMade(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"month"`))
	w.takes(25 * time.Second)
	const manual = drainAfter + 40
	for i := range manual { // two or three run at any time
		w.signal(time.Duration(10*i+1)*time.Second, workflows.UpdateRun, nil)
	}
	w.run(6 * time.Hour)

	require.Len(t, w.sent, manual+1)
	ids := map[string]bool{}
	for _, s := range w.sent {
		ids[s.Execution.ID] = true
	}
	require.Len(t, ids, manual+1, "each once")
	require.Len(t, w.runs, 2)
	require.LessOrEqual(t, w.runs[0].executions, drainAfter)
	require.NotEmpty(t, w.runs[1].Deferred, "what came while the first run drained")
}

func TestAChangeCancelsTheManualRunsThatWaitForTheNextRunOfTheWorkflow(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(`"frequency":"month"`))
	w.takes(25 * time.Second)
	const manual = drainAfter + 1 // with the occurrence two more than the first run takes
	for i := range manual {
		w.signal(time.Duration(10*i+1)*time.Second, workflows.UpdateRun, nil)
	}
	w.update((10*manual-6)*time.Second, workflows.UpdateDisable) // the last execution ends 2 s later
	w.run(6 * time.Hour)

	require.Len(t, w.runs, 2)
	require.Empty(t, w.runs[1].Deferred)
	require.Len(t, w.sent, drainAfter)
	require.Equal(t, []string{"Cancelled 1: 01:40:04 to 01:40:04", "Cancelled 1: 01:40:04 to 01:40:04"}, w.dropped())
	require.Equal(t, []int{drainAfter + 1, drainAfter + 2}, w.cancelled())
}
