package activities

import (
	"context"
	"errors"
	"sync"
	"time"
)

// openTimeout limits how long it takes to open what a pool keeps. Many may wait
// for it, so it is not the attempt of one of them that ends it.
const openTimeout = 30 * time.Second

var errPoolClosed = errors.New("the worker was stopped; nothing was sent")

// A pooled value can be used by many at once.
type pooled interface {
	alive() bool // at once
	close()
}

// A pool keeps values that take long to open, one for each key. It opens each
// once, however many want it, and closes those that nobody used for a while,
// that do not live any more or that are too many: never one that is in use.
type pool[K comparable, V pooled] struct {
	size int
	idle time.Duration

	mu     sync.Mutex
	leases map[K]*lease[K, V]
	closed bool

	open sync.WaitGroup // all leases whose value is not closed
}

func newPool[K comparable, V pooled](size int, idle time.Duration) *pool[K, V] {
	return &pool[K, V]{size: size, idle: idle, leases: make(map[K]*lease[K, V])}
}

// A lease is a value of a pool and who uses it.
type lease[K comparable, V pooled] struct {
	pool   *pool[K, V]
	key    K
	opened chan struct{} // closed when value or err is set
	value  V
	err    error

	// Guarded by the pool's mutex.
	users   int
	retired bool      // no longer in the pool; closed when nobody uses it
	used    time.Time // when its last user left
	timer   *time.Timer
}

// acquire returns the value of a key, for as long as it is not released. Where
// there is none it is opened; ctx limits how long this call waits, and open's
// context how long the opening takes.
func (p *pool[K, V]) acquire(ctx context.Context, key K, open func(context.Context) (V, error)) (*lease[K, V], error) {
	l, isNew := p.join(key)
	if l == nil {
		return nil, errPoolClosed
	}
	if isNew {
		go l.open(context.WithoutCancel(ctx), open)
	}
	select {
	case <-l.opened:
	case <-ctx.Done():
		l.release()
		return nil, context.Cause(ctx)
	}
	if l.err != nil {
		l.retire()
		l.release()
		return nil, l.err
	}
	return l, nil
}

func (l *lease[K, V]) open(ctx context.Context, open func(context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	defer close(l.opened)
	l.value, l.err = open(ctx)
}

// join makes the caller one of the users of a key's lease: a new one where
// there is none that works, and none at all when the pool is closed.
func (p *pool[K, V]) join(key K) (l *lease[K, V], isNew bool) {
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
		l = &lease[K, V]{pool: p, key: key, opened: make(chan struct{})}
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
func (l *lease[K, V]) isBroken() bool {
	select {
	case <-l.opened:
		return l.err != nil || !l.value.alive()
	default:
		return false
	}
}

// makeRoom retires the leases that were not used for longest, so that there is
// room for one more. Those in use stay.
func (p *pool[K, V]) makeRoom() {
	for len(p.leases) >= p.size {
		var oldest *lease[K, V]
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

// release ends a use.
func (l *lease[K, V]) release() {
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
func (l *lease[K, V]) retire() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.retireLocked()
}

// retireUnless is retire, unless fine.
func (l *lease[K, V]) retireUnless(fine bool) {
	if !fine {
		l.retire()
	}
}

// expire retires the lease if it was not used since its timer was started.
func (l *lease[K, V]) expire() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if l.users == 0 && time.Since(l.used) >= l.pool.idle {
		l.retireLocked()
	}
}

func (l *lease[K, V]) retireLocked() {
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
func (l *lease[K, V]) close() {
	defer l.pool.open.Done()
	<-l.opened
	if l.err == nil {
		l.value.close()
	}
}

// close retires all leases, and waits until nobody uses one and all values are
// closed.
func (p *pool[K, V]) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.leases {
		l.retireLocked()
	}
	p.mu.Unlock()
	p.open.Wait()
}
