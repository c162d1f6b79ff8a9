package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"almanac/activities/notify"
	"almanac/job/notification"
	"almanac/workflows"
)

// lastAlerts is how long a worker that stops hands over the alerts that it has.
const lastAlerts = 5 * time.Second

// courierOf returns the courier of a worker's jobs, by whose connection it learns which tasks are recorded.
func courierOf(o *Options) *notify.Courier {
	c := o.Client.courier
	if c == nil { // the client was not dialled for a worker
		c = notify.NewCourier(o.Client.latency)
	}
	c.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c.Send = func(ctx context.Context, s notification.Shard, raised []notification.Raised) error {
		return sendAlerts(ctx, o.Client.Client, s, raised)
	}
	return c
}

// sendAlerts sends alerts to a shard, which begins if it does not run.
func sendAlerts(ctx context.Context, c client.Client, s notification.Shard, raised []notification.Raised) error {
	summary := "notifications of job collection " + s.Collection.Name
	if s.Number > 0 {
		summary += fmt.Sprintf(", shard %d of the targets of its jobs", s.Number)
	}
	_, err := c.SignalWithStartWorkflow(ctx, s.WorkflowID(), workflows.SignalRaise, raised, client.StartWorkflowOptions{
		TaskQueue: workflows.TaskQueue, StaticSummary: summary, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, workflows.TypeNotifications, s)
	return err
}

// resourceMark begins the name by which the SDK says whose task it has done.
const resourceMark = "workflow:"

// watchTasks tells a courier which workflow tasks the server has recorded.
func watchTasks(courier *notify.Courier) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
		err := call(ctx, method, request, answer, c, o...)
		switch task := request.(type) {
		case *workflowservice.RespondWorkflowTaskCompletedRequest:
			switch id := strings.TrimPrefix(task.GetResourceId(), resourceMark); status.Code(err) {
			case codes.OK:
				courier.Recorded(id)
			case codes.NotFound, codes.InvalidArgument:
				courier.Refused(id)
			}
		case *workflowservice.RespondWorkflowTaskFailedRequest:
			courier.Refused(strings.TrimPrefix(task.GetResourceId(), resourceMark))
		}
		return err
	}
}
