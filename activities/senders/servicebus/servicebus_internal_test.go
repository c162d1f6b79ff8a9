package servicebus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
	"almanac/job"
	"almanac/job/kind"
)

// A lost link or connection is detected before a message is sent over it, so no attempt fails.
func TestAClosedConnectionOrLinkIsNotAlive(t *testing.T) {
	t.Parallel()
	const (
		limit = time.Minute
		every = 10 * time.Millisecond
	)
	bus := emulators.StartServiceBus(t, emulators.ServiceBusOptions{Queues: []emulators.ServiceBusQueue{{Name: "orders"}}})
	s := New(Options{CustomEndpoint: bus.Address, RootCAs: bus.RootCAs})
	target, err := s.target(&job.Action{Type: kind.ServiceBusQueue, Content: kind.Content{ServiceBusQueueMessage: &kind.ServiceBusMessage{
		QueueName: "orders", Namespace: emulators.ServiceBusNamespace,
		Authentication: &kind.ServiceBusAuth{SASKeyName: emulators.ServiceBusKeyName, SASKey: emulators.ServiceBusKey},
	}}})
	require.NoError(t, err)
	connection, err := s.connect(t.Context(), target)
	require.NoError(t, err)
	t.Cleanup(connection.Close)
	attach := func() *busLink {
		t.Helper()
		link, err := connection.attach(t.Context(), target)
		require.NoError(t, err)
		require.True(t, link.Alive())
		return link
	}

	expiring, detached := attach(), attach()
	expiring.renew = time.Now()
	require.False(t, expiring.Alive(), "its token is about to expire")
	bus.Detach(t)
	require.Eventually(t, func() bool { return !detached.Alive() }, limit, every)

	last := attach()
	require.True(t, connection.Alive())
	bus.Drop(t)
	require.Eventually(t, func() bool { return !connection.Alive() }, limit, every)
	require.Eventually(t, func() bool { return !last.Alive() }, limit, every)
	require.Zero(t, bus.Stats(t).Transfers, "nothing is sent to find out")
}
