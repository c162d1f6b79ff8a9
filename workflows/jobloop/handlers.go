package jobloop

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// An update is a row of the table of a job's updates.
type update struct {
	name     string                       // of its row in [workflows.JobUpdates]
	handle   any                          // takes the argument, and answers
	validate any                          // refuses it before it gets into the history; nil: nothing does
	signal   func(workflow.Context) error // does the same for a signal of the same name; nil: there is none
}

// updates returns the table of the job's updates.
func (j *loop) updates() []update {
	return []update{
		{workflows.UpdateReplace, j.handleReplace, j.validate, nil},
		j.stateCommand(workflows.UpdateEnable, job.StateEnabled),
		j.stateCommand(workflows.UpdateDisable, job.StateDisabled),
		j.command(workflows.UpdateDelete, j.mayChange, j.remove),
		{workflows.UpdateRun, j.handleRun, j.mayRunOnce, func(ctx workflow.Context) error {
			_, err := j.runAdmitted(ctx, workflows.RunRequest{})
			return err
		}},
		{workflows.UpdatePrune, j.handlePrune, j.validatePrune, nil},
		{workflows.UpdateRestore, j.handleRestore, nil, nil},
		{workflows.UpdateSkip, j.handleSkip, nil, nil},
		{workflows.UpdateUnskip, j.handleUnskip, nil, nil},
		{workflows.UpdateBackfill, j.handleBackfill, j.mayBackfill, nil},
		{workflows.UpdateChangeBackfill, j.handleChangeBackfill, nil, nil},
		{workflows.UpdateRerun, j.handleRerun, nil, nil},
		{workflows.UpdateCompare, j.handleCompare, j.mayCompare, nil},
		{workflows.UpdateCollection, j.handleCollection, nil, nil},
		{workflows.UpdateTest, j.handleTest, j.mayTest, nil},
		{workflows.UpdateDismiss, j.handleDismiss, nil, nil},
	}
}

// handle registers the job's queries, updates and signals.
func (j *loop) handle(ctx workflow.Context) error {
	err := workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryStatus,
		func() (job.Job, error) { return j.handleStatus(ctx) },
		workflow.QueryHandlerOptions{Description: "the job as it stands, without secrets"})
	err = errors.Join(err, workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryDefinition,
		func() (job.Definition, error) { return j.Definition, j.mayChange() },
		workflow.QueryHandlerOptions{Description: "the definition, with its secrets"}))
	for _, u := range j.updates() {
		row := workflows.JobUpdates.Find(u.name)
		if u.signal != nil {
			j.requests.signals.add(ctx, u.name, row.Description+", without an answer", func(ctx workflow.Context) {
				j.requests.signal(ctx, u.name, u.signal)
			})
		}
		err = errors.Join(err, workflow.SetUpdateHandlerWithOptions(ctx, u.name, u.handle,
			workflow.UpdateHandlerOptions{Validator: u.validate, Description: row.Description}))
	}
	j.requests.signals.add(ctx, workflows.SignalBegin,
		"begin although the delay that the job was started with is not over",
		func(workflow.Context) {
			j.requests.signalled, j.requests.wake = j.requests.signalled+1, true
		})
	addWith(ctx, &j.requests.signals, workflows.SignalZones,
		"plan again with a newer release of the time zone database",
		func(ctx workflow.Context, z plan.Zone) {
			j.requests.signal(ctx, workflows.SignalZones, allowed(func(ctx workflow.Context) { j.applyZones(ctx, z) }))
		})
	addWith(ctx, &j.requests.signals, workflows.SignalCalendar,
		"plan again by a calendar that has changed, if the job uses it",
		func(ctx workflow.Context, c workflows.CalendarChange) {
			j.requests.signal(ctx, workflows.SignalCalendar, allowed(func(ctx workflow.Context) { j.applyCalendar(ctx, c) }))
		})
	return err
}

// command returns the row of an update that is a signal, too, and is allowed unless may returns an error. The update
// may have the generation of the job that its caller read, and is refused if that is not the job's.
func (j *loop) command(name string, may func() error, do func(workflow.Context)) update {
	apply := func(ctx workflow.Context) error {
		if err := may(); err != nil {
			return err
		}
		do(ctx)
		return nil
	}
	handle := func(ctx workflow.Context, generation int) (job.Job, error) {
		_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
			if err := j.unchangedSince(generation); err != nil {
				return err
			}
			return apply(ctx)
		}))
		return j.snapshot(), err
	}
	validate := func(ctx workflow.Context, generation int) error {
		if j.requests.repeated(ctx) { // it is only answered
			return nil
		}
		return cmp.Or(j.unchangedSince(generation), may())
	}
	return update{name, handle, validate, apply}
}

func (j *loop) handleCollection(ctx workflow.Context, c workflows.CollectionState) error {
	_, err := j.requests.update(ctx, withoutAnswer(allowed(func(ctx workflow.Context) { j.applyCollection(ctx, &c) })))
	return err
}

func (j *loop) handleDismiss(ctx workflow.Context, c workflows.CollectionState) error {
	_, err := j.requests.update(ctx, withoutAnswer(allowed(func(ctx workflow.Context) {
		if c.Generation >= j.Collection { // otherwise it is an earlier collection of that name
			j.end(ctx)
		}
	})))
	return err
}

// handleRun starts a manual run, and returns the name of the execution.
func (j *loop) handleRun(ctx workflow.Context, r workflows.RunRequest) (name string, err error) {
	return j.requests.update(ctx, func(ctx workflow.Context) (string, error) { return j.runAdmitted(ctx, r) })
}

// runAdmitted starts a manual run unless there are too many, or it is a blackout and the run is not forced.
func (j *loop) runAdmitted(ctx workflow.Context, r workflows.RunRequest) (name string, err error) {
	err = j.mayRun()
	if err == nil && !r.Force {
		err = refuseClosed(j.generator.closed(ctx))
	}
	if err != nil {
		return "", err
	}
	return j.runManually(ctx), nil
}

func (j *loop) mayRunOnce(ctx workflow.Context, r workflows.RunRequest) error {
	if j.requests.repeated(ctx) { // it is only answered
		return nil
	}
	return cmp.Or(j.mayRun(), j.mayRunNow(ctx, r))
}

// handleRerun starts a manual run if the execution that ended last failed. A request with the same key as one that
// started such a run starts none, nor does one while a manual run runs or waits: its answer names that one.
func (j *loop) handleRerun(ctx workflow.Context, key string) (job.RerunAnswer, error) {
	answer, err := j.requests.update(ctx, func(ctx workflow.Context) (string, error) {
		before := j.Reruns.Find(key)
		switch {
		case before != nil:
			return rerunAnswer(job.RerunUnderWay, before.Answer), nil
		case j.manualRuns() > 0:
			return rerunAnswer(job.RerunUnderWay, j.newestManualRun()), nil
		case j.Outcomes.ConsecutiveFailures == 0:
			return string(job.RerunNotFailed), nil
		}
		name, err := j.runAdmitted(ctx, workflows.RunRequest{})
		if err != nil {
			return "", err
		}
		j.Reruns.Add(key, name, workflow.Now(ctx), rerunFor, maxReruns)
		return rerunAnswer(job.RerunStarted, name), nil
	})
	status, name, _ := strings.Cut(answer, " ")
	return job.RerunAnswer{Status: job.RerunStatus(status), Execution: name}, err
}

// rerunAnswer returns what [requests.update] keeps of an answer.
func rerunAnswer(s job.RerunStatus, name string) string { return string(s) + " " + name }

func (j *loop) handleReplace(ctx workflow.Context, r workflows.ReplaceRequest) (job.Job, error) {
	_, err := j.requests.update(ctx, withoutAnswer(func(ctx workflow.Context) error {
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
	d.KeepOwner(&j.Definition)
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
	if j.requests.repeated(ctx) {
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

// handleTest sends a test to the targets of the job's own notifications, once to each, and returns the results. The end
// of the job does not wait for them.
func (j *loop) handleTest(ctx workflow.Context) ([]notification.Delivery, error) {
	j.requests.updated++
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
		return workflows.Refusef(workflows.ErrTypeConflict,
			"The job is %s: no occurrence is left. Change its schedule by PUT or PATCH, or run it.", s)
	}
	return j.mayChange()
}

// maxManualRuns is the maximum number of manual runs that have not ended. It is a bound as [execution.MaxOverlapping]
// is.
const maxManualRuns = 50

// manualRuns returns the number of manual runs that have not ended, deferred ones included.
func (j *loop) manualRuns() int { return j.executions.ManualRuns() + len(j.Deferred) }

func (j *loop) mayRun() error {
	if n := j.manualRuns(); n >= maxManualRuns {
		return workflows.Refusef(workflows.ErrTypeConflict, "%d manual runs of the job are running or waiting already.", n)
	}
	return j.mayChange()
}

func (j *loop) mayChange() error {
	if j.deleted {
		return workflows.Refuse(workflows.ErrTypeGone, "the job is being deleted")
	}
	return nil
}
