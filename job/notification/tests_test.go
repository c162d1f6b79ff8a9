package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

func TestTestsOfACollectionAreFewAndGoToFewAddresses(t *testing.T) {
	t.Parallel()
	var few, many notification.Tests
	for i := range notification.MaxTests {
		at := noon.Add(time.Duration(i) * time.Second)
		require.Zero(t, few.Wait(at, 1))
		few.Add(at, 1)
	}
	at := noon.Add(time.Minute)
	require.Equal(t, 9*time.Minute, few.Wait(at, 1), "until the first is ten minutes old")
	at = noon.Add(10 * time.Minute)
	require.Zero(t, few.Wait(at, 1))
	few.Add(at, 1)
	require.Len(t, few, notification.MaxTests, "old ones are forgotten")

	require.Zero(t, many.Wait(noon, 500), "one may go to all addresses that a list can have")
	many.Add(noon, 500)
	require.Equal(t, 10*time.Minute, many.Wait(noon, 1))
	require.Equal(t, time.Minute, many.Wait(noon.Add(9*time.Minute), 200))
	require.Zero(t, many.Wait(noon.Add(10*time.Minute), 200))

	require.Equal(t, 4, notification.Addresses([]job.Notification{
		{Target: job.Target{Type: kind.Mail, Own: kind.Own{Email: &kind.Email{To: []string{"a@example.com", "b@example.com", "c@example.com"}}}}}, {Target: job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{}}}},
	}))
}
