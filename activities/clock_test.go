package activities_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The test's clock is the server's.
func TestAttemptIsSentInTimeThoughTheWorkersClockIsWrong(t *testing.T) {
	t.Parallel()
	const tolerance = time.Second // less is within the clock skew allowed between two machines
	for _, skew := range []time.Duration{
		0, 300 * time.Millisecond, tolerance, tolerance + time.Millisecond, 2 * time.Second, time.Minute, time.Hour, 400 * 24 * time.Hour,
	} {
		for _, sign := range []time.Duration{1, -1} {
			for _, delay := range []time.Duration{0, 200 * time.Millisecond} {
				// between the server's dispatch of the task and its arrival
				skew := sign * skew
				t.Run(fmt.Sprintf("%s ahead, told %s late", skew, delay), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						var log bytes.Buffer
						r := newTimedRunner(0)
						r.Log = slog.New(slog.NewTextHandler(&log, nil))
						r.Clock.Local = func() time.Time { return time.Now().Add(skew) }
						started := time.Now().Round(0)
						at := started.Add(20 * time.Second)
						in := due(20*time.Second, 1)
						time.Sleep(delay)
						var group sync.WaitGroup
						for range 3 {
							group.Go(func() {
								out, err := (&task{started: started}).run(t, r.Runner, in)
								if err != nil {
									t.Error(err)
									return
								}
								if start := out[0].Start; !start.Equal(in.Execution.Due) {
									t.Errorf("sent when it was due, and recorded at %s instead of %s", start, in.Execution.Due)
								}
							})
						}
						group.Wait()
						require.Len(t, r.sent, 3)
						for _, sent := range r.sent {
							if skew.Abs() > tolerance+delay {
								require.WithinRange(t, sent, at, at.Add(delay), "by the server's clock")
							} else {
								require.WithinRange(t, sent, at.Add(-tolerance), at.Add(tolerance+delay))
							}
						}
						warnings := strings.Count(log.String(), "this machine's clock differs")
						switch {
						case skew.Abs() > tolerance+delay:
							require.Equal(t, 1, warnings, "not for each attempt")
						case skew.Abs() < tolerance-delay:
							require.Zero(t, warnings)
						}
					})
				})
			}
		}
	}
}

func TestWrongClockIsWarnedOfAgainAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newTimedRunner(0)
		r.Log = slog.New(slog.NewTextHandler(&log, nil))
		r.Clock.Local = func() time.Time { return time.Now().Add(-time.Hour) }
		for range 10 {
			_, err := new(task).run(t, r.Runner, due(-time.Hour, 1))
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
		}
		require.Equal(t, 3, strings.Count(log.String(), "ahead=-1h0m0s"))
	})
}
