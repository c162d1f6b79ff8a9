package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAWorkerThatHoldsTooMuchHoldsNothingForLong(t *testing.T) {
	t.Parallel()
	r := &Runner{MaxHold: DefaultMaxHold}
	due := time.Now().Add(time.Minute)
	var held []*heldAttempt
	for range maxHeld {
		require.Equal(t, int(DefaultMaxHold.Milliseconds()), r.nextHold())
		require.False(t, r.full(time.Minute))
		held = append(held, r.holds.enter("", due, time.Minute, maxWindow))
	}
	require.Equal(t, 1, r.nextHold())
	require.True(t, r.full(time.Minute))
	require.False(t, r.full(ShortHold), "what is due soon is held all the same")
	r.holds.sent(held[0])
	require.Equal(t, int(DefaultMaxHold.Milliseconds()), r.nextHold())
	require.False(t, r.full(time.Minute))
}

func TestHoldingCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, new(Runner).nextHold(), "0 would mean that the hold does not change")
}
