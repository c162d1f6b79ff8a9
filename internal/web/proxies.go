package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forwardedFor is the header to which a proxy appends the address of its caller.
const forwardedFor = "X-Forwarded-For"

// Proxies are the addresses of proxies whose X-Forwarded-For is believed. A nil Proxies are none.
type Proxies struct{ networks []netip.Prefix }

// ParseProxies parses addresses and networks such as 10.0.0.0/8. The error lists every mistake.
func ParseProxies(list ...string) (*Proxies, error) {
	p := &Proxies{}
	var errs []error
	for _, entry := range list {
		network, err := netip.ParsePrefix(entry)
		if err != nil {
			var address netip.Addr
			if address, err = netip.ParseAddr(entry); err == nil {
				network, err = address.Prefix(address.BitLen())
			}
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%q is no address or network such as 10.0.0.0/8", entry))
		case network.Bits() == 0:
			errs = append(errs, fmt.Errorf("%q is every address, so that any caller could choose the address that it seems to have", entry))
		default:
			p.networks = append(p.networks, network.Masked())
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// Caller returns the address of a request's caller: that of the connection, unless it belongs to a proxy. A proxy's
// X-Forwarded-For is read from the right, past further proxies, to the first address that is none; what stands left of
// it was written by the caller. An entry that is no address ends the search at the proxy that wrote it. The zero Addr
// means that the connection has no address.
func (p *Proxies) Caller(r *http.Request) netip.Addr {
	address, ok := parseAddress(r.RemoteAddr)
	if !ok || !p.trusts(address) {
		return address
	}
	hops := strings.Split(strings.Join(r.Header.Values(forwardedFor), ","), ",")
	for _, text := range slices.Backward(hops) {
		hop, ok := parseAddress(strings.TrimSpace(text))
		if !ok {
			break
		}
		if address = hop; !p.trusts(address) {
			break
		}
	}
	return address
}

func (p *Proxies) trusts(address netip.Addr) bool {
	if p == nil {
		return false
	}
	for _, network := range p.networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// Resolve returns a handler that passes requests to next with the caller's address, and port 0, as RemoteAddr if they
// came through a proxy.
func (p *Proxies) Resolve(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if direct, ok := parseAddress(r.RemoteAddr); ok && p.trusts(direct) {
			resolved := *r
			resolved.RemoteAddr = net.JoinHostPort(p.Caller(r).String(), "0")
			r = &resolved
		}
		next.ServeHTTP(w, r)
	})
}

// parseAddress reads an address with or without a port. An IPv4 address in the form of IPv6 becomes IPv4, and a zone is
// dropped.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = withPort.Addr()
	}
	return address.Unmap().WithZone(""), true
}
