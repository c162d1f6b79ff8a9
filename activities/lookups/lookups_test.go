package lookups_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/timestamppb"

	"almanac/activities"
	"almanac/activities/lookups"
	"almanac/job"
)

// A directory is a fake server that holds these workflows.
type directory struct {
	client.Client
	workflows map[string]entry // by id
	wait      func(context.Context) error
	pending   []*workflow.PendingActivityInfo
	silent    error // the error of describing a workflow

	mu      sync.Mutex
	updates []client.UpdateWorkflowOptions // guarded by mu
}

// An entry is a workflow's behaviour in the directory.
type entry struct {
	closed   bool
	number   any   // in its memo
	describe error // result of a lookup
	update   error // result of sending an update
	silent   bool  // updates are not answered
	outcome  error // result of an accepted update
}

func (d *directory) find(ctx context.Context, id string) (entry, error) {
	if d.wait != nil {
		if err := d.wait(ctx); err != nil {
			return entry{}, err
		}
	}
	found, ok := d.workflows[id]
	if !ok {
		return entry{}, serviceerror.NewNotFound("there is no such workflow")
	}
	return found, found.describe
}

func (d *directory) DescribeWorkflowExecution(ctx context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if d.silent != nil {
		return nil, d.silent
	}
	if d.pending == nil {
		found, err := d.find(ctx, id)
		if err != nil {
			return nil, err
		}
		info := &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}
		if found.closed {
			info.Status = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		}
		if found.number != nil {
			payload, err := converter.GetDefaultDataConverter().ToPayload(found.number)
			if err != nil {
				return nil, err
			}
			info.Memo = &common.Memo{Fields: map[string]*common.Payload{lookups.MemoRegistration: payload}}
		}
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED},
		PendingActivities:     d.pending,
	}, nil
}

func (d *directory) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	found, err := d.find(ctx, o.WorkflowID)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.updates = append(d.updates, o)
	d.mu.Unlock()
	if found.silent {
		<-ctx.Done()
		return nil, serviceerror.NewDeadlineExceeded("no worker answered")
	}
	return handle{err: found.outcome}, found.update
}

type handle struct {
	client.WorkflowUpdateHandle
	err error
}

func (h handle) Get(context.Context, any) error { return h.err }

// connected gives activities a client.
type connected struct {
	interceptor.WorkerInterceptorBase
	client client.Client
}

func (c *connected) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, client: c.client}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	client client.Client
}

func (i *inbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(newOutbound(next, activity.GetClient, i.client))
}

// outbound replaces the client that an interceptor returns. C is its type, which the SDK does not export.
type outbound[C any] struct {
	interceptor.ActivityOutboundInterceptorBase
	client C
}

func newOutbound[C any](next interceptor.ActivityOutboundInterceptor, _ func(context.Context) C, c client.Client) *outbound[C] {
	return &outbound[C]{ActivityOutboundInterceptorBase: interceptor.ActivityOutboundInterceptorBase{Next: next}, client: any(c).(C)}
}

func (o *outbound[C]) GetClient(context.Context) C { return o.client }

// look runs one of the [lookups.Lookups].
func (d *directory) look(name string, arguments ...any) (converter.EncodedValue, error) {
	return d.lookWith(worker.Options{}, name, arguments...)
}

func (d *directory) lookWith(o worker.Options, name string, arguments ...any) (converter.EncodedValue, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard{})
	env := suite.NewTestActivityEnvironment()
	o.Interceptors = []interceptor.WorkerInterceptor{&connected{client: d}}
	env.SetWorkerOptions(o)
	looks := &lookups.Lookups{}
	env.RegisterActivityWithOptions(looks.Registrations, activity.RegisterOptions{Name: lookups.TypeRegistrations})
	env.RegisterActivityWithOptions(looks.UpdateWorkflow, activity.RegisterOptions{Name: lookups.TypeUpdate})
	env.RegisterActivityWithOptions(looks.UpdateWorkflows, activity.RegisterOptions{Name: lookups.TypeUpdateAll})
	env.RegisterActivityWithOptions(looks.TerminateWorkflows, activity.RegisterOptions{Name: lookups.TypeTerminate})
	env.RegisterActivityWithOptions(looks.PendingActions, activity.RegisterOptions{Name: lookups.TypePending})
	return env.ExecuteActivity(name, arguments...)
}

// indexes requires that an activity returned indexes.
func indexes(t *testing.T, value converter.EncodedValue, err error) []int {
	t.Helper()
	require.NoError(t, err)
	var got []int
	require.NoError(t, value.Get(&got))
	return got
}

func TestRegistrationsAreThoseOfTheOpenWorkflows(t *testing.T) {
	t.Parallel()
	t.Run("in the order of the ids", func(t *testing.T) {
		t.Parallel()
		d := &directory{workflows: map[string]entry{
			"seven": {number: 7}, "closed": {closed: true, number: 8}, "of no memo": {}, "encrypted": {number: "?"},
		}}
		value, err := d.look(lookups.TypeRegistrations, []string{"none", "seven", "closed", "of no memo", "encrypted"})
		require.Equal(t, []int{0, 7, 0, lookups.Unknown, lookups.Unknown}, indexes(t, value, err))
	})
	t.Run("and not known if one cannot be asked", func(t *testing.T) {
		t.Parallel()
		d := &directory{workflows: map[string]entry{"open": {}, "silent": {describe: serviceerror.NewUnavailable("away")}}}
		_, err := d.look(lookups.TypeRegistrations, []string{"none", "silent", "open"})
		require.ErrorContains(t, err, "away", "who is missing is not guessed")
	})
}

func TestManyWorkflowsAreAskedInParallelButNotAllAtOnce(t *testing.T) {
	t.Parallel()
	const (
		workflows   = 100
		maxParallel = 4
	)
	var (
		mu            sync.Mutex
		asked, at, up int // lookups in all, running now, and the maximum of these
	)
	full := make(chan struct{}) // closed when the maximum number of lookups is running
	d := &directory{wait: func(ctx context.Context) error {
		mu.Lock()
		asked, at = asked+1, at+1
		if up = max(up, at); asked == maxParallel {
			close(full)
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			at--
			mu.Unlock()
		}()
		select {
		case <-full:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	var ids []string
	for i := range workflows {
		ids = append(ids, fmt.Sprint(i))
	}
	value, err := d.look(lookups.TypeRegistrations, ids)
	require.Len(t, indexes(t, value, err), workflows)
	require.Equal(t, maxParallel, up)
}

func TestLookupsEndWhenTheyAreCancelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		argument any
	}{
		{lookups.TypeRegistrations, []string{"a", "b"}},
		{lookups.TypeUpdateAll, lookups.UpdateInput{Workflows: []string{"a", "b"}, Update: "dismiss", Patience: time.Hour}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			d := &directory{wait: func(ctx context.Context) error {
				cancel() // as soon as the caller waits for it
				<-ctx.Done()
				return ctx.Err()
			}}
			_, err := d.lookWith(worker.Options{BackgroundActivityContext: ctx}, tt.name, tt.argument)
			require.Error(t, err)
			require.ErrorContains(t, err, "canceled")
		})
	}
}

func TestPendingActions(t *testing.T) {
	t.Parallel()
	payloads := func(v any) *common.Payloads {
		p, err := converter.GetDefaultDataConverter().ToPayloads(v)
		require.NoError(t, err)
		return p
	}
	const started, cancelled = enums.PENDING_ACTIVITY_STATE_STARTED, enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
	one := []job.Attempt{{Number: 1, Outcome: job.OutcomeFailed, Message: "404 Not Found"}}
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		kind  string // activity type; "" means the action's
		state enums.PendingActivityState
		heard any  // details of the last heartbeat; nil: none was sent
		next  bool // the server returns the time of the next attempt
		want  []lookups.Pending
	}{
		{"one that no worker has", "", enums.PENDING_ACTIVITY_STATE_SCHEDULED, nil, false, []lookups.Pending{{Activity: "8"}}},
		{"one that is held", "", started, nil, false, []lookups.Pending{{Activity: "8"}}},
		{"one that is held and cancelled", "", cancelled, nil, false, []lookups.Pending{{Activity: "8", Cancelled: true}}},
		{"one that passed its fence", "", started, activities.Progress{Sent: 1, Lease: 1200}, false,
			[]lookups.Pending{{Activity: "8", Sent: true, Until: at.Add(1200 * time.Millisecond)}}},
		{"one that was cancelled after its fence", "", cancelled, activities.Progress{Sent: 1, Lease: 1200}, false,
			[]lookups.Pending{{Activity: "8", Cancelled: true, Sent: true, Until: at.Add(1200 * time.Millisecond)}}},
		{"one that was sent", "", started, activities.Progress{Sent: 1}, false, []lookups.Pending{{Activity: "8", Sent: true, Until: at}}},
		{"one whose outcome waits to be reported", "", cancelled, activities.Progress{Attempts: one, Sent: 1, Ended: &activities.Ending{Text: "404"}}, false,
			[]lookups.Pending{{Activity: "8", Attempts: one, Cancelled: true, Until: at, Ended: &activities.Ending{Text: "404"}}}},
		{"one that waits for a retry", "", enums.PENDING_ACTIVITY_STATE_SCHEDULED, activities.Progress{Attempts: one, Sent: 1}, true,
			[]lookups.Pending{{Activity: "8", Attempts: one, Until: at, Next: at.Add(30 * time.Second)}}},
		{"one that waits for a worker to try again", "", enums.PENDING_ACTIVITY_STATE_SCHEDULED, activities.Progress{Attempts: one, Sent: 1}, false,
			[]lookups.Pending{{Activity: "8", Attempts: one, Until: at}}},
		{"one that passed the fence of a retry", "", started, activities.Progress{Attempts: one, Sent: 2, Lease: 1000}, false,
			[]lookups.Pending{{Activity: "8", Attempts: one, Sent: true, Until: at.Add(time.Second)}}},
		{"no activity of another type", lookups.TypeRegistrations, started, "progress of its own", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &workflow.PendingActivityInfo{
				ActivityId: "8", ActivityType: &common.ActivityType{Name: cmp.Or(tt.kind, activities.TypeAction)}, State: tt.state,
				LastStartedTime: timestamppb.New(at.Add(-time.Second)),
			}
			if tt.next {
				a.NextAttemptScheduleTime = timestamppb.New(at.Add(30 * time.Second))
			}
			if tt.heard != nil {
				a.HeartbeatDetails, a.LastHeartbeatTime = payloads(tt.heard), timestamppb.New(at)
			}
			value, err := (&directory{pending: []*workflow.PendingActivityInfo{a}}).look(lookups.TypePending)
			require.NoError(t, err)
			var got []lookups.Pending
			require.NoError(t, value.Get(&got))
			if tt.heard == nil {
				for i := range got {
					require.False(t, got[i].Until.After(at), "no lease was ever asked for")
					got[i].Until = time.Time{}
				}
			}
			for i := range tt.want {
				tt.want[i].Held, tt.want[i].Began = tt.state == started, at.Add(-time.Second)
				if !tt.next {
					require.True(t, got[i].Next.Before(at), "it has begun, or may at any time")
					got[i].Next = time.Time{}
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
	t.Run("are an error if progress cannot be read", func(t *testing.T) {
		t.Parallel()
		d := &directory{pending: []*workflow.PendingActivityInfo{{
			ActivityId: "8", ActivityType: &common.ActivityType{Name: activities.TypeAction}, HeartbeatDetails: payloads("progress"),
		}}}
		_, err := d.look(lookups.TypePending)
		require.Error(t, err, "it is not taken for unsent")
	})
	t.Run("are an error if the server does not answer", func(t *testing.T) {
		t.Parallel()
		_, err := (&directory{silent: serviceerror.NewUnavailable("away")}).look(lookups.TypePending)
		require.ErrorContains(t, err, "away")
	})
}

// discard is a log that nobody reads.
type discard struct{}

func (discard) Debug(string, ...any) {}
func (discard) Info(string, ...any)  {}
func (discard) Warn(string, ...any)  {}
func (discard) Error(string, ...any) {}
