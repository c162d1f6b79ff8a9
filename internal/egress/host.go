package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// TemporalPorts are the ports that the services of a Temporal cluster listen on by default: each service for the others
// (7234 to 7239), the frontend for clients by gRPC (7233, 7236) and by HTTP (7243, 7246), and the membership of each
// (6933 to 6939). Who reaches one of them can read and end all workflows.
var TemporalPorts = []uint16{7233, 7234, 7235, 7236, 7239, 7243, 7246, 6933, 6934, 6935, 6936, 6939}

const (
	hostAge    = 5 * time.Second  // from when on the addresses of a host are looked up anew
	maxHostAge = 30 * time.Second // from when on a connection waits for them
	// how long an address counts after DNS had it last: answers may be parts of a longer list.
	keepHost   = 10 * time.Minute
	dnsTimeout = 5 * time.Second
)

const (
	ownHost = "no action may reach this host: Almanac or Temporal runs there; an operator can except a port of " +
		"another service, with --egress-allow HOST:PORT"
	likelyPort = "no action may reach this port of this machine: Almanac or a Web UI of Temporal usually listens " +
		"there; an operator can except it, with --egress-allow HOST:PORT"
)

// ProtectHost refuses connections to a host that Temporal or another service of Almanac runs on: to every port, by its
// name and by the addresses that the name has. Entries of the allow list with a port are excepted, but for
// [TemporalPorts].
//
// On this machine, which runs other services as well, it refuses these ports alone, as [Guard.Protect] does.
//
// The error means that host is neither an address nor a name.
func (g *Guard) ProtectHost(host string) error {
	h := normal(strings.Trim(host, "[]"))
	if a, err := netip.ParseAddr(h); err == nil {
		h = plain(a).String()
	} else if err := new(list).add(h); err != nil || strings.ContainsAny(h, "*/") {
		return fmt.Errorf("%q is no host; allowed: an address such as 10.1.2.3, or a name such as temporal.internal", host)
	}
	for _, port := range TemporalPorts {
		g.protect(endpoint{host: h, port: port, optional: true})
	}
	if a, ok := address(h); isLocalhost(h) || ok && (a.IsLoopback() || a.IsUnspecified()) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hosts = append(g.hosts, &protectedHost{name: h})
	return nil
}

// ProtectLikely refuses connections to ports of this machine that the allow list does not except, because servers of
// Almanac that this process does not know may listen there.
func (g *Guard) ProtectLikely(ports ...uint16) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, port := range ports {
		g.likely = append(g.likely, endpoint{host: ipv4Loopback.String(), port: port})
	}
}

// CheckExceptions returns an error if the allow list names a port that no setting allows.
func (g *Guard) CheckExceptions() error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, e := range g.allow.endpoints {
		a, literal := address(e.host)
		for _, p := range g.protected {
			b, ok := address(p.host)
			if p.port == e.port && (p.host == e.host || literal && ok && g.same(plain(a), plain(b))) {
				return fmt.Errorf("the egress allow list has %q, where Almanac or Temporal listens: no setting allows "+
					"that port; allowed: ports of other services", e)
			}
		}
	}
	return nil
}

// A protectedHost is a host whose addresses are looked up when they are needed, and are kept for a while.
type protectedHost struct {
	name string // normal

	mu      sync.Mutex
	seen    map[netip.Addr]time.Time // when DNS had each address last
	known   time.Time                // when DNS answered last
	tried   time.Time                // when a look-up ended last
	looking chan struct{}            // is closed when the look-up ends that is going on; nil without one
}

func (g *Guard) now() time.Time {
	if g.clock != nil {
		return g.clock()
	}
	return time.Now()
}

// has reports whether a plain address is one of the host's. The error means that DNS has never said which ones it has.
func (h *protectedHost) has(ctx context.Context, g *Guard, a netip.Addr) (bool, error) {
	if b, ok := address(h.name); ok {
		return a == plain(b) || behind(a) == plain(b), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.now().Sub(h.tried) > hostAge && h.looking == nil {
		h.looking = make(chan struct{})
		go h.look(context.WithoutCancel(ctx), g)
	}
	if looking := h.looking; looking != nil && g.now().Sub(h.known) > maxHostAge {
		h.mu.Unlock()
		select {
		case <-looking:
		case <-ctx.Done():
		}
		h.mu.Lock()
	}
	_, own := h.seen[a]
	_, leads := h.seen[behind(a)]
	if h.known.IsZero() {
		return false, errUndecided
	}
	return own || leads, nil
}

// look asks DNS for the addresses. A name that does not exist has none. If DNS does not answer, those of before stay.
func (h *protectedHost) look(ctx context.Context, g *Guard) {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	found, err := g.lookup(ctx, h.name)
	if isMissing(err) {
		err = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := g.now()
	close(h.looking)
	h.looking, h.tried = nil, now
	if err != nil {
		return
	}
	h.known = now
	if h.seen == nil {
		h.seen = map[netip.Addr]time.Time{}
	}
	for a, last := range h.seen {
		if now.Sub(last) > keepHost {
			delete(h.seen, a)
		}
	}
	for _, a := range found {
		h.seen[plain(a)] = now
	}
}

// isMissing reports whether DNS says that a name does not exist.
func isMissing(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// checkHost returns an error if a plain address is one of a protected host, and the port is not excepted.
func (t *target) checkHost(ctx context.Context, a netip.Addr, port uint16) error {
	g := t.guard
	g.mu.RLock()
	hosts := g.hosts
	g.mu.RUnlock()
	if len(hosts) == 0 || t.excepted(a, port) {
		return nil
	}
	if t.protected {
		return &RefusedError{Target: t.host, Rule: ownHost}
	}
	if g.isHere(a) {
		return nil
	}
	for _, h := range hosts {
		switch found, err := h.has(ctx, g, a); {
		case err != nil:
			return err
		case found:
			return &RefusedError{Target: t.host, Rule: ownHost}
		}
	}
	return nil
}

// checkLikely returns an error if a plain address is of this machine, and the port is one of [Guard.ProtectLikely].
func (t *target) checkLikely(a netip.Addr, port uint16) error {
	g := t.guard
	g.mu.RLock()
	likely := g.likely
	g.mu.RUnlock()
	if !slices.ContainsFunc(likely, func(e endpoint) bool { return e.port == port }) || !g.isHere(a) || t.excepted(a, port) {
		return nil
	}
	return &RefusedError{Target: t.host, Rule: likelyPort}
}

// excepted reports whether the allow list has the port of the target, by its name or by a plain address.
func (t *target) excepted(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(t.guard.allow.endpoints, func(e endpoint) bool {
		if e.port != port {
			return false
		}
		b, literal := address(e.host)
		return e.host == normal(t.host) || literal && t.guard.same(a, plain(b))
	})
}

// checkLiteralHost is checkHost without DNS: it compares addresses with those hosts that are addresses.
func (t *target) checkLiteralHost(a netip.Addr, port uint16) error {
	g := t.guard
	g.mu.RLock()
	defer g.mu.RUnlock()
	is := func(h *protectedHost) bool {
		b, ok := address(h.name)
		return ok && (a == plain(b) || behind(a) == plain(b))
	}
	if g.isHere(a) || !slices.ContainsFunc(g.hosts, is) || t.excepted(a, port) {
		return nil
	}
	return &RefusedError{Target: t.host, Rule: ownHost}
}
