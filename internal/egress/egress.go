// Package egress decides which addresses Almanac may connect to.
//
// Everyone who may write a job chooses where a worker sends requests. A [Guard] protects what only the
// worker can reach: services on its own machine, services on its private network, and its cloud's metadata
// service, which hands out credentials.
//
// The guard checks the address of each connection just before it is made. So the spelling of a target, what
// its name resolves to at that moment, and redirects do not matter.
//
// # Rules
//
// The addresses that Almanac and Temporal listen on are always refused: see [Guard.Protect]. So is every port of a host
// that Temporal or another service of Almanac runs on, unless the allow list has the host with the port: see
// [Guard.ProtectHost]. For others the mode says which addresses are refused. Two lists of addresses, networks
// (10.0.0.0/8) and names (www.example.com, or *.example.com for every name below it) modify the mode:
//
//   - Entries of the deny list are always refused. A name is refused before it is looked up, which
//     stops requests by this name only: the host can still be reached by its other names and its
//     address. An entry with a port (10.1.2.3:8233, ui.example.com:8233) refuses that port of the
//     host, by every name and address that leads there.
//   - An address or network on the allow list is allowed even if the mode refuses it. An address or a name
//     with a port (10.1.2.3:8080) is allowed on this port alone.
//   - A name on the allow list may resolve to private addresses, as in [ModePrivate], but not to
//     others the mode refuses: the owner of the name's DNS zone could otherwise direct requests to
//     the worker's own machine.
//
// The addresses of this machine's network interfaces count as loopback addresses do: every mode but ModeAny
// refuses them, unless the allow list has the address or the loopback address of the same family. An
// address by which others reach this machine but that no interface has, such as that of a load balancer, is
// not recognized.
//
// The allow list does not restrict the mode: addresses that the mode allows need no entry. An IPv6 address
// that stands for an IPv4 address (IPv4-mapped, RFC 4291; NAT64, RFC 6052) is treated as that IPv4 address.
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

// The modes: which addresses are refused unless a list says otherwise.
const (
	// ModePublic allows the public internet only. It refuses private, loopback and link-local addresses,
	// the other special-purpose addresses in IANA's registries, and the clouds' metadata services.
	ModePublic = "public"

	// ModePrivate also allows private networks: RFC 1918, shared address space (RFC 6598), and unique local
	// IPv6 addresses (RFC 4193).
	ModePrivate = "private"

	// ModeAny refuses only the addresses of [Guard.Protect] and of the deny list.
	ModeAny = "any"
)

var modes = []string{ModePublic, ModePrivate, ModeAny}

// A RefusedError means that a rule forbids connecting to a target. Its text does not reveal the addresses
// that a name resolves to.
type RefusedError struct {
	Target string // the host as requested
	Rule   string // the rule, and what an operator can do about it
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("Almanac does not connect to '%s': %s", e.Target, e.Rule)
}

// A Guard makes the connections that its rules allow. See [Parse] for the rules. It is safe for concurrent
// use. The zero Guard has mode ModePublic and empty lists.
type Guard struct {
	mode        string
	allow, deny list
	machine     machine

	mu        sync.RWMutex
	protected []endpoint
	likely    []endpoint       // refused, too, unless the allow list has them
	hosts     []*protectedHost // refused on every port, unless the allow list has it

	resolver *net.Resolver    // nil means the system's resolver
	clock    func() time.Time // nil means [time.Now]
}

// Parse returns a Guard with a mode and an allow and a deny list of addresses, networks and names. The
// error lists every mistake.
func Parse(mode string, allow, deny []string) (*Guard, error) {
	g := &Guard{mode: mode}
	var errs []error
	if !slices.Contains(modes, mode) {
		errs = append(errs, fmt.Errorf("the egress mode is %q; allowed: %s", mode, strings.Join(modes, ", ")))
	}
	for _, entry := range allow {
		err := g.allow.addWithPort(entry)
		if host, _, isEndpoint := strings.Cut(entry, ":"); err == nil && (isLocalhost(normal(entry)) || isEndpoint && isLocalhost(normal(host))) {
			err = errLocalhost
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the egress allow list has %q; allowed: %w", entry, err))
		}
	}
	for _, entry := range deny {
		if err := g.deny.addWithPort(entry); err != nil {
			errs = append(errs, fmt.Errorf("the egress deny list has %q; allowed: %w", entry, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return g, nil
}

// DialContext connects to host:port over TCP, as [net.Dialer.DialContext] does, within 10 s. Refused
// addresses of a name are skipped. The error is or wraps a [RefusedError] if a rule forbids the connection.
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
	t := g.target(host, port)
	conn, err := t.dialer().DialContext(ctx, network, address)
	if errors.Is(err, errUndecided) {
		return nil, errUndecided
	}
	if _, refused := errors.AsType[*RefusedError](err); refused && t.permitted.Load() {
		return nil, errNoneAccepted // addresses that are allowed may accept another time
	}
	return conn, err
}

var errNoneAccepted = errors.New("of the host's addresses, none that the egress rules allow accepted a connection")

// Check returns a [RefusedError] if a connection to host:port would certainly be refused, as far as can be
// told without DNS: the host is an address, in any form that resolvers accept, a name on the deny list, or
// localhost. Otherwise it returns nil, and the guard decides when it connects. It also returns nil for an
// address of this machine's interfaces that would be allowed on another machine, since the worker may run
// there.
func (g *Guard) Check(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	if err := g.checkName(host, port); err != nil {
		return err
	}
	t := g.target(host, port)
	name := normal(host)
	if a, ok := literal(name); ok {
		return t.checkLiteral(a, port)
	}
	if isLocalhost(name) && t.checkLiteral(netip.IPv6Loopback(), port) != nil {
		return t.checkLiteral(ipv4Loopback, port)
	}
	return nil
}

// checkName refuses a host whose name is on the deny list or is that of a refused endpoint.
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
	excepted := func(e endpoint) bool { // the name, or an address that the name may have
		_, isAddress := address(e.host)
		return (e.host == name || isAddress) && strconv.Itoa(int(e.port)) == port
	}
	if g.isProtected(name) && !slices.ContainsFunc(g.allow.endpoints, excepted) {
		return &RefusedError{Target: host, Rule: ownHost}
	}
	return nil
}

// isProtected reports whether a normal host is one of [Guard.ProtectHost]. The caller holds the lock. Addresses are
// compared elsewhere.
func (g *Guard) isProtected(name string) bool {
	_, isAddress := address(name)
	return !isAddress && slices.ContainsFunc(g.hosts, func(h *protectedHost) bool { return h.name == name })
}

func denied(host, entry string) error {
	return &RefusedError{Target: host, Rule: fmt.Sprintf("the egress deny list has %s; an operator can take it off", entry)}
}

// A target is the host of one connection to be made.
type target struct {
	guard     *Guard
	host      string
	named     bool        // it is on the allow list
	protected bool        // its name is one of [Guard.ProtectHost]
	permitted atomic.Bool // at least one of its addresses was allowed
}

func (g *Guard) target(host, port string) *target {
	name := normal(host)
	_, named := g.allow.name(name)
	named = named || slices.ContainsFunc(g.allow.endpoints, func(e endpoint) bool { return e.host == name && strconv.Itoa(int(e.port)) == port })
	g.mu.RLock()
	defer g.mu.RUnlock()
	return &target{guard: g, host: host, named: named, protected: g.isProtected(name)}
}

// dialer returns a dialer that checks every address before it connects.
func (t *target) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:  ConnectTimeout,
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
			host, _, _ = strings.Cut(host, "%") // IPv4 addresses may have a zone here
			a := netip.IPv4Unspecified()        // stands for an empty host
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

// check returns an error if the target may not be connected to at an address and port.
func (t *target) check(ctx context.Context, a netip.Addr, port uint16) error {
	a = plain(a)
	resolve := func(host string) ([]netip.Addr, error) { return t.guard.lookup(ctx, host) }
	if err := t.checkPort(a, port, resolve); err != nil {
		return err
	}
	if err := t.checkHost(ctx, a, port); err != nil {
		return err
	}
	return t.checkAddress(a, port, t.guard.machine.has(a))
}

// checkLiteral returns an error if the target, which is an address, certainly may not be connected to. A
// port that is not a number is not checked.
func (t *target) checkLiteral(a netip.Addr, port string) error {
	a = plain(a)
	number, err := strconv.ParseUint(port, 10, 16)
	if err == nil {
		if err = t.checkPort(a, uint16(number), known); err == nil {
			err = t.checkLiteralHost(a, uint16(number))
		}
		if err != nil {
			return err
		}
	}
	err = t.checkAddress(a, uint16(number), false)
	if err != nil && t.guard.machine.has(a) { // it may be allowed as an address of this machine
		err = t.checkAddress(a, uint16(number), true)
	}
	return err
}

// checkAddress returns an error if a rule for addresses refuses a plain address. own means that the address
// counts as one of this machine.
func (t *target) checkAddress(a netip.Addr, port uint16, own bool) error {
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
		if _, ok := g.allow.address(form); ok || g.allow.port(form, port) {
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
