package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/latency"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

var errSignal = errors.New("the server is busy")

var reports = job.CollectionKey{Name: "Reports"}

// A signalled is what a courier has sent, in a test's time.
type signalled struct {
	mu      sync.Mutex
	begun   time.Time
	at      []time.Duration
	sizes   []int
	shards  map[int][]time.Duration
	alerts  map[string]int // how often each came
	failing bool
	block   chan struct{}
}

// newCourier returns a courier and what it sends.
func newCourier(server *latency.Meter) (*Courier, *signalled) {
	s := &signalled{begun: time.Now(), shards: map[int][]time.Duration{}, alerts: map[string]int{}}
	c := NewCourier(server)
	c.Log, c.Send = slog.New(slog.DiscardHandler), s.send
	return c, s
}

func (s *signalled) send(ctx context.Context, shard notification.Shard, raised []notification.Raised) error {
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, size := time.Since(s.begun), 0
	s.at, s.shards[shard.Number] = append(s.at, at), append(s.shards[shard.Number], at)
	if s.failing {
		return errSignal
	}
	for i := range raised {
		s.alerts[raised[i].Alert.ID]++
		size += notification.SizeOf(&raised[i])
	}
	s.sizes = append(s.sizes, size)
	return nil
}

func (s *signalled) fail(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}

// alert returns an alert of some size for targets of its own, or without any for those of the collection.
func alert(id string, size int, targets ...string) notification.Raised {
	r := notification.Raised{Alert: notification.Alert{ID: id, Text: strings.Repeat("x", size)}}
	for _, uri := range targets {
		r.Own = append(r.Own, job.Notification{Name: uri, Target: job.Target{Type: kind.HTTPS, Content: kind.Content{Request: &kind.Request{URI: uri}}}})
	}
	if r.Own == nil {
		r.Inherit = []string{"ops"}
	}
	return r
}

// raise offers an alert in a task that the server records.
func raise(c *Courier, raised ...notification.Raised) Exchanged {
	id := "job of " + raised[0].Alert.ID
	e := c.Exchange(id, reports, raised)
	c.Recorded(id)
	return e
}

func TestAlertsOfManyJobsAreFewSignalsOfBoundedSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		for i := range 10_000 {
			raise(c, alert(fmt.Sprint(i), 1000, fmt.Sprintf("https://example.com/%d", i)))
		}
		c.sending.Wait()
		require.Len(t, s.alerts, 10_000)
		require.Len(t, s.shards, notification.Shards)
		require.LessOrEqual(t, len(s.at), 100)
		for _, size := range s.sizes {
			require.LessOrEqual(t, size, maxSignal)
		}
		for _, times := range s.shards {
			for i := range times[1:] {
				require.GreaterOrEqual(t, times[i+1]-times[i], signalPause)
			}
		}
		require.Less(t, s.at[len(s.at)-1], 3*time.Second)
		require.Equal(t, Exchanged{HandedOver: []int{0}}, raise(c, alert("17", 1000, "https://example.com/17")))
		require.Zero(t, c.bytes)
		require.Empty(t, c.waiting)
	})
}

func TestAnAlertLeavesAtOnceWhenTheTaskThatRaisedItIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		c.Exchange("a", reports, []notification.Raised{alert("1", 10)})
		c.Recorded("b")
		time.Sleep(time.Hour)
		require.Empty(t, s.at)
		c.Recorded("a")
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Hour}, s.at)
		c.Recorded("a")
		c.sending.Wait()
		require.Equal(t, map[string]int{"1": 1}, s.alerts)
	})
}

func TestWhatATaskOfferedThatIsNotRecordedDoesNotLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		c.Exchange("a", reports, []notification.Raised{alert("refused", 10)})
		c.Refused("a")
		c.Recorded("a")
		c.Exchange("a", reports, []notification.Raised{alert("replaced", 10)})
		c.Exchange("a", reports, []notification.Raised{alert("1", 10), alert("2", 10)})
		c.Recorded("a")
		c.sending.Wait()
		require.Equal(t, map[string]int{"1": 1, "2": 1}, s.alerts)
	})
}

func TestAnAlertThatIsOfferedAgainIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		s.block = make(chan struct{})
		for range 3 {
			require.Empty(t, raise(c, alert("1", 10)).HandedOver)
		}
		require.Empty(t, raise(c, alert("1", 10), alert("2", 10)).HandedOver)
		close(s.block)
		c.sending.Wait()
		require.Equal(t, map[string]int{"1": 1, "2": 1}, s.alerts)
		e := raise(c, alert("1", 10), alert("3", 10), alert("2", 10))
		require.Equal(t, []int{0, 2}, e.HandedOver)
		require.Equal(t, leastAgain, e.Again)
		c.sending.Wait()
	})
}

func TestAnAlertHasArrivedWhenEachOfItsShardsHasIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		arrive := s.send
		c.Send = func(ctx context.Context, shard notification.Shard, raised []notification.Raised) error {
			if shard.Number%2 == 0 && time.Since(s.begun) < time.Minute {
				return errSignal
			}
			return arrive(ctx, shard, raised)
		}
		var targets []string
		for i := range 50 {
			targets = append(targets, fmt.Sprintf("https://example.com/%d", i))
		}
		many := alert("1", 10, targets...)
		raise(c, many)
		time.Sleep(50 * time.Second)
		require.Empty(t, raise(c, many).HandedOver)
		c.sending.Wait()
		require.Equal(t, []int{0}, raise(c, many).HandedOver)
		require.Equal(t, map[string]int{"1": notification.Shards}, s.alerts)
	})
}

func TestAlertsWaitWhileTheServerDoesNotTakeThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		s.fail(true)
		raise(c, alert("1", 10))
		time.Sleep(time.Hour)
		raise(c, alert("2", 10))
		require.InDelta(t, time.Hour/failedPause, len(s.at), 10)
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second, 61 * time.Second}, s.at[:7])
		s.fail(false)
		c.sending.Wait()
		require.Equal(t, map[string]int{"1": 1, "2": 1}, s.alerts)
	})
}

func TestSignalsAreFewerWhileTheServerIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := new(latency.Meter)
		for range 100 {
			end := slow.Begin()
			time.Sleep(time.Second)
			end()
		}
		c, s := newCourier(slow)
		for i := range 60 { // ten a second
			raise(c, alert(fmt.Sprint(i), 10))
			time.Sleep(100 * time.Millisecond)
		}
		c.sending.Wait()
		for i := range s.at {
			s.at[i] = s.at[i].Round(time.Second)
		}
		require.Equal(t, []time.Duration{0, 3 * time.Second, 6 * time.Second}, s.at)
	})
}

func TestJobsAskOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCourier(nil)
		var asks []time.Duration
		for i := range 15_000 {
			asks = append(asks, raise(c, alert(fmt.Sprint(i), 10)).Again)
		}
		require.Equal(t, leastAgain, asks[0])
		require.Equal(t, leastAgain+50*time.Second, asks[1000])
		require.Equal(t, mostAgain, asks[14_999])
		time.Sleep(time.Hour)
		require.Equal(t, leastAgain, raise(c, alert("late", 10)).Again)
		c.sending.Wait()
	})
}

func TestAProcessKeepsABoundedNumberOfAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCourier(nil)
		s.block = make(chan struct{})
		for i := range 100 {
			raise(c, alert(fmt.Sprint(i), 1<<20))
		}
		require.InDelta(t, maxWaiting>>20, len(c.waiting), 2)
		for i := range maxOffered + 10 {
			c.Exchange(fmt.Sprint("job", i), reports, []notification.Raised{alert(fmt.Sprint("offered", i), 10)})
		}
		require.Len(t, c.offered, maxOffered)
		time.Sleep(keptOffer + time.Second)
		c.Exchange("job", reports, []notification.Raised{alert("new", 10)})
		require.Len(t, c.offered, 1, "the others were never recorded")
		close(s.block)
		c.sending.Wait()

		for i := range 3 * maxArrived {
			c.arrive([]part{{raised: alert(fmt.Sprint("arrived", i), 0)}})
		}
		require.LessOrEqual(t, len(c.arrived[0])+len(c.arrived[1]), 2*maxArrived)
		require.True(t, c.hasArrived(fmt.Sprint("arrived", 2*maxArrived)))
		require.Empty(t, raise(c, alert("arrived0", 10)).HandedOver, "it is sent again, and recognized by its id")
		c.sending.Wait()
	})
}

func TestAProcessThatStopsSendsWhatItHasWithoutPauses(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		t.Run(fmt.Sprintf("failing=%v", failing), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := newCourier(nil)
				s.fail(failing)
				for i := range 1000 {
					raise(c, alert(fmt.Sprint(i), 1000))
				}
				c.Stop(t.Context())
				require.Zero(t, time.Since(s.begun))
				if !failing {
					require.Len(t, s.alerts, 1000)
				}
				raise(c, alert("too late", 10))
				c.Stop(t.Context())
				require.NotContains(t, s.alerts, "too late")
			})
		})
	}
	t.Run("for a limited time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, s := newCourier(nil)
			s.block = make(chan struct{})
			raise(c, alert("1", 10))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			c.Stop(ctx)
			require.Equal(t, time.Second, time.Since(s.begun))
			c.sending.Wait()
		})
	})
}
