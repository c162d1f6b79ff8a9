// Package wait waits until time has passed or a condition holds.
package wait

import (
	"context"
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

// Until waits until the condition holds, at most for the time limit, or until ctx ends. It
// returns the error of ctx.
func Until(ctx context.Context, limit time.Duration, condition func() bool) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && !condition(); {
		if err := For(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}
