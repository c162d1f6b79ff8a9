package scheduler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/lookups"
	"almanac/internal/audit"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/quota"
	"almanac/scheduler/core"
	"almanac/scheduler/names"
	"almanac/workflows"
	"almanac/workflows/jobloop/execution"
	"almanac/workflows/jobloop/state"
)

// Job returns a job, without its secrets.
func (s *Service) Job(ctx context.Context, k job.Key) (job.Job, error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	var j job.Job
	if err := s.core.Status(ctx, k.WorkflowID(), &j); err != nil {
		return job.Job{}, s.core.ReadError(ctx, err, k)
	}
	j = j.At(s.core.Now())
	s.showFailures(ctx, &j)
	s.explain(ctx, j.Key.Collection, &j)
	return j, nil
}

// PutJob replaces a job's definition with the one that edit returns, or creates the job. created reports
// which. current is the job without its secrets; it is nil for a new job. edit must return a definition as
// [almanac/job/input.ParseDefinition] does. It is called again if the job was changed, created or deleted meanwhile.
func (s *Service) PutJob(
	ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error),
) (j job.Job, created bool, err error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, false, err
	}
	edit = s.checkingCalendars(ctx, k.Collection, edit)
	var own attempts
	replace := func() (job.Job, error) {
		return s.editJob(ctx, k, func(current *job.Job) (job.Definition, error) {
			if own.created(current) {
				return job.Definition{}, errOwn
			}
			if _, err := s.Collection(ctx, k.Collection); err != nil {
				// the collection may be in deletion, and its jobs with it
				return job.Definition{}, err
			}
			return edit(current)
		})
	}
	create := func() (job.Job, error) {
		if err := s.requireSpace(); err != nil {
			return job.Job{}, err
		}
		c, err := s.registrar.Recent(ctx, k.Collection)
		if err != nil {
			return job.Job{}, err
		}
		d, err := edit(nil)
		if err != nil {
			return job.Job{}, err
		}
		return startInTime(
			ctx, func(ctx context.Context) (job.Job, error) { return s.createJob(ctx, c, k.Name, d, false, &own) },
		)
	}
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return job.Job{}, false, err
	}
	defer next()
	var done bool
	if j, done, err = s.createUnread(ctx, k, edit, &own); done {
		return j, err == nil, s.core.Error(ctx, err, nil)
	}
	j, created, err = put(ctx, replace, create)
	if len(own.registrations) > 0 {
		err = core.MayHaveChanged(err)
	}
	if errors.Is(err, errOwn) {
		return own.job.At(s.core.Now()), true, nil
	}
	if core.IsMissing(err) { // the job may be missing, so the collection is what was not found
		return j, created, missingCollectionOfNewJob(k.Collection)
	}
	return j, created, s.core.Error(ctx, err, nil)
}

// attempts are those of one call to create a job. If the answer to the start of its workflow is lost, a later attempt
// finds the job there.
type attempts struct {
	registrations []int
	job           job.Job // that was found
}

// errOwn means that the job which is there was created by an earlier attempt of the same call.
var errOwn = errors.New("the job was created by an attempt that had no answer")

// created reports whether one of the attempts created a job.
func (a *attempts) created(current *job.Job) bool {
	if !slices.Contains(a.registrations, current.Registration) {
		return false
	}
	a.job = *current
	return true
}

// PatchJob is [Service.PutJob] for a job that exists.
func (s *Service) PatchJob(
	ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error),
) (j job.Job, err error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	edit = s.checkingCalendars(ctx, k.Collection, edit)
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return job.Job{}, err
	}
	defer next()
	err = core.UntilUncontended(ctx, func() error {
		j, err = s.editJob(ctx, k, edit)
		return err
	})
	return j, s.core.Error(ctx, err, core.MissingJob(k))
}

// createUnread creates a job that is most likely new, without the query that would tell. done reports whether that
// was decided: it is not if the name is registered already, or if something else is wrong that does not matter for a
// job that exists.
func (s *Service) createUnread(
	ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error), own *attempts,
) (j job.Job, done bool, err error) {
	if !s.registrar.Growing(k.Collection) || s.space() != nil {
		return job.Job{}, false, nil
	}
	c, err := s.registrar.Recent(ctx, k.Collection)
	if err != nil {
		return job.Job{}, false, err
	}
	d, err := edit(nil)
	if err != nil {
		return job.Job{}, false, err
	}
	j, err = startInTime(
		ctx, func(ctx context.Context) (job.Job, error) { return s.createJob(ctx, c, k.Name, d, true, own) },
	)
	return j, !errors.Is(err, names.ErrTaken) && !errors.Is(err, core.ErrLost) && !core.IsMissing(err), err
}

// createJob registers the job's name in its collection and starts its workflow. The name counts against the quota
// from then on. If the start fails, the collection forgets the name. With ifNew, the error is
// [names.ErrTaken] if the name is registered already.
func (s *Service) createJob(
	ctx context.Context, c job.Collection, name string, definition job.Definition, ifNew bool, own *attempts,
) (job.Job, error) {
	now := s.core.Now()
	by, err := s.calendars.Uses(ctx, c.Key, definition.Recurrence)
	if err != nil {
		return job.Job{}, err
	}
	registered, collection, err := s.registrar.Register(
		ctx, &c, workflows.RegisterJob{Name: name, Requirements: quota.RequirementsOf(&definition, now), IfNew: ifNew},
	)
	if err != nil {
		return job.Job{}, err
	}
	own.registrations = append(own.registrations, registered.Number)
	k := c.Key.Job(registered.Name)
	input, err := state.NewBy(k, definition, registered.Number, collection, now, by)
	if err != nil {
		return job.Job{}, err
	}
	if s.lead > 0 {
		input.Lead = int(s.lead.Milliseconds())
	}
	if definition.State == job.StateDisabled {
		input.DisabledBy = &job.Disabling{At: input.Created, By: execution.CallerOf(audit.ActorOf(ctx))}
	}
	s.showNext(&input)
	err = s.start(ctx, client.StartWorkflowOptions{
		ID:            k.WorkflowID(),
		StaticSummary: definition.Text(),
		StaticDetails: staticDetails(input.Snapshot()),
		Memo: map[string]any{
			workflows.MemoText: definition.Text(), workflows.MemoID: k.ARMID(), workflows.MemoOutline: input.Outline(),
			workflows.MemoRegistration: registered.Number,
		},
		TypedSearchAttributes: temporal.NewSearchAttributes(jobAttributes(&input)...),
		Priority:              temporal.Priority{FairnessKey: fairnessKey(k.Collection)},
		StartDelay:            startDelay(&input, workflows.RegisteredAt(registered.Number)),
	}, workflows.TypeJob, input)
	if err != nil {
		return job.Job{}, err
	}
	s.registrar.Started(c.Key, registered)
	return input.Snapshot(), nil
}

// staticDetails returns the details shown in the Temporal Web UI and CLI: the job's ARM ID and its first
// due time, which nothing else shows until the workflow begins.
func staticDetails(j job.Job) string {
	text := "`" + j.Key.ARMID() + "`"
	if first := j.Status.NextExecutionTime; first != nil {
		text += "\n\ncreated to run first at " + first.String()
	}
	return text
}

// fairnessKey returns a hash of the collection's workflow ID, since Temporal's limit is 64 bytes. If tasks
// queue up, the fairness key keeps one collection from starving the others.
func fairnessKey(k job.CollectionKey) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(k.WorkflowID())).String()
}

// editJob replaces the definition of a job with the one that edit returns. It fails if the job was changed
// meanwhile, or if its collection does not allow the new definition.
func (s *Service) editJob(
	ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error),
) (j job.Job, err error) {
	current, err := s.core.JobToChange(ctx, k)
	if err != nil {
		return job.Job{}, err
	}
	current = current.TakenBack() // a change keeps a pruned job
	d, err := edit(&current)
	if err != nil {
		return job.Job{}, err
	}
	// Reserve old and new requirements together, change the job, then release the old ones.
	old, wanted := quota.RequirementsOf(&current.Definition, current.Created), quota.RequirementsOf(&d, current.Created)
	combined := old.And(wanted)
	if combined != old {
		if err := s.reserve(ctx, current, combined, false); err != nil {
			return job.Job{}, err
		}
	}
	err = s.core.Update(ctx, current.Key.WorkflowID(), workflows.UpdateReplace, &j,
		workflows.ReplaceRequest{
			Definition: d, Text: d.Text(), Generation: current.Generation, Retarget: s.limits.AllowSecretRetargeting,
			ShowNext: s.showsNext(),
		})
	j = s.changed(ctx, j, err)
	if err != nil || combined == wanted {
		return j, err
	}
	if err := s.reserve(ctx, current, wanted, true); err != nil {
		// The job is changed nevertheless. The collection counts the old requirements until the job's next
		// change; the only effect is that it may refuse a change of its plan.
		s.core.Log.WarnContext(
			ctx, "a job requires less now, and its collection could not be informed", "job", current.Key.ARMID(), "error", err,
		)
	}
	return j, nil
}

// reserve sends the collection the requirements of the job's next definition. committed means that the job has that
// definition already.
func (s *Service) reserve(ctx context.Context, current job.Job, requirements quota.Requirements, committed bool) error {
	// and moves the workflow to another worker if its last one crashed
	c, err := s.Collection(ctx, current.Key.Collection)
	if err != nil {
		return err
	}
	return s.core.Update(ctx, c.Key.WorkflowID(), workflows.UpdateReserve, nil, workflows.ReserveRequest{
		Name: current.Key.Name, Requirements: requirements, Job: current.Generation + 1, Final: committed,
		Tiers: s.limits.Tiers,
	})
}

// RunJob starts a manual run of a job, in any state of the job and its collection, and returns the name of the
// execution. The error is of kind [job.KindConflict] if 50 manual runs of the job are running or waiting, or if it is in a
// blackout and the run is not forced.
func (s *Service) RunJob(ctx context.Context, k job.Key, force bool) (execution string, err error) {
	err = s.core.UpdateJob(ctx, k, workflows.UpdateRun, &execution, workflows.RunRequest{Force: force})
	return execution, err
}

// SkipOccurrences keeps occurrences of a job from being run, and returns the job. The error is of kind
// [job.KindConflict] if the request is about none that is to come, or if one of them may have been sent.
func (s *Service) SkipOccurrences(ctx context.Context, k job.Key, r job.SkipRequest) (j job.Job, err error) {
	err = s.core.UpdateJob(ctx, k, workflows.UpdateSkip, &j, r)
	return s.changed(ctx, j, err), err
}

// UnskipOccurrences has occurrences of a job run that were skipped; otherwise it is as [Service.SkipOccurrences].
func (s *Service) UnskipOccurrences(ctx context.Context, k job.Key, r job.SkipRequest) (j job.Job, err error) {
	err = s.core.UpdateJob(ctx, k, workflows.UpdateUnskip, &j, r)
	return s.changed(ctx, j, err), err
}

// EnableJob enables a job; p says which of the occurrences run that came due while it was disabled. A job that is
// enabled stays as it is. The error is of kind [job.KindConflict] if the job is
// completed or faulted.
func (s *Service) EnableJob(ctx context.Context, k job.Key, p job.Promise) (job.Job, error) {
	return s.setJobState(ctx, k, workflows.UpdateEnable, p)
}

// DisableJob disables a job; p says until when, and what follows. Otherwise it is as [Service.EnableJob]. After it returns nil, no occurrence is sent.
func (s *Service) DisableJob(ctx context.Context, k job.Key, p job.Promise) (job.Job, error) {
	return s.setJobState(ctx, k, workflows.UpdateDisable, p)
}

func (s *Service) setJobState(ctx context.Context, k job.Key, update string, p job.Promise) (j job.Job, err error) {
	err = s.core.UpdateJob(ctx, k, update, &j, workflows.StateRequest{Promise: p})
	return s.changed(ctx, j, err), err
}

// collectionTimeout is the limit for an answer from the collection of a job that did not answer.
const collectionTimeout = 3 * time.Second

// DeleteJob deletes a job. After it returns nil, no request of the job is sent any more. If the job does not answer
// within core.TryTimeout but its collection does, the job's workflow is terminated. If neither does, both may have
// much to catch up on, and the job is asked again, for as long as a change may take.
//
// Unless check is nil, it is called with the job that is then deleted, and an error of it is returned. A job that
// does not answer cannot be checked, and stays.
func (s *Service) DeleteJob(ctx context.Context, k job.Key, check func(current *job.Job) error) error {
	if check != nil {
		return s.deleteChecked(ctx, k, check)
	}
	ctx, cancel := context.WithTimeout(ctx, wfclient.ChangeTimeout)
	defer cancel()
	for again := false; ; again = true {
		err := s.askToDelete(ctx, k, again)
		if again {
			err = core.MayHaveChanged(err)
		}
		switch kind := job.KindOf(err); {
		case kind == job.KindNotFound: // it may just have been terminated, or have been asked before
			terminated := s.core.Error(ctx, lookups.AwaitTerminated(ctx, s.core.Temporal, s.core.Converter, k.WorkflowID()), nil)
			if terminated == nil && again {
				return nil
			}
			return cmp.Or(terminated, err)
		case err == nil || kind != job.KindUnavailable && kind != job.KindInternal || core.IsUnchanged(err) && !again:
			return err
		case s.collectionAnswers(ctx, k.Collection):
			s.core.Log.WarnContext(
				ctx, "a job that is being deleted did not answer; its workflow is terminated", slog.String("job", k.ARMID()),
				slog.Any("error", err),
			)
			return s.core.Error(ctx, s.terminateDeleted(ctx, k), core.MissingJob(k))
		case wfclient.Sleep(ctx, core.MaxRetryPause) != nil:
			return err
		}
	}
}

// deleteChecked deletes a job if check allows it, and the job was not changed since.
func (s *Service) deleteChecked(ctx context.Context, k job.Key, check func(current *job.Job) error) error {
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return err
	}
	defer next()
	err = core.UntilUncontended(ctx, func() error {
		current, err := s.core.JobToChange(ctx, k)
		if err != nil {
			return err
		}
		if err := check(&current); err != nil {
			return err
		}
		return s.core.Update(ctx, k.WorkflowID(), workflows.UpdateDelete, nil, current.Generation)
	})
	return s.core.Error(ctx, err, core.MissingJob(k))
}

// askToDelete asks a job to end, at first for core.TryTimeout.
func (s *Service) askToDelete(ctx context.Context, k job.Key, again bool) error {
	if !again {
		first, cancel := context.WithTimeout(ctx, core.TryTimeout)
		defer cancel()
		ctx = first
	}
	return s.core.UpdateJob(ctx, k, workflows.UpdateDelete, nil)
}

// collectionAnswers reports whether the collection of a job that did not answer answers: then the job is at fault.
func (s *Service) collectionAnswers(ctx context.Context, k job.CollectionKey) bool {
	ctx, cancel := context.WithTimeout(ctx, collectionTimeout)
	defer cancel()
	return s.core.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, new(job.Collection)) == nil
}

// terminateDeleted terminates the workflow of a job that did not answer its deletion, and unregisters its name. It
// does the latter even if it times out before it is certain that no request is sent any more.
func (s *Service) terminateDeleted(ctx context.Context, k job.Key) error {
	err := lookups.Terminate(
		ctx, s.core.Temporal, s.core.Converter, k.WorkflowID(), "it was deleted, and did not answer", 0,
	)
	if err == nil || wfclient.IsTimeout(err) {
		s.signalRemoved(ctx, k)
	}
	return err
}

// signalRemoved makes the collection look up whether the job is gone: it may have been created anew meanwhile. If
// the signal is lost, the collection finds that out when it is full.
func (s *Service) signalRemoved(ctx context.Context, k job.Key) {
	signalCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectionTimeout)
	defer cancel()
	removed := workflows.Registration{Name: k.Name}
	err := s.core.Temporal.SignalWorkflow(signalCtx, k.Collection.WorkflowID(), "", workflows.SignalRemoved, removed)
	if err != nil {
		s.core.Log.WarnContext(
			ctx, "a job is deleted, and its collection could not be informed", slog.String("job", k.ARMID()),
			slog.Any("error", err),
		)
	}
}

// missingCollectionOfNewJob says how to create the collection.
func missingCollectionOfNewJob(k job.CollectionKey) *job.Error {
	e := core.MissingCollection(k)
	e.Message += " Create the job collection first: PUT " + k.ARMID() +
		`?api-version=2016-03-01 with the body {"properties":{"sku":{"name":"Standard"}}}.`
	return e
}
