// Package turn lets the coroutines of a workflow take turns.
package turn

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// A Queue gives a turn to one coroutine at a time, in the order in which they asked. The SDK's Mutex does not:
// the handler of an update runs before those of earlier updates, so of several that wait the newest is first.
// The zero value is ready for use.
type Queue struct {
	asked []*byte // the first one has the turn
}

// Wait waits for a turn, which the caller must [Queue.End]. An error says that ctx was cancelled first; there
// is no turn then.
func (q *Queue) Wait(ctx workflow.Context) error {
	own := new(byte)
	q.asked = append(q.asked, own)
	err := workflow.Await(ctx, func() bool { return q.asked[0] == own })
	if err != nil {
		q.asked = slices.DeleteFunc(q.asked, func(other *byte) bool { return other == own })
	}
	return err
}

// End ends the turn.
func (q *Queue) End() { q.asked = slices.Delete(q.asked, 0, 1) }

// Taken reports whether a coroutine has the turn.
func (q *Queue) Taken() bool { return len(q.asked) > 0 }
