// Package await has what the coroutines of a workflow wait for: a timer, their turn, and signals.
package await

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// A Timer fires at a given time. The zero value never fires.
type Timer struct {
	At     time.Time // when it fires; zero for never
	future workflow.Future
	cancel workflow.CancelFunc
}

// Set makes the timer fire at the given time, or never if that is zero. A timer already set for it is
// kept. Cancelling the workflow does not stop it.
func (t *Timer) Set(ctx workflow.Context, at time.Time) {
	pending := t.future != nil && !t.future.IsReady()
	if pending && t.At.Equal(at) {
		return
	}
	if pending {
		t.cancel()
	}
	*t = Timer{}
	if at.IsZero() {
		return
	}
	// otherwise it would be cancelled with the workflow, and seem to fire
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	*t = Timer{At: at, cancel: cancel, future: workflow.NewTimerWithOptions(ctx, at.Sub(workflow.Now(ctx)),
		workflow.TimerOptions{Summary: "until " + at.UTC().Format("2006-01-02T15:04:05.999Z07:00")})}
}

// SetBy makes the timer fire at the given time, as Set, or earlier: one that was set for an earlier time is kept. That
// costs no events, where the time is put off again and again. The waiter then checks whether it is time.
func (t *Timer) SetBy(ctx workflow.Context, at time.Time) {
	if t.future == nil || t.future.IsReady() || t.At.After(at) {
		t.Set(ctx, at)
	}
}

// Fired reports whether the timer has fired since it was set.
func (t *Timer) Fired() bool { return t.future != nil && t.future.IsReady() }
