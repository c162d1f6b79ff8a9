package activities_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
)

const (
	fenceMargin = 55 * time.Millisecond  // from the fence of one attempt to the due time
	herdMargin  = 300 * time.Millisecond // from the last fence of a herd
	leaseTime   = time.Second            // the shortest lease
)

func TestAttemptIsSentWhenItIsDue(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{
		-time.Hour, 0, 1, 100 * time.Millisecond, fenceMargin - 1, fenceMargin + 1, 3 * time.Second, 20 * time.Second, time.Minute,
	} {
		for _, maxAttempts := range []int{1, 5} {
			t.Run(fmt.Sprintf("%s ahead, with %d attempts", ahead, maxAttempts), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newTimedRunner(0)
					in, start := due(ahead, maxAttempts), time.Now()
					var k task
					attempts, err := k.run(t, r.Runner, in)
					require.NoError(t, err)
					require.Equal(t, []time.Time{start.Add(max(0, ahead))}, r.sent)
					require.Equal(t, r.sent[0].UTC(), attempts[0].Start, "time in the hold does not count")

					require.Len(t, k.server.beats(), 1)
					fence := k.server.beats()[0]
					require.True(t, fence.MaybeSent())
					require.WithinRange(t, fence.at, start.Add(max(0, ahead-fenceMargin-10*time.Millisecond)), start.Add(max(0, ahead-fenceMargin)))
					lease := time.Duration(fence.Lease) * time.Millisecond
					require.WithinDuration(t, start.Add(max(0, ahead)+leaseTime), fence.at.Add(lease), time.Millisecond, "it covers the due time")
				})
			})
		}
	}
}

func TestNothingIsSentEarly(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 300 {
		group.Go(func() {
			in := due(time.Duration(rand.IntN(50_000))*time.Microsecond, 5)
			r := runner(sendFunc(func(context.Context) (string, error) {
				if time.Now().Round(0).Before(in.Execution.Due) {
					t.Errorf("sent before %s", in.Execution.Due)
				}
				return "", nil
			}))
			if _, err := new(task).run(t, r, in); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestFencesOfAHerdAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			herd = 200
			span = herd * 2500 * time.Microsecond
			slot = span / 10
		)
		r, s := newTimedRunner(0), &server{}
		at := time.Now().Add(20 * time.Second)
		var group sync.WaitGroup
		for i := range herd {
			group.Go(func() {
				in := due(20*time.Second, 5)
				in.Execution.Job = "j" + strconv.Itoa(i)
				if _, err := (&task{server: s}).run(t, r.Runner, in); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.Len(t, s.beats(), herd)
		slots := make([]int, 10)
		for _, b := range s.beats() {
			before := at.Sub(b.at) - herdMargin
			require.GreaterOrEqual(t, before, time.Duration(0))
			require.LessOrEqual(t, before, span)
			slots[min(int(before/slot), 9)]++
		}
		require.NotZero(t, slices.Min(slots), "%v", slots)
		require.Less(t, slices.Max(slots), herd/4, "%v", slots)
		require.Len(t, r.sent, herd)
		for _, sent := range r.sent {
			require.Equal(t, at, sent)
		}
	})
}

// What the server cannot take in time is sent late, and makes no more work.
func TestAHerdThatIsTooLargeForItsWindowIsSentLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			herd  = 1800
			held  = time.Minute
			loss  = activities.MaxHeldLoss // of a new job
			takes = 7 * time.Millisecond   // a fence
			limit = 5 * time.Second        // of a call
		)
		busy := make(chan struct{}, 1) // a mutex would keep the clock of the test from advancing
		var open, most atomic.Int32
		s := &server{answer: func(int) error {
			most.Store(max(most.Load(), open.Add(1)))
			defer open.Add(-1)
			select {
			case busy <- struct{}{}:
				time.Sleep(takes)
				<-busy
				return nil
			case <-time.After(limit):
				return context.DeadlineExceeded
			}
		}}
		r, at := newTimedRunner(0), time.Now().Add(held)
		r.SetFenceTime(takes) // as the herd before took
		var group sync.WaitGroup
		for i := range herd {
			group.Go(func() {
				in := due(held, 1)
				in.Execution.Job = "j" + strconv.Itoa(i)
				if _, err := (&task{server: s, heartbeat: held + loss}).run(t, r.Runner, in); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.Len(t, s.fences(), herd, "each asks once")
		require.LessOrEqual(t, int(most.Load()), activities.FencePlaces)
		require.Len(t, r.sent, herd)
		last := slices.MaxFunc(r.sent, time.Time.Compare).Sub(at)
		require.InDelta(t, (herd*takes - 6*time.Second).Seconds(), last.Seconds(), 2)
		late := len(slices.DeleteFunc(slices.Clone(r.sent), func(sent time.Time) bool { return sent.Before(at.Add(loss)) }))
		require.GreaterOrEqual(t, len(s.loss), late, "those that would be lost before have more time")
		require.Less(t, len(s.loss), herd*2/3)
		for _, c := range s.loss {
			require.Less(t, c.at, held-6*time.Second, "before the fences begin")
			require.Greater(t, c.timeout, held+loss)
		}
	})
}

// Reporting an outcome costs more than sending, so it waits until the others are sent.
func TestOutcomeIsReportedAfterTheOthersWereSent(t *testing.T) {
	t.Parallel()
	const ahead = 2 * time.Second
	for _, tt := range []struct {
		name  string
		other time.Duration // due time of the other attempt
		late  time.Duration // from its due time until the server lets it pass its fence
		want  time.Duration // from the due time until the first attempt ends
	}{
		{"of the same second", ahead, 400 * time.Millisecond, 400 * time.Millisecond},
		{"for a second at most", ahead, 1900 * time.Millisecond, time.Second},
		{"but not those of another second", ahead + time.Second, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(0), time.Now()
				var group sync.WaitGroup
				group.Go(func() {
					in := due(tt.other, 5)
					in.Execution.ID = "another"
					k := task{server: &server{answer: until(start.Add(tt.other+tt.late), errUnavailable)}}
					if _, err := k.run(t, r.Runner, in); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				attempts, err := new(task).run(t, r.Runner, due(ahead, 5))
				require.NoError(t, err)
				require.WithinRange(t, time.Now(), start.Add(ahead+tt.want), start.Add(ahead+tt.want+500*time.Millisecond))
				require.Equal(t, start.Add(ahead).UTC(), attempts[0].End, "it is not part of the attempt")
				group.Wait()
			})
		})
	}
}

func TestHeldAttemptIsNotSentByAWorkerThatStops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		at     time.Duration // when the worker stops; the attempt is due after 5 s
		answer error         // of the server, until the due time
		fences int
	}{
		{"long before the fence", time.Second, nil, 0},
		{"between the fence and the due time", 5*time.Second - fenceMargin/2, nil, 1},
		{"while the server does not answer", 5*time.Second - fenceMargin/2, errUnavailable, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(0), time.Now()
				k := task{stop: make(chan struct{}), server: &server{answer: until(start.Add(5*time.Second), tt.answer)}, attempt: 2, earlier: refused()}
				time.AfterFunc(tt.at, func() { close(k.stop) })
				_, err := k.run(t, r.Runner, due(5*time.Second, 5))
				requireUnsent(t, err, refused())
				require.ErrorContains(t, err, "the worker stopped")
				require.Equal(t, tt.at, time.Since(start), "it does not wait")
				require.Len(t, k.server.fences(), tt.fences)
				require.Empty(t, r.sent)
			})
		})
	}
}

func TestHeldAttemptEndsWithItsActivity(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{"before the fence": time.Second, "after the fence": 5*time.Second - fenceMargin/2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(0), time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(at, cancel)
				_, err := (&task{ctx: ctx}).run(t, r.Runner, due(5*time.Second, 5))
				requireUnsent(t, err, nil)
				require.Equal(t, at, time.Since(start))
				require.Empty(t, r.sent)
			})
		})
	}
}

func TestHeldAttemptGivesUpIfTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const ahead = 5 * time.Second
	for _, tt := range []struct {
		name   string
		silent time.Duration // since the due time
		sent   time.Duration // since the due time
	}{
		{"but not before", activities.MaxHeldLoss - time.Second, activities.MaxHeldLoss - 700*time.Millisecond},
		{"and sends nothing", time.Hour, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(0), time.Now()
				at := start.Add(ahead)
				k := task{server: &server{answer: until(at.Add(tt.silent), errUnavailable)}, heartbeat: ahead + activities.MaxHeldLoss}
				_, err := k.run(t, r.Runner, due(ahead, 5))
				for i, b := range k.server.beats() {
					require.Equal(t, 1, b.Sent)
					if i > 0 {
						require.Equal(t, 500*time.Millisecond, b.at.Sub(k.server.beats()[i-1].at))
					}
				}
				if tt.sent < 0 {
					requireUnsent(t, err, nil)
					require.Empty(t, r.sent)
					require.WithinRange(t, time.Now(), at.Add(activities.MaxHeldLoss), at.Add(activities.MaxHeldLoss+time.Second))
					return
				}
				require.NoError(t, err)
				require.Len(t, r.sent, 1)
				require.WithinRange(t, r.sent[0], at.Add(tt.silent), at.Add(activities.MaxHeldLoss))
			})
		})
	}
}
