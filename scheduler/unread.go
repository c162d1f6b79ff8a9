package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"

	"almanac/activities"
	"almanac/internal/calls"
	"almanac/job"
	"almanac/workflows"
)

// whyUnread returns why a workflow could not be read, in words for people.
func whyUnread(err error) string {
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
	switch {
	case failed:
		return "no worker can read its history; the log of the workers says why"
	case notReady:
		return "its workflow task fails again and again; the log of the workers says why"
	case isUnavailable(err):
		return "it did not answer in time"
	}
	return "what is stored of it could not be read; the log of the API says why"
}

// failToRead is [Service.fail] for a job that was to be read. If Temporal knows that the
// fault is the job's own, the error says so.
func (s *Service) failToRead(ctx context.Context, err error, k job.Key) error {
	shown := s.fail(ctx, err, missingJob(k))
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	_, temporals := errors.AsType[serviceerror.ServiceError](err)
	switch kind := job.KindOf(shown); {
	case err == nil, ctx.Err() != nil, kind != job.KindUnavailable && kind != job.KindInternal:
		return shown
	case kind == job.KindInternal && temporals && !failed: // a fault of Temporal
		return shown
	}
	why := whyUnread(err)
	if calls.IsTimeout(err) {
		attempt := s.taskAttempt(ctx, k.WorkflowID())
		if attempt < 2 {
			return shown // it may be that nothing answers
		}
		why = fmt.Sprintf("its workflow task has failed or timed out, and is at attempt %d; the log of the workers says why", attempt)
	}
	s.log.WarnContext(ctx, "a job could not be read", slog.String("job", k.ARMID()), slog.Any("error", err))
	return &job.Error{
		Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
		Message: fmt.Sprintf("The job '%s' could not be read: %s. It can be deleted all the same.", k.Name, why),
	}
}

// taskAttempt returns for which time a workflow's task is being tried; 0 if it has none.
func (s *Service) taskAttempt(ctx context.Context, id string) int {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	found, err := s.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return 0
	}
	return int(found.GetPendingWorkflowTask().GetAttempt())
}

// collectionTimeout is how long a collection may take to answer whose job did not.
const collectionTimeout = 3 * time.Second

// DeleteJob deletes a job. When it returns without an error, no request of the
// job will be sent any more. A job that does not answer although its collection
// does is terminated.
func (s *Service) DeleteJob(ctx context.Context, k job.Key) error {
	patient, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	err := s.command(patient, k, workflows.UpdateDelete)
	switch kind := job.KindOf(err); {
	case err == nil || ctx.Err() != nil:
		return err
	case kind == job.KindNotFound: // it may have been terminated a moment ago
		return cmp.Or(s.fail(ctx, activities.AwaitTerminated(ctx, s.client, s.converter, k.WorkflowID()), nil), err)
	case kind != job.KindUnavailable && kind != job.KindInternal:
		return err
	}
	if !s.answers(ctx, k.Collection) { // so it may be no fault of the job
		return err
	}
	s.log.WarnContext(ctx, "a job that is deleted did not answer, and is terminated", slog.String("job", k.ARMID()), slog.Any("error", err))
	err = activities.Terminate(ctx, s.client, s.converter, k.WorkflowID(), "it was deleted, and did not answer")
	if !calls.IsTimeout(err) && err != nil {
		return s.fail(ctx, err, missingJob(k))
	}
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectionTimeout) // although it may not be certain yet that nothing is sent
	defer cancel()
	if failed := s.client.SignalWorkflow(tell, k.Collection.WorkflowID(), "", workflows.SignalRemoved, k.Name); failed != nil { // it looks for itself when it is full
		s.log.WarnContext(ctx, "the job collection was not told that a job is gone", slog.String("job", k.ARMID()), slog.Any("error", failed))
	}
	return s.fail(ctx, err, missingJob(k))
}

// answers reports whether a collection is there and answers, which takes a worker.
func (s *Service) answers(ctx context.Context, k job.CollectionKey) bool {
	ctx, cancel := context.WithTimeout(ctx, collectionTimeout)
	defer cancel()
	return s.queries.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, new(job.Collection)) == nil
}
