package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// An endpoint is one port of a host.
type endpoint struct {
	host string // normal: an address or a name
	port uint16
}

// parseEndpoint reads host:port. A host that is empty is the unspecified address.
func parseEndpoint(address string) (endpoint, error) {
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		return endpoint{}, err
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{normal(host), uint16(port)}, nil
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(int(e.port))) }

// ownPort is the rule of the endpoints that [Guard.Protect] was told.
const ownPort = "no action may reach this port: Almanac or Temporal listens there; no setting allows it"

// Protect refuses connections to a port of a host, whatever the mode and the
// lists say. It is for what Almanac and Temporal listen on, which ask for no
// login and know the secrets of all jobs.
//
// The host is an address or a name. An address of this machine, loopback and
// unspecified ones included, stands for all of them: so what a wildcard address
// listens on is covered. A name stands for all addresses that it resolves to
// when a connection to that port is about to be made; while it cannot be
// resolved, no connection to that port is made.
func (g *Guard) Protect(address string) error {
	e, err := parseEndpoint(address)
	if err != nil {
		return fmt.Errorf("%q is no host:port: %w", address, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.protected = append(g.protected, e)
	return nil
}

// errUndecided is the error while the host of an endpoint cannot be looked up.
// It says neither which one that is nor what the target's name resolves to.
var errUndecided = errors.New("this port of some host is not for actions, and DNS does not say at the moment which addresses that host has")

// A resolver returns the addresses of an endpoint's host.
type resolver func(host string) ([]netip.Addr, error)

// checkPort returns why the target may not be connected to at a plain address
// and port, if an endpoint forbids it.
func (t *target) checkPort(a netip.Addr, port uint16, resolve resolver) error {
	g := t.guard
	g.mu.RLock()
	protected := g.protected
	g.mu.RUnlock()
	if e, err := g.leadsTo(protected, a, port, resolve); err != nil {
		return err
	} else if e != nil {
		return &RefusedError{Target: t.host, Rule: ownPort}
	}
	e, err := g.leadsTo(g.deny.endpoints, a, port, resolve)
	if err == nil && e != nil {
		err = denied(t.host, e.String())
	}
	return err
}

// leadsTo returns which of the endpoints a connection to a plain address and
// port ends at; nil for none.
func (g *Guard) leadsTo(endpoints []endpoint, a netip.Addr, port uint16, resolve resolver) (*endpoint, error) {
	for i, e := range endpoints {
		if e.port != port {
			continue
		}
		addresses, err := resolve(e.host)
		if err != nil {
			return nil, errUndecided
		}
		if slices.ContainsFunc(addresses, func(b netip.Addr) bool { return g.same(a, plain(b)) }) {
			return &endpoints[i], nil
		}
	}
	return nil, nil
}

// same reports whether connections to two plain addresses end at the same
// machine, as far as this one can tell.
func (g *Guard) same(a, b netip.Addr) bool {
	return a == b || behind(a) == b || g.isHere(a) && g.isHere(b)
}

// isHere reports whether a connection to a plain address ends at this machine.
func (g *Guard) isHere(a netip.Addr) bool {
	return a.IsLoopback() || behind(a).IsLoopback() || g.machine.has(a) || g.machine.has(behind(a))
}

// lookup returns the addresses of an endpoint's host as they are now.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, ok := address(host); ok {
		return []netip.Addr{a}, nil
	}
	return cmp.Or(g.resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", host)
}

// known returns the addresses of an endpoint's host that are known without a
// look at DNS.
func known(host string) ([]netip.Addr, error) {
	if a, ok := address(host); ok {
		return []netip.Addr{a}, nil
	}
	if isLocalhost(host) {
		return []netip.Addr{ipv4Loopback}, nil // which stands for all of this machine
	}
	return nil, nil
}

// address returns the address that a normal host of an endpoint is, if it is
// one. Forms that some resolvers only take for an address are left to them.
func address(host string) (netip.Addr, bool) {
	if host == "" {
		return netip.IPv4Unspecified(), true
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}
