package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/lease"
	"almanac/job"
)

// connects begins to send 20 ms after its start.
var connects = sendFunc(func(ctx context.Context) (string, error) {
	time.Sleep(20 * time.Millisecond)
	lease.Begun(ctx)
	return "fine", nil
})

func TestAFirstAttemptSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := due(-3*time.Second, 2)
		k := task{started: in.Execution.Due.Add(2 * time.Second), server: &server{answer: func(int) error {
			time.Sleep(30 * time.Millisecond)
			return nil
		}}}
		records, err := k.run(t, runner(connects), in)
		require.NoError(t, err)
		require.Equal(t, job.Beginning{Taken: 2000, Asked: 30, Sent: 20_000}, records[0].Beginning)
		record := job.Record{Execution: in.Execution, Attempt: records[0]}
		require.Equal(t, job.Split{
			Worker: 2 * time.Second, Server: 30 * time.Millisecond, Place: time.Second, Send: 20 * time.Millisecond,
		}, record.Split())
	})
}

func TestAnAttemptThatIsHeldWaitsForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records, err := (&task{}).run(t, runner(connects), due(500*time.Millisecond, 1))
		require.NoError(t, err)
		require.Equal(t, job.Beginning{Sent: 20_000}, records[0].Beginning)
	})
}

func TestOnlyTheFirstAttemptOfAnExecutionSaysIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		retry := task{earlier: refused()}
		records, err := retry.run(t, runner(connects), due(-3*time.Second, 2))
		require.NoError(t, err)
		require.Zero(t, records[1].Beginning)
		other := due(-3*time.Second, 2)
		other.Execution.ActionName = job.ErrorAction
		records, err = (&task{}).run(t, runner(connects), other)
		require.NoError(t, err)
		require.Zero(t, records[0].Beginning)
	})
}
