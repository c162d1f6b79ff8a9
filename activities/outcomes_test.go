package activities_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
)

func TestAttemptThatWasTakenForLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"but its success is reported", nil, "1 Completed the answer\n"},
		{"but its failure is reported", errors.New("refused"), "1 Failed the answer\n"},
		{"but its failure for good is reported", &activities.PermanentError{Err: errors.New("refused")}, "1 Failed the answer\n"},
		{"but its failure that puts off the next attempt is reported", &activities.RetryAfterError{Err: errors.New("refused"), After: 31 * time.Second}, "1 Failed the answer\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				r := runner(sendFunc(func(context.Context) (string, error) {
					sent++
					time.Sleep(time.Second)
					return "the answer", tt.err
				}))
				in := due(-time.Hour, 3)
				first, firstErr := new(task).run(t, r, in)
				time.Sleep(30 * time.Second)
				k := task{attempt: 2, sent: true}
				second, err := k.run(t, r, in)
				require.Equal(t, 1, sent)
				require.Equal(t, tt.want, history(second))
				require.Equal(t, first, second, "times included")
				require.Empty(t, k.server.fences(), "nothing more is sent")
				if tt.err == nil {
					require.NoError(t, err)
					return
				}
				want, got := applicationError(t, firstErr), applicationError(t, err)
				require.Equal(t, want.NonRetryable(), got.NonRetryable())
				require.Equal(t, want.NextRetryDelay(), got.NextRetryDelay())
				require.Equal(t, want.Message(), got.Message())
			})
		})
	}
}

func TestAttemptWaitsForTheOneThatWasTakenForLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer error // to heartbeats of the waiting attempt
	}{
		{"and keeps its activity alive", nil},
		{"although it is cancelled", errCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newTimedRunner(20*time.Second), time.Now()
				in := due(-time.Hour, 3)
				var group sync.WaitGroup
				group.Go(func() {
					if _, err := new(task).run(t, r.Runner, in); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(5 * time.Second)
				k := task{attempt: 2, sent: true, heartbeat: 12 * time.Second, server: &server{old: true, answer: always(tt.answer)}}
				attempts, err := k.run(t, r.Runner, in)
				require.NoError(t, err)
				require.Equal(t, 20*time.Second, time.Since(start))
				require.Equal(t, "1 Completed fine\n", history(attempts))
				require.Len(t, r.sent, 1)
				require.Len(t, k.server.beats(), 2)
				for _, b := range k.server.beats() {
					require.True(t, b.MaybeSent(), "the request of the one that it waits for may have left")
				}
				group.Wait()
			})
		})
	}
}

func TestWaitForAnAttemptEndsWhenTheWorkerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTimedRunner(20 * time.Second)
		in := due(-time.Hour, 3)
		var group sync.WaitGroup
		group.Go(func() { _, _ = new(task).run(t, r.Runner, in) })
		time.Sleep(time.Second)
		start := time.Now()
		k := task{attempt: 2, sent: true, stop: make(chan struct{})}
		time.AfterFunc(time.Second, func() { close(k.stop) })
		_, err := k.run(t, r.Runner, in)
		requireLost(t, err)
		require.Equal(t, time.Second, time.Since(start))
		group.Wait()
		require.Len(t, r.sent, 1)
	})
}

func TestOutcomesOfOthersAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*activities.Input)
	}{
		{"of another execution", func(in *activities.Input) { in.Execution.ID = "6ba7b811-9dad-11d1-80b4-00c04fd430c8" }},
		{"of the other action", func(in *activities.Input) { in.Execution.ActionName = job.ErrorAction }},
		{"of an attempt before", func(in *activities.Input) { in.SentBefore = 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, in := newTimedRunner(0), due(-time.Hour, 3)
				_, err := new(task).run(t, r.Runner, in)
				require.NoError(t, err)
				tt.change(&in)
				k := task{attempt: 2, sent: true}
				_, err = k.run(t, r.Runner, in)
				requireLost(t, err)
				require.Len(t, r.sent, 1)
			})
		})
	}
}

// The recorded fence may be another process's.
func TestAnAttemptThatThisProcessDidNotSendMayHaveBeenSentByAnother(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"after it ended": false, "while it ends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, in := newTimedRunner(0), due(-time.Hour, 3)
				time.AfterFunc(10*time.Second, r.OccupyPlaces())
				var group sync.WaitGroup
				group.Go(func() {
					k := task{server: &server{answer: func(n int) error {
						if n > 1 {
							return errMissing
						}
						return nil
					}}}
					if _, err := k.run(t, r.Runner, in); err == nil {
						t.Error("it was given up")
					}
				})
				if running {
					time.Sleep(5 * time.Second)
				} else {
					group.Wait()
				}
				k := task{attempt: 2, sent: true}
				_, err := k.run(t, r.Runner, in)
				requireLost(t, err)
				require.Empty(t, r.sent)
				group.Wait()
			})
		})
	}
}

func TestHowLongOutcomesAreKept(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for _, tt := range []struct {
		name   string
		silent time.Duration // from the attempt's end until the server answers again
		after  time.Duration // until another attempt takes over
		kept   bool
	}{
		{"a minute", 0, minute, true},
		{"no longer than a minute", 0, minute + 2*time.Second, false},
		{"while the server does not answer", 9 * minute, 8 * minute, true},
		{"a minute after the server answered again", 8 * minute, 9 * minute, true},
		{"no longer than a minute after that", 8 * minute, 9*minute + 2*time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, in, start := newTimedRunner(0), due(-time.Hour, 3), time.Now()
				_, err := new(task).run(t, r.Runner, in)
				require.NoError(t, err)

				// Attempts of other executions; one waits for the server.
				var group sync.WaitGroup
				defer group.Wait()
				if tt.silent > 0 {
					group.Go(func() {
						other := due(-time.Hour, 3)
						other.Execution.ID = "waits"
						k := task{server: &server{answer: until(start.Add(tt.silent), errUnavailable)}}
						if _, err := k.run(t, r.Runner, other); err != nil {
							t.Error(err)
						}
					})
				}
				time.Sleep(tt.after)
				if tt.silent < tt.after {
					other := due(-time.Hour, 3)
					other.Execution.ID = "another"
					_, err := new(task).run(t, r.Runner, other)
					require.NoError(t, err)
				}
				k := task{attempt: 2, sent: true}
				_, err = k.run(t, r.Runner, in)
				require.Empty(t, k.server.fences(), "nothing more is sent")
				if tt.kept {
					require.NoError(t, err)
				} else {
					requireLost(t, err)
				}
			})
		})
	}
}

// A request that began before the server stopped answering ends meanwhile.
func TestNothingIsForgottenWhileTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const silent = 8 * time.Minute
		var takes, sent atomic.Int64 // nanoseconds, and requests
		r := runner(sendFunc(func(context.Context) (string, error) {
			sent.Add(1)
			time.Sleep(time.Duration(takes.Load()))
			return "fine", nil
		}))
		r.Timeout = time.Hour
		in, start := due(-time.Hour, 3), time.Now()
		_, err := new(task).run(t, r, in)
		require.NoError(t, err)

		other := func(id string, s *server) {
			in := due(-time.Hour, 3)
			in.Execution.ID = id
			if _, err := (&task{server: s, heartbeat: time.Hour}).run(t, r, in); err != nil {
				t.Error(err)
			}
		}
		var group sync.WaitGroup
		takes.Store(int64(5 * time.Minute))
		group.Go(func() { other("long", &server{}) })
		synctest.Wait()
		takes.Store(0)
		group.Go(func() { other("waits", &server{answer: until(start.Add(silent), errUnavailable)}) })
		time.Sleep(6 * time.Minute)

		k := task{attempt: 2, sent: true}
		_, err = k.run(t, r, in)
		require.NoError(t, err)
		require.Empty(t, k.server.fences())
		require.EqualValues(t, 2, sent.Load())
		group.Wait()
	})
}
