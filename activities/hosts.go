package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"almanac/job"
)

// DefaultPerHost is how many requests to one host a worker waits for at once: a tenth of
// the actions that it holds or makes at once.
const DefaultPerHost = 2000

// HostWait is how long after its due time an attempt leaves its worker that waits for its
// host.
const HostWait = fullWait + fullInterval

// An attempt whose host has as many unanswered requests as it may have waits in the worker
// until fullWait after its due time. Then the server has it made later, after a pause that
// grows with its lateness, so that it takes no place in the worker. It has passed no fence.
const (
	fullWait     = time.Second
	fullInterval = 250 * time.Millisecond // between two looks
	leastPause   = 10 * time.Second       // give or take a half, like mostPause
	mostPause    = time.Minute

	fullWarnPause = time.Minute // between two warnings for one host
)

// errHostFull says that a host has as many unanswered requests as it may have.
var errHostFull = errors.New("the host has not answered as many requests as a worker makes to one host at once; nothing was sent")

// hosts count the requests that hosts have not answered. The zero value counts none.
type hosts struct {
	mu    sync.Mutex
	known map[string]*host // by hostKey, those with requests
}

type host struct {
	places *semaphore.Weighted
	users  int // requests that have a place or wait for one
	warned time.Time
}

// enter counts a request to a host, which may have most, or any number if that is 0. It
// waits for a place until ctx is over. leave frees it.
func (h *hosts) enter(ctx context.Context, key string, most int) (leave func(), err error) {
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

// full reports whether a host has as many requests as it may have.
func (h *hosts) full(key string, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := h.known[key]
	return to != nil && to.users >= most
}

// warn logs that a host is full, once in a while.
func (h *hosts) warn(log *slog.Logger, key, name string, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := h.known[key]
	if to == nil || time.Since(to.warned) < fullWarnPause {
		return
	}
	to.warned = time.Now()
	log.Warn("a host has not answered as many requests as a worker makes to one host at once; further ones are made later",
		slog.String("host", name), slog.Int("max-per-host", most))
}

// hostKey returns where an action goes, as requests are counted: as [hostOf], with the kind
// of receiver, for a storage account and a namespace may have one name, and with the port.
func hostKey(a *job.Action) string {
	switch {
	case a.Request != nil:
		u, err := url.Parse(a.Request.URI)
		if err != nil {
			return ""
		}
		port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
		return "host " + net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), port))
	case a.QueueMessage != nil:
		return "storage account " + hostOf(a)
	default:
		return "namespace " + hostOf(a)
	}
}

// awaitHost waits until the host may have another request. It returns errHostFull if that
// takes longer than fullWait after the due time, and otherwise why the attempt is not
// wanted any more.
func (r *Runner) awaitHost(ctx context.Context, in *Input) error {
	key := hostKey(&in.Action)
	for r.hosts.full(key, r.PerHost) {
		if r.Clock.Until(in.Execution.Due) < -fullWait {
			r.hosts.warn(r.Log, key, hostOf(&in.Action), r.PerHost)
			return errHostFull
		}
		if err := r.wait(ctx, time.Now().Add(fullInterval)); err != nil {
			return err
		}
	}
	return nil
}

// madeLater returns the error by which the server makes an attempt later that found its
// host full.
func (r *Runner) madeLater(in *Input, before *Progress) error {
	begin := in.Execution.Due
	if before.Next.After(begin) {
		begin = before.Next
	}
	pause := min(max(-r.Clock.Until(begin), leastPause), mostPause)
	pause = time.Duration(float64(pause) * (0.5 + rand.Float64()))
	return notMade(fmt.Sprintf("%s: %s", hostOf(&in.Action), errHostFull), ErrTypeUnsent, before.Attempts, pause)
}
