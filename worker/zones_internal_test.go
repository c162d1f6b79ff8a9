package worker

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/internal/telemetry"
	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/recurrence"
	"almanac/workflows"
	"almanac/workflows/plan"
)

// sweepTime is when the tests look for jobs.
var sweepTime = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newTestZones(c *mocks.Client, log *strings.Builder) *zones {
	return &zones{
		client: c, converter: converter.GetDefaultDataConverter(), log: slog.New(slog.NewTextHandler(log, nil)), now: func() time.Time { return sweepTime },
		show: (*telemetry.Telemetry)(nil).ZoneWorkers(),
	}
}

// listed is a job in Temporal's lists that runs daily at an hour in a zone, and was planned by a release.
func listed(t *testing.T, id, zone string, hour int, release, rules string, change func(*job.Outline, *workflow.WorkflowExecutionInfo)) *workflow.WorkflowExecutionInfo {
	t.Helper()
	o := job.Outline{
		Created: sweepTime.AddDate(0, -1, 0), Zones: release, ZoneRules: rules,
		Recurrence: &job.Recurrence{Frequency: "day", Interval: 1, TimeZone: zone, Schedule: &job.Schedule{Hours: []int{hour}, Minutes: []int{0}}},
	}
	e := &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		ExecutionTime: timestamppb.New(sweepTime.Add(-time.Hour)),
	}
	if change != nil {
		change(&o, e)
	}
	memo, err := converter.GetDefaultDataConverter().ToPayload(o)
	require.NoError(t, err)
	e.Memo = &common.Memo{Fields: map[string]*common.Payload{workflows.MemoOutline: memo}}
	return e
}

func TestJobsWhoseZonesHaveOtherRulesAreAskedToPlanAgain(t *testing.T) {
	workflowtest.UseZones(t, "2026b", map[string]string{"America/Vancouver": "MST7", "Europe/Stockholm": "CET-1"})
	now := recurrence.CurrentZones()
	const old = "other rules"
	jobs := []*workflow.WorkflowExecutionInfo{
		listed(t, "later", "America/Vancouver", 9, "2026a", old, nil), // in 4 hours
		listed(t, "delayed", "America/Vancouver", 8, "2026a", old, func(_ *job.Outline, e *workflow.WorkflowExecutionInfo) {
			e.ExecutionTime = timestamppb.New(sweepTime.Add(time.Hour))
		}),
		listed(t, "soon", "America/Vancouver", 5, "2026a", old, func(o *job.Outline, _ *workflow.WorkflowExecutionInfo) {
			o.Recurrence.Schedule.Minutes = []int{30} // in half an hour
		}),
		listed(t, "the same rules", "Europe/Stockholm", 9, "2026a", now.Rules("Europe/Stockholm"), nil),
		listed(t, "planned by a newer release", "America/Vancouver", 9, "2026c", old, nil),
		listed(t, "planned by this release", "America/Vancouver", 9, "2026b", old, nil),
		listed(t, "disabled", "America/Vancouver", 9, "2026a", old, func(o *job.Outline, _ *workflow.WorkflowExecutionInfo) { o.Inactive = true }),
		listed(t, "in UTC", "", 9, "", "", nil),
		listed(t, "in a zone that is unknown here", "Asia/Tokyo", 9, "2026a", old, nil),
		{Execution: &common.WorkflowExecution{WorkflowId: "no job of Almanac"}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
	}
	c := &mocks.Client{}
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: jobs[:5], NextPageToken: []byte("more")}, nil).Once()
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: jobs[5:]}, nil).Once()
	for _, one := range jobs[:3] {
		c.On("DescribeWorkflowExecution", mock.Anything, one.Execution.WorkflowId, "").Return(&workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: one}, nil)
	}
	var asked []string
	note := func(a mock.Arguments) { asked = append(asked, a.String(1)) }
	zone := plan.Zone{Release: "2026b", Rules: now.Rules("America/Vancouver")}
	c.On("SignalWorkflow", mock.Anything, mock.Anything, "", workflows.SignalZones, zone).Run(note).Return(nil)
	c.On("SignalWithStartWorkflow", mock.Anything, mock.Anything, workflows.SignalZones, zone, mock.Anything, workflows.TypeJob, mock.Anything).Run(note).Return(nil, nil)
	n, err := newTestZones(c, new(strings.Builder)).sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, "soon", asked[0], "jobs that are due soon come first")
	require.ElementsMatch(t, []string{"later", "delayed"}, asked[1:])
	c.AssertNumberOfCalls(t, "SignalWithStartWorkflow", 1)
}

func TestAJobThatAnotherWorkerHasAskedIsLeftAlone(t *testing.T) {
	workflowtest.UseZones(t, "2026b", map[string]string{"America/Vancouver": "MST7"})
	before := listed(t, "job", "America/Vancouver", 9, "2026a", "other rules", nil)
	after := listed(t, "job", "America/Vancouver", 9, "2026b", recurrence.CurrentZones().Rules("America/Vancouver"), nil)
	c := &mocks.Client{}
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflow.WorkflowExecutionInfo{before}}, nil)
	c.On("DescribeWorkflowExecution", mock.Anything, "job", "").Return(&workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: after}, nil)
	n, err := newTestZones(c, new(strings.Builder)).sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAJobThatCannotBeAskedKeepsNoOtherFromBeingAsked(t *testing.T) {
	workflowtest.UseZones(t, "2026b", map[string]string{"America/Vancouver": "MST7"})
	first := listed(t, "first", "America/Vancouver", 5, "2026a", "other rules", func(o *job.Outline, _ *workflow.WorkflowExecutionInfo) {
		o.Recurrence.Schedule.Minutes = []int{30} // in half an hour
	})
	second := listed(t, "second", "America/Vancouver", 9, "2026a", "other rules", nil)
	c := &mocks.Client{}
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflow.WorkflowExecutionInfo{first, second}}, nil)
	for _, one := range []*workflow.WorkflowExecutionInfo{first, second} {
		c.On("DescribeWorkflowExecution", mock.Anything, one.Execution.WorkflowId, "").Return(&workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: one}, nil)
	}
	c.On("SignalWorkflow", mock.Anything, "first", "", workflows.SignalZones, mock.Anything).Return(serviceerror.NewInvalidArgument("it has too many signals"))
	c.On("SignalWorkflow", mock.Anything, "second", "", workflows.SignalZones, mock.Anything).Return(nil)
	n, err := newTestZones(c, new(strings.Builder)).sweep(t.Context())
	require.ErrorContains(t, err, "first: it has too many signals", "it is asked again")
	require.Equal(t, 1, n)
}

func TestWorkersWithDifferentReleasesAreReportedOnce(t *testing.T) {
	t.Parallel()
	poller := func(identity string, ago time.Duration) *taskqueue.PollerInfo {
		return &taskqueue.PollerInfo{Identity: identity, LastAccessTime: timestamppb.New(sweepTime.Add(-ago))}
	}
	c := &mocks.Client{}
	c.On("DescribeTaskQueue", mock.Anything, workflows.TaskQueue, enums.TASK_QUEUE_TYPE_WORKFLOW).Return(&workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{
		// it has stopped
		poller(identity("2026f"), time.Second), poller(identity("2025b"), time.Second), poller(identity("2024a"), 3*time.Minute),
	}}, nil)
	var log strings.Builder
	z := newTestZones(c, &log)
	z.watch(t.Context())
	z.watch(t.Context())
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), `releases="2025b, 2026f"`)
}
