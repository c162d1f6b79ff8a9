package jobloop

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/internal/signals"
	"almanac/workflows/plan"
)

// handle registers the job's queries, updates and signals.
func (j *loop) handle(ctx workflow.Context) error {
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryStatus, func() (job.Job, error) { return j.handleStatus(ctx) },
			workflow.QueryHandlerOptions{Description: "the job as it stands, without secrets"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateReplace, j.handleReplace,
			workflow.UpdateHandlerOptions{Validator: j.validate, Description: "replace the definition"}))
	for _, c := range []command{
		{workflows.UpdateEnable, "enable the job", j.maySetState, func(ctx workflow.Context) { j.setState(ctx, job.StateEnabled) }},
		{workflows.UpdateDisable, "disable the job", j.maySetState, func(ctx workflow.Context) { j.setState(ctx, job.StateDisabled) }},
		{workflows.UpdateDelete, "delete the job", j.mayChange, j.remove},
	} {
		err = errors.Join(err, j.handleCommand(ctx, c))
	}
	j.handleSignal(ctx, command{workflows.UpdateRun, "run the job now", j.mayRun, func(ctx workflow.Context) { j.runManually(ctx) }})
	j.signals.Add(ctx, workflows.SignalBegin, "begin although the delay that the job was started with is not over", func(workflow.Context) {
		j.signalled, j.changed = j.signalled+1, true
	})
	signals.AddWith(ctx, &j.signals, workflows.SignalZones, "plan again with a newer release of the time zone database", func(ctx workflow.Context, z plan.Zone) {
		j.signalled++
		j.handling++
		_ = j.change(ctx, allowed(func(ctx workflow.Context) { j.applyZones(ctx, z) })) // cannot fail
		j.handling--
		j.changed = true
	})
	return errors.Join(err,
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateRun, j.handleRun,
			workflow.UpdateHandlerOptions{Validator: j.mayRunOnce, Description: "run the job now"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateSkip, j.handleSkip,
			workflow.UpdateHandlerOptions{Description: "do not run the next occurrence; with a time, only if that is when it is due"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateRerun, j.handleRerun,
			workflow.UpdateHandlerOptions{Description: "run the job again if its last execution failed"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateCollection, func(ctx workflow.Context, c workflows.CollectionState) error {
			j.updates++
			return j.change(ctx, allowed(func(ctx workflow.Context) { j.applyCollection(ctx, &c) }))
		}, workflow.UpdateHandlerOptions{Description: "the job collection was enabled or disabled, or its notifications changed"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateTest, j.handleTest,
			workflow.UpdateHandlerOptions{Validator: j.mayTest, Description: "send a test to the targets of the job's own notifications"}),
		workflow.SetUpdateHandlerWithOptions(ctx, workflows.UpdateDismiss, func(ctx workflow.Context, c workflows.CollectionState) error {
			return j.change(ctx, allowed(func(ctx workflow.Context) {
				if c.Generation >= j.Collection { // otherwise it is an earlier collection of that name
					j.end(ctx)
				}
			}))
		}, workflow.UpdateHandlerOptions{Description: "the job collection is deleted, and the job with it"}))
}

// A command is an update, and also a signal. The update may have the generation of the job that its caller read, and is refused if that is
// not the job's.
type command struct {
	name, describe string
	may            func() error
	do             func(workflow.Context)
}

func (c *command) apply(ctx workflow.Context) error {
	if err := c.may(); err != nil {
		return err
	}
	c.do(ctx)
	return nil
}

// handleSignal registers the signal of a command.
func (j *loop) handleSignal(ctx workflow.Context, c command) {
	j.signals.Add(ctx, c.name, c.describe+", without an answer", func(ctx workflow.Context) {
		j.signalled++
		j.handling++ // the run does not end before it has returned
		if err := j.change(ctx, c.apply); err != nil {
			workflow.GetLogger(ctx).Warn("a signal was refused", "signal", c.name, "job", j.Key.ARMID(), "error", err)
		}
		j.handling--
		j.changed = true
	})
}

// handleCommand registers the signal and the update of a command.
func (j *loop) handleCommand(ctx workflow.Context, c command) error {
	j.handleSignal(ctx, c)
	return workflow.SetUpdateHandlerWithOptions(ctx, c.name, func(ctx workflow.Context, generation int) (job.Job, error) {
		_, err := j.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
			if err := j.unchangedSince(generation); err != nil {
				return err
			}
			return c.apply(ctx)
		}))
		return j.snapshot(), err
	}, workflow.UpdateHandlerOptions{Description: c.describe, Validator: func(ctx workflow.Context, generation int) error {
		if j.repeated(ctx) { // it is only answered
			return nil
		}
		return cmp.Or(j.unchangedSince(generation), c.may())
	}})
}

// change applies changes one at a time, in the order in which they arrived. Others may be applied while one
// waits for its turn, so apply must check again whether it is allowed.
func (j *loop) change(ctx workflow.Context, apply func(workflow.Context) error) error {
	j.changes = true
	ctx, _ = workflow.NewDisconnectedContext(ctx) // finish even if the workflow is cancelled
	if err := j.changing.Wait(ctx); err != nil {
		return err
	}
	defer func() {
		j.changing.End()
		j.changed = true
	}()
	return apply(ctx)
}

// allowed returns the change of a request that is never refused.
func allowed(do func(workflow.Context)) func(workflow.Context) error {
	return func(ctx workflow.Context) error {
		do(ctx)
		return nil
	}
}

// handleRun starts a manual run, and returns the name of the execution.
func (j *loop) handleRun(ctx workflow.Context) (name string, err error) {
	return j.update(ctx, func(ctx workflow.Context) (string, error) {
		if err := j.mayRun(); err != nil {
			return "", err
		}
		return j.runManually(ctx), nil
	})
}

func (j *loop) mayRunOnce(ctx workflow.Context) error {
	if j.repeated(ctx) { // it is only answered
		return nil
	}
	return j.mayRun()
}

// handleRerun starts a manual run if the execution that ended last failed. A request with the same key as one that
// started such a run starts none, nor does one while a manual run runs or waits: its answer names that one.
func (j *loop) handleRerun(ctx workflow.Context, key string) (job.RerunAnswer, error) {
	answer, err := j.update(ctx, func(ctx workflow.Context) (string, error) {
		before := j.Reruns.Find(key)
		switch {
		case before != nil:
			return rerunAnswer(job.RerunUnderWay, before.Answer), nil
		case j.manualRuns() > 0:
			return rerunAnswer(job.RerunUnderWay, j.newestManualRun()), nil
		case j.Outcomes.ConsecutiveFailures == 0:
			return string(job.RerunNotFailed), nil
		}
		if err := j.mayRun(); err != nil {
			return "", err
		}
		name := j.runManually(ctx)
		j.Reruns.Add(key, name, workflow.Now(ctx), rerunFor, maxReruns)
		return rerunAnswer(job.RerunStarted, name), nil
	})
	status, name, _ := strings.Cut(answer, " ")
	return job.RerunAnswer{Status: job.RerunStatus(status), Execution: name}, err
}

// rerunAnswer returns what [loop.update] keeps of an answer.
func rerunAnswer(s job.RerunStatus, name string) string { return string(s) + " " + name }

func (j *loop) handleReplace(ctx workflow.Context, r workflows.ReplaceRequest) (job.Job, error) {
	_, err := j.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
		d, err := j.admit(&r)
		if err == nil {
			if r.ShowNext != nil {
				j.ShowNext = *r.ShowNext
			}
			j.replace(ctx, d, r.Text)
		}
		return err
	}))
	return j.snapshot(), err
}

// admit returns the requested definition with its omitted secrets filled in, or refuses it. The workflow
// decides whether secrets may be kept, since the job may have changed since the caller read it.
func (j *loop) admit(r *workflows.ReplaceRequest) (job.Definition, error) {
	if err := cmp.Or(j.unchangedSince(r.Generation), j.mayChange()); err != nil {
		return job.Definition{}, err
	}
	d, err := input.KeepSecrets(r.Definition, &j.Definition, r.Retarget)
	if err != nil {
		return job.Definition{}, workflows.Refuse(workflows.ErrTypeInvalid, err.Error())
	}
	d.KeepLocal(&j.Definition) //workflowcheck:ignore // it compares JSON, as replace does
	return d, nil
}

// unchangedSince refuses a change by a caller who read another generation of the job; 0 stands for any.
func (j *loop) unchangedSince(generation int) error {
	if generation != 0 && generation != j.Generation {
		return workflows.Refuse(workflows.ErrTypeStale, "the job was changed meanwhile")
	}
	return nil
}

// validate rejects an update that admit would refuse, or that violates the API's own checks: it may not
// come from the API, or from a newer version, with a time zone that this worker does not have. Once in force, a
// definition that cannot be planned would stop the job. Times may be up to an hour ahead, since the API's clock may be
// ahead. Only a validator may ask this: it is not replayed, and a later version may answer otherwise.
func (j *loop) validate(ctx workflow.Context, r workflows.ReplaceRequest) error {
	if j.repeated(ctx) {
		return nil
	}
	d, err := j.admit(&r)
	if err != nil {
		return err
	}
	err = input.CheckDefinition(&d, workflow.Now(ctx).Add(time.Hour), j.Created) //workflowcheck:ignore // a validator is not replayed
	if err != nil {
		return workflows.Refuse(workflows.ErrTypeInvalid, err.Error())
	}
	return nil
}

// handleTest sends a test to the targets of the job's own notifications, once to each, and returns the results. The end of
// the job does not wait for them.
func (j *loop) handleTest(ctx workflow.Context) ([]notification.Delivery, error) {
	j.updates++
	var results []notification.Delivery
	var err error
	done := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		results, err = j.raiser.Test(ctx)
		done = true
	})
	if err := workflow.Await(ctx, func() bool { return done || j.deleted }); err != nil {
		return nil, err
	}
	if !done {
		return nil, j.mayChange()
	}
	return results, err
}

// mayTest refuses tests while the run drains: they take seconds, and without end would keep it from continuing as new.
func (j *loop) mayTest() error {
	if j.draining() {
		return workflows.Refuse(workflows.ErrTypeConflict, "The job has had so many requests that no test can be sent at the moment. Try again in a minute.")
	}
	return nil
}

// maySetState refuses to enable or disable a completed or faulted job.
func (j *loop) maySetState() error {
	if s := j.Definition.State; s.Final() {
		return workflows.Refuse(workflows.ErrTypeConflict, fmt.Sprintf("The job is %s: no occurrence is left. Change its schedule by PUT or PATCH, or run it.", s))
	}
	return j.mayChange()
}

func (j *loop) mayRun() error {
	if n := j.manualRuns(); n >= maxManualRuns {
		return workflows.Refuse(workflows.ErrTypeConflict, fmt.Sprintf("%d manual runs of the job are running or waiting already.", n))
	}
	return j.mayChange()
}

func (j *loop) mayChange() error {
	if j.deleted {
		return workflows.Refuse(workflows.ErrTypeGone, "the job is being deleted")
	}
	return nil
}

// quiet reports whether no update or signal is pending or being handled.
func (j *loop) quiet(ctx workflow.Context) bool {
	return !j.signals.Pending() && j.handling == 0 && workflow.AllHandlersFinished(ctx)
}
