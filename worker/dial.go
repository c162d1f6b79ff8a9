package worker

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/activities/completions"
)

// reportTimeout is how long the server may take to record an attempt's outcome: about as long as an
// attempt may take.
const reportTimeout = time.Minute

// A Client is a worker's connection to Temporal. Close it.
type Client struct {
	client.Client
	completions *completions.Limiter
	polls       time.Duration // time limit of a poll; 0: that of the SDK
}

// Dial connects to Temporal for a worker. The sticky timeout follows the worker's load, and the server
// has reportTimeout to record an outcome. With the SDK's 10 s, the outcome is dropped and the attempt
// counts as lost: of 5,000 jobs due in one second on two cores, 600 were. polls is the time limit of a poll, such as
// [DefaultPollTimeout]; 0 means that of the SDK, for a worker in the process of the server.
func Dial(ctx context.Context, o client.Options, polls time.Duration) (*Client, error) {
	limiter := completions.New()
	connection := &o.ConnectionOptions
	connection.DialOptions = append(slices.Clip(connection.DialOptions),
		grpc.WithChainUnaryInterceptor(reportPatiently, watchCompletions(limiter), new(sticky).intercept, (&pollLimit{timeout: polls}).intercept, new(lost).intercept))
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Client{c, limiter, polls}, nil
}

func reportPatiently(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	switch method {
	case workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName,
		workflowservice.WorkflowService_RespondActivityTaskFailed_FullMethodName:
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		ctx = patient
	}
	return call(ctx, method, request, answer, c, o...)
}

// A completionWatcher receives the answered completions of attempts and the workflows whose tasks arrive. It is
// an [completions.Limiter].
type completionWatcher interface {
	Sent(taskToken []byte)
	Received(workflowID string)
}

func watchCompletions(r completionWatcher) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
		err := call(ctx, method, request, answer, c, o...)
		switch sent := request.(type) {
		case *workflowservice.RespondActivityTaskCompletedRequest:
			r.Sent(sent.GetTaskToken())
		case *workflowservice.RespondActivityTaskFailedRequest:
			r.Sent(sent.GetTaskToken())
		}
		if task, ok := answer.(*workflowservice.PollWorkflowTaskQueueResponse); ok && err == nil && task.GetQuery() == nil {
			r.Received(task.GetWorkflowExecution().GetWorkflowId())
		}
		return err
	}
}
