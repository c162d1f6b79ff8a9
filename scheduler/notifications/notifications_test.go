package notifications_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/notification"
	"almanac/scheduler/core"
	"almanac/scheduler/notifications"
	"almanac/workflows"
)

var key = workflowtest.Key

// A server is a Temporal whose workflows answer queries and updates by these functions.
type server struct {
	client.Client
	t      *testing.T
	query  func(id, query string) (any, error)
	update func(id, update string, args []any) any
}

func (s *server) QueryWorkflowWithOptions(
	_ context.Context, r *client.QueryWorkflowWithOptionsRequest,
) (*client.QueryWorkflowWithOptionsResponse, error) {
	answer, err := s.query(r.WorkflowID, r.QueryType)
	if err != nil {
		return nil, err
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer)
	require.NoError(s.t, err)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, nil
}

func (s *server) UpdateWorkflow(
	_ context.Context, o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	return updated{answer: s.update(o.WorkflowID, o.UpdateName, o.Args)}, nil
}

func (s *server) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{}}, nil
}

type updated struct {
	client.WorkflowUpdateHandle
	answer any
}

func (u updated) Get(_ context.Context, result any) error {
	if result == nil {
		return nil
	}
	text, err := json.Marshal(u.answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

func (s *server) notifications() *notifications.Notifications {
	return notifications.New(core.New(core.Options{Temporal: s}))
}

func TestDeliveriesAreThoseOfAllShardsThatHaveBegun(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return workflowtest.NewYear.Add(time.Duration(seconds) * time.Second) }
	var failure error
	s := &server{t: t, query: func(id, query string) (any, error) {
		if id == key.Collection.WorkflowID() {
			return job.Collection{Key: key.Collection}, nil
		}
		require.Equal(t, workflows.QueryDeliveries, query)
		switch id {
		case key.Collection.NotificationsWorkflowID(0):
			return []notification.Delivery{
				{ID: "b", Time: at(2), Outcome: notification.Delivered}, {ID: "a", Time: at(1), Outcome: notification.Failed},
			}, nil
		case key.Collection.NotificationsWorkflowID(notification.Shards):
			list := []notification.Delivery{{ID: "now", Time: at(1), Outcome: notification.Delivering}}
			for i := range 60 {
				list = append(list, notification.Delivery{ID: "c", Time: at(3 + 60 - i), Outcome: notification.Delivered})
			}
			list[60].Time = at(0)
			return list, nil
		case key.Collection.NotificationsWorkflowID(3):
			if failure != nil {
				return nil, failure
			}
			return []notification.Delivery{}, nil
		}
		return nil, serviceerror.NewNotFound("there is no such workflow")
	}}
	list, err := s.notifications().Deliveries(t.Context(), key.Collection)
	require.NoError(t, err)
	require.Len(t, list, 1+50)
	require.Equal(t, "now", list[0].ID)
	require.Equal(t, at(63), list[1].Time)
	failure = errors.New("its state is broken")
	_, err = s.notifications().Deliveries(t.Context(), key.Collection)
	require.ErrorIs(t, err, failure)
}

// tested returns what is sent to test the notifications of a job, or of its collection if the name is empty: the
// workflow and the arguments of the update.
func tested(t *testing.T, name string, own, inherited []job.Notification) (id string, arguments []any, err error) {
	t.Helper()
	admitted := false
	s := &server{t: t, query: func(id, _ string) (any, error) {
		if id == key.WorkflowID() {
			return job.Job{Key: key, Definition: job.Definition{Notifications: own}}, nil
		}
		properties := job.CollectionProperties{Notifications: inherited}
		return job.Collection{Key: key.Collection, Properties: properties}, nil
	}, update: func(to, update string, sent []any) any {
		if update == workflows.UpdateAdmitTest {
			require.Equal(t, key.Collection.WorkflowID(), to)
			require.Equal(t, []any{1}, sent)
			admitted = true
			return nil
		}
		require.Equal(t, workflows.UpdateTest, update)
		require.Equal(t, to == key.WorkflowID(), admitted, "the collection counts tests of its jobs' own notifications")
		id, arguments = to, sent
		return []notification.Delivery{{Outcome: notification.Delivered}}
	}}
	results, err := s.notifications().TestNotifications(t.Context(), key.Collection.Job(name))
	if err == nil {
		require.Len(t, results, 1)
	}
	return id, arguments, err
}

func TestNotificationsAreTestedByTheWorkflowThatHasThem(t *testing.T) {
	t.Parallel()
	some := []job.Notification{{On: []job.Event{job.EventFailed}}}
	for _, tt := range []struct {
		name           string
		job            string
		own, inherited []job.Notification
		id             string
		arguments      []any
	}{
		{"its own", key.Name, some, some, key.WorkflowID(), nil},
		{"those of the collection", key.Name, nil, some, key.Collection.WorkflowID(), []any{key.Name}},
		{"a collection", "", nil, some, key.Collection.WorkflowID(), []any{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id, arguments, err := tested(t, tt.job, tt.own, tt.inherited)
			require.NoError(t, err)
			require.Equal(t, tt.id, id)
			require.Equal(t, tt.arguments, arguments)
		})
	}
}

func TestATestWithoutNotificationsIsAConflict(t *testing.T) {
	t.Parallel()
	for _, own := range [][]job.Notification{nil, {}} {
		id, _, err := tested(t, key.Name, own, nil)
		require.Equal(t, job.KindConflict, job.KindOf(err))
		require.Empty(t, id)
	}
}
