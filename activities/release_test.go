package activities_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/lease"
)

func TestAnAttemptIsReleasedUntilItBeginsToSend(t *testing.T) {
	t.Parallel()
	const ahead = 5 * time.Second
	for _, tt := range []struct {
		name     string
		at       time.Duration
		released bool
	}{
		{"before its fence", time.Second, true},
		{"after its fence", ahead - fenceMargin/2, true},
		{"but not while it is sent", ahead + 500*time.Millisecond, false},
		{"and not after its end", ahead + 2*time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(time.Second), time.Now()
				r.Queue = "mine"
				answers := make(chan bool, 1)
				time.AfterFunc(tt.at, func() {
					require.False(t, r.ReleaseOnly(2), "another attempt of the activity")
					answers <- r.ReleaseOnly(1)
				})
				var k task
				attempts, err := k.run(t, r.Runner, due(ahead, 5))
				time.Sleep(5 * time.Second)
				require.Equal(t, tt.released, <-answers)
				for _, fence := range k.server.fences() {
					require.Equal(t, "mine", fence.Queue)
				}
				if tt.released {
					requireUnsent(t, err, nil)
					require.Empty(t, r.sent)
					require.Equal(t, tt.at, time.Since(start)-5*time.Second, "it ends at once")
					return
				}
				require.NoError(t, err)
				require.Len(t, r.sent, 1)
				require.Len(t, attempts, 1)
			})
		})
	}
}

func TestAnAttemptIsReleasedWhileTheServerRecordsItsFence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(0)
		k := task{server: &server{answer: func(int) error {
			time.Sleep(3 * time.Second)
			return nil
		}}}
		time.AfterFunc(10*time.Second, func() { require.True(t, r.ReleaseOnly(1)) })
		_, err := k.run(t, r.Runner, due(10*time.Second, 5))
		requireUnsent(t, err, nil)
		time.Sleep(time.Minute)
		require.Empty(t, r.sent)
		require.Len(t, k.server.fences(), 1)
	})
}

// The sender was not allowed to begin, since the lease was over.
func TestAnAttemptThatWasRefusedItsLeaseIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := false
		r := runner(sendFunc(func(ctx context.Context) (string, error) {
			time.Sleep(2 * leaseTime) // it connects
			if !lease.MayBegin(ctx) {
				return "", lease.ErrOver
			}
			lease.Begun(ctx)
			sent = true
			return "", nil
		}))
		fences := 0
		k := task{heartbeat: time.Hour, server: &server{answer: func(int) error {
			if fences++; fences == 2 {
				time.Sleep(time.Second)
			}
			return nil
		}}}
		during, after := make(chan bool, 1), make(chan bool, 1)
		time.AfterFunc(leaseTime, func() { during <- r.ReleaseOnly(1) })
		time.AfterFunc(2*leaseTime+500*time.Millisecond, func() { after <- r.ReleaseOnly(1) })
		_, err := k.run(t, r, due(0, 5))
		requireUnsent(t, err, nil)
		require.False(t, <-during, "it may begin")
		require.True(t, <-after)
		require.False(t, sent)
	})
}

func TestAnAttemptIsEitherReleasedOrSent(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 400 {
		group.Go(func() {
			r := newTimedRunner(0)
			in := due(20*time.Millisecond, 5)
			released := make(chan bool)
			time.AfterFunc(19*time.Millisecond+time.Duration(rand.IntN(2000))*time.Microsecond, func() { released <- r.ReleaseOnly(1) })
			out, err := new(task).execute(t, r.Runner, in)
			if yes := <-released; yes != (len(r.sent) == 0) || yes == (err == nil) {
				t.Errorf("released: %t, sent: %d, %v, %v", yes, len(r.sent), out, err)
			}
		})
	}
	group.Wait()
}

func TestNothingIsReleasedTwiceOrByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(0)
		answers := make(chan bool, 2)
		time.AfterFunc(time.Second, func() {
			answers <- newTimedRunner(0).ReleaseOnly(1)
			answers <- r.ReleaseOnly(1)
		})
		_, err := new(task).execute(t, r.Runner, due(time.Minute, 5))
		require.Error(t, err)
		require.False(t, <-answers, "a process that does not have it")
		require.True(t, <-answers)
		require.False(t, r.ReleaseOnly(1), "it is over")
	})
}
