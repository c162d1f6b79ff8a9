package bench

import (
	"context"
	"time"

	"almanac/lab/bench/systems"
	"almanac/lab/wait"
)

const (
	// calm is how long nothing is due before a tick.
	calm = 15 * time.Second

	createdPerSecond = 40 // jobs, in any system
)

// creating returns how long it takes to create jobs, at most.
func creating(jobs int) time.Duration { return time.Duration(jobs) * time.Second / createdPerSecond }

// pause waits for d, or until ctx ends: what follows returns the error of ctx.
func pause(ctx context.Context, d time.Duration) { _ = wait.For(ctx, d) }

// awaitTicks waits until a herd has had its ticks and it is calm before the next one, and returns
// them. A smoke test does not wait once all requests have come.
func (b *bench) awaitTicks(ctx context.Context, h systems.Herd, ticks int) ([]systems.Tick, error) {
	end := h.First.Add(time.Duration(ticks)*h.Every - calm)
	err := wait.Until(ctx, time.Until(end),
		func() bool { return b.options.Smoke && b.receiver.Count(h.Name) >= ticks*h.Jobs })
	return systems.SortTicks(h, ticks, b.receiver.Take(h.Name)), err
}
