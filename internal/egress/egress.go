// Package egress decides which addresses Almanac may connect to.
//
// Whoever may write a job chooses where a worker sends a request. A [Guard]
// keeps such a request from what only the worker can reach: services of its own
// machine, of the network around it, and the metadata service of its cloud,
// which hands out credentials.
//
// The guard decides when a connection is about to be made, on the address that
// it would go to. So it does not matter how a target is written, what its name
// resolves to this time, or which redirect led there.
//
// # Rules
//
// What Almanac and Temporal themselves listen on is refused always: see
// [Guard.Protect]. Otherwise the mode says which addresses are refused. On top
// of it are two lists of addresses, networks (10.0.0.0/8) and names
// (www.example.com, or *.example.com for every name below it):
//
//   - What the deny list has is refused, whatever else is said. A name is
//     refused before it is looked up. That stops requests by this name only:
//     the host may have others, and has its address. An entry with a port
//     (10.1.2.3:8233, ui.example.com:8233) refuses that port of the host by
//     every name and address that leads there.
//   - An address or network on the allow list may be connected to although the
//     mode refuses it.
//   - A name on the allow list may lead to private addresses, as in
//     [ModePrivate]. Not to others: whoever answers for that name in DNS could
//     otherwise lead a request to the worker's own machine.
//
// The addresses of this machine's network interfaces count as the machine, as
// its loopback addresses do: every mode but ModeAny refuses them, unless the
// allow list has the address, or the loopback address of the same family. An
// address by which others reach this machine, but that no interface has, such as
// that of a load balancer, is not known.
//
// The lists do not narrow what the mode allows, other than by what is denied.
// An IPv6 address that stands for an IPv4 address, as IPv4-mapped and NAT64
// ones do (RFC 4291, RFC 6052), is judged as that.
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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The modes: which addresses are refused where no list says anything.
const (
	// ModePublic refuses what is not on the public internet: private, loopback
	// and link-local addresses, and the others in IANA's registries of
	// special-purpose addresses; and clouds' metadata services.
	ModePublic = "public"

	// ModePrivate allows private networks on top of what ModePublic allows: those
	// of RFC 1918, shared address space (RFC 6598), and unique local IPv6
	// addresses (RFC 4193).
	ModePrivate = "private"

	// ModeAny refuses nothing but what [Guard.Protect] was told.
	ModeAny = "any"
)

var modes = []string{ModePublic, ModePrivate, ModeAny}

// connectTimeout is how long a host may take to accept a connection.
const connectTimeout = 10 * time.Second

// A RefusedError says that a rule forbids to connect to a target. Its text does
// not give away which address a name resolves to.
type RefusedError struct {
	Target string // the host as it was asked for
	Rule   string // which rule it is, and what an operator can do about it
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("Almanac does not connect to '%s': %s", e.Target, e.Rule)
}

// A Guard makes the connections that its rules allow, which are [Parse]'s. It
// is safe for concurrent use. The zero Guard is one of ModePublic.
type Guard struct {
	mode        string
	allow, deny list
	machine     machine

	mu        sync.RWMutex
	protected []endpoint

	resolver *net.Resolver // nil means the system's
}

// Parse returns a Guard of a mode and two lists of addresses, networks and
// names. The error lists every mistake.
func Parse(mode string, allow, deny []string) (*Guard, error) {
	g := &Guard{mode: mode}
	var errs []error
	if !slices.Contains(modes, mode) {
		errs = append(errs, fmt.Errorf("the egress mode is %q, want %s", mode, strings.Join(modes, ", ")))
	}
	for _, entry := range allow {
		err := g.allow.add(entry)
		if err == nil && isLocalhost(normal(entry)) {
			err = errLocalhost
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the egress allow list has %q, want %w", entry, err))
		}
	}
	for _, entry := range deny {
		if err := g.deny.addDenied(entry); err != nil {
			errs = append(errs, fmt.Errorf("the egress deny list has %q, want %w", entry, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return g, nil
}

// DialContext connects to a host and port over TCP, as that of a [net.Dialer]
// does, within 10 s. Where a rule forbids it, the error is a [RefusedError] or
// wraps one. Of a name's addresses, those that are refused are left out.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return nil, &RefusedError{Target: host, Rule: "only TCP connections are made"}
	}
	if err := g.checkName(host, port); err != nil {
		return nil, err
	}
	t := g.target(host)
	conn, err := t.dialer().DialContext(ctx, network, address)
	if errors.Is(err, errUndecided) {
		return nil, errUndecided
	}
	if _, refused := errors.AsType[*RefusedError](err); refused && t.permitted.Load() {
		return nil, errNoneAccepted // which may be another time
	}
	return conn, err
}

var errNoneAccepted = errors.New("of the host's addresses, none that the egress rules allow accepted a connection")

// Check returns a [RefusedError] where it is certain, without a look at DNS,
// that a connection to host:port would be refused: the host is an address, in
// any form that resolvers take for one, a name on the deny list, or localhost.
// It returns nil for everything else; the guard decides when it connects. So it
// does for the addresses of this machine's interfaces that would be allowed on
// another machine: who connects may run there.
func (g *Guard) Check(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	if err := g.checkName(host, port); err != nil {
		return err
	}
	t := g.target(host)
	name := normal(host)
	if a, ok := literal(name); ok {
		return t.checkLiteral(a, port)
	}
	if isLocalhost(name) && t.checkLiteral(netip.IPv6Loopback(), port) != nil {
		return t.checkLiteral(ipv4Loopback, port)
	}
	return nil
}

// checkName refuses a host whose name is on the deny list, or that of an
// endpoint which is refused.
func (g *Guard) checkName(host, port string) error {
	name := normal(host)
	if entry, ok := g.deny.name(name); ok {
		return denied(host, entry)
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	asked := func(e endpoint) bool { return e.host == name && strconv.Itoa(int(e.port)) == port }
	if slices.ContainsFunc(g.protected, asked) {
		return &RefusedError{Target: host, Rule: ownPort}
	}
	if i := slices.IndexFunc(g.deny.endpoints, asked); i >= 0 {
		return denied(host, g.deny.endpoints[i].String())
	}
	return nil
}

func denied(host, entry string) error {
	return &RefusedError{Target: host, Rule: fmt.Sprintf("the egress deny list has %s; an operator can take it off", entry)}
}

// A target is a host to which one connection is to be made.
type target struct {
	guard     *Guard
	host      string
	named     bool        // on the allow list
	permitted atomic.Bool // at least one of its addresses was
}

func (g *Guard) target(host string) *target {
	_, named := g.allow.name(normal(host))
	return &target{guard: g, host: host, named: named}
}

// dialer returns a dialer that asks before every attempt to connect.
func (t *target) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:  connectTimeout,
		Resolver: t.guard.resolver,
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return err
			}
			number, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return err
			}
			host, _, _ = strings.Cut(host, "%") // IPv4 addresses may come with a zone here
			a := netip.IPv4Unspecified()        // what no host at all means
			if host != "" {
				if a, err = netip.ParseAddr(host); err != nil {
					return err
				}
			}
			if err := t.check(ctx, a, uint16(number)); err != nil {
				return err
			}
			t.permitted.Store(true)
			return nil
		},
	}
}

// check returns why the target may not be connected to at an address and port,
// if it may not.
func (t *target) check(ctx context.Context, a netip.Addr, port uint16) error {
	a = plain(a)
	resolve := func(host string) ([]netip.Addr, error) { return t.guard.lookup(ctx, host) }
	if err := t.checkPort(a, port, resolve); err != nil {
		return err
	}
	return t.checkAddress(a, t.guard.machine.has(a))
}

// checkLiteral returns why it is certain that the target, which is an address,
// may not be connected to. A port that is none, or is named, tells nothing.
func (t *target) checkLiteral(a netip.Addr, port string) error {
	a = plain(a)
	if number, err := strconv.ParseUint(port, 10, 16); err == nil {
		if err := t.checkPort(a, uint16(number), known); err != nil {
			return err
		}
	}
	err := t.checkAddress(a, false)
	if err != nil && t.guard.machine.has(a) { // and may be allowed as an address of the machine
		err = t.checkAddress(a, true)
	}
	return err
}

// checkAddress returns which rule for addresses refuses a plain one, if any
// does. own says that it is to count as one of this machine.
func (t *target) checkAddress(a netip.Addr, own bool) error {
	g := t.guard
	denying, allowing := []netip.Addr{a, behind(a)}, []netip.Addr{a}
	if own {
		denying, allowing = append(denying, loopbackOf(a)), append(allowing, loopbackOf(a))
	}
	for _, form := range denying {
		if entry, ok := g.deny.address(form); ok {
			return denied(t.host, entry)
		}
	}
	for _, form := range allowing {
		if _, ok := g.allow.address(form); ok {
			return nil
		}
	}
	if g.mode == ModeAny {
		return nil
	}
	kind := kindOf(a)
	if own && kind != metadata && kind != loopback {
		kind = ownAddress
	}
	switch {
	case kind == public, kind == private && (g.mode == ModePrivate || t.named):
		return nil
	case kind == private:
		return t.refused(kind, "choose mode private, or allow the name or the address")
	default:
		return t.refused(kind, "allow the address")
	}
}

func (t *target) refused(k kind, remedy string) error {
	return &RefusedError{Target: t.host, Rule: fmt.Sprintf("%s are refused in egress mode %s; an operator can %s",
		k, cmp.Or(t.guard.mode, ModePublic), remedy)}
}
