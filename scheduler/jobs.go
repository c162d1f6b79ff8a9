package scheduler

import (
	"context"
	"errors"
	"slices"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
)

func missingJob(k job.Key) *job.Error {
	return job.NotFound("jobcollections/"+k.Collection.Name+"/jobs/"+k.Name, k.Collection.ResourceGroup)
}

// Job returns a job, without secrets.
func (s *Service) Job(ctx context.Context, k job.Key) (job.Job, error) {
	if err := k.Validate(); err != nil {
		return job.Job{}, err
	}
	var j job.Job
	err := s.query(ctx, k.WorkflowID(), workflows.QueryStatus, &j)
	return j, s.fail(ctx, err, missingJob(k))
}

// PutJob creates a job, or replaces its definition. It reports whether it was
// created.
func (s *Service) PutJob(ctx context.Context, k job.Key, body []byte) (j job.Job, created bool, err error) {
	collection, err := s.Collection(ctx, k.Collection)
	if err != nil {
		return job.Job{}, false, err
	}
	k.Collection = collection.Key
	err = s.contend(ctx, func() error {
		current, err := s.Job(ctx, k)
		if job.KindOf(err) == job.KindNotFound {
			j, err = s.create(ctx, collection, k, body)
			created = err == nil
			return err
		}
		if err != nil {
			return err
		}
		definition, err := job.ParseDefinition(body, s.parseOptions(&current))
		if err != nil {
			return err
		}
		j, err = s.replace(ctx, current, definition)
		if isGone(err) {
			return errLost // it was deleted meanwhile, so it is to be created
		}
		return err
	})
	return j, created, s.fail(ctx, err, missingJob(k))
}

// PatchJob merges a patch into a job's definition.
func (s *Service) PatchJob(ctx context.Context, k job.Key, patch []byte) (j job.Job, err error) {
	err = s.contend(ctx, func() error {
		current, err := s.Job(ctx, k)
		if err != nil {
			return err
		}
		definition, err := job.MergeDefinition(current.Definition, patch, s.parseOptions(&current))
		if err != nil {
			return err
		}
		j, err = s.replace(ctx, current, definition)
		return err
	})
	return j, s.fail(ctx, err, missingJob(k))
}

func (s *Service) parseOptions(current *job.Job) job.ParseOptions {
	return job.ParseOptions{
		Limits: s.limits, Now: s.now(), Created: current.Created, Stored: &current.Definition, ID: current.Key.ARMID(),
	}
}

// contend does what reads, decides and writes, again if somebody else wrote in
// between.
func (s *Service) contend(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !isRefused(err, workflows.ErrTypeStale) && !errors.Is(err, errLost) {
			return err
		}
		if err := sleep(ctx, retryPause); err != nil {
			return err
		}
	}
}

// create registers the job's name in its collection and starts its workflow.
// The name keeps the quota; should the start fail, the collection forgets it.
func (s *Service) create(ctx context.Context, c job.Collection, k job.Key, body []byte) (job.Job, error) {
	now := s.now()
	definition, err := job.ParseDefinition(body, job.ParseOptions{Limits: s.limits, Now: now})
	if err != nil {
		return job.Job{}, err
	}
	var registered workflows.RegisterResult
	err = s.update(ctx, updateTimeout, c.Key.WorkflowID(), workflows.UpdateRegister, &registered,
		workflows.RegisterRequest{Name: k.Name, Limit: c.Properties.JobLimit(s.limits)})
	if err != nil {
		return job.Job{}, s.fail(ctx, err, missingCollection(c.Key))
	}
	k.Name = registered.Name
	input, err := workflows.NewJob(k, definition, registered.Resting, now)
	if err != nil {
		return job.Job{}, err
	}
	attributes := append(collectionAttributes(c.Key),
		temporal.NewSearchAttributeKeyKeyword(workflows.AttributeJob).ValueSet(job.Fold(k.Name)),
		temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState).ValueSet(string(input.Definition.State)))
	err = s.start(ctx, client.StartWorkflowOptions{
		ID:                    k.WorkflowID(),
		StaticSummary:         definition.Text(),
		StaticDetails:         "`" + k.ARMID() + "`",
		Memo:                  map[string]any{workflows.MemoText: definition.Text(), workflows.MemoID: k.ARMID()},
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
	}, workflows.TypeJob, input)
	return input.Snapshot(), err
}

// replace replaces the definition of the job that the caller read. It fails if
// the job was changed since.
func (s *Service) replace(ctx context.Context, current job.Job, d job.Definition) (j job.Job, err error) {
	err = s.update(ctx, updateTimeout, current.Key.WorkflowID(), workflows.UpdateReplace, &j,
		workflows.ReplaceRequest{Definition: d, Generation: current.Generation})
	return j, err
}

// DeleteJob deletes a job. When it returns without an error, no request of the
// job will be sent any more.
func (s *Service) DeleteJob(ctx context.Context, k job.Key) error {
	return s.command(ctx, k, workflows.UpdateDelete)
}

// RunJob runs a job now, whatever its recurrence says.
func (s *Service) RunJob(ctx context.Context, k job.Key) error {
	return s.command(ctx, k, workflows.UpdateRun)
}

func (s *Service) command(ctx context.Context, k job.Key, name string) error {
	if err := k.Validate(); err != nil {
		return err
	}
	return s.fail(ctx, s.update(ctx, updateTimeout, k.WorkflowID(), name, nil), missingJob(k))
}

// Jobs returns a page of a collection's jobs, in the order of their creation,
// and whether more follow.
func (s *Service) Jobs(ctx context.Context, k job.CollectionKey, p job.Page) (jobs []job.Job, more bool, err error) {
	if err := k.Validate(); err != nil {
		return nil, false, err
	}
	var names []string
	if err := s.query(ctx, k.WorkflowID(), workflows.QueryJobs, &names); err != nil {
		return nil, false, s.fail(ctx, err, missingCollection(k))
	}
	if p.State == "" {
		names, more = cut(names, p)
	}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = k.Job(name).WorkflowID()
	}
	if jobs, err = queryAll[job.Job](ctx, s, ids); err != nil {
		return nil, false, s.fail(ctx, err, nil)
	}
	if p.State != "" {
		jobs, more = cut(slices.DeleteFunc(jobs, func(j job.Job) bool { return j.Definition.State != p.State }), p)
	}
	return jobs, more, nil
}

// cut returns the page of a list, and whether more follows.
func cut[T any](list []T, p job.Page) ([]T, bool) {
	list = list[min(p.Skip, len(list)):]
	return list[:min(p.Top, len(list))], len(list) > p.Top
}
