package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

const (
	// repeatedFor is how long the updates of earlier runs are remembered. A caller repeats one for [wfclient.ChangeTimeout], 50 s.
	repeatedFor = 10 * time.Minute

	// maxRemembered is the maximum number of remembered updates: as many as a run takes before it continues as new.
	maxRemembered = UpdatesPerRun

	// rerunFor and maxReruns limit the remembered keys of requests to run the job again, which people repeat.
	rerunFor  = 24 * time.Hour
	maxReruns = 100
)

// update is change for an update. One of [workflows.Update.Once] is applied once, although its caller repeats it in a later run. Its
// answer is then that of the first time, if apply returned one.
func (j *loop) update(ctx workflow.Context, apply func(workflow.Context) (answer string, err error)) (answer string, err error) {
	info := workflow.GetCurrentUpdateInfo(ctx)
	j.updated++
	if !workflows.JobUpdates.Find(info.Name).Once {
		return "", j.change(ctx, func(ctx workflow.Context) error {
			_, err := apply(ctx)
			return err
		})
	}
	err = j.change(ctx, func(ctx workflow.Context) error {
		if before := j.Applied.Find(info.ID); before != nil {
			answer = before.Answer
			return nil
		}
		if answer, err = apply(ctx); err == nil {
			j.Applied.Add(info.ID, answer, workflow.Now(ctx), repeatedFor, maxRemembered)
		}
		return err
	})
	j.answered.await(ctx, answersPerTask)
	return answer, err
}

// repeated reports whether the update was applied by an earlier run.
func (j *loop) repeated(ctx workflow.Context) bool {
	return j.Applied.Find(workflow.GetCurrentUpdateInfo(ctx).ID) != nil
}

// withoutAnswer adapts a change to [loop.update].
func withoutAnswer(apply func(workflow.Context) error) func(workflow.Context) (string, error) {
	return func(ctx workflow.Context) (string, error) { return "", apply(ctx) }
}

// forgetRequests forgets what nobody repeats any more.
func forgetRequests(in *state.Input, now time.Time) {
	in.Applied.Forget(now.Add(-repeatedFor))
	in.Reruns.Forget(now.Add(-rerunFor))
}
