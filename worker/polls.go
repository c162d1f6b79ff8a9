package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"almanac/internal/latency"
)

// A worker that is stopped or cut off leaves its polls open at the server, which gives them tasks until they end: by
// default for a minute. A task that was given away so is lost until it times out. So a worker's polls end soon, unless
// the server is so slow that it could still be handing over a task when they do; and few are open while few tasks come.
const (
	// DefaultPollTimeout is the time limit of a poll. The server answers a second before that, and refuses less than
	// two seconds.
	DefaultPollTimeout = 2500 * time.Millisecond

	// MaxPollTimeout is the time limit of the SDK.
	MaxPollTimeout = 70 * time.Second

	// slowCall is how long calls must have taken on average for the server to be slow, and a poll for tasks that it did
	// not answer in time counts as slow for slowKept.
	slowCall = 300 * time.Millisecond
	slowKept = 2 * time.Minute

	// fewPolls and manyPolls limit how many polls of a task queue are open at once. A task for which there is none is
	// written to the database: 0.9 for each execution with 10, none with 24.
	fewPolls  = 2
	manyPolls = 24

	// stopPause is the pause of a poll that is not made because the worker stops.
	stopPause = 50 * time.Millisecond

	// quickPoll is within what time a poll must have got a task for one more to be opened, and idlePoll after what time
	// for one less.
	quickPoll = 100 * time.Millisecond
	idlePoll  = time.Second
)

// pollLimit limits the polls of a worker.
type pollLimit struct {
	timeout time.Duration // 0: that of the SDK, and any number of polls
	meter   *latency.Meter

	mu       sync.Mutex
	slow     time.Time // when a poll was not answered; zero: never
	gates    map[string]*gate
	stopping bool
}

// busy reports whether the server was slow lately.
func (p *pollLimit) busy(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.meter.Lately() > slowCall || !p.slow.IsZero() && now.Sub(p.slow) < slowKept
}

func (p *pollLimit) wasSlow(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = now
}

// intercept limits polls.
func (p *pollLimit) intercept(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	poll, isPoll := request.(interface{ GetTaskQueue() *taskqueue.TaskQueue })
	isPoll = isPoll && (method == workflowservice.WorkflowService_PollWorkflowTaskQueue_FullMethodName || method == workflowservice.WorkflowService_PollActivityTaskQueue_FullMethodName)
	switch {
	case method == workflowservice.WorkflowService_ShutdownWorker_FullMethodName:
		p.stop()
	case isPoll && p.timeout > 0:
		return p.poll(ctx, p.gate(method+poll.GetTaskQueue().GetName()), func(ctx context.Context) (found bool, err error) {
			err = call(ctx, method, request, answer, c, o...)
			task, ok := answer.(interface{ GetTaskToken() []byte })
			return ok && len(task.GetTaskToken()) > 0, err
		})
	}
	return call(ctx, method, request, answer, c, o...)
}

// poll makes a poll, when g lets it. A poll that was not made or not answered in time is one without a task.
func (p *pollLimit) poll(ctx context.Context, g *gate, call func(context.Context) (found bool, err error)) error {
	if !g.enter(ctx) {
		return nil
	}
	begin, limit := time.Now(), p.timeout
	if p.busy(begin) {
		limit = MaxPollTimeout
	}
	// The SDK's time limit began before the wait at the gate: with the little that is left of it, the server would end
	// the poll with an error.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) { // the worker stops
			cancel()
		}
	})()
	found, err := call(limited)
	g.leave(found, time.Since(begin))
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		p.wasSlow(time.Now())
		return nil
	}
	return err
}

// gate returns the gate of a task queue.
func (p *pollLimit) gate(queue string) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.gates[queue]
	if g == nil {
		if p.gates == nil {
			p.gates = map[string]*gate{}
		}
		g = newGate()
		p.gates[queue] = g
		if p.stopping {
			close(g.stopped)
		}
	}
	return g
}

// stop ends the waits at all gates: the worker stops when all its polls have ended.
func (p *pollLimit) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return
	}
	p.stopping = true
	for _, g := range p.gates {
		close(g.stopped)
	}
}

// A gate limits how many polls of a task queue are open: fewPolls at rest, and up to manyPolls while tasks come fast.
type gate struct {
	places  chan struct{} // one for each poll that may begin
	stopped chan struct{} // closed when the worker stops

	mu   sync.Mutex
	most int // places, and polls that are open
}

func newGate() *gate {
	g := &gate{places: make(chan struct{}, manyPolls), stopped: make(chan struct{}), most: fewPolls}
	for range fewPolls {
		g.places <- struct{}{}
	}
	return g
}

// enter waits until a poll may begin, and reports whether it may.
func (g *gate) enter(ctx context.Context) bool {
	select {
	case <-g.places:
		return true
	case <-g.stopped:
		select {
		case <-time.After(stopPause):
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return false
}

// leave ends a poll.
func (g *gate) leave(found bool, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := g.most
	switch {
	case found && took < quickPoll:
		next = min(g.most+1, manyPolls)
	case !found || took > idlePoll:
		next = max(g.most-1, fewPolls)
	}
	for range next - g.most + 1 {
		g.places <- struct{}{}
	}
	g.most = next
}
