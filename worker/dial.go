package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/activities/completions"
	"almanac/activities/notify"
	checkins "almanac/activities/presence"
	"almanac/internal/latency"
)

// reportTimeout is how long the server may take to record an attempt's outcome: about as long as an
// attempt may take.
const reportTimeout = time.Minute

// leastHeartbeat and mostHeartbeat limit how long the server may take to record a heartbeat, which grows while it is
// slow: one that is not answered in time is repeated.
const (
	leastHeartbeat = 10 * time.Second
	mostHeartbeat  = 30 * time.Second
)

// A Client is a worker's connection to Temporal. Close it.
type Client struct {
	client.Client
	completions *completions.Limiter
	latency     *latency.Meter
	courier     *notify.Courier
	polls       time.Duration // time limit of a poll; 0: that of the SDK
}

// Dial connects to Temporal for a worker. The sticky timeout follows the worker's load, and the server
// has reportTimeout to record an outcome. With the SDK's 10 s, the outcome is dropped and the attempt
// counts as lost: of 5,000 jobs due in one second on two cores, 600 were. polls is the time limit of a poll, such as
// [DefaultPollTimeout]; 0 means that of the SDK, for a worker in the process of the server.
func Dial(ctx context.Context, o client.Options, polls time.Duration) (*Client, error) {
	meter := new(latency.Meter)
	limiter := completions.New(meter)
	courier := notify.NewCourier(meter)
	connection := &o.ConnectionOptions
	connection.DialOptions = append(slices.Clip(connection.DialOptions), grpc.WithChainUnaryInterceptor(patiently(meter), measure(meter),
		watchCompletions(limiter), watchTasks(courier), new(sticky).intercept, (&pollLimit{timeout: polls, meter: meter}).intercept, new(lost).intercept))
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Client{c, limiter, meter, courier, polls}, nil
}

// patiently replaces the SDK's time limit of what the server would be asked to do again.
func patiently(meter *latency.Meter) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
		var limit time.Duration
		switch method {
		case workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName,
			workflowservice.WorkflowService_RespondActivityTaskFailed_FullMethodName:
			limit = reportTimeout
		case workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName:
			limit = meter.Patience(leastHeartbeat, mostHeartbeat)
		}
		if limit == 0 || checkins.IsCheckIn(ctx) {
			return call(ctx, method, request, answer, c, o...)
		}
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		if limit != reportTimeout { // a heartbeat is not awaited if the activity is cancelled
			defer context.AfterFunc(ctx, func() {
				if errors.Is(ctx.Err(), context.Canceled) {
					cancel()
				}
			})()
		}
		return call(patient, method, request, answer, c, o...)
	}
}

// measure measures the calls that the server answers when it has written something.
func measure(meter *latency.Meter) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
		switch method {
		case workflowservice.WorkflowService_RespondWorkflowTaskCompleted_FullMethodName, workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName,
			workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName, workflowservice.WorkflowService_RespondActivityTaskFailed_FullMethodName:
			if !checkins.IsCheckIn(ctx) {
				defer meter.Begin()()
			}
		}
		return call(ctx, method, request, answer, c, o...)
	}
}

// A completionWatcher receives the answered completions of attempts and the workflows whose tasks arrive. It is
// an [completions.Limiter].
type completionWatcher interface {
	Sent(taskToken []byte)
	Received(workflowID string)
	Waited(time.Duration)
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
		switch task := answer.(type) {
		case *workflowservice.PollWorkflowTaskQueueResponse:
			if err == nil && len(task.GetTaskToken()) > 0 && task.GetQuery() == nil {
				r.Waited(task.GetStartedTime().AsTime().Sub(task.GetScheduledTime().AsTime()))
				r.Received(task.GetWorkflowExecution().GetWorkflowId())
			}
		case *workflowservice.RespondWorkflowTaskCompletedResponse: // it may have the next task of the workflow
			if next := task.GetWorkflowTask(); err == nil && len(next.GetTaskToken()) > 0 {
				r.Received(next.GetWorkflowExecution().GetWorkflowId())
			}
		}
		return err
	}
}
