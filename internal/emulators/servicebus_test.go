package emulators_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
)

func namespace(t *testing.T) *emulators.ServiceBus {
	t.Helper()
	return emulators.StartServiceBus(t, emulators.ServiceBusOptions{
		Queues: []emulators.ServiceBusQueue{{Name: "orders"}, {Name: "once", DetectDuplicates: true}},
		Topics: []emulators.ServiceBusTopic{{Name: "news", Subscriptions: []string{"all", "some"}}},
	})
}

// send sends a message with the official client.
func send(t *testing.T, c *azservicebus.Client, entity string, m *azservicebus.Message) error {
	t.Helper()
	sender, err := c.NewSender(entity, nil)
	require.NoError(t, err)
	return sender.SendMessage(t.Context(), m, nil)
}

func TestServiceBusTakesMessagesFromTheOfficialClient(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	client := s.Client(t)
	for _, entity := range []string{"orders", "news"} {
		require.NoError(t, send(t, client, entity, &azservicebus.Message{Body: []byte("hello " + entity)}))
	}
	require.Equal(t, "hello orders", string(s.Receive(t, 1, "orders")[0].Body))
	for _, subscription := range []string{"all", "some"} {
		require.Equal(t, "hello news", string(s.Receive(t, 1, "news", subscription)[0].Body))
	}
	require.Equal(t, 2, s.Stats(t).Transfers)
}

func TestServiceBusQueueDropsDuplicates(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	client := s.Client(t)
	for _, id := range []string{"a", "a", "b"} {
		require.NoError(t, send(t, client, "once", &azservicebus.Message{MessageID: new(id)}))
	}
	got := s.Receive(t, 2, "once")
	require.Equal(t, []string{"a", "b"}, []string{got[0].MessageID, got[1].MessageID})
}

// The official client tells errors apart by what the service does. That it gets
// the ones that it is made for shows that the namespace does the same.
func TestServiceBusRefusesAsTheServiceDoes(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Fail(t, emulators.ServiceBusFailure{Entity: "orders", At: "transfer", How: "reject", Condition: "com.microsoft:server-busy"})
	client := func(keyName, key string) *azservicebus.Client {
		c, err := azservicebus.NewClientFromConnectionString(
			"Endpoint=sb://contoso.servicebus.windows.net/;SharedAccessKeyName="+keyName+";SharedAccessKey="+key,
			&azservicebus.ClientOptions{
				CustomEndpoint: s.Address,
				TLSConfig:      &tls.Config{RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12},
				RetryOptions:   azservicebus.RetryOptions{MaxRetries: -1},
			})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	right := client(emulators.ServiceBusKeyName, emulators.ServiceBusKey)
	message := &azservicebus.Message{Body: []byte("hello")}
	var refusal *azservicebus.Error

	require.ErrorAs(t, send(t, client(emulators.ServiceBusKeyName, "another"), "news", message), &refusal)
	require.Equal(t, azservicebus.CodeUnauthorizedAccess, refusal.Code)
	require.ErrorAs(t, send(t, client("another", emulators.ServiceBusKey), "news", message), &refusal)
	require.Equal(t, azservicebus.CodeUnauthorizedAccess, refusal.Code)

	require.ErrorContains(t, send(t, right, "nowhere", message), "amqp:not-found")
	require.ErrorContains(t, send(t, right, "orders", message), "com.microsoft:server-busy")
	large := &azservicebus.Message{Body: []byte(strings.Repeat("x", 256<<10))}
	require.ErrorIs(t, send(t, right, "news", large), azservicebus.ErrMessageTooLarge)
	require.NoError(t, send(t, right, "news", message))
}

func TestServiceBusRestartsEmptyAtItsAddress(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	require.NoError(t, send(t, s.Client(t), "orders", &azservicebus.Message{Body: []byte("before")}))
	address := s.Address
	require.NoError(t, s.Stop())
	s.Start(t)
	require.Equal(t, address, s.Address)
	require.NoError(t, send(t, s.Client(t), "orders", &azservicebus.Message{Body: []byte("after")}))
	require.Equal(t, "after", string(s.Receive(t, 1, "orders")[0].Body))
}
