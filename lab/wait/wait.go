// Package wait waits until time has passed, a condition holds or calls have returned.
package wait

import (
	"context"
	"sync"
	"time"
)

// For waits for d, or until ctx ends. It returns the error of ctx.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Until waits until the condition holds, the time limit is over or ctx ends. It returns the error of ctx.
func Until(ctx context.Context, limit time.Duration, condition func() bool) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && !condition(); {
		if err := For(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Calls calls f with the numbers from 0 to n-1, up to limit at the same time, and waits until all have returned.
func Calls(n, limit int, f func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, limit)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	group.Wait()
}
