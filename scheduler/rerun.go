package scheduler

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/workflows"
)

// RerunJobs starts a manual run of the jobs of a page of a collection whose last execution failed, and returns what
// became of each, in order of creation, and the continuation, as [Service.Jobs] does. Jobs of the page that could not
// be read or started are in the results with the error.
//
// Jobs that the page before started are not started twice by the same request: see [Service.RerunJob].
func (s *Service) RerunJobs(
	ctx context.Context, k job.CollectionKey, p listing.Page, request string,
) ([]job.Rerun, string, error) {
	p.Filter.LastOutcome, p.Filter.WithUnread = job.OutcomeFailed, true
	jobs, next, err := s.Jobs(ctx, k, p)
	if err != nil {
		return nil, "", err
	}
	request = cmp.Or(request, uuid.NewString())
	results := make([]job.Rerun, len(jobs))
	wfclient.Each(len(jobs), func(i int) {
		if why := jobs[i].Unread; why != "" {
			results[i] = job.Rerun{Key: jobs[i].Key, Status: job.RerunRefused, Err: &job.Error{
				Kind: job.KindUnavailable, Code: "ServiceUnavailable", Message: "It could not be read: " + why + ".",
			}}
			return
		}
		results[i] = s.RerunJob(ctx, jobs[i].Key, request)
	})
	return results, next, nil
}

// RerunJob starts a manual run of a job if its last execution failed. The job's workflow decides that, so a request
// that is repeated with the same name starts one run; without a name, one that is repeated while the run runs or
// waits. request is that name, or empty.
func (s *Service) RerunJob(ctx context.Context, k job.Key, request string) job.Rerun {
	result := job.Rerun{Key: k}
	if result.Err = k.Validate(); result.Err == nil {
		if _, err := s.core.JobToChange(ctx, k); job.KindOf(err) == job.KindNotFound || core.IsUnchanged(err) {
			result.Err = err
		}
	}
	if result.Err == nil {
		var answer job.RerunAnswer
		err := s.core.Update(ctx, k.WorkflowID(), workflows.UpdateRerun, &answer, request)
		result.Status, result.Execution = answer.Status, answer.Execution
		result.Err = s.core.Error(ctx, err, core.MissingJob(k))
	}
	if result.Err != nil {
		result.Status = job.RerunRefused
	}
	return result
}
