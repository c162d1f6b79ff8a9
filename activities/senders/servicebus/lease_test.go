package servicebus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/lease"
	"almanac/activities/senders/servicebus"
	"almanac/internal/sendertest"
)

func TestNothingIsSentAfterTheLease(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	sender := busSender(t, bus, servicebus.Options{})
	send := func(length time.Duration) (*lease.Lease, error) {
		l := lease.New(time.Now(), length)
		_, err := sender.Send(lease.With(t.Context(), l), sendertest.Execution, busAction("orders"))
		return l, err
	}
	for _, when := range []string{"on a new connection", "on one that was used before"} {
		before := bus.Stats(t).Transfers
		over, err := send(0)
		require.Error(t, err, when)
		require.True(t, over.Refused(), when)
		require.False(t, over.Used(), when)
		require.Equal(t, before, bus.Stats(t).Transfers, when)

		valid, err := send(time.Hour)
		require.NoError(t, err, when)
		require.True(t, valid.Used(), when)
		require.False(t, valid.Refused(), when)
		require.Equal(t, before+1, bus.Stats(t).Transfers, when)
	}
	require.Equal(t, 1, bus.Stats(t).Connections, "to connect may take longer than a lease")
}
