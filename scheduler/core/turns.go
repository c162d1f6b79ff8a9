package core

import (
	"context"
	"sync"

	"almanac/job"
)

// Turns have the changes of one job or job collection by this API follow one another. Each is a read and a write that is
// refused if another change came in between, and then starts over: if n came at the same time, n²/2 reads and writes
// would be made, which on a busy machine took longer than a request may. The zero value is ready for use. Changes by
// other APIs are not waited for; they may still be in between.
type Turns struct {
	mu    sync.Mutex
	queue map[string]*turn // by workflow ID
}

type turn struct {
	free  chan struct{} // holds a value while nobody has the turn
	users int           // those that have it or wait for it
}

// Take waits until no other change of the workflow is being made. The caller must call done when its own has been made.
func (t *Turns) Take(ctx context.Context, id string) (done func(), err error) {
	one := t.enter(id)
	select {
	case <-one.free:
		return func() {
			one.free <- struct{}{}
			t.leave(id, one)
		}, nil
	case <-ctx.Done():
		t.leave(id, one)
		return nil, &job.Error{
			Kind: job.KindUnavailable, Code: "ServiceUnavailable", Err: ctx.Err(),
			Message: "Other changes of the resource took all the time of this one. It was not begun.",
		}
	}
}

func (t *Turns) enter(id string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.queue[id]
	if one == nil {
		one = &turn{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		if t.queue == nil {
			t.queue = map[string]*turn{}
		}
		t.queue[id] = one
	}
	one.users++
	return one
}

func (t *Turns) leave(id string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.queue, id)
	}
}
