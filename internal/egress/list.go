package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// A list holds addresses and networks, host names, and ports of hosts.
type list struct {
	networks  []netip.Prefix
	names     []string // normal; "*.example.com" stands for every name below example.com
	endpoints []endpoint
}

var (
	errEntry     = errors.New("an address such as 10.1.2.3, a network such as 10.0.0.0/8, or a name such as www.example.com or *.example.com")
	errPort      = fmt.Errorf("%w; with a port, such as 10.1.2.3:8233 or www.example.com:8233, where that alone is meant", errEntry)
	errEmbedded  = errors.New("the IPv4 address or network itself: IPv4-mapped and NAT64 addresses count as IPv4 addresses")
	errZone      = errors.New("an address without a zone")
	errLocalhost = errors.New("127.0.0.1 and ::1: a name does not open loopback addresses")
)

// errUnmasked is the error for a network with host bits set.
type errUnmasked netip.Prefix

func (e errUnmasked) Error() string {
	p := netip.Prefix(e)
	return "the network " + p.Masked().String() + " or the address " + p.Addr().String()
}

var hostName = regexp.MustCompile(`^(\*\.)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$`)

// add parses an entry and appends it. The error says what is allowed instead.
func (l *list) add(entry string) error {
	entry = strings.TrimSpace(entry)
	if network, err := netip.ParsePrefix(entry); err == nil {
		return l.addNetwork(network)
	}
	if a, err := netip.ParseAddr(entry); err == nil {
		if a.Zone() != "" {
			return errZone
		}
		return l.addNetwork(netip.PrefixFrom(a, a.BitLen()))
	}
	name := normal(entry)
	if below, ok := strings.CutPrefix(entry, "*."); ok { // encode what follows the wildcard
		name = "*." + normal(below)
	}
	if _, isAddress := looseIPv4(strings.TrimPrefix(name, "*.")); isAddress || !hostName.MatchString(name) {
		return errEntry
	}
	l.names = append(l.names, name)
	return nil
}

// addWithPort parses an entry, which may have a port, and appends it.
func (l *list) addWithPort(entry string) error {
	entry = strings.TrimSpace(entry)
	if e, err := parseEndpoint(entry); err == nil && e.port != 0 {
		host := list{}
		if err := host.add(e.host); err != nil || strings.ContainsAny(e.host, "*/") {
			return errPort
		}
		l.endpoints = append(l.endpoints, e)
		return nil
	}
	if err := l.add(entry); errors.Is(err, errEntry) {
		return errPort
	} else if err != nil {
		return err
	}
	return nil
}

func (l *list) addNetwork(p netip.Prefix) error {
	switch {
	case p.Masked() != p:
		return errUnmasked(p)
	case plain(p.Addr()) != p.Addr():
		return errEmbedded
	}
	l.networks = append(l.networks, p)
	return nil
}

// address returns the entry that contains a, if any.
func (l *list) address(a netip.Addr) (entry string, ok bool) {
	for _, p := range l.networks {
		if p.Contains(a) {
			if p.IsSingleIP() {
				return p.Addr().String(), true
			}
			return p.String(), true
		}
	}
	return "", false
}

// port reports whether the list has an address with a port.
func (l *list) port(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(l.endpoints, func(e endpoint) bool {
		b, ok := address(e.host)
		return ok && b == a && e.port == port
	})
}

// name returns the entry that matches a normal name, if any.
func (l *list) name(host string) (entry string, ok bool) {
	for _, n := range l.names {
		if suffix, wild := strings.CutPrefix(n, "*"); n == host || wild && strings.HasSuffix(host, suffix) {
			return n, true
		}
	}
	return "", false
}

// normal returns a host in the form that is looked up and compared: lower case, ASCII (RFC 5891), without a
// trailing dot.
func normal(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil { // a host without such a form is used as it is
		host = ascii
	}
	return strings.ToLower(strings.TrimRight(host, "."))
}

// isLocalhost reports whether resolvers may resolve a normal name to this machine without DNS (RFC 6761).
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
