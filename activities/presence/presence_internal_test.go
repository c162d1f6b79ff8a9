package presence

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"almanac/job/presence"
)

var errDown = serviceerror.NewUnavailable("it starts")

// A bench runs the check-ins of a worker, which begin at zero.
type bench struct {
	*CheckIns
	begin     time.Time
	announced []time.Duration
	beats     []presence.Segment
}

// newBench returns a bench whose heartbeats are answered with answer, by the time since the beginning.
func newBench(announce func(at time.Duration) error) *bench {
	b := &bench{begin: time.Now()}
	b.CheckIns = &CheckIns{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	b.Announce = func(context.Context) error {
		b.announced = append(b.announced, time.Since(b.begin))
		return announce(time.Since(b.begin))
	}
	return b
}

func (b *bench) check(answer func(at time.Duration) error) presence.Segment {
	return b.checkIn(func(s *presence.Segment) error {
		err := answer(time.Since(b.begin))
		if err == nil {
			b.beats = append(b.beats, *s)
		}
		return err
	}, nil)
}

func (b *bench) since(t time.Time) time.Duration { return t.Sub(b.begin) }

func never(time.Duration) error { return nil }

func TestAWorkerChecksInEveryTenSecondsUntilItStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		synctest.Wait()
		time.AfterFunc(25*time.Second, b.Stop)
		s := b.check(never)
		require.Equal(t, presence.Stopped, s.End)
		require.Equal(t, 25*time.Second, b.since(s.To))
		require.Zero(t, b.since(s.From))
		require.Len(t, b.beats, 3)
		require.Equal(t, []time.Duration{0}, b.announced, "while it is followed, it does not announce itself again")
		require.Empty(t, s.Gaps)
	})
}

func TestAnOutageOfTheServerIsAGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		time.AfterFunc(100*time.Second, b.Stop)
		s := b.check(func(at time.Duration) error {
			if at > 15*time.Second && at < 35*time.Second {
				return errDown
			}
			return nil
		})
		require.Len(t, s.Gaps, 1)
		require.Equal(t, 10*time.Second, b.since(s.Gaps[0].From))
		require.Equal(t, 36*time.Second, b.since(s.Gaps[0].To), "it tries again every 2 s")
	})
}

func TestAWorkerThatCountedAsLostAnnouncesItselfAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		synctest.Wait()
		lost := b.check(func(at time.Duration) error {
			if at > 0 {
				return serviceerror.NewNotFound("no such activity")
			}
			return nil
		})
		require.Zero(t, b.since(lost.To))
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 10 * time.Second}, b.announced)
		time.AfterFunc(5*time.Second, b.Stop)
		s := b.check(never)
		require.Equal(t, 10*time.Second, b.since(s.From), "it was away in between")
	})
}

func TestAWorkerThatIsHandedOverContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		defer b.Stop()
		s := b.check(func(at time.Duration) error {
			if at >= 20*time.Second {
				return temporal.NewCanceledError()
			}
			return nil
		})
		require.Equal(t, presence.Continues, s.End)
		require.Equal(t, 20*time.Second, b.since(s.To))
		time.Sleep(3 * time.Second)
		next := b.check(func(time.Duration) error { return temporal.NewCanceledError() })
		require.Equal(t, 20*time.Second, b.since(next.From))
		require.Equal(t, 23*time.Second, b.since(next.To))
	})
}

func TestGapsAreReportedBeforeTheyAreTooMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		defer b.Stop()
		s := b.check(func(at time.Duration) error {
			if at%(60*time.Second) > 20*time.Second {
				return errDown
			}
			return nil
		})
		require.Equal(t, presence.Continues, s.End)
		require.Len(t, s.Gaps, presence.MaxGaps)
		next := b.check(func(time.Duration) error { return temporal.NewCanceledError() })
		require.Empty(t, next.Gaps)
	})
}

func TestAWorkerAnnouncesItselfUntilItIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(at time.Duration) error {
			if at < 5*time.Second {
				return errDown
			}
			return nil
		})
		b.Start()
		time.Sleep(30 * time.Second)
		b.Stop()
		seconds := []time.Duration{0, 2, 4, 6, 26}
		for i := range seconds {
			seconds[i] *= time.Second
		}
		require.Equal(t, seconds, b.announced)
	})
}

func TestTheSpanOfAWorkerThatNeverTookItsActivityHasNoCheckIn(t *testing.T) {
	t.Parallel()
	in := Input{Worker: presence.Worker{ID: "a"}, Announced: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	lost := presence.Segment{From: in.Announced, End: presence.Lost}
	require.Equal(t, lost, in.SpanOf(presence.Segment{}, errors.New("any")).Segment)
	lost.End = presence.Continues
	require.Equal(t, lost, in.SpanOf(presence.Segment{}, temporal.NewCanceledError()).Segment)
}
