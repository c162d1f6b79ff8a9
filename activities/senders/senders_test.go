package senders_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// Actions of no kind reach Almanac's own listeners, even if everything that can be allowed is allowed.
func TestNoActionReachesAlmanacItself(t *testing.T) {
	t.Parallel()
	own := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }).Listener.Addr().String()
	_, port, err := net.SplitHostPort(own)
	require.NoError(t, err)
	guard, err := egress.Parse(egress.ModeAny, []string{"0.0.0.0/0", "::/0"}, nil)
	require.NoError(t, err)
	require.NoError(t, guard.Protect(own))
	all, err := senders.New(senders.Options{
		Guard: guard, Authority: "http://" + own, QueueEndpoint: "http://" + own + "/{account}", BusEndpoint: own,
	})
	require.NoError(t, err)
	defer all.Close()
	other := serve(t, func(http.ResponseWriter, *http.Request) {}).URL
	bus := &kind.ServiceBusMessage{
		QueueName: "orders", Namespace: "here", Message: "hello",
		Authentication: &kind.ServiceBusAuth{Type: "sharedAccessKey", SASKeyName: "send", SASKey: "secret"},
	}
	const rule = "no action may reach this port"
	for name, a := range map[string]*job.Action{
		"Http":                 action(kind.Request{URI: "http://" + own}),
		"Http, by name":        action(kind.Request{URI: "http://localhost:" + port}),
		"Http, in hexadecimal": action(kind.Request{URI: "http://0x7f000001:" + port}),
		"Http, with templates": action(kind.Request{URI: "http://" + own + `/{{.Job.Name}}?{{if eq .Attempt 1}}a{{end}}`, Template: true}),
		"Https":                {Type: kind.HTTPS, Content: kind.Content{Request: &kind.Request{URI: "https://" + own}}},
		"client certificate":   action(kind.Request{URI: "https://" + own, Authentication: clientCertificate(t, "me")}),
		"StorageQueue":         queueAction("orders", "sv=1&sig=2"),
		"ServiceBusQueue":      {Type: kind.ServiceBusQueue, Content: kind.Content{ServiceBusQueueMessage: bus}},
		"ServiceBusTopic":      {Type: kind.ServiceBusTopic, Content: kind.Content{ServiceBusTopicMessage: bus}},
	} {
		require.ErrorContains(t, all.Check(a.Type, a.Sent()), rule, name)
		if name == "Http, in hexadecimal" {
			continue // whether it is an address depends on the system's resolver
		}
		message, err := all.ByType()[a.Type.Kind()].Send(t.Context(), sendertest.Execution, a)
		require.ErrorContains(t, err, rule, name)
		sendertest.RequirePermanent(t, true, err)
		require.Contains(t, message, rule, name)
	}
	_, err = all.ByType()[kind.HTTP].Send(t.Context(), sendertest.Execution, action(kind.Request{URI: other, Authentication: registered("me")}))
	require.ErrorContains(t, err, rule, "the authority is Almanac's own")

	_, err = all.ByType()[kind.HTTP].Send(t.Context(), sendertest.Execution, action(kind.Request{URI: other}))
	require.NoError(t, err, "another port of the machine")
}

func TestEveryKindHasASender(t *testing.T) {
	t.Parallel()
	all, err := senders.New(senders.Options{})
	require.NoError(t, err)
	defer all.Close()
	for _, name := range kind.ActionTypes() {
		require.NotNil(t, all.ByType()[kind.Type(name)], name)
		require.NotNil(t, all.Notifications()[kind.Type(name)], name)
	}
	require.ErrorContains(t, all.Check("Fax", nil), `nothing is sent to targets of type "Fax"`)
	require.ErrorContains(t, all.Check("pagerduty", &kind.PagerDuty{URI: "http://127.0.0.1/"}), "loopback addresses are refused")
}
