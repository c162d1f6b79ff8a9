package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestTheEndOfAnExecutionTellsHowManyFailedBeforeIt(t *testing.T) {
	t.Parallel()
	var o job.Outcomes
	at := time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		failed        bool
		before, after int
	}{
		{false, 0, 0},
		{true, 0, 1},
		{true, 1, 2},
		{false, 2, 0},
		{false, 0, 0},
		{true, 0, 1},
	} {
		e := job.ExecutionEnd{Ended: at, Failed: tt.failed}
		o.Add(&e)
		require.Equal(t, tt.before, e.FailedBefore)
		require.Equal(t, tt.after, o.ConsecutiveFailures)
		require.Equal(t, tt.after > 0, o.FailingSince != nil, "it is failing from the first failure in a row to the next success")
	}
}
