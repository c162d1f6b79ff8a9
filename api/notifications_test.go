package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

func TestATestOfNotificationsAnswersWithTheResultOfEachTarget(t *testing.T) {
	t.Parallel()
	for path, name := range map[string]string{"/jobCollections/c1/jobs/j1/testNotification": "j1", "/jobCollections/c1/TESTNOTIFICATION": ""} {
		asked := false
		s := &fake{test: func(_ context.Context, k job.Key) ([]notification.Delivery, error) {
			asked = true
			require.Equal(t, name, k.Name)
			return []notification.Delivery{delivery}, nil
		}}
		w := httptest.NewRecorder()
		api.New(s, api.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("")))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.True(t, asked)
		require.JSONEq(t, `{"value":[{"id":"m1","name":"ops","status":"Delivered","target":"POST https://example.com/","time":"1970-01-01T00:00:00Z","alerts":2,"attempts":1,"message":"200 OK"}],"nextLink":null}`, w.Body.String())
	}
}

func TestDeliveriesAreListed(t *testing.T) {
	t.Parallel()
	got := get(&fake{deliveries: func(context.Context, job.CollectionKey) ([]notification.Delivery, error) { return nil, nil }}, "/jobCollections/c1/notifications")
	require.JSONEq(t, `{"value":[],"nextLink":null}`, got.body)
}

func TestACollectionShowsNoSecretOfItsNotifications(t *testing.T) {
	t.Parallel()
	got := get(&fake{collection: func(_ context.Context, k job.CollectionKey) (job.Collection, error) {
		target := job.Target{Type: kind.StorageQueue, Content: kind.Content{QueueMessage: &kind.QueueMessage{StorageAccount: "a", QueueName: "q", SASToken: "canary"}}}
		return job.Collection{Key: k, Properties: job.CollectionProperties{Notifications: []job.Notification{{On: []job.Event{job.EventFailed}, Target: target}}}}, nil
	}}, "/jobCollections/c1")
	require.Contains(t, got.body, `"notifications":[{"on":["failed"]`)
	require.NotContains(t, got.body, "canary")
}
