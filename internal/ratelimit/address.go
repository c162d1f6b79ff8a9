package ratelimit

import (
	"net/http"
	"net/netip"
)

// networkBits is the size of the network that one owner of IPv6 addresses usually has.
const networkBits = 64

// ByAddress returns the caller of a request by its RemoteAddr: an IPv4 address, or the /64 network of an IPv6 address,
// since its owner may use all addresses in it. It is "" if there is none.
func ByAddress(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return KeyOf(remote.Addr())
}

// KeyOf returns the text that stands for the caller at an address: see [ByAddress].
func KeyOf(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if address.Is4() || address.IsLoopback() {
		return address.String()
	}
	network, err := address.Prefix(networkBits)
	if err != nil {
		return ""
	}
	return network.String()
}
