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
const LostAfter = 30 * time.Second

// Input is the input of [CheckIns.Present].
type Input struct {
	Worker    presence.Worker `json:"worker"`
	Announced time.Time       `json:"announced"` // when the workflow knew of it
}

// SpanOf returns the span of a worker whose activity has ended with that result or error. If the worker has not begun it,
// the span begins when it was announced, and its To is zero.
func (in *Input) SpanOf(result presence.Segment, err error) presence.Span {
	s := presence.Span{Worker: in.Worker, Segment: result}
	timeout, silent := errors.AsType[*temporal.TimeoutError](err)
	switch {
	case err == nil:
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
	// announceEvery is how often a worker announces itself that the workflow does not follow, and callTimeout the time
	// limit of that.
	announceEvery = 20 * time.Second
	callTimeout   = 5 * time.Second
	// again is the pause after a check-in that failed.
	again = 2 * time.Second
)

// CheckIns checks a worker in. Its exported fields must be set before [CheckIns.Start].
type CheckIns struct {
	Worker   presence.Worker
	Now      func() time.Time
	Log      *slog.Logger
	Announce func(context.Context) error // sends the worker to the workflow of the installation, which it starts

	mu      sync.Mutex
	last    presence.Segment // of the one that is made, or was made last; zero: none
	present bool             // the activity runs
	changed chan struct{}    // the activity has ended
	stop    chan struct{}    // closed by Stop
	stopped chan struct{}    // closed when the announcing has ended
}

// Start announces the worker, and does so again whenever no activity follows it. It does not wait for that.
func (c *CheckIns) Start() {
	c.changed, c.stop, c.stopped = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.stopped)
		for said := false; ; {
			wait := announceEvery
			if !c.here() {
				err := c.announce()
				if err != nil && !said {
					c.Log.Warn("the worker could not check in; it tries again", slog.Any("error", err))
				}
				if said = err != nil; said {
					wait = again
				}
			}
			select {
			case <-c.stop:
				return
			case <-c.changed:
			case <-time.After(wait):
			}
		}
	}()
}

func (c *CheckIns) announce() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	go func() {
		select {
		case <-c.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return c.Announce(ctx)
}

// Stop has the worker say that it is stopped. The activity ends soon after.
func (c *CheckIns) Stop() {
	if c == nil || c.stop == nil {
		return
	}
	close(c.stop)
	<-c.stopped
}

func (c *CheckIns) here() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

// begin begins a segment: it continues the last one if that was handed over.
func (c *CheckIns) begin() presence.Segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present = true
	now := c.Now().UTC()
	s := presence.Segment{From: now, To: now}
	if c.last.End == presence.Continues {
		s.From, s.To = c.last.To, c.last.To
	}
	return s
}

func (c *CheckIns) end(s presence.Segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present, c.last = false, s
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Present checks the worker in until it stops, or is to be followed by another activity. It returns what there is to
// know of it.
func (c *CheckIns) Present(ctx context.Context, _ Input) (presence.Segment, error) {
	beat := func(s *presence.Segment) error { return checkIn(ctx, s) }
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

// checkIn sends the heartbeat of an activity.
func checkIn(ctx context.Context, s *presence.Segment) error {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return activity.GetClient(ctx).RecordActivityHeartbeatWithOptions(ctx, client.RecordActivityHeartbeatOptions{
		TaskToken: info.TaskToken, WorkflowID: info.WorkflowExecution.ID, Details: []any{*s},
	})
}
