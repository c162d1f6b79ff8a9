package jobloop

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker with newer time zones may be one of ten. Each attempt costs the server two writes, and all jobs of a zone may
// wait, also for a worker that is gone.
func TestJobsThatAWorkerCannotPlanAskAgainSoonIfTheyAreFew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		jobs          int
		passed        time.Duration
		least, atMost int64 // attempts in all
	}{
		{"twelve, in a minute", 12, time.Minute, 12 * 24, 12 * 32},
		{"twelve, in a day", 12, 24 * time.Hour, 12 * 340, 12 * 420},
		{"ten thousand, in an hour", 10_000, time.Hour, 35_000, 36_100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, attempts, end := NewPlanner(nil), atomic.Int64{}, time.Now().Add(tt.passed)
				var jobs sync.WaitGroup
				for range tt.jobs {
					jobs.Go(func() {
						for begin := time.Now(); time.Now().Before(end); {
							attempts.Add(1)
							time.Sleep(p.again(time.Since(begin)))
						}
					})
				}
				jobs.Wait()
				require.GreaterOrEqual(t, attempts.Load(), tt.least)
				require.LessOrEqual(t, attempts.Load(), tt.atMost+int64(tt.jobs))
			})
		})
	}
}
