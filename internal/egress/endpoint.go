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

	// optional means that the host need not exist. [target.checkHost] knows the addresses that it had.
	optional bool
}

// parseEndpoint parses host:port. An empty host means the unspecified address.
func parseEndpoint(address string) (endpoint, error) {
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		return endpoint{}, err
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{host: normal(host), port: uint16(port)}, nil
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(int(e.port))) }

// ownPort is the rule shown for endpoints from [Guard.Protect].
const ownPort = "no action may reach this port: Almanac or Temporal listens there; no setting allows it"

// Protect refuses connections to a port of a host, in every mode and whatever the lists say. It is meant
// for the addresses that Almanac and Temporal listen on, which need no login and give access to the secrets
// of all jobs.
//
// The host is an address or a name:
//   - An address of this machine, including loopback and unspecified addresses, stands for all
//     addresses of this machine, so a listener on a wildcard address is covered.
//   - A name stands for all addresses that it resolves to when a connection to that port is about
//     to be made. While it cannot be resolved, every connection to that port is refused.
//
// The error means that address is not host:port.
func (g *Guard) Protect(address string) error {
	e, err := parseEndpoint(address)
	if err != nil {
		return fmt.Errorf("%q is no host:port: %w", address, err)
	}
	g.protect(e)
	return nil
}

func (g *Guard) protect(e endpoint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.protected, e) {
		g.protected = append(g.protected, e)
	}
}

// errUndecided is the error while an endpoint's host cannot be resolved. It names neither that host nor the
// addresses of the target.
var errUndecided = errors.New("some host, or this port of it, is not for actions, and DNS does not say at the moment which addresses that host has")

// A resolver returns the addresses of an endpoint's host.
type resolver func(host string) ([]netip.Addr, error)

// checkPort returns an error if an endpoint forbids the target a connection to a plain address and port.
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
	switch e, err := g.leadsTo(g.deny.endpoints, a, port, resolve); {
	case err != nil:
		return err
	case e != nil:
		return denied(t.host, e.String())
	}
	return t.checkLikely(a, port)
}

// leadsTo returns the endpoint that a connection to a plain address and port ends at; nil for none.
func (g *Guard) leadsTo(endpoints []endpoint, a netip.Addr, port uint16, resolve resolver) (*endpoint, error) {
	for i, e := range endpoints {
		if e.port != port {
			continue
		}
		addresses, err := resolve(e.host)
		if e.optional && isMissing(err) {
			continue
		}
		if err != nil {
			return nil, errUndecided
		}
		if slices.ContainsFunc(addresses, func(b netip.Addr) bool { return g.same(a, plain(b)) }) {
			return &endpoints[i], nil
		}
	}
	return nil, nil
}

// same reports whether connections to two plain addresses end at the same machine, as far as can be told
// from here.
func (g *Guard) same(a, b netip.Addr) bool {
	return a == b || behind(a) == b || g.isHere(a) && g.isHere(b)
}

// isHere reports whether a connection to a plain address ends at this machine.
func (g *Guard) isHere(a netip.Addr) bool {
	return a.IsLoopback() || behind(a).IsLoopback() || g.machine.has(a) || g.machine.has(behind(a))
}

// lookup resolves the host of an endpoint.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, ok := address(host); ok {
		return []netip.Addr{a}, nil
	}
	return cmp.Or(g.resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", host)
}

// known returns the addresses of an endpoint's host that are known without DNS.
func known(host string) ([]netip.Addr, error) {
	if a, ok := address(host); ok {
		return []netip.Addr{a}, nil
	}
	if isLocalhost(host) {
		return []netip.Addr{ipv4Loopback}, nil // stands for all addresses of this machine
	}
	return nil, nil
}

// address parses a normal host of an endpoint as an address. Forms that only some resolvers take for an
// address (0x7f.1) do not count; they are resolved like names.
func address(host string) (netip.Addr, bool) {
	if host == "" {
		return netip.IPv4Unspecified(), true
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}
