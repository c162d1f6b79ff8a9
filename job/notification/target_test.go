package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/notification"
)

func TestTheTextOfATargetHasNoPath(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://hooks.slack.com/services/T000/B000/secret": "POST https://hooks.slack.com/…",
		"https://ann:secret@example.com:8443/?code=secret":  "POST https://example.com:8443/…",
		"http://example.com/":                               "POST http://example.com",
		"http://example.com":                                "POST http://example.com",
		"http://%zz":                                        "POST (a URI that cannot be read)",
	} {
		require.Equal(t, want, notification.TargetText(&job.Action{Type: job.ActionHTTP, Request: &job.Request{Method: "POST", URI: uri}}))
	}
	duty := job.Action{Type: job.ActionPagerDuty, PagerDuty: &job.PagerDuty{RoutingKey: key}}
	require.Equal(t, "PagerDuty https://events.pagerduty.com/…", notification.TargetText(&duty))
	require.Equal(t, "event of PagerDuty to https://events.pagerduty.com/v2/enqueue", duty.Text())
	require.Equal(t, "mail to a@example.com", notification.TargetText(&job.Action{Type: job.ActionEmail, Email: &job.Email{To: []string{"a@example.com"}}}))
}
