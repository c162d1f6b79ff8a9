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

// DefaultPerHost is the default limit of unanswered requests per host and worker: a tenth of the
// worker's activity slots.
const DefaultPerHost = 2000

// HostWait is the longest that an attempt waits in its worker for its host, from its due time on.
const HostWait = fullWait + fullInterval

// An attempt whose host has reached its limit of unanswered requests waits in the worker until fullWait
// after its due time. Then the server retries it after a pause equal to its lateness, within leastPause
// and mostPause, plus or minus half. It takes no activity slot meanwhile, and has passed no fence.
const (
	fullWait     = time.Second
	fullInterval = 250 * time.Millisecond // between two checks
	leastPause   = 10 * time.Second
	mostPause    = time.Minute

	fullWarnPause = time.Minute // between two warnings per host
)

var errHostFull = errors.New("the host has not answered as many requests as a worker makes to one host at once; nothing was sent")

// hosts counts the unanswered requests per host. The zero value is ready for use.
type hosts struct {
	mu    sync.Mutex
	known map[string]*host // by hostKey; only hosts with requests
}

type host struct {
	places *semaphore.Weighted
	users  int // requests that have a place or wait for one
	warned time.Time
}

// enter takes one of most places for requests to a host, waiting until ctx is done; 0 means no limit.
// leave frees it.
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

func (h *hosts) full(key string, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := h.known[key]
	return to != nil && to.users >= most
}

// warn logs at most once per fullWarnPause that a host has reached its limit.
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

// hostKey returns the key under which an action's requests are counted: [hostOf] with the port, and
// with the kind of receiver, since a storage account and a namespace may have the same name.
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

// awaitHost waits until the host is below its limit. It returns errHostFull if that takes longer than
// fullWait after the due time, or the error of wait.
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

// hostFullError returns the error by which the server retries an attempt whose host had reached its limit.
func (r *Runner) hostFullError(in *Input, progress *Progress) error {
	begin := in.Execution.Due
	if progress.Next.After(begin) {
		begin = progress.Next
	}
	pause := min(max(-r.Clock.Until(begin), leastPause), mostPause)
	pause = time.Duration(float64(pause) * (0.5 + rand.Float64()))
	return unsentError(fmt.Sprintf("%s: %s", hostOf(&in.Action), errHostFull), ErrTypeUnsent, progress.Attempts, pause)
}
