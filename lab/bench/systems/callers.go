package systems

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Call is one that a caller repeats; i counts.
type Call struct {
	Name string
	Do   func(ctx context.Context, i int) error
}

// A Tenant makes calls at a steady pace, whether or not earlier ones are answered, and keeps the answers.
type Tenant struct {
	calls []Call

	mu      sync.Mutex
	stage   string
	answers []CallAnswer
}

// A CallAnswer is one call as its caller saw it.
type CallAnswer struct {
	Call   string
	Stage  string // in which it was made
	Took   time.Duration
	Failed bool // not answered by 2xx
}

// NewTenant returns a tenant that is in a stage.
func NewTenant(calls []Call, stage string) *Tenant { return &Tenant{calls: calls, stage: stage} }

// Enter begins a stage.
func (t *Tenant) Enter(stage string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage = stage
}

// CallSteadily makes all calls in turn until ctx ends, and returns once all answers are there. pause is the time
// between two calls of a kind.
func (t *Tenant) CallSteadily(ctx context.Context, pause time.Duration) {
	var calls sync.WaitGroup
	defer calls.Wait()
	pace := time.NewTicker(pause / time.Duration(len(t.calls)))
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		calls.Go(func() { t.call(context.WithoutCancel(ctx), t.calls[i%len(t.calls)], i/len(t.calls)) })
	}
}

func (t *Tenant) call(ctx context.Context, c Call, i int) {
	t.mu.Lock()
	a := CallAnswer{Call: c.Name, Stage: t.stage}
	t.mu.Unlock()
	start := time.Now()
	a.Failed = c.Do(ctx, i) != nil
	a.Took = time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = append(t.answers, a)
}

// Answers returns the answers so far.
func (t *Tenant) Answers() []CallAnswer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.answers)
}

// A Load is one call that is made on many connections at the same time, again and again.
type Load struct {
	Do func(ctx context.Context, i int) error

	Answered, Failed atomic.Int64 // by 2xx, and otherwise
}

// Start begins to call. stop ends that, and waits for the answers.
func (l *Load) Start(ctx context.Context, connections int) (stop func()) {
	calling, stopCalling := context.WithCancel(ctx)
	var all sync.WaitGroup
	var next atomic.Int64
	for range connections {
		all.Go(func() {
			for calling.Err() == nil {
				if err := l.Do(ctx, int(next.Add(1)-1)); err != nil {
					l.Failed.Add(1)
				} else {
					l.Answered.Add(1)
				}
			}
		})
	}
	return func() { stopCalling(); all.Wait() }
}
