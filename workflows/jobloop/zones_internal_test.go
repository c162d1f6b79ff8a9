package jobloop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All jobs of a zone may wait for a worker that is gone. Each attempt costs the server two writes.
func TestJobsThatNoWorkerCanPlanAskSeldom(t *testing.T) {
	t.Parallel()
	attempts := 0
	p := planning.RetryPolicy
	for passed, wait := time.Duration(0), p.InitialInterval; passed < time.Hour; attempts++ {
		passed += wait
		wait = min(time.Duration(float64(wait)*p.BackoffCoefficient), p.MaximumInterval)
	}
	require.Less(t, attempts, 30, "in an hour")
	require.LessOrEqual(t, p.MaximumInterval, 10*time.Minute, "one that is there again is found soon")
}
