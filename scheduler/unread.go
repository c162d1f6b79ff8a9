package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"

	"almanac/activities/lookups"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/workflows"
)

// whyUnread returns the reason, for people, why a workflow could not be read.
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

// failToRead is [Service.fail] for reading a job. If the fault is the job's own, as far as Temporal shows,
// the error says so.
func (s *Service) failToRead(ctx context.Context, err error, k job.Key) error {
	shown := s.fail(ctx, err, missingJob(k))
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	_, temporals := errors.AsType[serviceerror.ServiceError](err)
	switch kind := job.KindOf(shown); {
	case err == nil, ctx.Err() != nil, kind != job.KindUnavailable && kind != job.KindInternal:
		return shown
	case kind == job.KindInternal && temporals && !failed: // a fault of Temporal's
		return shown
	}
	why := whyUnread(err)
	if wfclient.IsTimeout(err) {
		attempt := s.taskAttempt(ctx, k.WorkflowID())
		if attempt < 2 {
			return shown // possibly no worker answers at all
		}
		why = fmt.Sprintf("its workflow task has failed or timed out, and is at attempt %d; the log of the workers says why", attempt)
	}
	s.log.WarnContext(ctx, "a job could not be read", slog.String("job", k.ARMID()), slog.Any("error", err))
	return &job.Error{
		Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err,
		Message: fmt.Sprintf("The job '%s' could not be read: %s. It can be deleted all the same.", k.Name, why),
	}
}

// taskAttempt returns the attempt number of a workflow's pending workflow task; 0 if there is none or it is
// not known.
func (s *Service) taskAttempt(ctx context.Context, id string) int {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	found, err := s.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return 0
	}
	return int(found.GetPendingWorkflowTask().GetAttempt())
}

// collectionTimeout is the limit for an answer from the collection of a job that did not answer.
const collectionTimeout = 3 * time.Second

// DeleteJob deletes a job. After it returns nil, no request of the job is sent any more. If the job does
// not answer but its collection does, the job's workflow is terminated.
func (s *Service) DeleteJob(ctx context.Context, k job.Key) error {
	patient, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	err := s.command(patient, k, workflows.UpdateDelete)
	switch kind := job.KindOf(err); {
	case err == nil || ctx.Err() != nil:
		return err
	case kind == job.KindNotFound: // it may just have been terminated
		return cmp.Or(s.fail(ctx, lookups.AwaitTerminated(ctx, s.client, s.converter, k.WorkflowID()), nil), err)
	case kind != job.KindUnavailable && kind != job.KindInternal:
		return err
	}
	if !s.answers(ctx, k.Collection) { // then the job may not be at fault
		return err
	}
	s.log.WarnContext(ctx, "a job that is deleted did not answer, and is terminated", slog.String("job", k.ARMID()), slog.Any("error", err))
	err = lookups.Terminate(ctx, s.client, s.converter, k.WorkflowID(), "it was deleted, and did not answer")
	if !wfclient.IsTimeout(err) && err != nil {
		return s.fail(ctx, err, missingJob(k))
	}
	// Tell the collection even if Terminate timed out before it was certain that no request is sent any
	// more. If the signal is lost, the collection finds the job gone when it is full.
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectionTimeout)
	defer cancel()
	if failed := s.client.SignalWorkflow(tell, k.Collection.WorkflowID(), "", workflows.SignalRemoved, k.Name); failed != nil {
		s.log.WarnContext(ctx, "the job collection was not told that a job is gone", slog.String("job", k.ARMID()), slog.Any("error", failed))
	}
	return s.fail(ctx, err, missingJob(k))
}

// answers reports whether a collection exists and a worker answers for it.
func (s *Service) answers(ctx context.Context, k job.CollectionKey) bool {
	ctx, cancel := context.WithTimeout(ctx, collectionTimeout)
	defer cancel()
	return s.queries.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, new(job.Collection)) == nil
}
