package scheduler

import (
	"context"
	"slices"

	"almanac/job"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// BindOwner puts an owner of job files on record in a collection. The error is of kind [job.KindConflict] if it is
// there for other collections.
func (s *Service) BindOwner(ctx context.Context, k job.CollectionKey, b job.Binding) (bound job.Owner, err error) {
	if err := k.Validate(); err != nil {
		return bound, err
	}
	known, err := s.owners(ctx, k)
	if err != nil {
		return bound, err
	}
	if i := slices.IndexFunc(known, func(o job.Owner) bool { return o.ID == b.ID }); i >= 0 && slices.Equal(known[i].Collections, b.Collections) {
		return known[i], nil
	}
	err = s.core.Update(ctx, k.WorkflowID(), workflows.UpdateBindOwner, &bound, b)
	return bound, s.core.Error(ctx, err, core.MissingCollection(k))
}

// owners returns the owners on record in a collection.
func (s *Service) owners(ctx context.Context, k job.CollectionKey) (known []job.Owner, err error) {
	err = s.core.Ask(ctx, k.WorkflowID(), workflows.QueryOwners, &known)
	return known, s.core.Error(ctx, err, core.MissingCollection(k))
}

// PruneJob prunes a job that its owner does not have any more: it is disabled, and deletes itself after
// [job.PruneAfter]. The error is of kind [job.KindConflict] if it belongs to no owner or to another one, if it runs
// once, or if the collection has not that owner on record. check is as for [Service.DeleteJob].
func (s *Service) PruneJob(
	ctx context.Context, k job.Key, owner string, check func(current *job.Job) error,
) (j job.Job, err error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	known, err := s.owners(ctx, k.Collection)
	if err != nil {
		return job.Job{}, err
	}
	if !slices.ContainsFunc(known, func(o job.Owner) bool { return o.ID == owner }) {
		return job.Job{}, &job.Error{Kind: job.KindConflict, Code: "OwnerUnknown", Message: "The job collection '" + k.Collection.Name +
			"' does not have the owner " + owner + " on record. Bind it first."}
	}
	return s.changeChecked(ctx, k, check, func(current *job.Job) (j job.Job, err error) {
		r := workflows.PruneRequest{Owner: owner, Generation: current.Generation}
		err = s.core.Update(ctx, k.WorkflowID(), workflows.UpdatePrune, &j, r)
		return j, err
	})
}

// RestoreJob takes a pruned job back, in the state that it had. A job that is not pruned stays as it is. check is as for
// [Service.DeleteJob].
func (s *Service) RestoreJob(ctx context.Context, k job.Key, check func(current *job.Job) error) (job.Job, error) {
	return s.changeChecked(ctx, k, check, func(current *job.Job) (j job.Job, err error) {
		err = s.core.Update(ctx, k.WorkflowID(), workflows.UpdateRestore, &j, current.Generation)
		return j, err
	})
}

// CompareSecrets reports whether the secrets of a definition are those that a job has. The job refuses what is asked too
// often.
func (s *Service) CompareSecrets(ctx context.Context, k job.Key, d *job.Definition) (same bool, err error) {
	err = s.core.UpdateJob(ctx, k, workflows.UpdateCompare, &same, workflows.CompareRequest{Definition: *d})
	return same, err
}

// changeChecked changes a job if check allows it, and the job was not changed since.
func (s *Service) changeChecked(
	ctx context.Context, k job.Key, check func(*job.Job) error, change func(current *job.Job) (job.Job, error),
) (j job.Job, err error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return job.Job{}, err
	}
	defer next()
	err = core.UntilUncontended(ctx, func() error {
		current, err := s.core.JobToChange(ctx, k)
		if err == nil && check != nil {
			err = check(&current)
		}
		if err != nil {
			return err
		}
		j, err = change(&current)
		return err
	})
	err = s.core.Error(ctx, err, core.MissingJob(k))
	return s.changed(ctx, j, err), err
}
