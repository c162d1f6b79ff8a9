package notifier

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

// It is asked for each alert of a storm, and there can be as many channels.
func TestToFindNoRoomCostsLittleHoweverManyMessagesCannotBeShorter(t *testing.T) {
	n := &notifier{channels: map[string]*Channel{}}
	for i := 0; n.bytes < maxStateBytes; i++ {
		c := &Channel{Name: "duty", Target: job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{RoutingKey: fmt.Sprintf("%032d", i)}}}}
		for _, e := range []job.Event{job.EventFailed, job.EventRecovered} {
			a := notification.Alert{Event: e, Job: job.CollectionKey{Name: "c"}.Job(fmt.Sprint(i)), Time: time.Now()}
			a.Identify("run", fmt.Sprint(e))
			c.Open.Add(&c.Waiting, &a)
		}
		require.Len(t, c.Waiting.Alerts, 2)
		n.Channels = append(n.Channels, c)
		n.enter(c)
	}
	full := n.bytes
	require.Zero(t, testing.AllocsPerRun(10, func() { n.fits(1000) }), "no message is measured again")
	require.Equal(t, full, n.bytes)
	require.False(t, n.fits(1000))
}
