package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"almanac/internal/latency"
	"almanac/job"
	"almanac/job/notification"
)

// A RaiseInput has the alerts that a job hands over to the workflows that deliver them.
type RaiseInput struct {
	Collection job.CollectionKey     `json:"collection"`
	Type       string                `json:"type"`  // of the workflows; one that does not run is started
	Queue      string                `json:"queue"` // their task queue
	Signal     string                `json:"signal"`
	Raised     []notification.Raised `json:"raised"`
}

// Raise hands alerts over. It returns when each shard has its part. Alerts that other jobs raise at the same time are
// sent with it.
func (a *Activities) Raise(ctx context.Context, in RaiseInput) error {
	var parts []*part
	for number, raised := range notification.Split(in.Raised) {
		if len(raised) > 0 {
			shard := notification.Shard{Collection: in.Collection, Number: number}
			parts = append(parts, &part{ctx: ctx, shard: shard, input: &in, raised: raised, size: notification.SizeOf(raised), done: make(chan struct{})})
		}
	}
	for _, p := range parts {
		a.merger.add(p, a.Latency)
	}
	var errs []error
	for _, p := range parts {
		select {
		case <-p.done:
			errs = append(errs, p.err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// A part is what one call of [Activities.Raise] hands over to one shard.
type part struct {
	ctx    context.Context // of the call
	shard  notification.Shard
	input  *RaiseInput
	raised []notification.Raised
	size   int           // of raised as JSON
	done   chan struct{} // closed when err is set
	err    error
}

// Limits of the signals of one process to one shard.
const (
	// maxSignal is the size limit of the alerts in a signal as JSON, in bytes. A part that is larger is sent alone. The
	// server limits a payload to 2 MiB, and so all signals together that a workflow gets during one of its tasks.
	maxSignal = 256 << 10
	// signalPause is the time from one signal to the next. It grows with the time that the server takes to answer, up
	// to busyPause: it then answers the more hand-overs, the fewer signals they make.
	signalPause = 250 * time.Millisecond
	busyPause   = 8 * time.Second
	// signalTimeout is the time limit of a signal.
	signalTimeout = 10 * time.Second
)

// A merger makes few signals of many parts: those that come within a pause after the last signal to their shard are
// sent together. The zero value is ready.
type merger struct {
	signal func(id string, batch []*part) // for tests; nil means signal

	mu sync.Mutex
	// that wait, by the shard's workflow ID; an entry exists until a pause after the last signal
	lines map[string][]*part
}

// add sends a part with others, and closes its channel when that is done.
func (m *merger) add(p *part, server *latency.Meter) {
	id := p.shard.WorkflowID()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines == nil {
		m.lines = map[string][]*part{}
	}
	waiting, busy := m.lines[id]
	m.lines[id] = append(waiting, p)
	if !busy {
		go m.send(id, server)
	}
}

// send sends what waits for a shard until nothing has come for a pause.
func (m *merger) send(id string, server *latency.Meter) {
	for batch := m.next(id); batch != nil; batch = m.next(id) {
		if send := m.signal; send != nil {
			send(id, batch)
		} else if len(batch) > 0 {
			signal(id, batch)
		}
		time.Sleep(server.Patience(signalPause, busyPause))
	}
}

// next removes and returns the parts of the next signal: none if all callers have given up, and nil if nothing waits.
func (m *merger) next(id string) []*part {
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting := m.lines[id]
	if len(waiting) == 0 {
		delete(m.lines, id)
		return nil
	}
	batch, size, taken := []*part{}, 0, 0
	for _, p := range waiting {
		if p.ctx.Err() == nil {
			if len(batch) > 0 && size+p.size > maxSignal {
				break
			}
			batch, size = append(batch, p), size+p.size
		}
		taken++
	}
	m.lines[id] = waiting[taken:]
	return batch
}

// signal sends parts in one signal.
func signal(id string, batch []*part) {
	p := batch[0]
	// it must outlive the call of any one part
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), signalTimeout)
	defer cancel()
	var raised []notification.Raised
	for _, p := range batch {
		raised = append(raised, p.raised...)
	}
	summary := "notifications of job collection " + p.shard.Collection.Name
	if p.shard.Number > 0 {
		summary += fmt.Sprintf(", shard %d of the targets of its jobs", p.shard.Number)
	}
	_, err := activity.GetClient(ctx).SignalWithStartWorkflow(ctx, id, p.input.Signal, raised, client.StartWorkflowOptions{
		TaskQueue: p.input.Queue, StaticSummary: summary,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, p.input.Type, p.shard)
	for _, p := range batch {
		p.err = err
		close(p.done)
	}
}
