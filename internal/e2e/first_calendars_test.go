package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"almanac/job"
	"almanac/workflows"
	calendarworkflows "almanac/workflows/calendar"
)

func TestTheNamesOfCalendarsTakeOneInTheFirstTaskOfTheirWorkflow(t *testing.T) {
	t.Parallel()
	s := use(t)
	s.collection(t)
	k := job.CollectionKey{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default", Name: t.Name()}
	start := s.temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: k.CalendarsWorkflowID(), TaskQueue: workflows.TaskQueue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
	}, workflows.TypeCalendars, calendarworkflows.DirectoryInput{Scope: k})
	h, err := s.temporal.UpdateWithStartWorkflow(t.Context(), client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName: workflows.UpdateRegister, Args: []any{"SE"}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	require.NoError(t, err)
	var registered workflows.Registration
	require.NoError(t, h.Get(t.Context(), &registered))
	require.Equal(t, "SE", registered.Name)
}
