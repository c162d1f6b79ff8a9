package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/completions"
	"almanac/internal/latency"
)

func TestTheHeartbeatTimeoutOfARequestThatIsNotAnsweredSoonIsLengthened(t *testing.T) {
	t.Parallel()
	const half = activities.UnsentLoss / 2
	lengthened := []timeoutChange{{half, activities.SentLoss}}
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		takes   time.Duration
		old     bool // the server cannot
		changes []timeoutChange
		beats   []time.Duration // after the fence
	}{
		{"after half of it", activities.UnsentLoss, 20 * time.Second, false, lengthened, []time.Duration{half + activities.SentLoss/2}},
		{"not if it is answered before", activities.UnsentLoss, half - 1, false, nil, nil},
		{"not that of a busy worker, whose heartbeats are few", activities.BusyLoss, 50 * time.Second, false, nil, nil},
		{"not a long one", activities.SentLoss, 20 * time.Second, false, nil, []time.Duration{activities.SentLoss / 2}},
		{"not by an old server, which gets more heartbeats", activities.UnsentLoss, 5 * time.Second, true, nil, []time.Duration{half, 2 * half, 3 * half}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(tt.takes), time.Now()
				k := task{heartbeat: tt.timeout, server: &server{old: tt.old}}
				_, err := k.run(t, r.Runner, due(0, 1))
				require.NoError(t, err)
				require.Equal(t, tt.changes, k.server.loss)
				var at []time.Duration
				for _, b := range k.server.beats()[1:] {
					at = append(at, b.at.Sub(start))
				}
				require.Equal(t, tt.beats, at)
			})
		})
	}
}

func TestWhileOutcomesWaitLongTheHeartbeatTimeoutOfOneThatWasSentIsLengthenedFurther(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timeout time.Duration
		changes []timeoutChange
	}{
		"a short one":             {activities.UnsentLoss, []timeoutChange{{activities.UnsentLoss / 2, activities.BusyLoss}}},
		"that of a late one":      {activities.SentLoss, []timeoutChange{{activities.SentLoss / 2, activities.BusyLoss}}},
		"not one that is longest": {activities.BusyLoss, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTimedRunner(0)
				r.Completions = completions.New(nil)
				fill(t, r.Runner)
				_, err := (&task{heartbeat: activities.BusyLoss, server: &server{}}).run(t, r.Runner, due(0, 1))
				require.NoError(t, err)
				require.Greater(t, r.Completions.LongestWait(), activities.SentLoss/2, "it waited until a place was free")
				slow := newTimedRunner(20 * time.Second)
				slow.Completions = r.Completions
				k := task{heartbeat: tt.timeout, server: &server{}}
				_, err = k.run(t, slow.Runner, due(0, 1))
				require.NoError(t, err)
				require.Equal(t, tt.changes, k.server.loss)
			})
		})
	}
}

// The server tells a retry the timeout with which its activity was scheduled.
func TestARetryOfAHeldRequestIsKeptAliveByItsShortTimeout(t *testing.T) {
	t.Parallel()
	const half = activities.UnsentLoss / 2
	synctest.Test(t, func(t *testing.T) {
		r, start := newTimedRunner(20*time.Second), time.Now()
		k := task{heartbeat: time.Minute + activities.MinHeldLoss, attempt: 2, earlier: refused(), server: &server{}}
		_, err := k.run(t, r.Runner, due(0, 3))
		require.NoError(t, err)
		require.Equal(t, []timeoutChange{{half, activities.SentLoss}}, k.server.loss)
		require.Equal(t, start.Add(half+activities.SentLoss/2), k.server.beats()[1].at)
	})
}

// The server counts from the last heartbeat, not from when a request begins or ends.
func TestAnOutcomeThatWaitsIsRecordedBeforeItsAttemptCountsAsLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		held    time.Duration
		takes   time.Duration
	}{
		{"not held, and answered just before it is lengthened", activities.UnsentLoss, 0, activities.UnsentLoss/2 - 1},
		{"held for a short time", 600*time.Millisecond + activities.MinHeldLoss, 600 * time.Millisecond, 900 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTimedRunner(tt.takes)
				r.Completions = completions.New(nil)
				fill(t, r.Runner)
				k := task{heartbeat: tt.timeout, server: &server{}}
				begin := time.Now()
				_, err := k.run(t, r.Runner, due(tt.held, 1))
				require.NoError(t, err)
				require.Len(t, k.server.loss, 1)
				fence := k.server.beats()[0].at.Sub(begin)
				require.LessOrEqual(t, k.server.loss[0].at, fence+tt.timeout-500*time.Millisecond)
			})
		})
	}
}

// A retry of the server begins with the heartbeat timeout of the attempt before, which can be that of a long hold.
func TestTheHeartbeatTimeoutOfARetryIsShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		held     time.Duration
		timeout  time.Duration
		attempts int
		old      bool
		changes  int
	}{
		{"of one that was held", time.Minute, time.Minute + activities.MinHeldLoss, 2, false, 1},
		{"not if there is none", time.Minute, time.Minute + activities.MinHeldLoss, 1, false, 0},
		{"not again", 0, activities.UnsentLoss, 2, false, 0},
		{"not if the worker was busy", 0, activities.SentLoss, 2, false, 0},
		{"not if outcomes waited long to be reported", 0, activities.BusyLoss, 2, false, 0},
		{"not by an old server", time.Minute, time.Minute + activities.MinHeldLoss, 2, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := task{heartbeat: tt.timeout, server: &server{old: tt.old}}
				_, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) { return "", errors.New("refused") })), due(tt.held, tt.attempts))
				applicationError(t, err)
				require.Len(t, k.server.loss, tt.changes)
				for _, change := range k.server.loss {
					require.Equal(t, activities.UnsentLoss, change.timeout)
				}
			})
		})
	}
}

func TestTheLossTimeGrowsWithTheAttemptsThatAreHeldTogether(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		together int
		position float64       // of its fence
		slow     time.Duration // how long the server takes to answer
		want     time.Duration
	}{
		{"one", 1, 0, 400 * time.Millisecond, activities.MinHeldLoss},
		{"as many as their fences are quick", activities.Calm, 0, 0, activities.MinHeldLoss - 250*time.Millisecond},
		{"one of these whose fence is earlier", activities.Calm, 0.8, 0, activities.MinHeldLoss - 1050*time.Millisecond},
		{"more", activities.Calm + 100, 0, 0, activities.MinHeldLoss + 350*time.Millisecond},
		{"more of these are told from few", activities.Calm + 1, 0.8, 0, activities.MinHeldLoss},
		{"many", 5000, 0.8, 0, activities.MaxHeldLoss},
		{"many, of a server that is not very slow", 5000, 0, 900 * time.Millisecond, activities.MaxHeldLoss},
		{"one of a slow server", 1, 0, 3 * time.Second, 9 * time.Second},
		{"many of a slow server", 5000, 0, 3 * time.Second, 9 * time.Second},
		{"one of a very slow server", 1, 0, time.Minute, activities.BusyHeldLoss},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &activities.Runner{Latency: slowServer(tt.slow)}
				require.InDelta(t, tt.want, r.HeldLoss(tt.together, tt.position), float64(50*time.Millisecond))
			})
		})
	}
}

// slowServer returns the latency of a server that takes that long to answer.
func slowServer(takes time.Duration) *latency.Meter {
	m := new(latency.Meter)
	for range 100 {
		end := m.Begin()
		time.Sleep(takes)
		end()
	}
	return m
}

// The server looks at each activity that has not ended when its loss time is over.
func TestTheLossTimeOfALargeHerdIsAsLongAsItsOutcomesWaitToBeReported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		together int
		waited   time.Duration
		want     time.Duration
	}{
		{"as they did", 2000, 8 * time.Second, 8 * time.Second},
		{"but a worker that takes over is in time", 2000, time.Minute, activities.BusyHeldLoss},
		{"not that of a small one", activities.Large, time.Minute, activities.HeldLossOf(activities.Large, 0.9)},
		{"not if they did not wait", 2000, 0, activities.MaxHeldLoss},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := runner(sendFunc(func(context.Context) (string, error) { return "fine", nil }))
				r.Completions = completions.New(nil)
				fill(t, r)
				time.AfterFunc(tt.waited, func() { r.Completions.Received("default-test-workflow-id") })
				if tt.waited > 0 {
					_, err := new(task).run(t, r, due(0, 1))
					require.NoError(t, err)
				}
				require.Equal(t, tt.want, r.HeldLoss(tt.together, 0.9))
			})
		})
	}
}

func TestAnOutcomeThatWaitsIsRecordedLaterWhileTheServerIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runner(sendFunc(func(context.Context) (string, error) { return "fine", nil }))
		r.Completions = completions.New(slowServer(5 * time.Second))
		fill(t, r)
		k := task{heartbeat: time.Minute}
		_, err := k.run(t, r, due(0, 1))
		require.NoError(t, err)
		beats := k.server.beats()
		require.Greater(t, len(beats), 1)
		require.InDelta(t, 15*time.Second, beats[1].at.Sub(beats[0].at), float64(100*time.Millisecond))
		require.NotNil(t, beats[1].Ended)
	})
}

func TestASuccessReturnsTheLossTimeOfTheNextExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, err := new(task).execute(t, newTimedRunner(0).Runner, due(time.Minute, 1))
		require.NoError(t, err)
		require.InDelta(t, activities.MinHeldLoss.Milliseconds(), out.Loss, 8)
		out, err = new(task).execute(t, newTimedRunner(0).Runner, due(0, 1))
		require.NoError(t, err)
		require.Zero(t, out.Loss, "it was not held")
	})
}

// A stopped worker leaves polls open for 1.5 s, to which the server would give what it lost.
func TestTheFenceOfASmallerHerdIsAsLongBeforeTheLossAsThatOfALargerOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		loss time.Duration // chosen by a herd
		want time.Duration // of the fence before the due time
	}{
		{"as small", activities.MinHeldLoss - 5*time.Millisecond, 55 * time.Millisecond},
		{"of three hundred, as one of the first", 450 * time.Millisecond, 1050 * time.Millisecond},
		{"of thousands", activities.MaxHeldLoss, 55 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k, due, start := task{heartbeat: time.Minute + tt.loss}, due(time.Minute, 1), time.Now()
				_, err := k.run(t, newTimedRunner(0).Runner, due)
				require.NoError(t, err)
				require.InDelta(t, tt.want, start.Add(time.Minute).Sub(k.server.beats()[0].at), float64(5*time.Millisecond))
			})
		})
	}
}
