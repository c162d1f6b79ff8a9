package await

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// Turns give a turn to one coroutine at a time, in the order in which they asked. The SDK's Mutex does not:
// the handler of an update runs before those of earlier updates, so of several that wait the newest is first.
// The zero value is ready for use.
type Turns struct {
	asked []*byte // the first one has the turn
}

// Wait waits for a turn, which the caller must [Turns.End]. An error says that ctx was cancelled first; there
// is no turn then.
func (t *Turns) Wait(ctx workflow.Context) error {
	own := new(byte)
	t.asked = append(t.asked, own)
	err := workflow.Await(ctx, func() bool { return t.asked[0] == own })
	if err != nil {
		t.asked = slices.DeleteFunc(t.asked, func(other *byte) bool { return other == own })
	}
	return err
}

// End ends the turn.
func (t *Turns) End() { t.asked = slices.Delete(t.asked, 0, 1) }

// Taken reports whether a coroutine has the turn.
func (t *Turns) Taken() bool { return len(t.asked) > 0 }
