package activities_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/kind"
)

const lost = "The worker stopped before it recorded the outcome; the request may have been sent."

func TestSuccessReturnsEveryAttempt(t *testing.T) {
	t.Parallel()
	earlier := []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed, Message: "refused"}}
	k := task{attempt: 2, earlier: earlier}
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) { return "fine", nil })), input(5))
	require.NoError(t, err)
	require.Equal(t, "1 Failed refused\n2 Completed fine\n", history(attempts))
	requireInOrder(t, attempts)
	require.Equal(t, time.UTC, attempts[1].Start.Location())
}

func TestFailureBeforeTheLastAttemptHandsItsRecordOver(t *testing.T) {
	t.Parallel()
	var k task
	attempts, err := k.run(t, runner(fails("refused")), input(2))
	failed := applicationError(t, err)
	require.False(t, failed.NonRetryable())
	require.Equal(t, "refused", failed.Message())
	require.Equal(t, "1 Failed refused\n", history(attempts), "the server keeps them if a cancellation comes before the retry")
	require.Equal(t, "1 Failed refused\n", history(k.server.handedOver()))
	require.False(t, k.server.beats()[1].MaybeSent(), "nothing is sent before the next attempt passes its fence")
}

func TestLastFailureCarriesEveryRecord(t *testing.T) {
	t.Parallel()
	k := task{attempt: 2, earlier: refused()}
	attempts, err := k.run(t, runner(fails("reset")), input(2))
	applicationError(t, err)
	require.Equal(t, "1 Failed refused\n2 Failed reset\n", history(attempts))
	require.Len(t, k.server.beats(), 1, "no other attempt needs the record")
}

func TestTheHistoryShowsTheMessageAndTheErrorStaysShort(t *testing.T) {
	t.Parallel()
	var k task
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) {
		return "the whole answer", errors.New(strings.Repeat("ä", 1000))
	})), input(1))
	require.Equal(t, "1 Failed the whole answer\n", history(attempts))
	require.LessOrEqual(t, len(applicationError(t, err).Message()), 500)
}

func TestPermanentFailureIsNotRetried(t *testing.T) {
	t.Parallel()
	var k task
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) {
		return "", fmt.Errorf("sending: %w", &activities.PermanentError{Err: errors.New("no such queue")})
	})), input(5))
	require.True(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed sending: no such queue\n", history(attempts))
}

func TestReceiverMayPutOffTheNextAttempt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		after    time.Duration
		interval job.Duration
		number   int // of the attempt; three are allowed
		want     time.Duration
	}{
		{"longer than the policy", 2 * time.Minute, "PT1M", 1, 2 * time.Minute},
		{"shorter than the policy", 30 * time.Second, "PT1M", 1, time.Minute},
		{"longer than the interval of no policy", 31 * time.Second, "", 1, 31 * time.Second},
		{"shorter than the interval of no policy", 29 * time.Second, "", 1, 30 * time.Second},
		{"not at all", 0, "PT1M", 1, time.Minute},
		{"an hour at most", 24 * time.Hour, "PT1M", 1, time.Hour},
		{"an hour, and the policy waits longer", 24 * time.Hour, "PT2H", 1, 2 * time.Hour},
		{"after the last attempt", 2 * time.Minute, "PT1M", 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := input(3)
			if tt.interval != "" {
				in.Action.RetryPolicy = &job.RetryPolicy{RetryInterval: tt.interval, RetryCount: 2}
			}
			in.SentBefore = tt.number - 1
			before := time.Now()
			_, err := new(task).run(t, runner(sendFunc(func(context.Context) (string, error) {
				return "", fmt.Errorf("sending: %w", &activities.RetryAfterError{Err: errors.New("busy"), After: tt.after})
			})), in)
			failed := applicationError(t, err)
			require.Equal(t, "sending: busy", failed.Message())
			end := activities.EndingOf(err, time.Time{}, time.Time{})
			require.Equal(t, tt.want > 0, end.How == activities.ToRetry)
			if tt.want < time.Minute {
				require.Equal(t, tt.want, failed.NextRetryDelay())
				require.Equal(t, tt.want == 0, failed.NonRetryable())
				require.Zero(t, end.Next)
				return
			}
			require.True(t, failed.NonRetryable(), "the workflow waits so long")
			require.WithinRange(t, end.Next, before.Add(tt.want), time.Now().Add(tt.want))
		})
	}
}

func TestActionsOfUnknownKindsFailPermanently(t *testing.T) {
	t.Parallel()
	for written, shown := range map[kind.Type]string{"storagequeue": "StorageQueue", "Fax": "Fax"} {
		t.Run(string(written), func(t *testing.T) {
			t.Parallel()
			in := input(5)
			in.Action.Type = written
			var k task
			attempts, err := k.run(t, runner(fails("must not be called")), in)
			require.True(t, applicationError(t, err).NonRetryable())
			require.Equal(t, `1 Failed this worker does not perform actions of type "`+shown+"\"; the job is kept as it is\n", history(attempts))
		})
	}
}

func TestAttemptThatMayHaveBeenSentBeforeIsLeftToTheWorkflow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		earlier []job.Attempt
		want    string
	}{
		{"the first one", nil, "1 Failed " + lost + "\n"},
		{"a retry", refused(), "1 Failed refused\n2 Failed " + lost + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k, r := task{attempt: 4, earlier: tt.earlier, sent: true}, newTimedRunner(0)
				attempts, err := k.run(t, r.Runner, due(-time.Minute, 5))
				requireLost(t, err)
				require.Equal(t, tt.want, history(attempts))
				requireInOrder(t, attempts)
				missing := attempts[len(attempts)-1]
				require.WithinDuration(t, time.Now(), missing.End, time.Second, "it was lost by the time this one began")
				require.Empty(t, r.sent)
				require.Empty(t, k.server.beats())
			})
		})
	}
}

func TestUnreadableRecordsOfEarlierAttemptsCountAsSent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempt int32
		before  int
		want    int // attempts that may have been sent
	}{{2, 0, 1}, {4, 0, 3}, {9, 0, 5}, {9, 3, 2}} {
		t.Run(fmt.Sprintf("attempt %d after %d", tt.attempt, tt.before), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, k, in := newTimedRunner(0), task{attempt: tt.attempt, details: "text"}, due(-time.Minute, 5)
				in.SentBefore = tt.before
				attempts, err := k.run(t, r.Runner, in)
				requireLost(t, err)
				require.Equal(t, tt.want, strings.Count(history(attempts), lost))
				requireInOrder(t, attempts)
				require.Empty(t, r.sent)
			})
		})
	}
}

func TestAnOccurrenceHeldByALostWorkerIsTakenUpForAWhile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		attempt int32
		earlier []job.Attempt
		after   time.Duration // since the due time
		sent    bool
	}{
		{"after it was lost", 2, nil, 3 * time.Second, true},
		{"after it was lost several times", 4, nil, 30 * time.Second, true},
		{"by a first worker", 1, nil, 30 * time.Second, true},
		{"but no longer than that", 2, nil, 31 * time.Second, false},
		{"nor by a first worker", 1, nil, 31 * time.Second, false},
		{"or at any time, if it is a retry", 3, refused(), time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := due(10*time.Second, 5)
				k := task{attempt: tt.attempt, earlier: tt.earlier, scheduled: time.Now()}
				time.Sleep(10*time.Second + tt.after)
				r := newTimedRunner(0)
				_, err := k.run(t, r.Runner, in)
				if tt.sent {
					require.NoError(t, err)
					require.Len(t, r.sent, 1)
					return
				}
				requireUnsent(t, err, nil)
				require.ErrorContains(t, err, "it could not begin within 30 s of its due time", "its worker may be gone, or its host may have been full")
				require.Empty(t, r.sent)
			})
		})
	}
}

func TestAttemptsGoOnCountingAfterAReset(t *testing.T) {
	t.Parallel()
	k := task{attempt: 1, earlier: []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed}, {Number: 2, Outcome: job.OutcomeFailed}}}
	attempts, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) { return "fine", nil })), input(5))
	require.NoError(t, err)
	require.Equal(t, "1 Failed \n2 Failed \n3 Completed fine\n", history(attempts))
}

func TestRetryWaitsAlthoughTheServerHandsItOutTooSoon(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want time.Duration // between the attempts
	}{
		{"as the policy says", errors.New("refused"), 15 * time.Second},
		{"as the receiver asked", &activities.RetryAfterError{Err: errors.New("busy"), After: time.Minute}, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				in := due(-time.Minute, 2)
				in.Action.RetryPolicy = &job.RetryPolicy{RetryInterval: "PT15S", RetryCount: 1}
				var first task
				_, err := first.run(t, runner(sendFunc(func(context.Context) (string, error) { return "", tt.err })), in)
				require.Error(t, err)
				recorded := first.server.beats()
				second := task{attempt: 2, earlier: first.server.handedOver(), next: recorded[len(recorded)-1].Next}
				time.Sleep(2 * time.Second)
				r := newTimedRunner(0)
				_, err = second.run(t, r.Runner, in)
				early, ok := errors.AsType[*temporal.ApplicationError](err)
				require.True(t, ok)
				require.False(t, early.NonRetryable())
				require.Equal(t, tt.want-2*time.Second, early.NextRetryDelay())
				require.Equal(t, activities.Ending{How: activities.Unsent, Attempts: first.server.handedOver(), Err: err},
					activities.EndingOf(err, time.Time{}, time.Time{}), "if the server makes no more of them")
				require.Empty(t, second.server.beats())

				time.Sleep(early.NextRetryDelay())
				third := task{attempt: 3, earlier: second.earlier, next: second.next}
				_, err = third.run(t, r.Runner, in)
				require.NoError(t, err)
				require.Len(t, r.sent, 1)
				require.Equal(t, tt.want, r.sent[0].Sub(start))
			})
		})
	}
}

func TestMessagesOfOldAttemptsAreShortened(t *testing.T) {
	t.Parallel()
	const messageSize = 7000
	var k task
	for n := range 40 {
		k.earlier = append(k.earlier, job.Attempt{Number: n + 1, Outcome: job.OutcomeFailed, Message: strings.Repeat("x", messageSize)})
	}
	k.attempt = 41
	attempts, err := k.run(t, runner(fails("refused")), input(41))
	require.Error(t, err)
	require.Len(t, attempts, 41, "every attempt keeps its record")
	whole := 0
	for _, a := range attempts {
		if len(a.Message) == messageSize {
			whole++
		} else {
			require.LessOrEqual(t, len(a.Message), 100)
		}
	}
	require.Equal(t, 24, whole, "the newest 25, of which the last one is short")
}

func TestPanicInASenderIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	r := runner(sendFunc(func(context.Context) (string, error) { panic("sig=topsecret") }))
	r.Log = slog.New(slog.NewTextHandler(&log, nil))
	var k task
	attempts, err := k.run(t, r, input(2))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Contains(t, attempts[0].Message, "internal error")
	require.Contains(t, log.String(), "sender panicked")
	require.NotContains(t, log.String()+err.Error()+history(attempts), "topsecret")
}

func untilTheEnd(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestAttemptHasLimitedTime(t *testing.T) {
	t.Parallel()
	r := runner(sendFunc(untilTheEnd))
	r.Timeout = 20 * time.Millisecond
	var k task
	attempts, err := k.run(t, r, input(2))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed timed out: not complete after 0.02 s\n", history(attempts))
}

// Temporal's own retries, with heartbeat details from attempt to attempt.
func TestRetriesLeaveOneRecordEach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		failures int
		want     string
	}{
		{"success at last", 2, "1 Failed failure 1\n2 Failed failure 2\n3 Completed fine\n"},
		{"no success", 3, "1 Failed failure 1\n2 Failed failure 2\n3 Failed failure 3\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := workflowtest.NewEnvironment()
			env.SetWorkerOptions(worker.Options{
				DeadlockDetectionTimeout: workflowtest.Deadlock,
				Interceptors:             []interceptor.WorkerInterceptor{&taskInterceptor{task: &task{server: &server{forward: true}, real: true}}},
			})
			calls := 0
			env.RegisterActivityWithOptions(runner(sendFunc(func(context.Context) (string, error) {
				if calls++; calls <= tt.failures {
					return "", fmt.Errorf("failure %d", calls)
				}
				return "fine", nil
			})).Run, activity.RegisterOptions{Name: activities.TypeAction})
			in := input(3)
			// no time passes in an activity while the environment waits
			in.Action.RetryPolicy = &job.RetryPolicy{RetryInterval: "PT0S"}
			env.ExecuteWorkflow(func(ctx workflow.Context) ([]job.Attempt, error) {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: 2 * activities.DefaultTimeout,
					RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 30 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 3},
				})
				var out activities.Output
				if err := workflow.ExecuteActivity(ctx, activities.TypeAction, in).Get(ctx, &out); err != nil {
					return activities.EndingOf(err, time.Time{}, time.Time{}).Attempts, nil
				}
				return out.Attempts, nil
			})
			require.NoError(t, env.GetWorkflowError())
			var attempts []job.Attempt
			require.NoError(t, env.GetWorkflowResult(&attempts))
			require.Equal(t, tt.want, history(attempts))
			requireInOrder(t, attempts)
		})
	}
}

func TestStoppingWorkerGivesAnAttemptTheGrace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		takes time.Duration // duration of the request after the worker stopped
		grace time.Duration
		ends  time.Duration // since the worker stopped
		want  string
	}{
		{"and it ends within that", 7 * time.Second, 8 * time.Second, 7 * time.Second, "1 Completed fine\n"},
		{"and ends it after that", 9 * time.Second, 8 * time.Second, 8 * time.Second, "1 Failed the worker was stopped; the request may have been sent\n"},
		{"of zero, and ends it at once", time.Second, 0, 0, "1 Failed the worker was stopped; the request may have been sent\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := task{stop: make(chan struct{})}
				r := newTimedRunner(3*time.Second + tt.takes)
				r.Grace = tt.grace
				start := time.Now()
				time.AfterFunc(3*time.Second, func() { close(k.stop) })
				attempts, err := k.run(t, r.Runner, due(-time.Hour, 2))
				require.Equal(t, tt.want, history(attempts))
				require.Equal(t, 3*time.Second+tt.ends, time.Since(start))
				if err != nil {
					require.False(t, applicationError(t, err).NonRetryable())
					require.Equal(t, tt.want, history(k.server.handedOver()))
				}
			})
		})
	}
}

func TestRecordIsHandedOverAfterTheContextEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	k := task{ctx: ctx}
	_, err := k.run(t, runner(sendFunc(func(context.Context) (string, error) {
		cancel()
		return "", errors.New("refused")
	})), input(2))
	require.False(t, applicationError(t, err).NonRetryable())
	require.Equal(t, "1 Failed refused\n", history(k.server.handedOver()))
}
