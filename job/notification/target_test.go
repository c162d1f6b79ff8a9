package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
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
		require.Equal(t, want, (&job.Target{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{Method: "POST", URI: uri}}}).Text())
	}
	duty := job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{RoutingKey: key}}}
	require.Equal(t, "PagerDuty https://events.pagerduty.com/…", duty.Text())
	require.Equal(t, "mail to a@example.com", (&job.Target{Type: kind.Mail, Own: kind.Own{Email: &kind.Email{To: []string{"a@example.com"}}}}).Text())
}
