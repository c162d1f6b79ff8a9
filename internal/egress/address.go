package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
)

// A kind is a class of addresses; its value is the text for errors.
type kind string

const (
	public         kind = "public addresses"
	private        kind = "private addresses"
	loopback       kind = "loopback addresses"
	linkLocal      kind = "link-local addresses"
	ownAddress     kind = "addresses of this machine"
	metadata       kind = "metadata services of clouds"
	unspecified    kind = "unspecified addresses"
	multicast      kind = "multicast addresses"
	broadcast      kind = "broadcast addresses"
	specialPurpose kind = "special-purpose addresses"
)

// metadataServices are the addresses of the clouds' metadata services. The source is the cloud's
// documentation unless a comment names another. They are listed because some would otherwise count as
// private or public.
var metadataServices = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"), // most clouds
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	// Alibaba Cloud, by a pull request to cloud-init of May 2026 that is open
	netip.MustParsePrefix("fd00:100::100:200/128"),
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud, by its own SDKs (instance principals)
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway, by cloud-init's data source Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"),  // Akamai (Linode), by cloud-init's data source Akamai
}

var (
	ipv4Loopback     = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	limitedBroadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
	// RFC 6598: carrier-grade NAT; some clusters use it as a private network.
	sharedSpace = netip.MustParsePrefix("100.64.0.0/10")
	compatible  = netip.MustParsePrefix("::/96")     // RFC 4291: IPv4-compatible, deprecated
	sixToFour   = netip.MustParsePrefix("2002::/16") // RFC 3056
)

// internet checks addresses against IANA's registries of special-purpose addresses.
var internet = ssrf.New(ssrf.WithAnyPort())

// kindOf returns the kind of a plain address.
func kindOf(a netip.Addr) kind {
	switch {
	case slices.ContainsFunc(metadataServices, func(p netip.Prefix) bool { return p.Contains(a) }):
		return metadata
	case a.IsUnspecified():
		return unspecified
	case a.IsLoopback():
		return loopback
	case a.IsLinkLocalUnicast():
		return linkLocal
	case a.IsMulticast():
		return multicast
	case a == limitedBroadcast:
		return broadcast
	case a.IsPrivate(), sharedSpace.Contains(a):
		return private
	case internet.SafeAddr(a) != nil:
		return specialPurpose
	}
	return public
}

// plain returns the address that a connection to a goes to: a without its zone, and the IPv4 address of an
// IPv4-mapped or NAT64 address.
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if ssrf.IPv6NAT64Prefix.Contains(a) {
		return ipv4At(a, 12)
	}
	return a
}

// behind returns the address to which many machines route a plain address: an unspecified address leads to
// the machine itself, an address of a transition mechanism (IPv4-compatible, 6to4) to an IPv4 address.
// Other addresses give the invalid address.
func behind(a netip.Addr) netip.Addr {
	switch {
	case a == netip.IPv4Unspecified():
		return ipv4Loopback
	case a == netip.IPv6Unspecified():
		return netip.IPv6Loopback()
	case compatible.Contains(a):
		return ipv4At(a, 12)
	case sixToFour.Contains(a):
		return ipv4At(a, 2)
	}
	return netip.Addr{}
}

// loopbackOf returns the loopback address of a's family.
func loopbackOf(a netip.Addr) netip.Addr {
	if a.Is4() {
		return ipv4Loopback
	}
	return netip.IPv6Loopback()
}

// ipv4At returns the IPv4 address in four bytes of an IPv6 address.
func ipv4At(a netip.Addr, offset int) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[offset : offset+4]))
}

// literal returns the address that a normal host stands for without DNS, if any. The empty host is 0.0.0.0.
func literal(host string) (netip.Addr, bool) {
	if host == "" {
		return netip.IPv4Unspecified(), true
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return a, true
	}
	return looseIPv4(host)
}

// looseIPv4 parses an IPv4 address as the C library's inet_aton and many resolvers do: one to four parts,
// each decimal, octal (017) or hexadecimal (0x7f); the last part fills the remaining bytes.
func looseIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		n, err := parseC(part, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// parseC parses a C integer literal of at most bits bits.
func parseC(text string, bits int) (uint64, error) {
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		return strconv.ParseUint(hex, 16, bits)
	}
	if octal, ok := strings.CutPrefix(text, "0"); ok && octal != "" {
		return strconv.ParseUint(octal, 8, bits)
	}
	return strconv.ParseUint(text, 10, bits)
}
