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
	const manual = 650
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
	require.Positive(t, w.runs[1].DeferredRuns, "what came while the first run drained")
}
