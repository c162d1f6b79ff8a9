package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/internal/redact"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/scheduler/core"
)

// A job's workflow knows of an attempt when its activity has ended, which may have made several. What the activity
// has done until then is in the server's record of it: the heartbeat before each attempt has the records of those
// before, and the server has the time of the next one. So a job that fails costs nothing more, and a reader one
// call.

// A pending is an activity of an action, as the server records it.
type pending struct {
	*workflow.PendingActivityInfo
	activities.Progress
	unsent string // why its last attempt was not sent; empty if it was
}

// pendingOf returns the activities of a job's actions that have not ended, by their ids.
func (s *Service) pendingOf(
	ctx context.Context, id string, found *workflowservice.DescribeWorkflowExecutionResponse,
) map[string]*pending {
	all := map[string]*pending{}
	for _, a := range found.GetPendingActivities() {
		if a.GetActivityType().GetName() != activities.TypeAction {
			continue
		}
		progress, err := lookups.ProgressOf(s.core.Converter, id, a)
		if err != nil {
			s.core.Log.WarnContext(ctx, "records of attempts cannot be read", slog.String("id", id), slog.Any("error", err))
		}
		p := &pending{PendingActivityInfo: a, Progress: progress}
		if a.GetLastFailure() != nil {
			err := wfclient.ErrorOf(s.core.Converter, id, a.GetLastFailure())
			if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == activities.ErrTypeUnsent {
				p.unsent = failed.Message()
			}
		}
		all[a.GetActivityId()] = p
	}
	return all
}

// A standing is how an execution stands that has not ended.
type standing struct {
	stage  job.Stage
	reason string         // why it waits
	failed bool           // its last attempt failed, or its action
	last   *job.LastError // of its action
	retry  *job.Retry     // what comes next, if it failed
}

// standingOf returns how an execution of that name stands. p is its activity; nil if it has none.
func standingOf(name string, o *job.Ongoing, p *pending, now time.Time) standing {
	st := standing{failed: o.Failed()}
	if o.Error != "" {
		st.last = &job.LastError{Message: o.Error, EndTime: job.NewTime(o.ErrorEnd)}
	}
	attempts, next, before := o.Tried, o.Next, st.last
	if o.ActionName == job.ErrorAction {
		before = o.Compensation
	}
	final := false
	if p != nil {
		attempts, next = attempts+len(p.Attempts), p.next()
		if n := len(p.Attempts); n > 0 {
			last := p.Attempts[n-1]
			before = &job.LastError{Message: redact.Cut(last.Why(), job.MaxError), EndTime: job.NewTime(last.End)}
			if o.ActionName == job.MainAction {
				st.failed = last.Outcome.Failed()
				st.last = before
			}
		}
		final = p.Ended != nil && p.Ended.Next.IsZero()
	}
	if !st.failed {
		st.last = nil
	}
	st.stage, st.reason = stageOf(o, p, next, now)
	if st.failed && attempts > 0 && attempts < o.MaxAttempts && !final && !o.Withdrawn {
		st.retry = &job.Retry{
			Execution: name, ActionName: o.ActionName, Attempt: attempts + 1, MaxAttempts: o.MaxAttempts, LastError: before,
		}
		if st.stage == job.StageWaiting {
			st.retry.NextAttemptTime = job.NewTime(next)
		}
	}
	return st
}

// next returns when the next attempt of an activity begins, or began to wait for a worker.
func (p *pending) next() time.Time {
	switch {
	case p.Ended != nil:
		return p.Ended.Next
	case !p.Next.IsZero():
		return p.Next
	}
	return p.GetScheduledTime().AsTime()
}

// stageOf returns the stage of an execution that has not ended, and why it waits. next is when its next attempt begins.
func stageOf(o *job.Ongoing, p *pending, next, now time.Time) (job.Stage, string) {
	switch {
	case o.Deferred:
		return job.StageWaiting, "The job had so many requests that its workflow begins a new run first, " +
			"once the attempts that are being made have ended."
	case o.Activity == "" && next.After(now), p != nil && next.After(now) && !p.MaybeSent():
		return job.StageWaiting, "The next attempt begins at " + job.NewTime(next).String() + "."
	case o.Activity == "":
		return job.StageWaiting, "The job's workflow begins a new run first, " +
			"once the attempts that are being made have ended."
	case o.Due.After(now):
		return job.StageWaiting, "It is due at " + job.NewTime(o.Due).String() + "."
	case p == nil:
		return job.StageRunning, ""
	}
	switch p.GetState() {
	case enums.PENDING_ACTIVITY_STATE_SCHEDULED:
		if p.unsent != "" {
			return job.StageWaiting, "The attempt was put off: " + p.unsent + "."
		}
		return job.StageWaiting, "No worker has taken it yet."
	case enums.PENDING_ACTIVITY_STATE_PAUSED:
		return job.StageWaiting, "Its activity is paused in Temporal."
	}
	return job.StageRunning, ""
}

// showFailures has a job's status show what failed in executions that have not ended. That costs a call if one of
// them is due.
func (s *Service) showFailures(ctx context.Context, j *job.Job) {
	running, now := j.Running, s.core.Now()
	j.Running = nil
	isDue := func(o job.Ongoing) bool { return o.Failed() || o.Activity != "" && !o.Due.After(now) }
	if running == nil || !slices.ContainsFunc(running.Executions, isDue) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, core.DescribeTimeout)
	defer cancel()
	found, err := s.core.Temporal.DescribeWorkflowExecution(ctx, j.Key.WorkflowID(), running.Run)
	if err != nil {
		s.core.Log.WarnContext(
			ctx, "the attempts that are being made could not be read; a job is shown as its workflow knows it",
			slog.String("job", j.Key.ARMID()), slog.Any("error", err),
		)
	}
	activities := s.pendingOf(ctx, j.Key.WorkflowID(), found)
	for i := range running.Executions {
		o := &running.Executions[i]
		if st := standingOf(job.ExecutionName(j.Registration, o.Repeat), o, activities[o.Activity], now); st.failed {
			j.Status.AddFailure(st.last, st.retry)
		}
	}
}

const (
	// executionLooks is how often the workflow of an execution is asked again whose activity has just ended, and
	// executionPause the time between.
	executionLooks = 20
	executionPause = 100 * time.Millisecond
)

// Execution returns an execution of a job by its name, with its entries in the history. The error is of kind
// [job.KindNotFound] if the job has never had it.
func (s *Service) Execution(ctx context.Context, k job.Key, name string) (e job.ExecutionStatus, err error) {
	if err := k.Validate(); err != nil {
		return e, err
	}
	ctx, cancel := context.WithTimeout(ctx, core.HistoryTimeout)
	defer cancel()
	registration, repeat, ok := job.ParseExecutionName(name)
	for looks := 1; ; looks++ {
		var j job.Job
		if err := s.core.Status(ctx, k.WorkflowID(), &j); err != nil {
			return e, s.core.ReadError(ctx, err, k)
		}
		if !ok || registration != j.Registration || repeat > j.Numbered {
			return e, job.NotFound(
				"jobcollections/"+j.Key.Collection.Name+"/jobs/"+j.Key.Name+"/executions/"+name, k.Collection.ResourceGroup,
			)
		}
		found, err := s.core.Temporal.DescribeWorkflowExecution(ctx, k.WorkflowID(), "")
		if err != nil {
			return e, s.core.Error(ctx, err, core.MissingJob(k))
		}
		e = job.ExecutionStatus{
			Key: j.Key, Name: job.ExecutionName(registration, repeat), Stage: job.StageEnded,
			Execution: job.Execution{Repeat: repeat, Job: j.Key.Name, Collection: j.Key.Collection.Name},
		}
		settled := s.locate(ctx, &j, found, &e)
		if !settled && looks < executionLooks && wfclient.Sleep(ctx, executionPause) == nil {
			continue
		}
		e.Records, err = s.history.Execution(ctx, found, repeat)
		e.Conclude()
		return e, s.core.Error(ctx, err, core.MissingJob(k))
	}
}

// locate sets how an execution stands that has not ended. It returns false if what the workflow and the server say
// does not fit, since it has just changed.
func (s *Service) locate(
	ctx context.Context, j *job.Job, found *workflowservice.DescribeWorkflowExecutionResponse, e *job.ExecutionStatus,
) bool {
	if j.Running == nil {
		return true
	}
	i := slices.IndexFunc(j.Running.Executions, func(o job.Ongoing) bool { return o.Repeat == e.Repeat })
	if i < 0 {
		return true
	}
	o := &j.Running.Executions[i]
	p := s.pendingOf(ctx, j.Key.WorkflowID(), found)[o.Activity]
	sameRun := found.GetWorkflowExecutionInfo().GetExecution().GetRunId() == j.Running.Run
	if !sameRun {
		p = nil
	}
	st := standingOf(e.Name, o, p, s.core.Now())
	e.Execution, e.Stage, e.Reason, e.Retry = o.Execution, st.stage, st.reason, st.retry
	return sameRun && (o.Activity == "" || p != nil)
}

// changed returns the job as a change left it, with what failed so far: the answer to a change does not have that, so
// the job is read again if an execution may have begun. err is that of the change.
func (s *Service) changed(ctx context.Context, j job.Job, err error) job.Job {
	if err == nil && j.Executing {
		var read job.Job
		if err := s.core.Status(ctx, j.Key.WorkflowID(), &read); err == nil && read.Generation == j.Generation {
			j = read
		}
	}
	j = j.At(s.core.Now())
	s.showFailures(ctx, &j)
	return j
}
