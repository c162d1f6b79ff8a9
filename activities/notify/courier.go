package notify

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"almanac/internal/latency"
	"almanac/job"
	"almanac/job/notification"
)

// A Courier hands the alerts of this process's jobs over to the workflows that deliver them, those of many jobs in one
// signal.
//
// A job offers what is in its outbox in a side effect of a workflow task, by [Courier.Exchange], which waits for
// nothing. When the server has recorded the task, [Courier.Recorded] lets the alerts leave. Later the job asks which
// have arrived, in the same way. It keeps the others, and offers them again: those that were lost with a process, and
// those of which another process knows. The ids of alerts make that harmless.
//
// Send and Log are required, and set before the first task.
type Courier struct {
	// Send sends alerts to a shard.
	Send func(ctx context.Context, s notification.Shard, raised []notification.Raised) error
	Log  *slog.Logger

	latency *latency.Meter
	mu      sync.Mutex
	offered map[string]offer       // by the job's workflow ID: what it offered in a task that is not recorded yet
	lines   map[string]*line       // by the shard's workflow ID: what waits for its next signal
	waiting map[string]int         // parts of an alert that have not arrived, by its id
	bytes   int                    // of these
	arrived [2]map[string]struct{} // ids of alerts that have arrived: the newest, and some before
	ask     time.Time              // when the last of the jobs asks that were told when to
	stop    chan struct{}          // closed by Stop
	sending sync.WaitGroup         // lines
}

// NewCourier returns a courier that sends the less often, the slower the server is; a nil meter means that it is quick.
func NewCourier(server *latency.Meter) *Courier {
	return &Courier{
		latency: server, offered: map[string]offer{}, lines: map[string]*line{}, waiting: map[string]int{},
		arrived: [2]map[string]struct{}{{}, {}}, stop: make(chan struct{}),
	}
}

// Exchanged is what a job learns about the alerts that it offered.
type Exchanged struct {
	HandedOver []int         `json:"handedOver,omitempty"` // positions of those that have arrived
	Again      time.Duration `json:"again,omitempty"`      // when to ask for the others
}

type offer struct {
	collection job.CollectionKey
	raised     []notification.Raised
	at         time.Time
}

// A line is what waits for the next signal to a shard, oldest first.
type line struct {
	shard  notification.Shard
	parts  []part
	failed int // signals in a row
}

// A part is what one shard gets of an alert.
type part struct {
	raised notification.Raised
	size   int // of raised as JSON
}

// Limits of what a process keeps. What does not fit stays in the outboxes of its jobs.
const (
	maxWaiting = 64 << 20 // bytes of alerts that have not arrived
	maxOffered = 4000     // tasks with alerts that are not recorded yet, of which those older than keptOffer never are
	keptOffer  = time.Minute
	maxArrived = 50_000 // ids in each part of Courier.arrived
)

// A job that has nothing else to do asks after leastAgain, and askPause later than the job before: each costs a timer
// and a workflow task, for which there is no time in a storm.
const (
	leastAgain = 30 * time.Second
	askPause   = 50 * time.Millisecond
	mostAgain  = 10 * time.Minute
)

// Limits of the signals of one process to one shard.
const (
	// maxSignal is the size limit of the alerts in a signal as JSON, in bytes. An alert that is larger is sent alone. The
	// server limits a payload to 2 MiB, and so all signals together that a workflow gets during one of its tasks.
	maxSignal = 256 << 10
	// signalPause is the time from one signal to the next. It grows with the time that the server takes to answer, up
	// to busyPause: alerts then come with the fewer signals. After a failure it grows up to failedPause.
	signalPause = 250 * time.Millisecond
	busyPause   = 8 * time.Second
	failedPause = 30 * time.Second
	// signalTimeout is the time limit of a signal.
	signalTimeout = 10 * time.Second
)

// Exchange returns which of the alerts of a job have arrived, and takes the others when the server has recorded the
// task of the workflow that offers them. They replace those that the workflow offered before. It waits for nothing.
func (c *Courier) Exchange(workflowID string, k job.CollectionKey, raised []notification.Raised) (e Exchanged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var rest []notification.Raised
	for i := range raised {
		switch id := raised[i].Alert.ID; {
		case c.hasArrived(id):
			e.HandedOver = append(e.HandedOver, i)
		case c.waiting[id] == 0:
			rest = append(rest, raised[i])
		}
	}
	c.offer(workflowID, offer{k, rest, now})
	if len(e.HandedOver) < len(raised) {
		e.Again = c.nextAsk(now)
	}
	return e
}

// offer keeps what a workflow offers until its task is recorded.
func (c *Courier) offer(workflowID string, o offer) {
	delete(c.offered, workflowID)
	if len(o.raised) == 0 {
		return
	}
	if len(c.offered) >= maxOffered {
		for id, other := range c.offered {
			if o.at.Sub(other.at) > keptOffer {
				delete(c.offered, id)
			}
		}
	}
	if len(c.offered) < maxOffered {
		c.offered[workflowID] = o
	}
}

// nextAsk returns after which time the next job is to ask.
func (c *Courier) nextAsk(now time.Time) time.Duration {
	c.ask = c.ask.Add(askPause)
	if least := now.Add(leastAgain); c.ask.Before(least) {
		c.ask = least
	}
	if most := now.Add(mostAgain); c.ask.After(most) {
		c.ask = most
	}
	return c.ask.Sub(now)
}

// Recorded notes that the server has recorded a task of a workflow. What that offered leaves.
func (c *Courier) Recorded(workflowID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.offered[workflowID]
	if !ok || c.stopped() {
		return
	}
	delete(c.offered, workflowID)
	for i := range o.raised {
		c.take(o.collection, &o.raised[i])
	}
}

// Refused notes that the server does not record a task of a workflow. It is repeated, and may offer something else.
func (c *Courier) Refused(workflowID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.offered, workflowID)
}

// take puts an alert into the lines of its shards, unless it is there or has arrived, or there is no room.
func (c *Courier) take(k job.CollectionKey, r *notification.Raised) {
	id := r.Alert.ID
	if c.waiting[id] > 0 || c.hasArrived(id) || c.bytes > maxWaiting {
		return
	}
	for number, some := range notification.Split([]notification.Raised{*r}) {
		for i := range some {
			p := part{some[i], notification.SizeOf(&some[i])}
			c.waiting[id]++
			c.bytes += p.size
			c.enqueue(notification.Shard{Collection: k, Number: number}, p)
		}
	}
}

// enqueue puts a part into the line of its shard.
func (c *Courier) enqueue(s notification.Shard, p part) {
	id := s.WorkflowID()
	if l := c.lines[id]; l != nil {
		l.parts = append(l.parts, p)
		return
	}
	l := &line{shard: s, parts: []part{p}}
	c.lines[id] = l
	c.sending.Go(func() { c.run(id, l) })
}

// run sends what waits for a shard until nothing has come for a pause.
func (c *Courier) run(id string, l *line) {
	for batch := c.next(id, l); batch != nil; batch = c.next(id, l) {
		pause := c.latency.Patience(signalPause, busyPause)
		if err := c.signal(l, batch); err != nil {
			l.failed++
			pause = min(max(pause, time.Second<<min(l.failed-1, 10)), failedPause)
			c.putBack(l, batch)
			c.log(l, len(batch), pause, err)
		} else {
			l.failed = 0
			c.arrive(batch)
		}
		select {
		case <-c.stop:
		case <-time.After(pause):
		}
	}
}

// signal sends a batch to its shard.
func (c *Courier) signal(l *line, batch []part) error {
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	raised := make([]notification.Raised, len(batch))
	for i := range batch {
		raised[i] = batch[i].raised
	}
	return c.Send(ctx, l.shard, raised)
}

func (c *Courier) log(l *line, alerts int, pause time.Duration, err error) {
	c.Log.Warn("alerts were not handed over, and are again after a pause", "collection", l.shard.Collection.ARMID(), "shard", l.shard.Number,
		"alerts", alerts, "pause", pause, "error", err)
}

// next removes and returns the parts of the next signal. If there are none, or the process stops and could not send
// the last ones, it removes the line and returns nil.
func (c *Courier) next(id string, l *line) []part {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(l.parts) == 0 || l.failed > 0 && c.stopped() {
		delete(c.lines, id)
		return nil
	}
	n, size := 1, l.parts[0].size
	for n < len(l.parts) && size+l.parts[n].size <= maxSignal {
		size += l.parts[n].size
		n++
	}
	batch := l.parts[:n:n]
	l.parts = l.parts[n:]
	return batch
}

// putBack returns the parts of a signal that failed to their line.
func (c *Courier) putBack(l *line, batch []part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.parts = slices.Concat(batch, l.parts)
}

// arrive notes that a batch has arrived.
func (c *Courier) arrive(batch []part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range batch {
		id := batch[i].raised.Alert.ID
		c.bytes -= batch[i].size
		if c.waiting[id]--; c.waiting[id] > 0 {
			continue
		}
		delete(c.waiting, id)
		if len(c.arrived[0]) == maxArrived {
			c.arrived = [2]map[string]struct{}{{}, c.arrived[0]}
		}
		c.arrived[0][id] = struct{}{}
	}
}

func (c *Courier) hasArrived(id string) bool {
	_, newest := c.arrived[0][id]
	_, before := c.arrived[1][id]
	return newest || before
}

// stopped reports whether Stop was called.
func (c *Courier) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// Stop takes nothing more, sends what waits without further pauses, and returns when that is done or ctx is. What could
// not be sent stays in the outboxes of the jobs.
func (c *Courier) Stop(ctx context.Context) {
	c.mu.Lock()
	if !c.stopped() {
		close(c.stop)
	}
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.sending.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
