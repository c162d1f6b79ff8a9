package worker

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
)

func TestAlertsLeaveWhenTheServerHasAcceptedTheirTask(t *testing.T) {
	t.Parallel()
	completed := &workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:the job"}
	for _, tt := range []struct {
		name    string
		request any
		answer  error
		leaves  bool // at once
		later   bool // when the server accepts the repetition of the request
	}{
		{"accepted", completed, nil, true, true},
		{"no such task", completed, status.Error(codes.NotFound, "timed out"), false, false},
		{"a bad command", completed, status.Error(codes.InvalidArgument, "bad"), false, false},
		{"the server is away", completed, status.Error(codes.Unavailable, "away"), false, true},
		{"no answer in time", completed, status.Error(codes.DeadlineExceeded, "late"), false, true},
		{"the task of another", &workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:other"}, nil, false, true},
		{"the worker failed it", &workflowservice.RespondWorkflowTaskFailedRequest{ResourceId: "workflow:the job"}, nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				courier, sent := notify.NewCourier(nil), 0
				courier.Log = slog.New(slog.DiscardHandler)
				courier.Send = func(_ context.Context, _ notification.Shard, raised []notification.Raised) error {
					sent += len(raised)
					return nil
				}
				call := func(request any, answer error) {
					invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return answer }
					require.Equal(t, answer, watchTasks(courier)(t.Context(), "", request, nil, nil, invoke))
					time.Sleep(time.Second)
					synctest.Wait()
				}
				courier.Exchange("the job", job.CollectionKey{Name: "c"}, []notification.Raised{{Alert: notification.Alert{ID: "1"}, Inherit: []string{"ops"}}})
				call(tt.request, tt.answer)
				require.Equal(t, tt.leaves, sent == 1)
				call(completed, nil)
				require.Equal(t, tt.later, sent == 1)
			})
		})
	}
}
