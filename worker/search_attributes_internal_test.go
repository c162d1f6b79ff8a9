package worker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestASearchAttributeThatTheServerRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	fields := func() *common.SearchAttributes {
		return &common.SearchAttributes{IndexedFields: map[string]*common.Payload{"AlmanacState": {}, "AlmanacStateOfAll": {}}}
	}
	task := func() *workflowservice.RespondWorkflowTaskCompletedRequest {
		return &workflowservice.RespondWorkflowTaskCompletedRequest{Commands: []*command.Command{
			{Attributes: &command.Command_UpsertWorkflowSearchAttributesCommandAttributes{UpsertWorkflowSearchAttributesCommandAttributes: &command.UpsertWorkflowSearchAttributesCommandAttributes{SearchAttributes: fields()}}},
			{Attributes: &command.Command_ContinueAsNewWorkflowExecutionCommandAttributes{ContinueAsNewWorkflowExecutionCommandAttributes: &command.ContinueAsNewWorkflowExecutionCommandAttributes{SearchAttributes: fields()}}},
		}}
	}
	names := func(r *workflowservice.RespondWorkflowTaskCompletedRequest) (names [][]string) {
		for _, c := range r.Commands {
			var of []string
			for name := range attributesOf(c).GetIndexedFields() {
				of = append(of, name)
			}
			names = append(names, of)
		}
		return names
	}
	var l lost
	respond := func(r *workflowservice.RespondWorkflowTaskCompletedRequest, answers ...error) error {
		calls := 0
		err := l.intercept(t.Context(), "", r, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			calls++
			return answers[calls-1]
		})
		require.Len(t, answers, calls)
		return err
	}
	lacks := status.Error(codes.InvalidArgument, "BadSearchAttributes: Namespace default has no mapping defined for search attribute AlmanacState")
	other := status.Error(codes.InvalidArgument, "BadScheduleActivityAttributes: no AlmanacStateOfAll")

	require.Equal(t, other, respond(task(), other))
	require.Equal(t, lacks, respond(task(), lacks, status.Error(codes.NotFound, "the task has failed")), "the server offers the task again")
	again := task()
	require.NoError(t, respond(again, nil))
	require.Equal(t, [][]string{{"AlmanacStateOfAll"}, {"AlmanacStateOfAll"}}, names(again))

	last := task()
	lacksAll := status.Error(codes.InvalidArgument, "BadSearchAttributes: search attribute AlmanacStateOfAll is not defined")
	require.NoError(t, respond(last, lacksAll, nil), "a task that failed before is not failed again, and is still open")
	require.Equal(t, [][]string{{"TemporalChangeVersion"}, nil}, names(last), "the event of a command stays, which a replay expects")
}
