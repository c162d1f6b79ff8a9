package activities_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/job"
)

// A server that is slow to listen takes an attempt for lost that is being made,
// or was. Whatever takes over in the same process comes to the same.
func TestWhatTakesOverFromALivingAttemptSendsNothing(t *testing.T) {
	t.Parallel()
	takenOver := func(in activities.Input, before int) activities.Input {
		in.Before = before
		return in
	}
	for _, tt := range []struct {
		name        string
		maxAttempts int
		before      int // attempts that count as lost
		after       time.Duration
	}{
		{"while it is held", 5, 1, time.Second},
		{"while it is being sent", 5, 1, 4 * time.Second},
		{"after it was sent", 5, 1, 30 * time.Second},
		{"where the one that was lost did not count", 1, 0, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newClocked(5*time.Second), time.Now()
				in := due(2*time.Second, tt.maxAttempts)
				var first sync.WaitGroup
				first.Go(func() {
					if _, err := (&task{patient: patient, server: &server{}}).run(t, r.Runner, in); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(tt.after)
				attempts, err := (&task{patient: patient, server: &server{}}).run(t, r.Runner, takenOver(in, tt.before))
				require.NoError(t, err)
				first.Wait()
				require.Equal(t, []time.Time{start.Add(2 * time.Second)}, r.sent)
				require.Equal(t, "fine", attempts[0].Message)
				require.Equal(t, start.Add(2*time.Second).UTC(), attempts[0].Start)
			})
		})
	}
}

// Or else one after another would be taken for lost, until none was left.
func TestWhatTakesOverFromALivingAttemptGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, start := newClocked(20*time.Second), time.Now()
		in := due(2*time.Second, 5)
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := (&task{patient: 6 * time.Second, server: &server{}}).run(t, r.Runner, in); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(9 * time.Second)
		again := in
		again.Before = 1
		second := task{patient: 10 * time.Second, server: &server{}}
		_, err := second.run(t, r.Runner, again)
		require.NoError(t, err)
		first.Wait()
		require.Equal(t, 22*time.Second, time.Since(start))
		var at []time.Duration
		for _, alive := range second.server.beats() {
			at = append(at, alive.at.Sub(start))
		}
		require.Equal(t, []time.Duration{11500 * time.Millisecond, 16500 * time.Millisecond, 21500 * time.Millisecond}, at)
	})
}

func TestWhatTakesOverSends(t *testing.T) {
	t.Parallel()
	t.Run("where the one before sent nothing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newClocked(0)
			in := due(5*time.Second, 1)
			stopping := task{patient: patient, server: &server{}, stop: make(chan struct{})}
			time.AfterFunc(time.Second, func() { close(stopping.stop) })
			_, err := stopping.run(t, r.Runner, in)
			requireEnded(t, err, activities.ErrTypeReleased)
			_, err = (&task{patient: patient, server: &server{}}).run(t, r.Runner, in)
			require.NoError(t, err)
			require.Len(t, r.sent, 1)
		})
	})
	t.Run("what is another attempt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			r := runner(sendFunc(func(context.Context) (string, error) {
				if sent++; sent == 1 {
					return "", errors.New("refused")
				}
				return "fine", nil
			}))
			in := due(time.Second, 5)
			_, err := (&task{patient: patient, server: &server{}}).run(t, r, in)
			require.ErrorContains(t, err, "refused")
			_, err = (&task{patient: patient, server: &server{}, attempt: 2}).run(t, r, in)
			require.NoError(t, err)
			require.Equal(t, 2, sent)
		})
	})
	t.Run("another action of the same execution", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newClocked(0)
			in := due(time.Second, 5)
			for _, in.Execution.ActionName = range []job.ActionName{job.MainAction, job.ErrorAction} {
				_, err := (&task{patient: patient, server: &server{}}).run(t, r.Runner, in)
				require.NoError(t, err)
			}
			require.Len(t, r.sent, 2)
		})
	})
	t.Run("when what is known of the one before has been forgotten", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newClocked(0)
			run := func(id string, before int) {
				in := due(0, 5)
				in.Execution.ID, in.Before = id, before
				_, err := (&task{patient: patient, server: &server{}}).run(t, r.Runner, in)
				require.NoError(t, err)
			}
			run("one", 0)
			time.Sleep(2 * time.Minute)
			run("another", 0)
			run("one", 1)
			require.Len(t, r.sent, 3)
		})
	})
}

// What an attempt came to is reported when the others are on their way.
func TestAHerdIsSentBeforeItIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		var sent atomic.Int32
		r := runner(sendFunc(func(context.Context) (string, error) {
			sent.Add(1)
			return "", nil
		}))
		var herd sync.WaitGroup
		start := time.Now()
		reported := make(chan int32, n)
		for i := range n {
			in := due(2*time.Second, 5)
			in.Execution.ID = strconv.Itoa(i)
			herd.Go(func() {
				if _, err := (&task{server: &server{}}).run(t, r, in); err != nil {
					t.Error(err)
				}
				reported <- sent.Load()
			})
		}
		for range n {
			require.EqualValues(t, n, <-reported)
		}
		require.Equal(t, 2*time.Second, time.Since(start), "and costs no time")
	})
}
