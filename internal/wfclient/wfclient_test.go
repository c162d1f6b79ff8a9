package wfclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"almanac/internal/wfclient"
)

// A server answers calls for one workflow with a sequence of answers. The last one is repeated.
type server struct {
	client.Client
	t      *testing.T
	id     string                        // of the workflow
	status enums.WorkflowExecutionStatus // of the newest run; 0: there is no run

	mu      sync.Mutex
	answers []answer
	queries []*client.QueryWorkflowWithOptionsRequest
	updates []client.UpdateWorkflowOptions
	unstuck int // resets of the sticky queue
}

// An answer is the result of a call.
type answer struct {
	value    string
	rejected enums.WorkflowExecutionStatus // status with which a query is rejected
	silent   bool                          // there is no answer before the deadline
	takes    time.Duration                 // time until the answer
	err      error
}

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return frontend{s: s} }

// A frontend is the part of a server behind the SDK's client.
type frontend struct {
	workflowservice.WorkflowServiceClient
	s *server
}

func (f frontend) ResetStickyTaskQueue(_ context.Context, r *workflowservice.ResetStickyTaskQueueRequest, _ ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	require.Equal(f.s.t, "here", r.GetNamespace())
	require.Equal(f.s.t, f.s.id, r.GetExecution().GetWorkflowId())
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.unstuck++
	return &workflowservice.ResetStickyTaskQueueResponse{}, nil
}

func (s *server) next() answer {
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return a
}

func (s *server) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	s.mu.Lock()
	s.queries = append(s.queries, r)
	a := s.next()
	s.mu.Unlock()
	if a.takes > 0 {
		a.silent = wfclient.Sleep(ctx, a.takes) != nil
	}
	switch {
	case a.silent:
		_, bounded := ctx.Deadline()
		require.True(s.t, bounded, "the attempt would never end")
		<-ctx.Done()
		return nil, serviceerror.NewDeadlineExceeded("no worker answered")
	case a.err != nil:
		return nil, a.err
	case a.rejected != 0:
		return &client.QueryWorkflowWithOptionsResponse{QueryRejected: &query.QueryRejected{Status: a.rejected}}, nil
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(a.value)
	require.NoError(s.t, err)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, nil
}

func (s *server) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.updates = append(s.updates, o)
	if a := s.next(); a.err != nil {
		return nil, a.err
	}
	return handle{id: o.UpdateID}, nil
}

func (s *server) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	switch s.status {
	case 0:
		return nil, missing
	case unknown:
		return nil, broken
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: s.status}}, nil
}

type handle struct {
	client.WorkflowUpdateHandle
	id string
}

func (h handle) UpdateID() string { return h.id }

var (
	missing = serviceerror.NewNotFound("there is no such workflow")
	broken  = serviceerror.NewInternal("broken")
	failed  = serviceerror.NewWorkflowNotReady("unexpected workflow task failure")
	idle    = serviceerror.NewFailedPrecondition("no poller seen for task queue recently, worker may be down")
	misread = serviceerror.NewQueryFailed("[TMPRL1100] During replay, a matching Timer command was expected")
	refused = temporal.NewNonRetryableApplicationError("not now", "Conflict", nil)
	gone    = temporal.NewNonRetryableApplicationError("about to end", wfclient.ErrTypeGone, nil)
)

// is returns a function that reports whether an error is want.
func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

const (
	running   = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	completed = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	unknown   = enums.WorkflowExecutionStatus(-1) // the server does not return a status
	handedOn  = enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
)

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []answer
		tries   int
		value   string
		err     func(error) bool // nil: no error
	}{
		{"is answered", []answer{{value: "hello"}}, 1, "hello", nil},
		{"that met a run which handed over is put to the next", []answer{{rejected: handedOn}, {rejected: handedOn}, {value: "hello"}}, 3, "hello", nil},
		{"of a closed workflow finds none", []answer{{rejected: completed}}, 1, "", wfclient.IsNotFound},
		{"of no workflow finds none", []answer{{err: missing}}, 1, "", wfclient.IsNotFound},
		{"is put again if a worker was silent", []answer{{silent: true}, {silent: true}, {value: "hello"}}, 3, "hello", nil},
		{"is put again if no worker asked for work lately", []answer{{err: idle}, {value: "hello"}}, 2, "hello", nil},
		{"is put again for some seconds if all workers are silent", []answer{{silent: true}}, 12, "", wfclient.IsTimeout},
		{"that was put again is answered by the first worker, if that is the sooner", []answer{{value: "hello", takes: 500 * time.Millisecond}, {silent: true}}, 2, "hello", nil},
		{"is put again for as long if the server gives up waiting", []answer{{err: serviceerror.NewDeadlineExceeded("late")}}, 36, "", wfclient.IsTimeout},
		{"is put again for a few seconds if no worker asks for work", []answer{{err: idle}}, 12, "", wfclient.IsTimeout},
		{"is put again if a worker misread the history, which grew meanwhile", []answer{{err: misread}, {err: misread}, {value: "hello"}}, 3, "hello", nil},
		{"is put again a few times if workers go on to misread it", []answer{{err: misread}}, 6, "", is(misread)},
		{"that a run handed over is not one that a worker was silent about",
			[]answer{{silent: true}, {rejected: handedOn}, {silent: true}, {value: "hello"}}, 4, "hello", nil},
		{"is not put again after any other error", []answer{{err: broken}}, 1, "", is(broken)},
		{"is not put again when it is refused", []answer{{err: refused}}, 1, "", is(refused)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{t: t, id: tt.name, answers: tt.answers}
				q := wfclient.NewQueries(s, "here")
				var value string
				err := q.Ask(t.Context(), s.id, "status", &value)
				if tt.err == nil {
					require.NoError(t, err)
				} else {
					require.True(t, tt.err(err), "%v", err)
				}
				require.Equal(t, tt.value, value)
				require.Len(t, s.queries, tt.tries)
				for _, q := range s.queries {
					require.Equal(t, client.QueryWorkflowWithOptionsRequest{
						WorkflowID: tt.name, QueryType: "status", QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
					}, *q)
				}
				late := slices.ContainsFunc(tt.answers, func(a answer) bool { return a.silent || a.takes > 0 || wfclient.IsTimeout(a.err) })
				require.Equal(t, late, s.unstuck > 0, "%d", s.unstuck)
				if late {
					// after this the sticky queue has been reset in any case
					s.answers = []answer{{silent: true}, {value: "hello"}}
					require.NoError(t, q.Ask(t.Context(), s.id, "status", &value))
					unstuck := s.unstuck
					s.answers = []answer{{silent: true}, {value: "hello"}}
					require.NoError(t, q.Ask(t.Context(), s.id, "status", &value))
					require.Equal(t, unstuck, s.unstuck, "that is not done twice within seconds")
				}
			})
		})
	}
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		for _, a := range []answer{{silent: true}, {rejected: handedOn}} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				defer cancel()
				s := &server{t: t, id: "id", answers: []answer{a}}
				require.Error(t, wfclient.NewQueries(s, "here").Ask(ctx, s.id, "status", new(string)))
				synctest.Wait()
				require.Len(t, s.queries, 1)
			})
		}
	})
}

func TestBeforeAChangeASilentWorkerIsLeftTheSooner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		takes time.Duration // duration of each earlier query
		left  time.Duration // time of the second attempt
	}{
		{"when nothing was asked before", 0, 60 * time.Millisecond},
		{"when workers answer at once", time.Millisecond, 60 * time.Millisecond},
		{"when workers answer soon", 30 * time.Millisecond, 150 * time.Millisecond},
		{"but not before a busy one answers", 200 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{t: t, id: "id"}
				q := wfclient.NewQueries(s, "here")
				var value string
				for range 100 {
					s.answers = []answer{{value: "hello", takes: tt.takes}}
					if tt.takes > 0 {
						require.NoError(t, q.Ask(t.Context(), s.id, "status", &value))
					}
				}
				start := time.Now()
				s.answers = []answer{{silent: true}, {value: "hello"}}
				require.NoError(t, q.AskBeforeChange(t.Context(), s.id, "status", &value))
				require.Equal(t, 1, s.unstuck)
				require.InDelta(t, tt.left, time.Since(start), float64(time.Millisecond))

				start = time.Now()
				s.answers = []answer{{silent: true}, {value: "hello"}}
				require.NoError(t, q.Ask(t.Context(), s.id, "status", &value))
				require.Equal(t, 300*time.Millisecond, time.Since(start), "a read waits for it as long as ever")
			})
		})
	}
}

func TestBeforeAChangeAWorkflowThatCatchesUpIsWaitedForAsLongAsTheChangeMayTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, id: "id"}
		for range 100 { // attempts
			s.answers = append(s.answers, answer{silent: true})
		}
		s.answers[0] = answer{value: "hello", takes: 40 * time.Second}
		q := wfclient.NewQueries(s, "here")
		var value string
		require.NoError(t, q.AskBeforeChange(t.Context(), s.id, "status", &value))
		require.Equal(t, "hello", value)
	})
}

// A server that is too busy to answer does not get more and more queries: an attempt is work for it even if
// its caller has given up.
func TestQueriesOfASlowServerAreFewMoreThanThereAreCallers(t *testing.T) {
	t.Parallel()
	const callers = 200
	synctest.Test(t, func(t *testing.T) {
		s := &crowded{}
		q := wfclient.NewQueries(s, "here")
		var asking sync.WaitGroup
		for i := range callers {
			asking.Go(func() { _ = q.Ask(t.Context(), fmt.Sprint(i), "status", new(string)) })
		}
		asking.Wait()
		synctest.Wait() // attempts end after their callers
		require.GreaterOrEqual(t, s.most, callers)
		require.LessOrEqual(t, s.most, callers+16)
	})
}

// crowded is a server that counts queries and answers none.
type crowded struct {
	client.Client
	mu        sync.Mutex
	now, most int
}

func (c *crowded) WorkflowService() workflowservice.WorkflowServiceClient { return quick{} }

type quick struct {
	workflowservice.WorkflowServiceClient
}

func (quick) ResetStickyTaskQueue(context.Context, *workflowservice.ResetStickyTaskQueueRequest, ...grpc.CallOption) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return &workflowservice.ResetStickyTaskQueueResponse{}, nil
}

func (c *crowded) QueryWorkflowWithOptions(ctx context.Context, _ *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	c.add(1)
	defer c.add(-1)
	<-ctx.Done()
	return nil, serviceerror.NewDeadlineExceeded("late")
}

func (c *crowded) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []answer
		status  enums.WorkflowExecutionStatus // of the newest run
		tries   int
		err     func(error) bool // nil: no error
	}{
		{"is taken", []answer{{}}, running, 1, nil},
		{"that met a run which ended is sent to the next", []answer{{err: missing}, {err: missing}, {}}, running, 3, nil},
		{"that was lost with a failed workflow task is sent again", []answer{{err: failed}, {}}, running, 2, nil},
		{"of a closed workflow finds none", []answer{{err: missing}}, completed, 1, wfclient.IsNotFound},
		{"of no workflow finds none", []answer{{err: missing}}, 0, 1, wfclient.IsNotFound},
		{"is not sent again when it is refused", []answer{{err: refused}}, running, 1, is(refused)},
		{"is not sent again after any other error", []answer{{err: broken}}, running, 1, is(broken)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &server{t: t, answers: tt.answers, status: tt.status}
			o := client.UpdateWorkflowOptions{
				WorkflowID: "id", UpdateName: "put", Args: []any{1}, WaitForStage: client.WorkflowUpdateStageCompleted,
			}
			h, err := wfclient.Update(t.Context(), s, o)
			require.Len(t, s.updates, tt.tries)
			o.UpdateID = s.updates[0].UpdateID
			require.NotEmpty(t, o.UpdateID, "so that the server takes it once")
			for _, u := range s.updates {
				require.Equal(t, o, u)
			}
			if tt.err != nil {
				require.True(t, tt.err(err), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, o.UpdateID, h.UpdateID())
		})
	}
	t.Run("of a workflow that is open finds it, although it is not taken in time", func(t *testing.T) {
		t.Parallel()
		for _, status := range []enums.WorkflowExecutionStatus{running, unknown} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				defer cancel()
				_, err := wfclient.Update(ctx, &server{t: t, answers: []answer{{err: missing}}, status: status}, client.UpdateWorkflowOptions{WorkflowID: "id"})
				require.Error(t, err)
				require.False(t, wfclient.IsGone(err), "%v", err)
			})
		}
	})
	t.Run("keeps the id that it was given", func(t *testing.T) {
		t.Parallel()
		s := &server{t: t, answers: []answer{{}}}
		_, err := wfclient.Update(t.Context(), s, client.UpdateWorkflowOptions{WorkflowID: "id", UpdateID: "mine"})
		require.NoError(t, err)
		require.Equal(t, "mine", s.updates[0].UpdateID)
	})
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := &server{t: t, answers: []answer{{err: missing}}, status: running}
		_, err := wfclient.Update(ctx, s, client.UpdateWorkflowOptions{WorkflowID: "id"})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestWhatMayBeDoneTwiceIsDoneAgainWhileItIsLate(t *testing.T) {
	t.Parallel()
	late := serviceerror.NewDeadlineExceeded("late")
	for _, tt := range []struct {
		name    string
		answers []error
		err     error
	}{
		{"and is done", []error{nil}, nil},
		{"and is done in the end", []error{late, late, nil}, nil},
		{"but not after any other error", []error{late, broken}, broken},
		{"but not if no worker asks for work", []error{idle}, idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				done := 0
				err := wfclient.Patiently(t.Context(), func(context.Context) error { done++; return tt.answers[done-1] })
				require.Equal(t, tt.err, err)
				require.Len(t, tt.answers, done)
			})
		})
	}
	t.Run("until its context ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := wfclient.Patiently(ctx, func(context.Context) error { return late })
			require.ErrorIs(t, err, late)
			require.Error(t, ctx.Err())
		})
	})
}

func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                        string
		err                         error
		missing, gone, late, forbid bool // IsNotFound, IsGone, IsTimeout, IsRefused as a conflict
	}{
		{"none", nil, false, false, false, false},
		{"no workflow", missing, true, true, false, false},
		{"a workflow that is about to end", gone, false, true, false, false},
		{"a workflow that is about to end, of whose answer to a query only the text is left",
			serviceerror.NewQueryFailed(gone.Error()), false, true, false, false},
		{"a workflow that refuses", refused, false, false, false, true},
		{"a server that no worker asks for work", idle, false, false, true, false},
		{"a server that gave up waiting", serviceerror.NewDeadlineExceeded("late"), false, false, true, false},
		{"a caller that gave up waiting", context.DeadlineExceeded, false, false, true, false},
		{"a caller that went away", context.Canceled, false, false, false, false},
		{"no namespace", serviceerror.NewNamespaceNotFound("none"), false, false, false, false},
		{"anything else", errors.New("not found"), false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.missing, wfclient.IsNotFound(tt.err))
			require.Equal(t, tt.gone, wfclient.IsGone(tt.err))
			require.Equal(t, tt.late, wfclient.IsTimeout(tt.err))
			require.Equal(t, tt.forbid, wfclient.IsRefused(tt.err, "Conflict"))
		})
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	require.NoError(t, wfclient.Sleep(t.Context(), time.Nanosecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, wfclient.Sleep(ctx, time.Hour), context.Canceled)
}
