// Package presence has workers check in, so that it is on record which were there, and when none was.
//
// The workflow of the installation gives each worker an activity, on a task queue that only this worker polls, and the
// worker checks in by the activity's heartbeats. A heartbeat writes no event and wakes no workflow. What a worker says of
// itself is in the heartbeat's details, so it is known if the worker is lost.
package presence

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"almanac/job/presence"
)

// TypePresent is the activity type of [CheckIns.Present].
const TypePresent = "Present"

// LostAfter is how long after its last check-in the server counts a worker as lost.
const LostAfter = presence.LostAfter

// Input is the input of [CheckIns.Present].
type Input struct {
	Worker    presence.Worker `json:"worker"`
	Announced time.Time       `json:"announced"` // when the workflow knew of it
}

// SpanOf returns the span of a worker whose activity has ended with that result or error. If the worker has not begun
// it, the span is what it said with its goodbye; without one it begins when it was announced, and its To is zero. goodbye is
// nil if the worker has not said it.
func (in *Input) SpanOf(result presence.Segment, err error, goodbye *presence.Segment) presence.Span {
	s := presence.Span{Worker: in.Worker, Segment: result}
	timeout, silent := errors.AsType[*temporal.TimeoutError](err)
	switch {
	case err == nil:
	case goodbye != nil:
		s.Segment = *goodbye
	case temporal.IsCanceledError(err): // it has not begun
		s.Segment = presence.Segment{End: presence.Continues}
	case silent && timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&s.Segment) == nil:
		s.End = presence.Lost
	default:
		s.Segment = presence.Segment{End: presence.Lost}
	}
	if s.From.IsZero() {
		s.From = in.Announced
	}
	return s
}

const (
	// announceEvery is how often a worker announces itself that the workflow does not follow. The pause doubles up to
	// announceSeldom: there is no room for it. leastPause and mostPause are those between attempts that fail.
	announceEvery  = 20 * time.Second
	announceSeldom = 10 * time.Minute
	leastPause     = 2 * time.Second
	mostPause      = time.Minute
	// handOver is how long a worker is taken to be there that was handed over, and is not followed yet.
	handOver = time.Minute
	// again is the pause after a check-in that failed.
	again = 2 * time.Second

	// callTimeout is the time limit of a signal, checkInTimeout that of a check-in, and goodbyeTimeout that of a goodbye.
	callTimeout    = 5 * time.Second
	checkInTimeout = 10 * time.Second
	goodbyeTimeout = 2 * time.Second
)

// CheckIns checks a worker in. Its exported fields must be set before [CheckIns.Start].
type CheckIns struct {
	Worker   presence.Worker
	Now      func() time.Time
	Observe  func(server time.Time) // takes note of the server's time, which Now may follow; nil: it does not
	Log      *slog.Logger
	Announce func(context.Context) error                   // sends the worker to the workflow, which it starts
	Goodbye  func(context.Context, presence.Segment) error // says to that workflow that the worker stops

	mu        sync.Mutex
	next      presence.Segment // continues the last one, which was handed over; zero: it was not
	present   bool             // the activity runs
	announced bool             // the workflow may know of the worker
	changed   chan struct{}    // the activity has ended
	stop      chan struct{}    // closed by Stop
	stopped   chan struct{}    // closed when the announcing has ended
	once      sync.Once        // of Stop
}

// Start announces the worker, and does so again whenever no activity follows it. It does not wait for that.
func (c *CheckIns) Start() {
	c.changed, c.stop, c.stopped = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.stopped)
		c.keepAnnounced()
		c.sayGoodbye()
	}()
}

// keepAnnounced announces the worker whenever no activity follows it, until it stops.
func (c *CheckIns) keepAnnounced() {
	tick, due := time.NewTicker(presence.Every), time.NewTimer(0)
	defer tick.Stop()
	defer due.Stop()
	pause, failed := announceEvery, time.Duration(0)
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.note()
		case <-c.changed:
			pause = announceEvery
			if c.handedOver() { // another activity follows
				due.Reset(jittered(pause))
			} else {
				due.Reset(0)
			}
		case <-due.C:
			if c.here() {
				continue // until that has changed
			}
			if err := c.announce(); err != nil {
				if failed == 0 {
					c.Log.Warn("the worker could not check in; it tries again", slog.Any("error", err))
				}
				failed = min(max(2*failed, leastPause), mostPause)
				due.Reset(jittered(failed))
				continue
			}
			due.Reset(jittered(pause))
			pause, failed = min(2*pause, announceSeldom), 0
		}
	}
}

// jittered returns a pause that is up to a quarter longer, so that not all workers announce themselves at once.
func jittered(pause time.Duration) time.Duration { return pause + rand.N(pause/4) }

func (c *CheckIns) announce() error {
	ctx, cancel := c.untilStop(context.Background(), callTimeout)
	defer cancel()
	c.mu.Lock()
	c.announced = true
	c.mu.Unlock()
	return c.Announce(ctx)
}

// untilStop returns a context that ends when the worker stops.
func (c *CheckIns) untilStop(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	go func() {
		select {
		case <-c.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// sayGoodbye has the workflow know that the worker stops, if no activity says so.
func (c *CheckIns) sayGoodbye() {
	c.note()
	c.mu.Lock()
	s, silent := c.next, c.present || !c.announced
	c.mu.Unlock()
	if silent {
		return
	}
	s.End = presence.Stopped
	ctx, cancel := context.WithTimeout(context.Background(), goodbyeTimeout)
	defer cancel()
	if err := c.Goodbye(ctx, s); err != nil {
		c.Log.Warn("it could not be recorded that the worker stops; it will count as lost", slog.Any("error", err))
	}
}

// Stop has the worker say that it is stopped. The activity ends soon after. It may be called again.
func (c *CheckIns) Stop() {
	if c == nil || c.stop == nil {
		return
	}
	c.once.Do(func() { close(c.stop) })
	<-c.stopped
}

func (c *CheckIns) here() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

func (c *CheckIns) handedOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.next.From.IsZero()
}

// note checks a worker in that was handed over. It is sent with the next activity.
func (c *CheckIns) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.Now().UTC(); !c.present && !c.next.From.IsZero() && now.Sub(c.next.From) <= handOver {
		c.next.CheckIn(now)
	}
}

// begin begins a segment: it continues the last one if that was handed over.
func (c *CheckIns) begin() presence.Segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present = true
	if !c.next.From.IsZero() {
		return c.next
	}
	now := c.Now().UTC()
	return presence.Segment{From: now, To: now}
}

func (c *CheckIns) end(s presence.Segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present, c.next = false, presence.Segment{}
	switch s.End {
	case presence.Continues:
		c.next = presence.Segment{From: s.To, To: s.To}
	case presence.Stopped:
		c.announced = false // no goodbye is needed
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Present checks the worker in until it stops, or is to be followed by another activity. It returns what there is to
// know of it.
func (c *CheckIns) Present(ctx context.Context, _ Input) (presence.Segment, error) {
	if c.Observe != nil {
		c.Observe(activity.GetInfo(ctx).StartedTime)
	}
	beat := func(s *presence.Segment) error { return c.send(ctx, s) }
	return c.checkIn(beat, activity.GetWorkerStopChannel(ctx)), nil
}

// checkIn checks the worker in by beat.
func (c *CheckIns) checkIn(beat func(*presence.Segment) error, stopping <-chan struct{}) (s presence.Segment) {
	s = c.begin()
	defer func() { c.end(s) }()
	for {
		next := s
		next.CheckIn(c.Now().UTC())
		err := beat(&next)
		_, gone := errors.AsType[*serviceerror.NotFound](err)
		wait := presence.Every
		switch {
		case err == nil, temporal.IsCanceledError(err):
			s = next
			if err != nil || len(s.Gaps) >= presence.MaxGaps {
				s.End = presence.Continues
				return s
			}
		case gone:
			return s // the server counted it as lost
		default:
			wait = again
		}
		select {
		case <-time.After(wait):
			continue
		case <-c.stop:
		case <-stopping:
		}
		s.CheckIn(c.Now().UTC())
		s.End = presence.Stopped
		return s
	}
}

// send sends the heartbeat of an activity.
func (c *CheckIns) send(ctx context.Context, s *presence.Segment) error {
	info := activity.GetInfo(ctx)
	sent, cancel := c.untilStop(AsCheckIn(context.WithoutCancel(ctx)), checkInTimeout)
	defer cancel()
	return activity.GetClient(ctx).RecordActivityHeartbeatWithOptions(sent, client.RecordActivityHeartbeatOptions{
		TaskToken: info.TaskToken, WorkflowID: info.WorkflowExecution.ID, Details: []any{*s},
	})
}

type checkIn struct{}

// AsCheckIn marks a call as a check-in. It has a time limit of its own, and how long it takes says little of other
// calls, since all workers check in with one workflow.
func AsCheckIn(ctx context.Context) context.Context { return context.WithValue(ctx, checkIn{}, true) }

// IsCheckIn reports whether a call is a check-in.
func IsCheckIn(ctx context.Context) bool { return ctx.Value(checkIn{}) != nil }
