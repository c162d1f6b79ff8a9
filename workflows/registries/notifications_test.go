package registries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
	"almanac/workflows"
)

// notified returns a collection with a notification of an event, whose target has a password.
func notified(event job.Event, password string) job.CollectionProperties {
	target := job.Target{Type: kind.HTTPS, Content: kind.Content{Request: &kind.Request{
		URI: "https://example.com/", Method: "POST", Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "u", Password: password},
	}}}
	return job.CollectionProperties{
		SKU: job.SKU{Name: "Standard"}, State: job.CollectionEnabled,
		Notifications: []job.Notification{{Name: "ops", On: []job.Event{event}, Target: target}},
	}
}

func TestJobsGetTheRulesOfNotificationsAndNeitherTargetsNorSecrets(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled, "a")
	put := func(after time.Duration, p job.CollectionProperties) *reply {
		return h.update(after, workflows.UpdatePut, workflows.PutRequest{Collection: job.Collection{Properties: p}})
	}
	h.signal(time.Second, workflows.SignalNotifying, 2)
	first := put(time.Minute, notified(job.EventFailed, "canary"))
	sameRules := put(2*time.Minute, notified(job.EventFailed, "")) // the password is kept
	h.register(3*time.Minute, "b", 10)
	other := put(4*time.Minute, notified(job.EventMissed, "other"))
	var shown job.Collection
	h.at(5*time.Minute, func() {
		value, err := h.env.QueryWorkflow(workflows.QueryStatus)
		require.NoError(t, err)
		require.NoError(t, value.Get(&shown))
	})
	next := h.handOver(6 * time.Minute)
	for _, r := range []*reply{first, sameRules, other} {
		require.NoError(t, r.err)
	}
	require.Equal(t, []string{
		"00:01:00 a collection true [map[key:ops on:[failed]]]",
		"00:04:00 a collection true [map[key:ops on:[missed]]]",
		"00:04:00 b collection true [map[key:ops on:[missed]]]",
	}, h.received())
	require.Empty(t, shown.Properties.Notifications[0].Target.Request.Authentication.Password)
	require.Equal(t, "other", next.Properties.Notifications[0].Target.Request.Authentication.Password)
	require.Equal(t, 2, next.State)
	require.EqualValues(t, 1<<2, next.Notifying)
}

func TestADeletedCollectionEndsTheDeliveryOfItsAlertsAndItsCalendars(t *testing.T) {
	t.Parallel()
	for _, notifying := range [][]int{nil, {0}, {0, 3, notification.Shards, 3}} {
		h := newCollectionEnv(t, job.CollectionEnabled)
		want := map[string]bool{key.Collection.CalendarsWorkflowID(): true}
		for i, shard := range notifying {
			h.signal(time.Minute+time.Duration(i)*time.Second, workflows.SignalNotifying, shard)
			want[key.Collection.NotificationsWorkflowID(shard)] = true
		}
		h.update(2*time.Minute, workflows.UpdateDelete)
		require.NoError(t, h.run(time.Hour))
		require.Len(t, h.deliveryEnded, len(want), "no signal goes to one that has never begun")
		for _, id := range h.deliveryEnded {
			require.True(t, want[id], id)
		}
	}
}

func TestASecretOfATargetThatWasNeverSentIsMissing(t *testing.T) {
	t.Parallel()
	h := newCollectionEnv(t, job.CollectionEnabled)
	r := h.update(time.Minute, workflows.UpdatePut, workflows.PutRequest{Collection: job.Collection{Properties: notified(job.EventFailed, "")}})
	require.ErrorIs(t, h.run(time.Hour), errStopped)
	requireType(t, r.err, workflows.ErrTypeInvalid)
	require.ErrorContains(t, r.err, "properties.notifications[0].target.request.authentication.password: required")
}
