package presence

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
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
	begin time.Time
	beats []presence.Segment

	guard sync.Mutex // of what the announcing goroutine appends
	told  []time.Duration
	byes  []presence.Segment
}

// newBench returns a bench whose heartbeats are answered with answer, by the time since the beginning.
func newBench(announce func(at time.Duration) error) *bench {
	b := &bench{begin: time.Now()}
	b.CheckIns = &CheckIns{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	b.Announce = func(context.Context) error {
		b.guard.Lock()
		defer b.guard.Unlock()
		b.told = append(b.told, time.Since(b.begin))
		return announce(time.Since(b.begin))
	}
	b.Goodbye = func(_ context.Context, s presence.Segment) error {
		b.guard.Lock()
		defer b.guard.Unlock()
		b.byes = append(b.byes, s)
		return nil
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

// announced returns when the worker announced itself.
func (b *bench) announced() []time.Duration {
	b.guard.Lock()
	defer b.guard.Unlock()
	return slices.Clone(b.told)
}

// goodbyes returns what it said when it stopped.
func (b *bench) goodbyes() []presence.Segment {
	b.guard.Lock()
	defer b.guard.Unlock()
	return slices.Clone(b.byes)
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
		require.Equal(t, []time.Duration{0}, b.announced(), "while it is followed, it does not announce itself again")
		require.Empty(t, s.Gaps)
		b.Stop()
		require.Empty(t, b.goodbyes(), "its activity says that it stopped")
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
		require.Equal(t, []time.Duration{0, 10 * time.Second}, b.announced())
		time.AfterFunc(5*time.Second, b.Stop)
		s := b.check(never)
		require.Equal(t, 10*time.Second, b.since(s.From), "it was away in between")
	})
}

var errHandedOver = temporal.NewCanceledError()

func handedOverAt(after time.Duration) func(time.Duration) error {
	return func(at time.Duration) error {
		if at >= after {
			return errHandedOver
		}
		return nil
	}
}

// The next activity comes when all workers have answered, and one of them may be lost.
func TestAWorkerThatIsHandedOverWasThereMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ wait, to time.Duration }{
		{3 * time.Second, 23 * time.Second}, {40 * time.Second, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(never)
			b.Start()
			synctest.Wait()
			defer b.Stop()
			s := b.check(handedOverAt(20 * time.Second))
			require.Equal(t, presence.Continues, s.End)
			require.Equal(t, 20*time.Second, b.since(s.To))
			time.Sleep(tt.wait)
			next := b.check(handedOverAt(0))
			require.Equal(t, 20*time.Second, b.since(next.From))
			require.Equal(t, tt.to, b.since(next.To))
			require.Empty(t, next.Gaps)
		})
	}
}

func TestAWorkerThatIsNotFollowedForLongAfterAHandOverWasAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		synctest.Wait()
		defer b.Stop()
		b.check(handedOverAt(20 * time.Second))
		time.Sleep(10 * time.Minute)
		s := b.check(handedOverAt(0))
		require.Len(t, s.Gaps, 1)
		require.Equal(t, 80*time.Second, b.since(s.Gaps[0].From))
		require.Equal(t, 620*time.Second, b.since(s.Gaps[0].To))
	})
}

func TestAWorkerThatIsHandedOverWaitsBeforeItAnnouncesItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		synctest.Wait()
		b.check(handedOverAt(20 * time.Second))
		time.Sleep(19 * time.Second)
		synctest.Wait()
		require.Len(t, b.announced(), 1)
		time.Sleep(7 * time.Second)
		synctest.Wait()
		require.Len(t, b.announced(), 2)
		b.Stop()
	})
}

func TestAWorkerThatStopsWhileNoActivityFollowsItSaysGoodbye(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		synctest.Wait()
		b.check(handedOverAt(20 * time.Second))
		time.Sleep(5 * time.Second)
		b.Stop()
		b.Stop()
		require.Len(t, b.goodbyes(), 1)
		require.Equal(t, presence.Stopped, b.goodbyes()[0].End)
		require.Equal(t, 20*time.Second, b.since(b.goodbyes()[0].From))
		require.Equal(t, 25*time.Second, b.since(b.goodbyes()[0].To))

		other := newBench(never)
		other.Start()
		synctest.Wait()
		other.Stop()
		require.Equal(t, []presence.Segment{{End: presence.Stopped}}, other.goodbyes(), "it was never followed")
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

func TestAWorkerAnnouncesItselfLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(never)
		b.Start()
		time.Sleep(24 * time.Hour)
		b.Stop()
		for i, pause := range []time.Duration{20, 40, 80, 160, 320, 600, 600} {
			pause *= time.Second
			took := b.announced()[i+1] - b.announced()[i]
			require.True(t, took >= pause && took <= pause*5/4, "%d: %s", i, took)
		}
		require.Less(t, len(b.announced()), 24*6+7)
	})
}

func TestAWorkerAnnouncesItselfSoonAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(at time.Duration) error {
			if at < time.Hour {
				return errDown
			}
			return nil
		})
		b.Start()
		time.Sleep(time.Hour + 76*time.Second)
		b.Stop()
		require.Less(t, len(b.announced()), 70)
		last := b.announced()[len(b.announced())-1]
		require.GreaterOrEqual(t, last, time.Hour, "%s", last)
	})
}

func TestTheSpanOfAWorkerThatNeverTookItsActivityHasNoCheckIn(t *testing.T) {
	t.Parallel()
	in := Input{Worker: presence.Worker{ID: "a"}, Announced: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	lost := presence.Segment{From: in.Announced, End: presence.Lost}
	require.Equal(t, lost, in.SpanOf(presence.Segment{}, errors.New("any"), nil).Segment)
	lost.End = presence.Continues
	require.Equal(t, lost, in.SpanOf(presence.Segment{}, temporal.NewCanceledError(), nil).Segment)
	goodbye := presence.Segment{From: in.Announced.Add(1), To: in.Announced.Add(2), End: presence.Stopped}
	require.Equal(t, goodbye, in.SpanOf(presence.Segment{}, temporal.NewCanceledError(), &goodbye).Segment)
}
