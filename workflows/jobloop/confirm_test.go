package jobloop_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

// confirm is a fake of the activity by which a job asks whether it is registered.
func (w *jobEnv) confirm(ctx workflow.Context, arguments ...any) error {
	if arguments[0] != key.Collection.WorkflowID() || arguments[1] != workflows.UpdateConfirm {
		return errors.New("the job asks somebody else")
	}
	w.asks = append(w.asks, arguments[2].(workflows.Registration))
	if err := workflow.Sleep(ctx, w.confirms); err != nil {
		return err
	}
	return w.refusal
}

// newLateEnv returns the environment of a job that was started so long after its registration.
func newLateEnv(t *testing.T, late time.Duration) *jobEnv {
	t.Helper()
	w := newJobEnv(t, every(minutely))
	w.next.Registration = int(newYear.Add(-late).UnixMicro())
	return w
}

var unregistered = temporal.NewNonRetryableApplicationError("the name was given up", workflows.ErrTypeUnregistered, nil)

func TestAJobThatWasStartedInTimeDoesNotAskWhetherItIsRegistered(t *testing.T) {
	t.Parallel()
	w := newLateEnv(t, workflows.StartWithin)
	w.refusal = unregistered
	w.run(2*time.Minute + time.Second)
	require.Empty(t, w.asks)
	require.Len(t, w.sent, 3)
}

func TestAJobThatWasStartedLateRunsIfItIsRegistered(t *testing.T) {
	t.Parallel()
	w := newLateEnv(t, workflows.StartWithin+time.Millisecond)
	w.confirms = 5 * time.Second
	disabled := w.update(time.Second, workflows.UpdateDisable)
	enabled := w.update(2*time.Second, workflows.UpdateEnable)
	w.run(time.Hour + 30*time.Second)
	require.Equal(t, []workflows.Registration{{Name: key.Name, Number: w.next.Registration}}, w.asks, "once, in the first run")
	require.Greater(t, len(w.runs), 1)
	require.GreaterOrEqual(t, w.sent[0].at.Sub(newYear), 5*time.Second)
	disabled.ok(t)
	require.Equal(t, job.StateEnabled, enabled.ok(t).Definition.State)
	require.GreaterOrEqual(t, disabled.at, 5*time.Second)
	require.Equal(t, 1, w.removed)
}

func TestAJobThatIsNotRegisteredEndsBeforeItRunsAnything(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"its name was given up":  unregistered,
		"its collection is gone": temporal.NewNonRetryableApplicationError("there is no open workflow of that id", workflows.ErrTypeGone, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLateEnv(t, time.Minute)
			w.refusal, w.confirms = refusal, 3*time.Second
			run := w.update(time.Second, workflows.UpdateRun)
			err := w.runOnce(newYear.Add(time.Hour))
			requireType(t, err, workflows.ErrTypeUnregistered)
			require.Empty(t, w.sent)
			require.Equal(t, newYear.Add(3*time.Second), w.env.Now().UTC())
			require.Zero(t, w.removed, "the name may be another job's")
			requireType(t, run.err, workflows.ErrTypeGone)
		})
	}
}

func TestACollectionThatDoesNotAnswerDoesNotKeepAJobFromRunning(t *testing.T) {
	t.Parallel()
	w := newLateEnv(t, time.Minute)
	w.refusal, w.confirms = unregistered, 2*time.Minute+30*time.Second
	requireType(t, w.runOnce(newYear.Add(time.Hour)), workflows.ErrTypeUnregistered)
	require.Len(t, w.sent, 3)
	require.Equal(t, 10*time.Second, w.sent[0].at.Sub(newYear))
	require.Equal(t, newYear.Add(w.confirms), w.env.Now().UTC())
}

func TestAJobIgnoresWhatIsOlderThanTheStateOfItsCollectionThatItHas(t *testing.T) {
	t.Parallel()
	const generation = 7
	state := func(generation int, enabled bool) workflows.CollectionState {
		return workflows.CollectionState{Generation: generation, Disabled: !enabled, Rules: []notification.Rule{{Key: "of this generation", After: generation}}}
	}
	for name, tt := range map[string]struct {
		send    func(w *jobEnv) []*answer
		enabled bool
		want    int // the generation that the job has
	}{
		"a disable that arrives after the enable that followed it": {func(w *jobEnv) []*answer {
			return []*answer{
				w.update(10*time.Second, workflows.UpdateCollection, state(generation+2, true)),
				w.update(20*time.Second, workflows.UpdateCollection, state(generation+1, false)),
			}
		}, true, generation + 2},
		"a disable from before the job's registration": {func(w *jobEnv) []*answer {
			return []*answer{
				w.update(10*time.Second, workflows.UpdateCollection, state(generation-1, false)),
			}
		}, true, generation},
		"a repeated one is the same": {func(w *jobEnv) []*answer {
			return []*answer{
				w.update(10*time.Second, workflows.UpdateCollection, state(generation+1, false)),
				w.update(20*time.Second, workflows.UpdateCollection, state(generation+1, false)),
			}
		}, false, generation + 1},
		"the end of an earlier collection of the name": {func(w *jobEnv) []*answer {
			return []*answer{
				w.update(10*time.Second, workflows.UpdateDismiss, state(generation-1, true)),
			}
		}, true, generation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJobEnv(t, every(minutely))
			w.next.Collection = generation
			w.suggest = 30 * time.Second // so that the next run is seen
			answers := tt.send(w)
			w.update(40*time.Second, workflows.UpdateCollection, state(0, !tt.enabled)) // wakes the loop
			read := w.snapshot(50 * time.Second)
			w.run(70 * time.Second)
			for _, a := range answers {
				a.ok(t)
			}
			require.Equal(t, tt.enabled, read.Status.NextExecutionTime != nil)
			last := w.runs[len(w.runs)-1]
			require.Len(t, w.runs, 2)
			require.Equal(t, tt.want, last.Collection)
			require.Equal(t, !tt.enabled, last.CollectionDisabled)
			if tt.want > generation {
				require.Equal(t, tt.want, last.Alerts.Inherited[0].After)
			}
		})
	}
	t.Run("but ends with its own collection", func(t *testing.T) {
		t.Parallel()
		w := newJobEnv(t, every(minutely))
		w.next.Collection = generation
		w.update(10*time.Second, workflows.UpdateDismiss, state(generation, true))
		require.NoError(t, w.runOnce(newYear.Add(time.Hour)))
		require.Equal(t, newYear.Add(10*time.Second), w.env.Now().UTC())
	})
}
