package wfclient

import (
	"context"
	"sync"

	"go.temporal.io/sdk/converter"
)

// flights have the callers of one query of one workflow share it. A query is made at a time; those who ask meanwhile
// share the next one, which begins after all of them asked, so that each sees every change that was answered before it
// asked. Without that, a herd on a busy machine made a query each: if a worker did not answer in time, each was
// repeated, and each attempt made a worker read the whole history of the workflow again, which took so long that all
// were in vain. The zero value is ready for use.
type flights struct {
	mu    sync.Mutex
	lines map[string]*line // by query; one exists while a query is made
}

type line struct{ next *flight } // that begins when the one being made has ended; nil for none

// A flight is a query that is made, or will be, for some callers.
type flight struct {
	begin  func() // makes it, and closes done
	ctx    context.Context
	cancel context.CancelFunc // once no caller waits any more
	users  int
	done   chan struct{}
	value  converter.EncodedValue
	err    error
}

// share returns what ask returns for this caller and others with the same key.
func (f *flights) share(ctx context.Context, key string, ask func(context.Context) (converter.EncodedValue, error)) (converter.EncodedValue, error) {
	one := f.join(ctx, key, ask)
	select {
	case <-one.done:
		return one.value, one.err
	case <-ctx.Done():
		f.leave(one)
		return nil, ctx.Err()
	}
}

// join returns the flight of a caller, which begins now or after the one that is being made.
func (f *flights) join(ctx context.Context, key string, ask func(context.Context) (converter.EncodedValue, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lines[key]
	if l != nil && l.next != nil && l.next.users > 0 {
		l.next.users++
		return l.next
	}
	one := &flight{users: 1, done: make(chan struct{})}
	one.ctx, one.cancel = context.WithCancel(context.WithoutCancel(ctx))
	one.begin = func() {
		one.value, one.err = ask(one.ctx)
		close(one.done)
		one.cancel()
		f.end(key)
	}
	if l != nil {
		l.next = one
		return one
	}
	if f.lines == nil {
		f.lines = map[string]*line{}
	}
	f.lines[key] = &line{}
	go one.begin()
	return one
}

// leave ends a flight for which nobody waits any more.
func (f *flights) leave(one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.users--; one.users == 0 {
		one.cancel()
	}
}

// end begins the next flight, if somebody waits for it.
func (f *flights) end(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lines[key]
	if l.next == nil || l.next.users == 0 {
		delete(f.lines, key)
		return
	}
	go l.next.begin()
	l.next = nil
}
