package jobloop

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/workflows/internal/visibility"
)

// failing reports whether the job is to be disabled by disableAfter.
func (j *loop) failing() bool {
	n := j.Definition.DisableAfter
	return n > 0 && j.counted() >= n && j.Definition.State == job.StateEnabled && !j.deleted
}

// counted returns how many executions in a row failed since the job was last enabled after failures, without those that
// a change ended.
func (j *loop) counted() int { return j.Outcomes.ConsecutiveFailures - j.Forgiven }

// disableAfterFailures disables the job if so many executions in a row failed. From now on no occurrence is started.
// The change waits for its turn. It is not made if the definition was changed meanwhile: the failures were those of the
// old one.
func (j *loop) disableAfterFailures(ctx workflow.Context) {
	if !j.failing() || j.disabling {
		return
	}
	j.disabling = true
	failed := j.Generation
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = j.requests.change(ctx, allowed(func(ctx workflow.Context) { // it is never refused
			j.disabling = false
			if j.Generation != failed {
				j.Forgiven = j.Outcomes.ConsecutiveFailures
			}
			if !j.failing() {
				return
			}
			n, last := j.counted(), j.Outcomes.LastError.Message
			j.setState(ctx, job.StateDisabled)
			j.DisabledBy = &job.Disabling{At: workflow.Now(ctx).UTC(), By: audit.Itself}
			j.Halted = job.WhyHalted(workflow.Now(ctx), n, j.Definition.DisableAfter, last)
			visibility.ShowHalted(ctx, &j.Key, j.Halted)
			j.raiser.Disabled(ctx, n, last)
		}))
	})
}

// checkQuiet raises alerts if no execution has succeeded for so long.
func (j *loop) checkQuiet(ctx workflow.Context) {
	if j.Active() {
		due, _ := j.Next()
		j.raiser.CheckQuiet(ctx, due)
	}
}

// quietAt returns when the loop is to call checkQuiet; zero for never.
func (j *loop) quietAt() time.Time {
	if !j.Active() {
		return time.Time{}
	}
	return j.raiser.QuietAt()
}
