package activities_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"almanac/activities"
)

func TestOutcomesAreReportedAFewAtATime(t *testing.T) {
	t.Parallel()
	const many = 16
	for _, tt := range []struct {
		name  string
		after func(r *activities.CompletionLimiter, token []byte) // called after five seconds
		ends  time.Duration                                       // when a further outcome is reported
	}{
		{"until the workflow of one has its task", func(r *activities.CompletionLimiter, _ []byte) { r.Received("job-7") }, 5 * time.Second},
		{"until the server has answered one, and a moment more", func(r *activities.CompletionLimiter, token []byte) { r.Sent(token) }, 5100 * time.Millisecond},
		{"a task of another workflow changes nothing", func(r *activities.CompletionLimiter, _ []byte) { r.Received("job-77") }, 90 * time.Second},
		{"whichever comes first", func(r *activities.CompletionLimiter, token []byte) { r.Sent(token); r.Received("job-7") }, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var token []byte // of all tasks in the test environment
				r := runner(sendFunc(func(ctx context.Context) (string, error) {
					token = activity.GetInfo(ctx).TaskToken
					return "fine", nil
				}))
				r.Completions = activities.NewCompletionLimiter()
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
				r.Completions = activities.NewCompletionLimiter()
				fill(t, r)
				start := time.Now()
				k := task{heartbeat: 4 * time.Second}
				tt.prepare(t, &k)
				_, _ = k.run(t, r, due(0, tt.maxAttempts))
				require.Equal(t, tt.waits, time.Since(start))
				for i, b := range k.server.beats() {
					if i > 0 && tt.waits > 0 {
						require.Equal(t, start.Add(time.Duration(i)*2*time.Second), b.at, "it is kept alive")
						require.True(t, b.MaybeSent(), "it was sent")
					}
				}
				if tt.waits > 0 {
					require.InDelta(t, float64(tt.waits/(2*time.Second)), len(k.server.beats()), 1)
				}
			})
		})
	}
}

// fill occupies all places for completions.
func fill(t *testing.T, r *activities.Runner) {
	t.Helper()
	for range 16 {
		_, _ = (&task{}).run(t, r, due(0, 1))
	}
}
