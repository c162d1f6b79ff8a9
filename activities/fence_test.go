package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
)

func TestNothingIsSentIfTheFenceIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"it is cancelled": errCancelled, "it is gone": errMissing} {
		for when, ahead := range map[string]time.Duration{"held": 5 * time.Second, "due already": -time.Minute} {
			for _, maxAttempts := range []int{1, 5} {
				t.Run(fmt.Sprintf("%s, %s, with %d attempts", name, when, maxAttempts), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := newTimedRunner(0)
						k := task{server: &server{answer: always(answer)}}
						_, err := k.run(t, r.Runner, due(ahead, maxAttempts))
						requireUnsent(t, err, nil)
						require.Empty(t, r.sent)
						require.Len(t, k.server.beats(), 1, "the answer is final")
					})
				})
			}
		}
	}
	t.Run("after it was asked again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newTimedRunner(0)
			k := task{attempt: 2, earlier: refused(), server: &server{answer: func(n int) error {
				if n < 3 {
					return errUnavailable
				}
				return errCancelled
			}}}
			_, err := k.run(t, r.Runner, due(5*time.Second, 5))
			requireUnsent(t, err, refused())
			require.Empty(t, r.sent)
		})
	})
}

func TestFenceOfARetryKeepsTheRecords(t *testing.T) {
	t.Parallel()
	k := task{attempt: 2, earlier: refused()}
	_, err := k.run(t, newTimedRunner(0).Runner, input(5))
	require.NoError(t, err)
	require.Equal(t, activities.Progress{Attempts: refused(), Sent: 2, Lease: 1000}, k.server.beats()[0].Progress)
}

func TestAttemptThatIsNotHeldWaitsForTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const silent = 20 * time.Second
		r, start := newTimedRunner(0), time.Now()
		k := task{server: &server{answer: until(start.Add(silent), errUnavailable)}}
		_, err := k.run(t, r.Runner, due(-time.Minute, 1))
		require.NoError(t, err)
		require.Equal(t, []time.Time{start.Add(silent)}, r.sent)
	})
}

func TestAnswerThatComesAfterTheLeaseIsNotUsed(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, tt := range []struct {
		name   string
		ahead  time.Duration
		took   []time.Duration // the server's answers; later ones are immediate
		leases []time.Duration
		sent   time.Duration // since the due time or, if later, the start
	}{
		{"in time", 0, []time.Duration{999 * ms}, []time.Duration{1000 * ms}, 999 * ms},
		{"just too late", 0, []time.Duration{1000 * ms}, []time.Duration{1000 * ms, 2000 * ms}, 1000 * ms},
		{"too late again and again", 0, []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second},
			[]time.Duration{1000 * ms, 2000 * ms, 4000 * ms}, 9 * time.Second},
		{"never longer than half a minute", 0,
			[]time.Duration{time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, 29 * time.Second},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second},
			6*time.Minute + 29*time.Second},
		{"in time for one that is held", fenceMargin, []time.Duration{fenceMargin + 999*ms}, []time.Duration{fenceMargin + 1000*ms}, 999 * ms},
		{"too late for one that is held", fenceMargin, []time.Duration{fenceMargin + 1000*ms}, []time.Duration{fenceMargin + 1000*ms, 2000 * ms}, 1000 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(0), time.Now()
				k := task{server: &server{answer: func(n int) error {
					if n <= len(tt.took) {
						time.Sleep(tt.took[n-1])
					}
					return nil
				}}}
				_, err := k.run(t, r.Runner, due(tt.ahead, 1))
				require.NoError(t, err)
				require.Equal(t, []time.Time{start.Add(tt.ahead + tt.sent)}, r.sent)
				var leases []time.Duration
				for _, b := range k.server.beats() {
					leases = append(leases, time.Duration(b.Lease)*ms)
				}
				require.Equal(t, tt.leases, leases)
			})
		})
	}
}

func TestLeaseThatIsOverBeforeItsTurnIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"held": 2 * time.Second, "due already": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range []struct {
				name   string
				wait   time.Duration // for the pace
				fences int
			}{
				{"within the lease", leaseTime - 100*time.Millisecond, 1},
				{"after the lease", leaseTime + 100*time.Millisecond, 2},
			} {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r, start := newTimedRunner(0), time.Now()
						free := r.OccupyPlaces()
						time.AfterFunc(ahead+tt.wait, free)
						var k task
						attempts, err := k.run(t, r.Runner, due(ahead, 1))
						require.NoError(t, err)
						require.Equal(t, "1 Completed fine\n", history(attempts))
						require.Equal(t, []time.Time{start.Add(ahead + tt.wait)}, r.sent)
						require.Len(t, k.server.fences(), tt.fences)
					})
				})
			}
		})
	}
	t.Run("and nothing is sent if it is refused then", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newTimedRunner(0)
			time.AfterFunc(2*leaseTime, r.OccupyPlaces())
			k := task{server: &server{answer: func(n int) error {
				if n > 1 {
					return errCancelled
				}
				return nil
			}}}
			_, err := k.run(t, r.Runner, due(0, 1))
			requireUnsent(t, err, nil)
			require.Empty(t, r.sent)
		})
	})
}

func TestCancellationAfterTheFenceDoesNotEndTheRequest(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]error{"which succeeds": nil, "which fails": errors.New("refused")} {
		for when, ahead := range map[string]time.Duration{"held": 2 * time.Second, "due already": 0} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					start := time.Now()
					r := runner(sendFunc(func(ctx context.Context) (string, error) {
						cancel()
						select {
						case <-ctx.Done():
							t.Error("the request was cut off")
						case <-time.After(10 * time.Second):
						}
						return "fine", fail
					}))
					k := task{ctx: ctx, server: &server{answer: func(n int) error {
						if n > 1 {
							return errCancelled
						}
						return nil
					}}}
					attempts, err := k.run(t, r, due(ahead, 5))
					require.Equal(t, ahead+10*time.Second, time.Since(start))
					if fail == nil {
						require.NoError(t, err)
						require.Equal(t, "1 Completed fine\n", history(attempts))
						return
					}
					require.Equal(t, "refused", applicationError(t, err).Message())
					require.Equal(t, "1 Failed fine\n", history(attempts))
				})
			})
		}
	}
}

func TestLongRequestKeepsItsActivityAlive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout time.Duration   // heartbeat timeout
		want    []time.Duration // since the request was sent
	}{
		{"when half of the heartbeat timeout is over", 6 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second}},
		{"but not if it takes less", 20 * time.Second, nil},
		{"but at most once a second", 1900 * time.Millisecond, []time.Duration{
			1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second, 9 * time.Second,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTimedRunner(9500 * time.Millisecond)
				k := task{heartbeat: tt.timeout, server: &server{old: true}}
				_, err := k.run(t, r.Runner, due(0, 3))
				require.NoError(t, err)
				var at []time.Duration
				for _, b := range k.server.beats()[1:] {
					at = append(at, b.at.Sub(r.sent[0]))
					require.Equal(t, activities.Progress{Sent: 1}, b.Progress)
				}
				require.Equal(t, tt.want, at)
			})
		})
	}
}

func TestAnswersToAHeartbeatOfALongRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer error
		heard  int
	}{
		{"it is still wanted", nil, 4},
		{"it is cancelled, which changes nothing", errCancelled, 4},
		{"none, and it is sent again after a second", errUnavailable, 8},
		{"it was given up, and is not sent again", errMissing, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(9500*time.Millisecond), time.Now()
				k := task{heartbeat: 4 * time.Second, server: &server{old: true, answer: func(n int) error {
					if n == 1 {
						return nil
					}
					return tt.answer
				}}}
				attempts, err := k.run(t, r.Runner, due(2*time.Second, 3))
				require.NoError(t, err)
				require.Equal(t, "1 Completed fine\n", history(attempts), "the outcome is reported in any case")
				require.Equal(t, 11500*time.Millisecond, time.Since(start))
				require.Len(t, k.server.beats(), 1+tt.heard)
			})
		})
	}
}

// The attempt counts as lost then, so a change would be answered at once.
func TestALeaseIsNotLongerThanTheServerWaitsForAHeartbeat(t *testing.T) {
	t.Parallel()
	const held = time.Minute + activities.MinHeldLoss
	for _, tt := range []struct {
		name string
		k    task
		old  bool
		want []int
	}{
		{"but that is lengthened for the second", task{heartbeat: 5 * time.Second}, false, []int{1000, 2000, 4000, 8000, 16000, 30000, 30000}},
		{"if an old server cannot lengthen that", task{heartbeat: 5 * time.Second}, true, []int{1000, 2000, 4000, 5000, 5000, 5000, 5000}},
		{"nor in a retry, which is told the timeout of the hold", task{heartbeat: held, attempt: 2, earlier: refused()}, true, []int{1000, 2000, 3000, 3000, 3000, 3000, 3000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := tt.k
				k.server = &server{old: tt.old, answer: func(n int) error {
					if n <= 6 {
						time.Sleep(40 * time.Second) // six leases are over
					}
					return nil
				}}
				r := newTimedRunner(0)
				_, err := k.run(t, r.Runner, due(-time.Minute, 5))
				require.NoError(t, err)
				var leases []int
				for _, b := range k.server.fences() {
					leases = append(leases, b.Lease)
				}
				require.Equal(t, tt.want, leases)
			})
		})
	}
}
