// Package pool keeps values that take long to open, such as connections, and that
// many can use at once.
package pool

import (
	"context"
	"errors"
	"sync"
	"time"
)

// OpenTimeout limits how long it takes to open what a pool keeps. Many may wait
// for it, so it is not the attempt of one of them that ends it.
const OpenTimeout = 30 * time.Second

// ErrClosed is the error of [Pool.Acquire] once the pool is closed.
var ErrClosed = errors.New("the pool is closed")

// A Value can be used by many at once.
type Value interface {
	Alive() bool // at once
	Close()
}

// A Pool keeps values that take long to open, one for each key. It opens each
// once, however many want it, and closes those that nobody used for a while,
// that do not live any more or that are too many: never one that is in use.
type Pool[K comparable, V Value] struct {
	size int
	idle time.Duration

	mu     sync.Mutex
	leases map[K]*Lease[K, V]
	closed bool

	open sync.WaitGroup // all leases whose value is not closed
}

// New returns a pool of about size values, each of which is closed when nobody
// has used it for idle.
func New[K comparable, V Value](size int, idle time.Duration) *Pool[K, V] {
	return &Pool[K, V]{size: size, idle: idle, leases: make(map[K]*Lease[K, V])}
}

// A Lease is a value of a pool and who uses it.
type Lease[K comparable, V Value] struct {
	pool   *Pool[K, V]
	key    K
	opened chan struct{} // closed when Value or err is set
	Value  V
	err    error

	// Guarded by the pool's mutex.
	users   int
	retired bool      // no longer in the pool; closed when nobody uses it
	used    time.Time // when its last user left
	timer   *time.Timer
}

// Acquire returns the value of a key, for as long as it is not released. Where
// there is none it is opened; ctx limits how long this call waits, and open's
// context how long the opening takes.
func (p *Pool[K, V]) Acquire(ctx context.Context, key K, open func(context.Context) (V, error)) (*Lease[K, V], error) {
	l, isNew := p.join(key)
	if l == nil {
		return nil, ErrClosed
	}
	if isNew {
		go l.open(context.WithoutCancel(ctx), open)
	}
	select {
	case <-l.opened:
	case <-ctx.Done():
		l.Release()
		return nil, context.Cause(ctx)
	}
	if l.err != nil {
		l.retire()
		l.Release()
		return nil, l.err
	}
	return l, nil
}

func (l *Lease[K, V]) open(ctx context.Context, open func(context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(ctx, OpenTimeout)
	defer cancel()
	defer close(l.opened)
	l.Value, l.err = open(ctx)
}

// join makes the caller one of the users of a key's lease: a new one where
// there is none that works, and none at all when the pool is closed.
func (p *Pool[K, V]) join(key K) (l *Lease[K, V], isNew bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	l = p.leases[key]
	if l != nil && l.isBroken() {
		l.retireLocked()
		l = nil
	}
	if l == nil {
		p.makeRoom()
		isNew = true
		l = &Lease[K, V]{pool: p, key: key, opened: make(chan struct{})}
		p.leases[key] = l
		p.open.Add(1)
	}
	l.users++
	if l.timer != nil {
		l.timer.Stop()
	}
	return l, isNew
}

// isBroken reports whether the value is of no use any more.
func (l *Lease[K, V]) isBroken() bool {
	select {
	case <-l.opened:
		return l.err != nil || !l.Value.Alive()
	default:
		return false
	}
}

// makeRoom retires the leases that were not used for longest, so that there is
// room for one more. Those in use stay.
func (p *Pool[K, V]) makeRoom() {
	for len(p.leases) >= p.size {
		var oldest *Lease[K, V]
		for _, l := range p.leases {
			if l.users == 0 && (oldest == nil || l.used.Before(oldest.used)) {
				oldest = l
			}
		}
		if oldest == nil {
			return
		}
		oldest.retireLocked()
	}
}

// Release ends a use.
func (l *Lease[K, V]) Release() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	if l.retired {
		go l.close()
		return
	}
	l.used = time.Now()
	l.timer = time.AfterFunc(l.pool.idle, l.expire)
}

// retire takes the lease out of the pool, so that the next one who asks gets
// another. Its users may go on.
func (l *Lease[K, V]) retire() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.retireLocked()
}

// RetireUnless takes the value out of the pool, unless fine: the next one who asks gets
// another. Its users may go on.
func (l *Lease[K, V]) RetireUnless(fine bool) {
	if !fine {
		l.retire()
	}
}

// expire retires the lease if it was not used since its timer was started.
func (l *Lease[K, V]) expire() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if l.users == 0 && time.Since(l.used) >= l.pool.idle {
		l.retireLocked()
	}
}

func (l *Lease[K, V]) retireLocked() {
	if l.retired {
		return
	}
	l.retired = true
	delete(l.pool.leases, l.key)
	if l.users == 0 {
		go l.close()
	}
}

// close closes the value, when it is open.
func (l *Lease[K, V]) close() {
	defer l.pool.open.Done()
	<-l.opened
	if l.err == nil {
		l.Value.Close()
	}
}

// Close retires all leases, and waits until nobody uses one and all values are
// closed.
func (p *Pool[K, V]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.leases {
		l.retireLocked()
	}
	p.mu.Unlock()
	p.open.Wait()
}
