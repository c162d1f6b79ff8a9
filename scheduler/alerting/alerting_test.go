package alerting_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"almanac/internal/workflowtest"
	"almanac/job"
	"almanac/job/notification"
	"almanac/scheduler/alerting"
	"almanac/workflows"
)

var key = workflowtest.Key

func TestDeliveriesAreThoseOfAllShardsThatHaveBegun(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return workflowtest.NewYear.Add(time.Duration(seconds) * time.Second) }
	var failure error
	a := alerting.New(alerting.Options{
		Collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) {
			return job.Collection{Key: k}, nil
		},
		Error: func(_ context.Context, err error, _ *job.Error) error { return err },
		Ask: func(_ context.Context, id, query string, result any) error {
			require.Equal(t, workflows.QueryDeliveries, query)
			list, _ := result.(*[]notification.Delivery)
			switch id {
			case key.Collection.NotificationsWorkflowID(0):
				*list = []notification.Delivery{{ID: "b", Time: at(2), Outcome: notification.Delivered}, {ID: "a", Time: at(1), Outcome: notification.Failed}}
			case key.Collection.NotificationsWorkflowID(notification.Shards):
				*list = []notification.Delivery{{ID: "now", Time: at(1), Outcome: notification.Delivering}}
				for i := range 60 {
					*list = append(*list, notification.Delivery{ID: "c", Time: at(3 + 60 - i), Outcome: notification.Delivered})
				}
				(*list)[60].Time = at(0)
			case key.Collection.NotificationsWorkflowID(3):
				return failure
			default:
				return serviceerror.NewNotFound("there is no such workflow")
			}
			return nil
		},
	})
	list, err := a.Deliveries(t.Context(), key.Collection)
	require.NoError(t, err)
	require.Len(t, list, 1+50)
	require.Equal(t, "now", list[0].ID)
	require.Equal(t, at(63), list[1].Time)
	failure = errors.New("no worker answers")
	_, err = a.Deliveries(t.Context(), key.Collection)
	require.ErrorIs(t, err, failure)
}

// tested returns what is sent to test the notifications of a job, or of its collection if the name is empty: the workflow and the
// arguments of the update.
func tested(t *testing.T, name string, own, inherited []job.Notification) (id string, arguments []any, err error) {
	t.Helper()
	admitted := false
	a := alerting.New(alerting.Options{
		Job: func(_ context.Context, k job.Key) (job.Job, error) {
			return job.Job{Key: k, Definition: job.Definition{Notifications: own}}, nil
		},
		Collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) {
			return job.Collection{Key: k, Properties: job.CollectionProperties{Notifications: inherited}}, nil
		},
		Update: func(_ context.Context, to, update string, result any, sent ...any) error {
			if update == workflows.UpdateAdmitTest {
				require.Equal(t, key.Collection.WorkflowID(), to)
				require.Equal(t, []any{1}, sent)
				admitted = true
				return nil
			}
			require.Equal(t, workflows.UpdateTest, update)
			require.Equal(t, to == key.WorkflowID(), admitted, "the collection counts tests of its jobs' own notifications")
			id, arguments = to, sent
			*result.(*[]notification.Delivery) = []notification.Delivery{{Outcome: notification.Delivered}}
			return nil
		},
		Error: func(_ context.Context, err error, _ *job.Error) error { return err },
	})
	results, err := a.TestNotifications(t.Context(), key.Collection.Job(name))
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
