package scheduler

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/activities/trials"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/scheduler/core"
	"almanac/workflows"
	"almanac/workflows/trial"
)

// TryJob sends the action of a definition once, without its error action, and saves nothing. If the job is stored, the
// secrets that the definition leaves out are those that a PUT would keep. The collection counts how often that is done,
// and refuses what is too often. The definition is one as [almanac/job/input.ParseDefinition] returns.
func (s *Service) TryJob(ctx context.Context, k job.Key, d *job.Definition, stored bool) (job.Trial, error) {
	if err := k.Validate(); err != nil {
		return job.Trial{}, err
	}
	in := trials.Input{Action: d.Action, Retarget: s.limits.AllowSecretRetargeting}
	in.Action.ErrorAction, in.Action.RetryPolicy = nil, nil
	if stored { // its workflow may not have begun
		current, err := s.core.JobToChange(ctx, k)
		if err != nil {
			return job.Trial{}, err
		}
		k, in.Job, in.Query = current.Key, current.Key.WorkflowID(), workflows.QueryDefinition
		in.LastSuccess = current.Status.LastSuccess()
	}
	c, err := s.core.Collection(ctx, k.Collection)
	if err != nil {
		return job.Trial{}, err
	}
	k.Collection = c.Key
	if err := s.core.Update(ctx, k.Collection.WorkflowID(), workflows.UpdateAdmitTry, nil, k.Name); err != nil {
		return job.Trial{}, s.core.Error(ctx, err, core.MissingCollection(k.Collection))
	}
	in.Execution = job.Execution{
		ID: uuid.NewString(), Repeat: 1, ActionName: job.MainAction, Job: k.Name, Collection: k.Collection.Name,
		Caller: audit.ActorOf(ctx).Name(),
	}
	attempt, err := s.try(ctx, k, d, &in)
	return job.Trial{Key: k, ID: in.Execution.ID, Attempt: attempt}, err
}

// try runs the workflow that sends the action.
func (s *Service) try(ctx context.Context, k job.Key, d *job.Definition, in *trials.Input) (a job.Attempt, err error) {
	run, err := s.core.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: k.Collection.TrialWorkflowID(in.Execution.ID), TaskQueue: workflows.TaskQueue,
		WorkflowExecutionTimeout: trial.Timeout,
		StaticSummary:            d.Text(),
		StaticDetails:            "`" + k.ARMID() + "` is tried, and not saved",
		Memo:                     map[string]any{workflows.MemoText: d.Text(), workflows.MemoID: k.ARMID()},
		Priority:                 temporal.Priority{FairnessKey: fairnessKey(k.Collection)},
	}, workflows.TypeTry, in)
	if err == nil {
		err = run.Get(ctx, &a)
	}
	if late, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		message := "No worker has answered in time. Whether the action was sent is not known."
		if late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
			message = "Nothing was sent: no worker took the action."
		}
		return a, &job.Error{Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: err, Message: message}
	}
	return a, s.core.Error(ctx, err, nil)
}
