package activities_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/job"
)

// A server is told of attempts by heartbeats that wait for its answer.
type server struct {
	client.Client
	answer func(time.Time) error // what it answers at an instant; nil: that all is well

	mu    sync.Mutex
	heard []beat
}

type beat struct {
	at      time.Time
	earlier []job.Attempt
	sending bool
}

func (s *server) RecordActivityHeartbeat(_ context.Context, _ []byte, details ...any) error {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, beat{now, details[0].([]job.Attempt), details[1].(bool)})
	if s.answer == nil {
		return nil
	}
	return s.answer(now)
}

// beats returns what it was told.
func (s *server) beats() []beat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

// patient is a heartbeat timeout that no test comes to.
const patient = time.Hour

// due returns an input whose execution is due after a while.
func due(after time.Duration, maxAttempts int) activities.Input {
	in := input(maxAttempts)
	in.Execution.Due = time.Now().Add(after)
	return in
}

// A clocked runner notes when it sends.
type clocked struct {
	*activities.Runner
	sent []time.Time
}

// newClocked returns a runner whose sends take that long.
func newClocked(takes time.Duration) *clocked {
	c := &clocked{}
	c.Runner = runner(sendFunc(func(ctx context.Context) (string, error) {
		c.sent = append(c.sent, time.Now())
		select {
		case <-time.After(takes):
			return "fine", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}))
	return c
}

// recallAfter has executions taken back after a while, and returns where the
// answer will be.
func recallAfter(d time.Duration, r *activities.Runner, ids ...string) <-chan []int {
	answer := make(chan []int, 1)
	time.AfterFunc(d, func() {
		recalled, err := r.Recall(context.Background(), ids)
		if err != nil {
			recalled = nil
		}
		answer <- recalled
	})
	return answer
}

func requireEnded(t *testing.T, err error, errType string) {
	t.Helper()
	ended, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "want an application error, got %v", err)
	require.Equal(t, errType, ended.Type())
	require.True(t, ended.NonRetryable(), "the workflow decides what comes next")
	require.Contains(t, ended.Message(), "nothing was sent")
	in := input(5)
	require.True(t, activities.Unsent(&in, err))
}

func TestAnAttemptIsHeldUntilItIsDue(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 1, 100 * time.Millisecond, 249 * time.Millisecond, 251 * time.Millisecond, 20 * time.Second, -time.Hour} {
		for _, maxAttempts := range []int{1, 5} {
			t.Run(fmt.Sprintf("%s, with %d attempts", ahead, maxAttempts), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newClocked(0)
					in, start := due(ahead, maxAttempts), time.Now()
					attempts, err := (&task{patient: patient, server: &server{}}).run(t, r.Runner, in)
					require.NoError(t, err)
					require.Equal(t, []time.Time{start.Add(max(0, ahead))}, r.sent)
					require.Equal(t, r.sent[0].UTC(), attempts[0].Start, "what is held has not begun")
				})
			})
		}
	}
}

func TestNothingIsEverSentEarly(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 300 {
		group.Go(func() {
			in := due(time.Duration(rand.IntN(50_000))*time.Microsecond, 5)
			in.Execution.Due = in.Execution.Due.Round(0) // as it arrives: by the clock on the wall
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

func TestWhatIsHeldIsTakenBack(t *testing.T) {
	t.Parallel()
	cancelled := func(time.Time) error { return temporal.NewCanceledError() }
	missing := func(time.Time) error { return serviceerror.NewNotFound("no such activity") }
	for _, tt := range []struct {
		name   string
		answer func(time.Time) error // of the server, from half a second after the recall on
		before func(time.Time) error // until then
	}{
		{"once the server knows that it is cancelled", cancelled, nil},
		{"once the server does not know it any more", missing, nil},
		{"though the server cannot be asked at first", cancelled,
			func(time.Time) error { return serviceerror.NewUnavailable("it starts") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				knows := start.Add(2500 * time.Millisecond)
				s := &server{answer: func(now time.Time) error {
					if !now.Before(knows) {
						return tt.answer(now)
					}
					if tt.before != nil {
						return tt.before(now)
					}
					return nil
				}}
				r := newClocked(0)
				in := due(5*time.Second, 5)
				recalled := recallAfter(2*time.Second, r.Runner, "another", in.Execution.ID, in.Execution.ID)
				earlier := []job.Attempt{{Number: 1, Message: "refused"}}
				_, err := (&task{server: s, earlier: earlier, attempt: 2}).run(t, r.Runner, in)
				requireEnded(t, err, activities.ErrTypeRecalled)
				require.Equal(t, []int{1}, <-recalled)
				require.Empty(t, r.sent)
				require.WithinRange(t, time.Now(), knows, knows.Add(200*time.Millisecond))
				for _, b := range s.heard {
					require.Equal(t, earlier, b.earlier, "the records so far are kept")
					require.False(t, b.sending)
				}
			})
		})
	}
}

// Whoever asked was killed before the change was in force: nobody was answered,
// and the occurrence must not be lost.
func TestATakingBackOfWhichNothingCameIsForgotten(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{5 * time.Second, 20 * time.Second, time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newClocked(0)
				in, start := due(ahead, 5), time.Now()
				recallAfter(2*time.Second, r.Runner, in.Execution.ID)
				_, err := (&task{server: &server{}}).run(t, r.Runner, in)
				require.NoError(t, err)
				require.Len(t, r.sent, 1)
				want := start.Add(max(ahead, 32*time.Second))
				require.WithinRange(t, r.sent[0], want, want.Add(200*time.Millisecond))
			})
		})
	}
}

func TestATakingBackEndsWithTheActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClocked(0)
		in, start := due(5*time.Second, 5), time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		recallAfter(2*time.Second, r.Runner, in.Execution.ID)
		time.AfterFunc(3*time.Second, cancel)
		_, err := (&task{ctx: ctx, server: &server{}}).run(t, r.Runner, in)
		requireEnded(t, err, activities.ErrTypeRecalled)
		require.Empty(t, r.sent)
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestNothingIsTakenBackOnceItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClocked(2 * time.Second)
		in := due(5*time.Second, 5)
		during := recallAfter(6*time.Second, r.Runner, in.Execution.ID)
		_, err := (&task{server: &server{}}).run(t, r.Runner, in)
		require.NoError(t, err)
		late, err := r.Recall(t.Context(), []string{in.Execution.ID})
		require.NoError(t, err)
		require.Len(t, r.sent, 1)
		require.Equal(t, []int{}, <-during, "it is an answer, and not the lack of one")
		require.Equal(t, []int{}, late)
	})
}

// A recall and a due time that meet: either it is taken back or it is sent.
func TestAttemptsAreTakenBackOrSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group sync.WaitGroup
		for i := range 300 {
			group.Go(func() {
				r := newClocked(0)
				in := due(5*time.Second, 5)
				recalled := recallAfter(5*time.Second+time.Duration(i%3-1), r.Runner, in.Execution.ID)
				k := task{server: &server{answer: func(time.Time) error { return temporal.NewCanceledError() }}}
				_, _ = k.run(t, r.Runner, in)
				if taken, sent := len(<-recalled) > 0, len(r.sent) > 0; taken == sent {
					t.Errorf("taken back: %t, sent: %t", taken, sent)
				}
			})
		}
		group.Wait()
	})
}

func TestTwoHoldsOfOneExecutionAreTakenBackTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClocked(0)
		in := due(5*time.Second, 5)
		recalled := recallAfter(2*time.Second, r.Runner, in.Execution.ID)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				k := task{server: &server{answer: func(time.Time) error { return temporal.NewCanceledError() }}}
				_, err := k.run(t, r.Runner, in)
				requireEnded(t, err, activities.ErrTypeRecalled)
			})
		}
		group.Wait()
		require.Equal(t, []int{0}, <-recalled)
		require.Empty(t, r.sent)
	})
}

func TestAnAttemptThatIsNotToBeRepeatedIsAnnounced(t *testing.T) {
	t.Parallel()
	const early = 250 * time.Millisecond
	for _, tt := range []struct {
		name        string
		maxAttempts int
		patient     time.Duration
		ahead       time.Duration
		want        []time.Duration // after the start
	}{
		{"just before it is sent", 1, patient, 5 * time.Second, []time.Duration{5*time.Second - early}},
		{"at once where that is less ahead", 1, patient, early / 2, []time.Duration{0}},
		{"at once where it is due already", 1, patient, -time.Second, []time.Duration{0}},
		{"but not where nobody waits for a sign of life", 1, 0, 5 * time.Second, nil},
		{"but not one that may be repeated", 2, patient, 5 * time.Second, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, r, start := &server{}, newClocked(0), time.Now()
				_, err := (&task{patient: tt.patient, server: s}).run(t, r.Runner, due(tt.ahead, tt.maxAttempts))
				require.NoError(t, err)
				require.Len(t, r.sent, 1)
				var at []time.Duration
				for _, b := range s.heard {
					at = append(at, b.at.Sub(start))
					require.True(t, b.sending)
				}
				require.Equal(t, tt.want, at)
			})
		})
	}
	for _, tt := range []struct {
		name    string
		answer  error
		errType string
	}{
		{"and not sent if it is cancelled", temporal.NewCanceledError(), activities.ErrTypeRecalled},
		{"and not sent if its activity is gone", serviceerror.NewNotFound("no such activity"), activities.ErrTypeRecalled},
		{"and not sent if the server cannot be told", serviceerror.NewUnavailable("it starts"), activities.ErrTypeReleased},
	} {
		for _, ahead := range []time.Duration{5 * time.Second, 0} {
			t.Run(fmt.Sprintf("%s, %s ahead", tt.name, ahead), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newClocked(0)
					s := &server{answer: func(time.Time) error { return tt.answer }}
					_, err := (&task{patient: patient, server: s}).run(t, r.Runner, due(ahead, 1))
					requireEnded(t, err, tt.errType)
					require.Empty(t, r.sent)
					require.Len(t, s.heard, 1)
				})
			})
		}
	}
	t.Run("and then taken back in time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r, in := newClocked(0), due(5*time.Second, 1)
			var cancelled atomic.Bool
			s := &server{answer: func(time.Time) error {
				if cancelled.Load() {
					return temporal.NewCanceledError()
				}
				return nil
			}}
			recallAfter(5*time.Second-early/2, r.Runner, in.Execution.ID)
			time.AfterFunc(5*time.Second-early/2, func() { cancelled.Store(true) })
			_, err := (&task{patient: patient, server: s}).run(t, r.Runner, in)
			requireEnded(t, err, activities.ErrTypeRecalled)
			require.Empty(t, r.sent)
			require.False(t, s.heard[len(s.heard)-1].sending, "what was announced is withdrawn")
		})
	})
}

func TestALongAttemptGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		patient time.Duration
		want    []time.Duration // after the start
	}{
		{"before half of the time is over in which it is missed", 6 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second}},
		{"seldom where that is long", 10 * time.Second, []time.Duration{4 * time.Second, 9 * time.Second}},
		{"but not too often", time.Second, []time.Duration{
			3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second, 9 * time.Second, 10 * time.Second, 11 * time.Second,
		}},
		{"and nowhere else", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newClocked(9500*time.Millisecond), time.Now()
				k := task{patient: tt.patient, server: &server{}, earlier: []job.Attempt{{Number: 1, Message: "refused"}}, attempt: 2}
				_, err := k.run(t, r.Runner, due(2*time.Second, 3))
				require.NoError(t, err)
				var at []time.Duration
				for _, alive := range k.server.beats() {
					at = append(at, alive.at.Sub(start))
					require.Equal(t, "1  refused\n", history(alive.earlier), "the records so far are kept")
				}
				require.Equal(t, tt.want, at)
			})
		})
	}
}

func TestWhatTheServerAnswersToASignOfLife(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer error
		heard  int
		ends   time.Duration // after the start
		want   string
	}{
		{"all is well", nil, 5, 11500 * time.Millisecond, "1 Completed fine\n"},
		{"that it is too busy, and is told again", errors.New("busy"), 9, 11500 * time.Millisecond, "1 Completed fine\n"},
		{"that it has given it up, and what it comes to is kept", serviceerror.NewNotFound("gone"), 1, 11500 * time.Millisecond, "1 Completed fine\n"},
		{"that it is cancelled, which ends it", temporal.NewCanceledError(), 1, 3 * time.Second,
			"1 Failed the execution was cancelled; the request may have been sent\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := newClocked(9500*time.Millisecond), time.Now()
				k := task{patient: 4 * time.Second, server: &server{answer: func(time.Time) error { return tt.answer }}}
				attempts, _ := k.run(t, r.Runner, due(2*time.Second, 3))
				require.Equal(t, tt.want, history(attempts))
				require.Equal(t, tt.ends, time.Since(start))
				require.Len(t, k.server.beats(), tt.heard)
			})
		})
	}
}

func TestAWorkerThatStopsReleasesWhatItHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, start := newClocked(0), time.Now()
		k := task{stop: make(chan struct{}), server: &server{}}
		time.AfterFunc(2*time.Second, func() { close(k.stop) })
		in := due(5*time.Second, 5)
		_, err := k.run(t, r.Runner, in)
		requireEnded(t, err, activities.ErrTypeReleased)
		require.Empty(t, r.sent)
		require.Equal(t, 2*time.Second, time.Since(start))
		recalled, err := r.Recall(t.Context(), []string{in.Execution.ID})
		require.NoError(t, err)
		require.Empty(t, recalled, "nothing is left behind")
	})
}

func TestWhatIsLost(t *testing.T) {
	t.Parallel()
	records := []job.Attempt{{Number: 1, Message: "refused"}}
	beyond := temporal.NewHeartbeatTimeoutError
	for _, tt := range []struct {
		name          string
		err           error
		attempts      int
		sending, lost bool
		unsent        bool // where there is one attempt
	}{
		{"a worker that was not heard of at all", beyond(), 0, false, true, true},
		{"one that was heard of between attempts", beyond(records, false), 1, false, true, true},
		{"one that announced an attempt", beyond([]job.Attempt(nil), true), 0, true, true, false},
		{"an attempt that took too long is not lost", temporal.NewTimeoutError(1, nil), 0, false, false, false},
		{"nor is one that failed", errors.New("it failed"), 0, false, false, false},
		{"nor is one that succeeded", nil, 0, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attempts, sending, lost := activities.Lost(tt.err)
			require.Len(t, attempts, tt.attempts)
			require.Equal(t, tt.sending, sending)
			require.Equal(t, tt.lost, lost)
			once, often := input(1), input(2)
			require.Equal(t, tt.unsent, activities.Unsent(&once, tt.err))
			require.False(t, activities.Unsent(&often, tt.err), "it may have been sent, and may be again")
		})
	}
}

// The activity that takes over has as many attempts fewer as the ones before
// it had, and its last one carries all records.
func TestTheLastAttemptOfAnActivityThatTookOverTellsAll(t *testing.T) {
	t.Parallel()
	in := input(3)
	in.Before = 2
	attempts, err := new(task).run(t, runner(fails("refused")), in)
	applicationError(t, err)
	require.Equal(t, "1 Failed refused\n", history(attempts))
}

func TestAnExecutionTeachesALead(t *testing.T) {
	t.Parallel()
	const slow = time.Second
	most := activities.DefaultLead().Max
	for _, tt := range []struct {
		name    string
		lead    int
		attempt int32
		before  int
		fails   bool
		takes   time.Duration
		longest time.Duration // that a lead may be
		want    int           // milliseconds
	}{
		{"that is the same where it was enough", 4000, 1, 0, false, 0, most, 4000},
		{"that is longer where it was not", 8000, 1, 0, false, 0, most, 9000},
		{"when it fails, too", 8000, 1, 0, true, 0, most, 9000},
		{"that is the same after one that took a while", 4000, 1, 0, false, slow - time.Millisecond, most, 4000},
		{"that is long after one that took long", 4000, 1, 0, false, slow + time.Millisecond, most, 15_000},
		{"that is as long as it may be after one that took long", 4000, 1, 0, false, time.Minute, 5 * time.Second, 5000},
		{"that is long after one that took long and failed", 4000, 1, 0, true, time.Minute, most, 15_000},
		{"that is not shorter because it took long", 16_000, 1, 0, false, slow + time.Millisecond, most, 19_000},
		{"but a retry teaches nothing", 8000, 2, 0, false, time.Minute, most, 0},
		{"but one that took over teaches nothing", 8000, 1, 1, false, time.Minute, most, 0},
		{"but one that was not waited for teaches nothing", 0, 1, 0, false, time.Minute, most, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := runner(sendFunc(func(context.Context) (string, error) {
					time.Sleep(tt.takes)
					if tt.fails {
						return "", errors.New("refused")
					}
					return "", nil
				}))
				r.Timeout = time.Hour
				r.Lead = activities.DefaultLead()
				r.Lead.Max = tt.longest
				in := due(time.Second, 1)
				in.Lead, in.Before = tt.lead, tt.before
				if tt.attempt > 1 {
					in.MaxAttempts = 5
				}
				require.Equal(t, tt.want, (&task{attempt: tt.attempt, server: &server{}}).lead(t, r, in))
			})
		})
	}
}
