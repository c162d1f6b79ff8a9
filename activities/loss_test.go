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
		want     time.Duration
	}{
		{"one", 1, activities.MinHeldLoss},
		{"as many as their fences are quick", activities.Calm, activities.MinHeldLoss},
		{"more", activities.Calm + 100, activities.MinHeldLoss + 600*time.Millisecond},
		{"many", 5000, activities.MaxHeldLoss},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, new(activities.Runner).HeldLoss(tt.together))
		})
	}
}

func TestASuccessReturnsTheLossTimeOfTheNextExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, err := new(task).execute(t, newTimedRunner(0).Runner, due(time.Minute, 1))
		require.NoError(t, err)
		require.Equal(t, int(activities.MinHeldLoss.Milliseconds()), out.Loss)
		out, err = new(task).execute(t, newTimedRunner(0).Runner, due(0, 1))
		require.NoError(t, err)
		require.Zero(t, out.Loss, "it was not held")
	})
}
