package scheduler

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"almanac/job"
	"almanac/scheduler/core"
	"almanac/workflows"
)

func TestASubscriptionIsNamedAsItWasFirstWritten(t *testing.T) {
	t.Parallel()
	s := &Service{core: &core.Client{Options: core.Options{Converter: converter.GetDefaultDataConverter()}}}
	long := strings.Repeat("Ä", 200) // its ID is cut
	for _, tt := range []struct{ id, memo, want string }{
		{job.SubscriptionWorkflowID("Team A"), "Team A", "Team A"},
		{job.SubscriptionWorkflowID("Team Ä"), "", "team Ä"},
		{job.SubscriptionWorkflowID("a"), "of another", "a"},
		{job.SubscriptionWorkflowID(long), long, long},
		{job.SubscriptionWorkflowID(long), "", ""},
		{"job/default/reports/nightly", "", ""},
	} {
		e := &workflowpb.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: tt.id}}
		if tt.memo != "" {
			payload, err := converter.GetDefaultDataConverter().ToPayload(tt.memo)
			require.NoError(t, err)
			e.Memo = &common.Memo{Fields: map[string]*common.Payload{workflows.MemoSubscription: payload}}
		}
		require.Equal(t, tt.want, s.subscriptionOf(e), tt.id)
	}
}
