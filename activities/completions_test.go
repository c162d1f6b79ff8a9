package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"almanac/activities"
	"almanac/activities/completions"
	"almanac/job"
)

func TestOutcomesAreReportedAFewAtATime(t *testing.T) {
	t.Parallel()
	const many = 16
	for _, tt := range []struct {
		name  string
		after func(r *completions.Limiter, token []byte) // called after five seconds
		ends  time.Duration                              // when a further outcome is reported
	}{
		{"until the workflow of one has its task", func(r *completions.Limiter, _ []byte) { r.Received("job-7") }, 5 * time.Second},
		{"until the server has answered one, and a moment more", func(r *completions.Limiter, token []byte) { r.Sent(token) }, 5100 * time.Millisecond},
		{"a task of another workflow changes nothing", func(r *completions.Limiter, _ []byte) { r.Received("job-77") }, 90 * time.Second},
		{"whichever comes first", func(r *completions.Limiter, token []byte) { r.Received("job-7"); r.Sent(token) }, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var token []byte // of all tasks in the test environment
				r := runner(sendFunc(func(ctx context.Context) (string, error) {
					token = activity.GetInfo(ctx).TaskToken
					return "fine", nil
				}))
				r.Completions = completions.New(nil)
				start := time.Now()
				for i := range many {
					_, err := (&task{workflow: fmt.Sprintf("job-%d", i)}).run(t, r, due(0, 1))
					require.NoError(t, err)
				}
				require.Zero(t, time.Since(start))
				time.AfterFunc(5*time.Second, func() { tt.after(r.Completions, token) })
				_, err := (&task{}).run(t, r, due(0, 1))
				require.NoError(t, err)
				require.Equal(t, tt.ends, time.Since(start))
			})
		})
	}
}

func TestWhatWaitsToBeReported(t *testing.T) {
	t.Parallel()
	const never = 90 * time.Second
	limited := func(limit time.Duration) func(*testing.T, *task) {
		return func(t *testing.T, k *task) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			t.Cleanup(cancel)
			k.ctx = ctx
		}
	}
	fine := sendFunc(func(context.Context) (string, error) { return "fine", nil })
	for _, tt := range []struct {
		name        string
		sender      sendFunc
		maxAttempts int
		prepare     func(t *testing.T, k *task)
		waits       time.Duration
	}{
		{"a success", fine, 5, func(*testing.T, *task) {}, never},
		{"the last failure", fails("no"), 1, func(*testing.T, *task) {}, never},
		{"but not a failure after which the server makes another attempt", fails("no"), 5, func(*testing.T, *task) {}, 0},
		{"nor what was not sent", fine, 5, func(_ *testing.T, k *task) { k.server = &server{answer: always(errMissing)} }, 0},
		{"nor longer than until the worker stops", fine, 5, func(_ *testing.T, k *task) {
			k.stop = make(chan struct{})
			time.AfterFunc(5*time.Second, func() { close(k.stop) })
		}, 5 * time.Second},
		{"nor until the SDK discards it, because the time limit of the activity is over", fine, 5, limited(70 * time.Second), 50 * time.Second},
		{"nor at all if that limit is near", fine, 5, limited(4 * time.Second), 0},
		{"nor longer than until the activity is cancelled", fine, 5, func(t *testing.T, k *task) {
			ctx, cancel := context.WithCancel(t.Context())
			k.ctx = ctx
			time.AfterFunc(5*time.Second, cancel)
		}, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := runner(tt.sender)
				r.Completions = completions.New(nil)
				fill(t, r)
				start := time.Now()
				k := task{heartbeat: 4 * time.Second}
				if tt.prepare(t, &k); k.server == nil {
					k.server = &server{old: true}
				}
				_, _ = k.run(t, r, due(0, tt.maxAttempts))
				require.Equal(t, tt.waits, time.Since(start))
				for i, b := range k.server.beats() {
					if i > 0 && tt.waits > 0 {
						require.Equal(t, start.Add(time.Duration(i)*2*time.Second), b.at, "it is kept alive")
						require.NotNil(t, b.Ended, "its outcome is recorded")
					}
				}
				if tt.waits > 0 {
					require.InDelta(t, float64(tt.waits/(2*time.Second)), len(k.server.beats()), 1)
				}
			})
		})
	}
}

func TestAnOutcomeThatWaitsIsReportedByAnotherWorkerIfItsOwnIsLost(t *testing.T) {
	t.Parallel()
	const later = job.Duration("PT2M") // retries that late are activities of their own
	refused := errors.New("refused")
	for _, tt := range []struct {
		name        string
		err         error // the sender's
		maxAttempts int
		more        bool // another attempt follows
	}{
		{"a success", nil, 5, false},
		{"a failure before a retry", refused, 5, true},
		{"a failure whose receiver asks for a pause", &activities.RetryAfterError{Err: refused, After: 10 * time.Minute}, 5, true},
		{"a permanent failure", &activities.PermanentError{Err: refused}, 5, false},
		{"the last failure", refused, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				send := sendFunc(func(context.Context) (string, error) { return "the answer", tt.err })
				first, second := runner(send), runner(sendFunc(func(context.Context) (string, error) { panic("it is sent again") }))
				first.Completions = completions.New(nil)
				first.MaxHold, second.MaxHold = time.Minute, time.Minute
				fill(t, first)
				in := due(0, tt.maxAttempts)
				in.Action.RetryPolicy = &job.RetryPolicy{RetryInterval: later, RetryCount: 4}
				lost := task{heartbeat: 30 * time.Second}
				want, wantErr := lost.execute(t, first, in)

				beats := lost.server.beats()
				require.Greater(t, len(beats), 1)
				require.Equal(t, 3*time.Second, beats[1].at.Sub(beats[0].at), "nothing is recorded of an outcome that is reported soon")
				next := task{attempt: 2, details: beats[1].Progress}
				got, err := next.execute(t, second, in)
				require.Empty(t, next.server.beats())
				require.Equal(t, want, got)
				ending := activities.EndingOf(err, time.Time{}, time.Time{})
				require.Equal(t, activities.EndingOf(wantErr, time.Time{}, time.Time{}), ending)
				require.Equal(t, tt.more, ending.How == activities.ToRetry)
				if tt.err == nil {
					require.NoError(t, err)
					require.Equal(t, 60_000, got.Hold)
					return
				}
				require.Equal(t, applicationError(t, wantErr).Message(), applicationError(t, err).Message())
				require.True(t, applicationError(t, err).NonRetryable())
			})
		})
	}
}

func TestAnOutcomeIsKeptWhileItWaitsToBeReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		var refuse atomic.Bool
		r := runner(sendFunc(func(context.Context) (string, error) {
			sent.Add(1)
			if refuse.Load() {
				return "", errors.New("refused")
			}
			return "fine", nil
		}))
		r.Completions = completions.New(nil)
		fill(t, r)
		in := due(0, 5)
		in.Execution.ID = "waits"
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := new(task).run(t, r, in); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(80 * time.Second)
		refuse.Store(true)
		_, err := new(task).run(t, r, due(0, 5)) // it does not wait, and older outcomes are forgotten
		require.Error(t, err)
		before := sent.Load()
		attempts, err := (&task{attempt: 2, sent: true}).run(t, r, in)
		require.NoError(t, err)
		require.Equal(t, "1 Completed fine\n", history(attempts))
		require.Equal(t, before, sent.Load())
		group.Wait()
	})
}

// fill occupies all places for completions.
func fill(t *testing.T, r *activities.Runner) {
	t.Helper()
	for range 16 {
		_, _ = (&task{}).run(t, r, due(0, 1))
	}
}
