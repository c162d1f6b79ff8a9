package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"almanac/job"
	"almanac/job/input"
	"almanac/scheduler"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// A starter is a Temporal that accepts every registration and start.
type starter struct {
	*directory
	resting bool // whether the collection is disabled
	behind  time.Duration
	started client.StartWorkflowOptions
}

func (s *starter) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return registeredAt{at: time.Now().Add(-s.behind), resting: s.resting}, nil
}

func (s *starter) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	s.started = o
	return nil, nil
}

type registeredAt struct {
	client.WorkflowUpdateHandle
	at      time.Time
	resting bool
}

func (r registeredAt) Get(_ context.Context, result any) error {
	*result.(*workflows.RegisterAnswer) = workflows.RegisterAnswer{
		Collection: workflows.CollectionState{Disabled: r.resting},
		Jobs:       []workflows.RegisterResult{{Registration: workflows.Registration{Name: key.Name, Number: int(r.at.UnixMicro())}}},
	}
	return nil
}

func TestANewJobBeginsWhenItHasSomethingToDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		due     time.Duration // after now
		more    string
		resting bool
		behind  time.Duration // by how much the server's clock is behind this machine's
		least   time.Duration // lower limit of the delay
		most    time.Duration
		lead    time.Duration // 0 means the default
	}{
		{name: "40 s to 5 minutes before it is due", due: time.Hour, least: 55 * time.Minute, most: 60*time.Minute - 40*time.Second},
		{name: "by the server's clock", due: time.Hour, behind: 10 * time.Minute, least: 65 * time.Minute, most: 70*time.Minute - 40*time.Second},
		{name: "by the server's clock, which is ahead", due: time.Hour, behind: -10 * time.Minute, least: 45 * time.Minute, most: 50*time.Minute - 40*time.Second},
		{name: "by its lead", due: time.Minute, lead: 20 * time.Second, least: 40 * time.Second, most: 40 * time.Second},
		{name: "at once if it is due soon", due: 45 * time.Second},
		{name: "at once if it is due now", due: -time.Hour},
		{name: "at once if it is disabled", due: time.Hour, more: `,"state":"disabled"`},
		{name: "at once if its collection is disabled", due: time.Hour, resting: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := job.Collection{Key: key.Collection, Properties: job.CollectionProperties{SKU: job.SKU{Name: "Standard"}}}
				server := &starter{behind: tt.behind, resting: tt.resting, directory: &directory{t: t, answers: map[string]any{
					key.Collection.WorkflowID() + " " + workflows.QueryStatus: c,
				}}}
				body := fmt.Sprintf(`{"properties":{"action":{"type":"Http","request":{"uri":"http://127.0.0.1/","method":"GET"}},"startTime":%q%s}}`,
					time.Now().Add(tt.due).UTC().Format(time.RFC3339), tt.more)
				_, created, err := scheduler.New(scheduler.Options{Client: server, Lead: tt.lead}).PutJob(t.Context(), key, put(body))
				require.NoError(t, err)
				require.True(t, created)
				require.GreaterOrEqual(t, server.started.StartDelay, tt.least)
				require.LessOrEqual(t, server.started.StartDelay, tt.most)
				require.Equal(t, tt.most == 0, server.started.EnableEagerStart, "Temporal allows one of the two")
			})
		})
	}
}

// An asleep is a Temporal with a job whose workflow does not answer.
type asleep struct {
	*directory
	answersFrom int // number of the first query that is answered; 0: none is
	questions   int
	events      []*history.HistoryEvent
	done        []string // signals and updates
	signalFails error
}

func (a *asleep) SignalWithStartWorkflow(_ context.Context, id, signal string, _ any, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	require.Equal(a.t, key.WorkflowID(), id)
	require.Equal(a.t, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, o.WorkflowIDReusePolicy, "it starts nothing if the job ended meanwhile")
	a.done = append(a.done, signal)
	return nil, a.signalFails
}

func (a *asleep) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	a.done = append(a.done, o.UpdateName)
	return applied{}, nil
}

type applied struct{ client.WorkflowUpdateHandle }

func (applied) Get(context.Context, any) error { return nil }

func (a *asleep) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if a.questions++; a.questions == a.answersFrom {
		return a.directory.QueryWorkflowWithOptions(ctx, r)
	}
	return nil, serviceerror.NewWorkflowNotReady("Workflow task is not scheduled yet.")
}

func (a *asleep) WorkflowService() workflowservice.WorkflowServiceClient { return asleepFrontend{a: a} }

type asleepFrontend struct {
	unhurried
	a *asleep
}

func (f asleepFrontend) GetWorkflowExecutionHistory(_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	require.Equal(f.a.t, key.WorkflowID(), r.GetExecution().GetWorkflowId())
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &history.History{Events: f.a.events}}, nil
}

// startedAs returns the event of a workflow's start with the given input.
func startedAs(t *testing.T, workflow string, input state.Input) *history.HistoryEvent {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(input)
	require.NoError(t, err)
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &common.WorkflowType{Name: workflow}, Input: payloads,
		},
	}}
}

func aNewJob(t *testing.T) state.Input {
	t.Helper()
	definition, err := input.ParseDefinition([]byte(aJob), input.ParseOptions{Limits: new(input.DefaultLimits()), ID: key.ARMID()})
	require.NoError(t, err)
	input, err := state.New(key, definition, int(time.Now().UnixMicro()), workflows.CollectionState{}, time.Now())
	require.NoError(t, err)
	return input
}

func TestAJobThatHasNotBegunIsReadFromWhatItWasStartedWith(t *testing.T) {
	t.Parallel()
	input := aNewJob(t)
	started := func(workflow string) *history.HistoryEvent { return startedAs(t, workflow, input) }
	signalled := &history.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED}
	terminated := &history.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED}
	begun := &history.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED}
	other := input.Snapshot()
	other.Status.ExecutionCount = 7
	for _, tt := range []struct {
		name        string
		events      []*history.HistoryEvent
		answersFrom int
		want        job.Job // zero if the job cannot be read
	}{
		{"", []*history.HistoryEvent{started(workflows.TypeJob)}, 0, input.Snapshot()},
		{"after a signal, too", []*history.HistoryEvent{started(workflows.TypeJob), signalled}, 0, input.Snapshot()},
		{"unless it begins meanwhile", []*history.HistoryEvent{started(workflows.TypeJob), begun}, 2, other},
		{"but not one whose task fails", []*history.HistoryEvent{started(workflows.TypeJob), signalled, begun}, 0, job.Job{}},
		{"nor one that was ended", []*history.HistoryEvent{started(workflows.TypeJob), terminated}, 0, job.Job{}},
		{"nor what is no job", []*history.HistoryEvent{started(workflows.TypeCollection)}, 0, job.Job{}},
		{"nor without a history", nil, 0, job.Job{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := &asleep{answersFrom: tt.answersFrom, events: tt.events, directory: &directory{t: t, answers: map[string]any{
				key.WorkflowID() + " " + workflows.QueryStatus: other,
			}}}
			got, err := scheduler.New(scheduler.Options{Client: server}).Job(t.Context(), key)
			if tt.want.Key == (job.Key{}) {
				require.Equal(t, job.KindUnavailable, job.KindOf(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want.Status, got.Status)
			require.Equal(t, tt.want.Key, got.Key)
		})
	}
}

// An update alone would end the delay too, but a crash of the server might then leave the job without a
// workflow task.
func TestAJobThatHasNotBegunBeginsBeforeItIsChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(ctx context.Context, s *scheduler.Service) error
		update string
	}{
		{"by a patch", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.PatchJob(ctx, key, patched(`{"properties":{"state":"disabled"}}`))
			return err
		}, workflows.UpdateReplace},
		{"by a run", func(ctx context.Context, s *scheduler.Service) error { _, err := s.RunJob(ctx, key, false); return err }, workflows.UpdateRun},
		{"by being disabled", func(ctx context.Context, s *scheduler.Service) error {
			_, err := s.DisableJob(ctx, key, job.Promise{})
			return err
		}, workflows.UpdateDisable},
		{"by its deletion", func(ctx context.Context, s *scheduler.Service) error { return s.DeleteJob(ctx, key, nil) }, workflows.UpdateDelete},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := &asleep{directory: &directory{t: t}, events: []*history.HistoryEvent{startedAs(t, workflows.TypeJob, aNewJob(t))}}
			require.NoError(t, tt.change(t.Context(), scheduler.New(scheduler.Options{Client: server})))
			require.Equal(t, []string{workflows.SignalBegin, tt.update}, server.done)

			server.done, server.signalFails = nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it has ended", "", "")
			require.NoError(t, tt.change(t.Context(), scheduler.New(scheduler.Options{Client: server})))
			require.Equal(t, []string{workflows.SignalBegin, tt.update}, server.done, "the update tells whether the job is gone")
		})
	}
}
