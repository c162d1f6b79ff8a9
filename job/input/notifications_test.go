package input_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

const webhook = `"target":{"type":"Https","request":{"uri":"https://example.com/hook"}}`

// notified returns the properties of a job with notifications.
func notified(list string) string {
	return `{"properties":{"action":{"type":"Http","request":{"uri":"http://example.com/"}},"notifications":` + list + `}}`
}

func parseNotified(list string, stored *job.Definition) (job.Definition, error) {
	return input.ParseDefinition([]byte(notified(list)), input.ParseOptions{Now: time.Unix(0, 0), Stored: stored})
}

func TestANotificationIsKeptAsItWasWritten(t *testing.T) {
	t.Parallel()
	d, err := parseNotified(`[{"name":"ops","on":["FAILED","recovered","late","quiet"],"after":3,"lateBy":"PT1M","within":"PT1H",`+webhook+`}]`, nil)
	require.NoError(t, err)
	require.JSONEq(t, `[{"name":"ops","on":["failed","recovered","late","quiet"],"after":3,"lateBy":"PT1M","within":"PT1H",
		"target":{"type":"Https","request":{"uri":"https://example.com/hook","method":"POST"}}}]`, compactJSON(t, d.Notifications))
}

func TestAJobDeclinesTheNotificationsOfItsCollectionWithAnEmptyList(t *testing.T) {
	t.Parallel()
	d, err := parseNotified(`[]`, nil)
	require.NoError(t, err)
	require.Contains(t, compactJSON(t, d), `"notifications":[]`)
	d, err = parseNotified(`null`, nil)
	require.NoError(t, err)
	require.NotContains(t, compactJSON(t, d), `notifications`)
}

func TestNotificationErrorsNameTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	const path = "properties.notifications[0]"
	for _, tt := range []struct{ name, list, path, message string }{
		{"no event", `[{"on":[],` + webhook + `}]`, path + ".on", "failed, recovered, missed, late, disabled, quiet and horizon"},
		{"another event", `[{"on":["done"],` + webhook + `}]`, path + ".on[0]", "failed, recovered, missed, late, disabled, quiet or horizon"},
		{"late without lateBy", `[{"on":["late"],` + webhook + `}]`, path + ".lateBy", "on has late"},
		{"quiet without within", `[{"on":["quiet"],` + webhook + `}]`, path + ".within", "on has quiet"},
		{"lateBy without late", `[{"on":["failed"],"lateBy":"PT1M",` + webhook + `}]`, path + ".lateBy", "on must have late"},
		{"after without failures", `[{"on":["missed"],"after":2,` + webhook + `}]`, path + ".after", "on must have failed or recovered"},
		{"no failures", `[{"on":["failed"],"after":0,` + webhook + `}]`, path + ".after", "1 to 1000"},
		{"no target", `[{"on":["failed"]}]`, path + ".target.type", "required"},
		{"another target", `[{"on":["failed"],"target":{"type":"Pager"}}]`, path + ".target.type", "ServiceBusTopic, Email or PagerDuty"},
		{"a body", `[{"on":["failed"],"target":{"type":"Https","request":{"uri":"https://example.com/","body":"b"}}}]`, path + ".target.request.body", "Almanac writes"},
		{"a message", `[{"on":["failed"],"target":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"namespace":"n","queueName":"q","message":"m"}}}]`,
			path + ".target.serviceBusQueueMessage.message", "Almanac writes"},
		{"an error action", `[{"on":["failed"],"target":{"type":"Https","request":{"uri":"https://example.com/"},"errorAction":{"type":"Https","request":{"uri":"https://example.com/"}}}}]`,
			path + ".target.errorAction", "no error action"},
		{"the parameters of another type", `[{"on":["failed"],"target":{"type":"Email","email":{"to":"a@example.com"},"request":{"uri":"https://example.com/"}}}]`, path + ".target.request", "has an email"},
		{"a name for an address", `[{"on":["failed"],"target":{"type":"Email","email":{"to":["Team <team@example.com>"]}}}]`, path + ".target.email.to[0]", "team@example.com"},
		{"no routing key", `[{"on":["failed"],"target":{"type":"PagerDuty","pagerDuty":{}}}]`, path + ".target.pagerDuty.routingKey", "32 letters and digits"},
		{"another routing key", `[{"on":["failed"],"target":{"type":"PagerDuty","pagerDuty":{"routingKey":"short"}}}]`, path + ".target.pagerDuty.routingKey", "32 letters and digits"},
		{"another address of PagerDuty", `[{"on":["failed"],"target":{"type":"PagerDuty","pagerDuty":{"routingKey":"` + routingKey + `","uri":"events.eu.pagerduty.com"}}}]`,
			path + ".target.pagerDuty.uri", "an absolute http or https URL"},
		{"a format of PagerDuty", `[{"on":["failed"],"target":{"type":"PagerDuty","format":"slack","pagerDuty":{"routingKey":"` + routingKey + `"}}}]`, path + ".target.format", "only web requests"},
		{"a format of a queue", `[{"on":["failed"],"target":{"type":"Email","format":"slack","email":{"to":"a@example.com"}}}]`, path + ".target.format", "only web requests"},
		{"one name twice", `[{"on":["missed"],"name":"a",` + webhook + `},{"on":["missed"],"name":"A",` + webhook + `}]`, "properties.notifications[1].name", "no other notification"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseNotified(tt.list, nil)
			bad := new(job.Error)
			require.ErrorAs(t, err, &bad)
			require.Len(t, bad.Fields, 1, "%v", err)
			require.Equal(t, tt.path, bad.Fields[0].Path)
			require.Contains(t, bad.Fields[0].Error(), tt.message)
		})
	}
}

const routingKey = "0123456789abcdef0123456789abcdef"

func TestTheRoutingKeyOfPagerDutyIsSecretAndKeptForItsAddress(t *testing.T) {
	t.Parallel()
	stored, err := parseNotified(`[{"on":["failed"],"target":{"type":"pagerduty","pagerDuty":{"routingKey":"`+routingKey+`"}}}]`, nil)
	require.NoError(t, err)
	shown := stored.Redacted()
	require.NotContains(t, compactJSON(t, shown), routingKey)
	require.NotContains(t, shown.Notifications[0].Target.Text(), routingKey)
	require.Equal(t, routingKey, stored.Notifications[0].Target.PagerDuty.RoutingKey, "a copy was made")

	with := func(uri string) job.Definition {
		d, err := parseNotified(`[{"on":["failed","recovered"],"target":{"type":"PagerDuty","pagerDuty":{`+uri+`}}}]`, &shown)
		require.NoError(t, err)
		return d
	}
	kept, err := input.KeepSecrets(with(`"uri":"https://events.pagerduty.com/v2/enqueue"`), &stored, false)
	require.NoError(t, err, "the address is the default one")
	require.Equal(t, routingKey, kept.Notifications[0].Target.PagerDuty.RoutingKey)
	_, err = parseNotified(`[{"on":["failed"],"target":{"type":"PagerDuty","pagerDuty":{"uri":"https://example.com/"}}}]`, &shown)
	require.ErrorContains(t, err, "properties.notifications[0].target.pagerDuty.routingKey: required")
	require.ErrorContains(t, err, "send it again, because the target changed")
}

func TestOnlyNotificationsAreEventsOfPagerDuty(t *testing.T) {
	t.Parallel()
	_, err := input.ParseDefinition([]byte(`{"properties":{"action":{"type":"PagerDuty"}}}`), input.ParseOptions{Now: time.Unix(0, 0)})
	require.ErrorContains(t, err, "ServiceBusQueue or ServiceBusTopic; PagerDuty is for the targets of notifications")
}

func TestOnlyNotificationsSendEmail(t *testing.T) {
	t.Parallel()
	_, err := input.ParseDefinition([]byte(`{"properties":{"action":{"type":"Email"}}}`), input.ParseOptions{Now: time.Unix(0, 0)})
	require.ErrorContains(t, err, `properties.action.type: the value is not supported; allowed: Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic; Email is for the targets of notifications`)
}

func TestTargetsThatCannotBeReachedAreRefused(t *testing.T) {
	t.Parallel()
	refuse := func(_ kind.Type, p kind.Parameters) error {
		if p.(*kind.Request).URI == "https://example.com/hook" {
			return errRefused
		}
		return nil
	}
	_, err := input.ParseDefinition([]byte(notified(`[{"on":["failed"],`+webhook+`}]`)), input.ParseOptions{Now: time.Unix(0, 0), CheckTarget: refuse})
	require.ErrorContains(t, err, "properties.notifications[0].target: not allowed; refused by the test")
}

type refused struct{}

func (refused) Error() string { return "refused by the test" }

var errRefused = refused{}

const secretTarget = `"target":{"type":"Https","request":{"uri":"https://example.com/hook","authentication":{"type":"Basic","username":"u","password":"canary"}}}`

func TestSecretsOfTargetsStaySecretAndAreKept(t *testing.T) {
	t.Parallel()
	stored, err := parseNotified(`[{"name":"a","on":["failed"],`+webhook+`},{"name":"b","on":["failed"],`+secretTarget+`}]`, nil)
	require.NoError(t, err)
	require.True(t, stored.HasSecret())
	shown := stored.Redacted()
	require.NotContains(t, compactJSON(t, shown), canary)
	require.Contains(t, compactJSON(t, stored), canary)

	reordered := shown
	reordered.Notifications = []job.Notification{shown.Notifications[1], shown.Notifications[0]}
	sent, err := parseNotified(compactJSON(t, reordered.Notifications), &shown)
	require.NoError(t, err, "a secret may be left out")
	kept, err := input.KeepSecrets(sent, &stored, false)
	require.NoError(t, err)
	require.Equal(t, "canary", kept.Notifications[0].Target.Request.Authentication.Password, "it is found by the name")

	moved := shown.Redacted()
	moved.Notifications[1].Target.Request = new(*moved.Notifications[1].Target.Request)
	moved.Notifications[1].Target.Request.URI = "https://elsewhere.example.com/"
	_, err = parseNotified(compactJSON(t, moved.Notifications), &shown)
	require.ErrorContains(t, err, "properties.notifications[1].target.request.authentication.password: required")
	_, err = input.KeepSecrets(moved, &stored, false)
	require.ErrorContains(t, err, "send it again, because the target changed")
}

func TestACollectionKeepsTheClientCertificateOfATargetWithWhatDescribesIt(t *testing.T) {
	t.Parallel()
	leaf := certify(t, named("host"), nil)
	parse := func(auth string) (job.Collection, error) {
		return input.ParseCollection([]byte(`{"properties":{"sku":{"name":"Standard"},"notifications":[{"on":["failed"],
			"target":{"type":"Https","request":{"uri":"https://h","method":"POST","authentication":`+auth+`}}}]}}`), nil)
	}
	stored, err := parse(fmt.Sprintf(`{"type":"ClientCertificate","pfx":%q,"password":"p"}`,
		pfx(t, pkcs12.Modern2023, leaf.key, "p", leaf.certificate)))
	require.NoError(t, err)
	described := stored.Properties.Notifications[0].Target.Request.Authentication
	require.NotEmpty(t, described.CertificateThumbprint)

	without, err := parse(`{"type":"ClientCertificate"}`)
	require.NoError(t, err, "whether one is stored is not known here")
	kept, err := input.KeepCollectionSecrets(without.Properties, stored.Properties, false)
	require.NoError(t, err)
	require.Equal(t, described, kept.Notifications[0].Target.Request.Authentication)
	_, err = input.KeepCollectionSecrets(without.Properties, job.CollectionProperties{}, false)
	require.ErrorContains(t, err, "authentication.pfx: required")
}

func TestAClientCertificateIsMissingAmongManyErrors(t *testing.T) {
	t.Parallel()
	members := strings.Repeat(`"unknown":1,`, 60)
	for i := range 60 {
		members = strings.Replace(members, `"unknown"`, fmt.Sprintf(`"unknown%d"`, i), 1)
	}
	_, err := input.ParseDefinition([]byte(`{"properties":{`+members+`"action":{"type":"Https","request":{"uri":"https://h","method":"GET",
		"authentication":{"type":"ClientCertificate"}}}}}`), input.ParseOptions{})
	require.ErrorContains(t, err, "unknown1")
}

func TestACollectionHasNotificationsWhoseSecretsAreKept(t *testing.T) {
	t.Parallel()
	parse := func(body string) (job.Collection, error) { return input.ParseCollection([]byte(body), nil) }
	stored, err := parse(`{"properties":{"sku":{"name":"Standard"},"notifications":[{"on":["failed"],` + secretTarget + `}]}}`)
	require.NoError(t, err)
	require.NoError(t, input.CheckCollection(&stored))
	shown := stored
	shown.Properties = shown.Properties.Redacted()
	require.NotContains(t, compactJSON(t, shown), canary)
	require.NoError(t, input.CheckCollection(&shown))

	kept, err := input.KeepCollectionSecrets(shown.Properties, stored.Properties, false)
	require.NoError(t, err)
	require.Equal(t, stored.Properties, kept)
	_, err = input.KeepCollectionSecrets(shown.Properties, job.CollectionProperties{}, false)
	require.ErrorContains(t, err, "properties.notifications[0].target.request.authentication.password: required")

	merged, err := input.MergeCollection(shown, []byte(`{"properties":{"notifications":null}}`), nil)
	require.NoError(t, err)
	require.Empty(t, merged.Properties.Notifications)
}
