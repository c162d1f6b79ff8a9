package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/lease"
)

func TestARequestMayBeginUntilItsLeaseIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lease.New(time.Now(), time.Second)
		ctx := lease.With(t.Context(), l)
		time.Sleep(time.Second - time.Nanosecond)
		require.True(t, lease.MayBegin(ctx))
		require.False(t, l.Over())
		require.Equal(t, time.Nanosecond, l.Remaining())

		time.Sleep(time.Nanosecond)
		require.True(t, l.Over())
		require.False(t, l.Refused(), "nobody has asked since")
		require.False(t, lease.MayBegin(ctx))
		require.True(t, l.Refused())
		require.False(t, l.Used())
	})
}

func TestALeaseRunsFromWhenTheWorkerAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := time.Now()
		time.Sleep(3 * time.Second) // until the server answers
		require.True(t, lease.New(asked, 3*time.Second).Over())
		require.Equal(t, time.Second, lease.New(asked, 4*time.Second).Remaining())
	})
}

func TestARequestThatHasBegunMayGoOnAfterItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lease.New(time.Now(), time.Second)
		ctx := lease.With(t.Context(), l)
		require.True(t, lease.MayBegin(ctx))
		require.False(t, l.Used(), "it may, but has not")
		lease.Begun(ctx)
		require.True(t, l.Used())
		time.Sleep(time.Hour)
		require.True(t, lease.MayBegin(ctx), "for example after a redirect")
		require.False(t, l.Refused())
	})
}

// A connection comes too late, the next one is refused as well, and then the request begins on an earlier one.
func TestALeaseThatWasUsedAfterARefusalIsNotRefused(t *testing.T) {
	t.Parallel()
	l := lease.New(time.Now(), 0)
	ctx := lease.With(t.Context(), l)
	require.False(t, lease.MayBegin(ctx))
	require.True(t, l.Refused())
	lease.Begun(ctx)
	require.False(t, l.Refused())
	require.True(t, l.Used())
}

func TestWhatIsSentInPreparationUsesNoLease(t *testing.T) {
	t.Parallel()
	l := lease.New(time.Now(), 0)
	ctx := lease.Without(lease.With(t.Context(), l))
	require.True(t, lease.MayBegin(ctx))
	lease.Begun(ctx)
	require.False(t, l.Used())
	require.False(t, l.Refused())
	require.True(t, lease.MayBegin(t.Context()), "nor does a request without one")
}
