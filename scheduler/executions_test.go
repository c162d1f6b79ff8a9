package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/activities"
	"almanac/job"
	"almanac/scheduler"
	"almanac/workflows"
)

// executing is a Temporal with a job of which one execution has not ended.
type executing struct {
	*directory
	pending []*workflow.PendingActivityInfo
}

func (e *executing) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id, RunId: "run"}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
		PendingActivities:     e.pending,
	}, nil
}

func (e *executing) WorkflowService() workflowservice.WorkflowServiceClient { return withoutRuns{} }

// withoutRuns is a server that keeps no histories.
type withoutRuns struct{ unhurried }

func (withoutRuns) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest, ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return nil, serviceerror.NewNotFound("there is no such run")
}

func TestAJobShowsWhatFailedBeforeItsExecutionEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before, later := now.Add(-10*time.Second), now.Add(20*time.Second)
	failed := func(n int, outcome job.Outcome) []job.Attempt {
		return []job.Attempt{{Number: n, Start: before, End: before.Add(time.Second), Outcome: outcome, Message: "attempt"}}
	}
	main := job.Execution{ID: "e", Due: before, Repeat: 7, ActionName: job.MainAction}
	const started, scheduled = enums.PENDING_ACTIVITY_STATE_STARTED, enums.PENDING_ACTIVITY_STATE_SCHEDULED
	type want struct {
		stage    job.Stage
		reason   string
		failures int
		attempt  int // that comes next in the retry; 0 for none
		next     time.Time
		message  string // of the last error
	}
	for name, tt := range map[string]struct {
		ongoing  job.Ongoing
		state    enums.PendingActivityState // 0: its activity is not pending
		progress activities.Progress
		unsent   string
		want     want
	}{
		"the first attempt waits for a worker": {job.Ongoing{Activity: "a"}, scheduled, activities.Progress{}, "", want{stage: job.StageWaiting, reason: "No worker has taken it yet."}},
		"the first attempt waits for its host": {job.Ongoing{Activity: "a"}, scheduled, activities.Progress{}, "the host is busy",
			want{stage: job.StageWaiting, reason: "The attempt was put off: the host is busy."}},
		"the first attempt is made":   {job.Ongoing{Activity: "a"}, started, activities.Progress{Sent: 1}, "", want{stage: job.StageRunning}},
		"its activity is paused":      {job.Ongoing{Activity: "a"}, enums.PENDING_ACTIVITY_STATE_PAUSED, activities.Progress{}, "", want{stage: job.StageWaiting, reason: "Its activity is paused in Temporal."}},
		"the second attempt waits":    {job.Ongoing{Activity: "a"}, scheduled, activities.Progress{Attempts: failed(1, job.OutcomeFailed), Sent: 1, Next: later}, "", want{job.StageWaiting, "The next attempt begins at 2026-01-01T12:00:20Z.", 1, 2, later, "attempt"}},
		"the first is being reported": {job.Ongoing{Activity: "a"}, started, activities.Progress{Attempts: failed(1, job.OutcomeFailed), Sent: 1, Next: later}, "", want{job.StageWaiting, "The next attempt begins at 2026-01-01T12:00:20Z.", 1, 2, later, "attempt"}},
		"the second attempt is made":  {job.Ongoing{Activity: "a"}, started, activities.Progress{Attempts: failed(1, job.OutcomeFailed), Sent: 2, Next: before}, "", want{job.StageRunning, "", 1, 2, time.Time{}, "attempt"}},
		"an attempt of a later activity is made": {job.Ongoing{Activity: "a", Tried: 2, Error: "earlier", ErrorEnd: before}, started, activities.Progress{Sent: 1}, "",
			want{job.StageRunning, "", 1, 3, time.Time{}, "earlier"}},
		"it waits for another activity":            {job.Ongoing{Tried: 3, Error: "earlier", ErrorEnd: before, Next: later}, 0, activities.Progress{}, "", want{job.StageWaiting, "The next attempt begins at 2026-01-01T12:00:20Z.", 1, 4, later, "earlier"}},
		"it waits for another run of the workflow": {job.Ongoing{Tried: 3, Error: "earlier", ErrorEnd: before, Next: before}, 0, activities.Progress{}, "", want{job.StageWaiting, "The job's workflow begins a new run first, once the attempts that are being made have ended.", 1, 4, before, "earlier"}},
		"it is a manual run that was put off":      {job.Ongoing{Deferred: true}, 0, activities.Progress{}, "", want{stage: job.StageWaiting, reason: "The job had so many requests that its workflow begins a new run first, once the attempts that are being made have ended."}},
		"its last attempt failed, which is recorded": {job.Ongoing{Activity: "a", Tried: 4}, started, activities.Progress{Attempts: failed(1, job.OutcomeFailed), Sent: 1, Ended: &activities.Ending{Text: "it failed"}}, "",
			want{job.StageRunning, "", 1, 0, time.Time{}, "attempt"}},
		"it succeeded at last, which is recorded": {job.Ongoing{Activity: "a", Tried: 2, Error: "earlier", ErrorEnd: before}, started, activities.Progress{Attempts: failed(1, job.OutcomeCompleted), Sent: 1, Ended: &activities.Ending{}}, "",
			want{stage: job.StageRunning}},
		"a change ends it": {job.Ongoing{Activity: "a", Withdrawn: true}, enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, activities.Progress{Attempts: failed(1, job.OutcomeFailed), Sent: 2}, "",
			want{job.StageRunning, "", 1, 0, time.Time{}, "attempt"}},
		"its error action is performed": {job.Ongoing{Activity: "a", Execution: job.Execution{ActionName: job.ErrorAction}, Error: "earlier", ErrorEnd: before}, started, activities.Progress{Sent: 1}, "",
			want{job.StageRunning, "", 1, 0, time.Time{}, "earlier"}},
		"its error action is tried again": {job.Ongoing{Activity: "a", Execution: job.Execution{ActionName: job.ErrorAction}, Error: "earlier", ErrorEnd: before}, scheduled, activities.Progress{Attempts: failed(1, job.OutcomeFailed), Sent: 1, Next: later}, "",
			want{job.StageWaiting, "The next attempt begins at 2026-01-01T12:00:20Z.", 1, 2, later, "earlier"}},
		"its error action waits for another activity": {job.Ongoing{Execution: job.Execution{ActionName: job.ErrorAction}, Tried: 1, Error: "earlier", ErrorEnd: before, Compensation: &job.LastError{Message: "its own", EndTime: job.NewTime(before)}, Next: later}, 0, activities.Progress{}, "",
			want{job.StageWaiting, "The next attempt begins at 2026-01-01T12:00:20Z.", 1, 2, later, "earlier"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tt.ongoing
			action := o.ActionName
			o.Execution, o.MaxAttempts = main, 5
			if action != "" {
				o.ActionName = action
			}
			e := &executing{directory: &directory{t: t, answers: map[string]any{key.WorkflowID() + " " + workflows.QueryStatus: job.Job{
				Key: key, Definition: job.Definition{State: job.StateEnabled}, Registration: 0x1a, Numbered: 9, Running: &job.Running{Run: "run", Executions: []job.Ongoing{o}},
			}}}}
			if tt.state != 0 {
				e.pending = []*workflow.PendingActivityInfo{pendingAction(t, "a", tt.state, tt.progress, tt.unsent)}
			}
			s := scheduler.New(scheduler.Options{Client: e, Now: func() time.Time { return now }})
			j, err := s.Job(t.Context(), key)
			require.NoError(t, err)
			require.Nil(t, j.Running)
			require.Equal(t, tt.want.failures, j.Status.FailureCount)
			requireError(t, tt.want.message, j.Status.LastError)
			requireRetry(t, tt.want.attempt, tt.want.next, j.Status.Retry)

			p, err := s.Execution(t.Context(), key, "1a-7")
			require.NoError(t, err)
			require.Equal(t, []any{tt.want.stage, tt.want.reason, 7}, []any{p.Stage, p.Reason, p.Repeat})
			requireRetry(t, tt.want.attempt, tt.want.next, p.Retry)
		})
	}
}

func TestARetryOfAnErrorActionSaysWhyTheErrorActionFailed(t *testing.T) {
	t.Parallel()
	ended := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	own := &job.LastError{Message: "its own", EndTime: job.NewTime(ended.Add(time.Minute))}
	for _, compensation := range []*job.LastError{own, nil} {
		o := job.Ongoing{
			Execution: job.Execution{ID: "e", Due: ended, Repeat: 7, ActionName: job.ErrorAction}, Tried: 1, MaxAttempts: 3, Next: ended.Add(time.Hour),
			Error: "the action's", ErrorEnd: ended, Compensation: compensation,
		}
		e := &executing{directory: &directory{t: t, answers: map[string]any{key.WorkflowID() + " " + workflows.QueryStatus: job.Job{
			Key: key, Definition: job.Definition{State: job.StateEnabled}, Numbered: 9, Running: &job.Running{Run: "run", Executions: []job.Ongoing{o}},
		}}}}
		j, err := scheduler.New(scheduler.Options{Client: e, Now: func() time.Time { return ended }}).Job(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, "the action's", j.Status.LastError.Message)
		require.Equal(t, job.ErrorAction, j.Status.Retry.ActionName)
		require.Equal(t, compensation, j.Status.Retry.LastError)
	}
}

func requireError(t *testing.T, message string, last *job.LastError) {
	t.Helper()
	if message == "" {
		require.Nil(t, last)
		return
	}
	require.NotNil(t, last)
	require.Equal(t, message, last.Message)
	require.NotNil(t, last.EndTime)
}

func requireRetry(t *testing.T, attempt int, next time.Time, r *job.Retry) {
	t.Helper()
	if attempt == 0 {
		require.Nil(t, r)
		return
	}
	require.NotNil(t, r)
	require.Equal(t, []any{attempt, 5, "1a-7", job.NewTime(next)}, []any{r.Attempt, r.MaxAttempts, r.Execution, r.NextAttemptTime})
}

// pendingAction returns an activity of an action as the server describes it.
func pendingAction(t *testing.T, id string, state enums.PendingActivityState, p activities.Progress, unsent string) *workflow.PendingActivityInfo {
	t.Helper()
	details, err := converter.GetDefaultDataConverter().ToPayloads(p)
	require.NoError(t, err)
	a := &workflow.PendingActivityInfo{ActivityId: id, ActivityType: &common.ActivityType{Name: activities.TypeAction}, State: state, HeartbeatDetails: details, ScheduledTime: timestamppb.New(time.Unix(0, 0))}
	if unsent != "" {
		a.LastFailure = &failure.Failure{Message: unsent, FailureInfo: &failure.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failure.ApplicationFailureInfo{Type: activities.ErrTypeUnsent}}}
	}
	return a
}

func TestExecutionsThatNeverWereAreNotFound(t *testing.T) {
	t.Parallel()
	e := &executing{directory: &directory{t: t, answers: map[string]any{
		key.WorkflowID() + " " + workflows.QueryStatus: job.Job{Key: key, Registration: 0x1a, Numbered: 9},
	}}}
	s := scheduler.New(scheduler.Options{Client: e})
	for _, name := range []string{"1a-10", "1b-9", "1a-0", "9", "x", ""} {
		_, err := s.Execution(t.Context(), key, name)
		require.Equal(t, job.KindNotFound, job.KindOf(err), name)
	}
	p, err := s.Execution(t.Context(), key, "1a-9")
	require.NoError(t, err)
	require.Equal(t, job.StageEnded, p.Stage)
	require.Contains(t, p.Reason, "no entry of it")
	_, err = scheduler.New(scheduler.Options{Client: &directory{t: t}}).Execution(t.Context(), key, "1a-9")
	require.Equal(t, job.KindNotFound, job.KindOf(err), "there is no such job")
}

// changing is a Temporal in which a job is changed while an execution that failed so far waits.
type changing struct{ *executing }

func (c changing) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return changed{j: job.Job{Key: key, Definition: job.Definition{State: job.StateEnabled}, Registration: 0x1a, Generation: 3, Executing: true}}, nil
}

func TestTheAnswerToAChangeShowsWhatFailedSoFar(t *testing.T) {
	t.Parallel()
	o := job.Ongoing{Execution: job.Execution{Repeat: 7, ActionName: job.MainAction}, Tried: 1, MaxAttempts: 3, Error: "it failed", ErrorEnd: time.Unix(1, 0), Next: time.Now().Add(time.Hour)}
	for generation, failures := range map[int]int{3: 1, 4: 0} { // another change may come before it is read
		e := &executing{directory: &directory{t: t, answers: map[string]any{key.WorkflowID() + " " + workflows.QueryStatus: job.Job{
			Key: key, Definition: job.Definition{State: job.StateEnabled}, Registration: 0x1a, Numbered: 7, Generation: generation, Running: &job.Running{Run: "run", Executions: []job.Ongoing{o}},
		}}}}
		s := scheduler.New(scheduler.Options{Client: changing{e}})
		for _, change := range []func() (job.Job, error){
			func() (job.Job, error) { return s.EnableJob(t.Context(), key, job.Promise{}) },
			func() (job.Job, error) { return s.SkipOccurrences(t.Context(), key, job.SkipRequest{}) },
			func() (job.Job, error) {
				return s.PatchJob(t.Context(), key, func(current *job.Job) (job.Definition, error) { return current.Definition, nil })
			},
		} {
			j, err := change()
			require.NoError(t, err)
			require.Equal(t, 3, j.Generation)
			require.Equal(t, failures, j.Status.FailureCount)
			require.Equal(t, failures > 0, j.Status.Retry != nil)
		}
	}
}
