package scheduler

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// Bulk does something to jobs of a collection that somebody has selected, unless they were changed since, and returns
// the results in their order. It may be repeated with the same request, whose name is that of the selection: what was
// done is not done again.
func (s *Service) Bulk(
	ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string,
) []job.BulkResult {
	results := make([]job.BulkResult, len(jobs))
	wfclient.Each(len(jobs), func(i int) {
		r := &results[i]
		r.Key = k.Job(jobs[i].Name)
		r.Status, r.Execution, r.Err = s.bulkOne(ctx, r.Key, action, jobs[i], request)
		switch {
		case r.Err == nil:
		case job.KindOf(r.Err) == job.KindNotFound:
			r.Status, r.Err = job.BulkMissing, nil
		case errors.Is(r.Err, errChangedSince):
			r.Status, r.Err = job.BulkChangedSince, nil
		default:
			r.Status = job.BulkRefused
		}
	})
	return results
}

// errChangedSince means that a job was changed since it was selected.
var errChangedSince = errors.New("the job was changed since it was selected")

// bulkOne does something to one job.
func (s *Service) bulkOne(
	ctx context.Context, k job.Key, action job.BulkAction, selected job.BulkJob, request string,
) (job.BulkStatus, string, error) {
	if err := k.Validate(); err != nil {
		return "", "", err
	}
	if action == job.BulkRerun { // the job decides, by the name of the request
		return rerunStatus(s.RerunJob(ctx, k, request))
	}
	current, err := s.core.JobToChange(ctx, k)
	if err != nil {
		return "", "", err
	}
	if done := isSo(&current, action, &selected); done || current.Generation != selected.Generation {
		if done {
			return job.BulkUnchanged, "", nil
		}
		return "", "", errChangedSince
	}
	switch action {
	case job.BulkEnable:
		return s.bulkChange(ctx, k, workflows.UpdateEnable, stateRequest(&selected))
	case job.BulkDisable:
		return s.bulkChange(ctx, k, workflows.UpdateDisable, stateRequest(&selected))
	case job.BulkDelete:
		return s.bulkChange(ctx, k, workflows.UpdateDelete, selected.Generation)
	case job.BulkSkip:
		return s.bulkChange(ctx, k, workflows.UpdateSkip, job.SkipRequest{Due: selected.Due}, selected.Generation)
	default: // the same run for the same request, whoever repeats it
		var execution string
		id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(request+"\n"+k.WorkflowID())).String()
		err := s.core.UpdateAs(ctx, id, k.WorkflowID(), workflows.UpdateRun, &execution, workflows.RunRequest{})
		return job.BulkDone, execution, s.core.Error(ctx, err, core.MissingJob(k))
	}
}

// isSo reports whether a job is as an action would leave it.
func isSo(current *job.Job, action job.BulkAction, selected *job.BulkJob) bool {
	switch action {
	case job.BulkEnable:
		return current.Definition.State == job.StateEnabled
	case job.BulkDisable:
		p := selected.Promise // a pause leaves a job alone that is disabled without an end
		same := p == nil || !current.DisabledBy.Paused() || current.DisabledBy.Promise == *p
		return current.Definition.State == job.StateDisabled && same
	case job.BulkSkip:
		return !selected.Due.IsZero() && job.Skipped(selected.Due, current.Skips, current.SkipWindows)
	}
	return false
}

// stateRequest returns the request to enable or disable a job that was selected.
func stateRequest(selected *job.BulkJob) workflows.StateRequest {
	r := workflows.StateRequest{Generation: selected.Generation}
	if selected.Promise != nil {
		r.Promise = *selected.Promise
	}
	return r
}

// bulkChange sends a job an update that it refuses if it has another generation than the last argument.
func (s *Service) bulkChange(
	ctx context.Context, k job.Key, update string, args ...any,
) (job.BulkStatus, string, error) {
	err := s.core.Update(ctx, k.WorkflowID(), update, nil, args...)
	if wfclient.IsRefused(err, workflows.ErrTypeStale) {
		err = errChangedSince
	} else {
		err = s.core.Error(ctx, err, core.MissingJob(k))
	}
	return job.BulkDone, "", err
}

// rerunStatus returns the status for what became of a request to run a job again.
func rerunStatus(r job.Rerun) (job.BulkStatus, string, error) {
	if r.Status == job.RerunNotFailed || r.Status == job.RerunUnderWay {
		return job.BulkUnchanged, r.Execution, r.Err
	}
	return job.BulkDone, r.Execution, r.Err
}
