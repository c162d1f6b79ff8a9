package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/internal/await"
	"almanac/workflows/jobloop/state"
)

const (
	// repeatedFor is how long the updates of earlier runs are remembered. A caller repeats one for
	// [wfclient.ChangeTimeout], 50 s.
	repeatedFor = 10 * time.Minute

	// maxRemembered is the maximum number of remembered updates: as many as a run takes before it continues as new.
	maxRemembered = UpdatesPerRun

	// rerunFor and maxReruns limit the remembered keys of requests to run the job again, which people repeat.
	rerunFor  = 24 * time.Hour
	maxReruns = 100
)

// requests takes the updates and signals of a job, and has them change it one at a time, in the order in which they
// arrived. key, state and first are required.
type requests struct {
	key   job.Key
	state *state.Input // keeps the ids of applied updates

	turns     await.Turns            // of the changes; while one is applied, nothing is decided
	first     func(workflow.Context) // is done in the turn of each change, before it
	signals   signalHandlers
	handling  int     // signals being handled
	answered  perTask // updates
	updated   int     // updates taken in this run
	signalled int     // signals taken in this run
	changes   bool    // a change was requested in this run
	wake      bool    // the loop has to run
}

// many reports whether the run has taken so many that it drains.
func (r *requests) many() bool { return r.updated >= UpdatesPerRun || r.signalled >= drainSignals }

// finished reports whether no update or signal is pending or being handled.
func (r *requests) finished(ctx workflow.Context) bool {
	return !r.signals.pending() && r.handling == 0 && workflow.AllHandlersFinished(ctx)
}

// change applies a change in its turn. Others may be applied while it waits for that, so apply must check again whether
// it is allowed.
func (r *requests) change(ctx workflow.Context, apply func(workflow.Context) error) error {
	r.changes = true
	ctx, _ = workflow.NewDisconnectedContext(ctx) // finish even if the workflow is cancelled
	if err := r.turns.Wait(ctx); err != nil {
		return err
	}
	defer r.endTurn()
	r.first(ctx)
	return apply(ctx)
}

func (r *requests) endTurn() {
	r.turns.End()
	r.wake = true
}

// allowed returns the change of a request that is never refused.
func allowed(do func(workflow.Context)) func(workflow.Context) error {
	return func(ctx workflow.Context) error {
		do(ctx)
		return nil
	}
}

// signal applies the change of a signal.
func (r *requests) signal(ctx workflow.Context, name string, apply func(workflow.Context) error) {
	r.signalled++
	r.handling++ // the run does not end before it has returned
	if err := r.change(ctx, apply); err != nil {
		workflow.GetLogger(ctx).Warn("a signal was refused", "signal", name, "job", r.key.ARMID(), "error", err)
	}
	r.handling--
	r.wake = true
}

// update is change for an update. One of [workflows.Update.Once] is applied once, although its caller repeats it in a
// later run. Its answer is then that of the first time, if apply returned one.
func (r *requests) update(ctx workflow.Context, apply func(workflow.Context) (answer string, err error),
) (answer string, err error) {
	info := workflow.GetCurrentUpdateInfo(ctx)
	r.updated++
	if !workflows.JobUpdates.Find(info.Name).Once {
		return "", r.change(ctx, func(ctx workflow.Context) error {
			_, err := apply(ctx)
			return err
		})
	}
	err = r.change(ctx, func(ctx workflow.Context) error {
		if before := r.state.Applied.Find(info.ID); before != nil {
			answer = before.Answer
			return nil
		}
		if answer, err = apply(ctx); err == nil {
			r.state.Applied.Add(info.ID, answer, workflow.Now(ctx), repeatedFor, maxRemembered)
		}
		return err
	})
	r.answered.await(ctx, answersPerTask)
	return answer, err
}

// repeated reports whether the update was applied by an earlier run.
func (r *requests) repeated(ctx workflow.Context) bool {
	return r.state.Applied.Find(workflow.GetCurrentUpdateInfo(ctx).ID) != nil
}

// withoutAnswer adapts a change to [requests.update].
func withoutAnswer(apply func(workflow.Context) error) func(workflow.Context) (string, error) {
	return func(ctx workflow.Context) (string, error) { return "", apply(ctx) }
}

// forgetRequests forgets requests that are too old to be repeated.
func forgetRequests(in *state.Input, now time.Time) {
	in.Applied.Forget(now.Add(-repeatedFor))
	in.Reruns.Forget(now.Add(-rerunFor))
}
