// Package hosts limits how many requests of a process one host has not answered.
package hosts

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const warnPause = time.Minute // between two warnings per host

// A Limiter counts the unanswered requests per host, and limits them. The zero value is ready for use.
type Limiter struct {
	mu    sync.Mutex
	known map[string]*host // by key; only hosts with requests
}

type host struct {
	places *semaphore.Weighted
	users  int // requests that have a place or wait for one
	warned time.Time
}

// Enter takes one of most places for requests to a host, waiting until ctx is done; 0 means no limit.
// leave frees it.
func (h *Limiter) Enter(ctx context.Context, key string, most int) (leave func(), err error) {
	if most <= 0 {
		return func() {}, nil
	}
	h.mu.Lock()
	if h.known == nil {
		h.known = map[string]*host{}
	}
	to := h.known[key]
	if to == nil {
		to = &host{places: semaphore.NewWeighted(int64(most))}
		h.known[key] = to
	}
	to.users++
	h.mu.Unlock()
	done := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if to.users--; to.users == 0 {
			delete(h.known, key)
		}
	}
	if err := to.places.Acquire(ctx, 1); err != nil {
		done()
		return nil, err
	}
	return func() {
		to.places.Release(1)
		done()
	}, nil
}

// Full reports whether a host has reached its limit.
func (h *Limiter) Full(key string, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := h.known[key]
	return to != nil && to.users >= most
}

// Warn logs at most once per warnPause that a host has reached its limit.
func (h *Limiter) Warn(log *slog.Logger, key, name string, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := h.known[key]
	if to == nil || time.Since(to.warned) < warnPause {
		return
	}
	to.warned = time.Now()
	log.Warn("a host has not answered as many requests as a worker makes to one host at once; further ones are made later",
		slog.String("host", name), slog.Int("max-per-host", most))
}
