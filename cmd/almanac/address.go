package main

import (
	"net"
	"net/netip"
	"strings"
)

// localAddress returns the address at which this machine reaches a server that listens on an address: one that listens
// on all addresses is reached at the loopback address.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// temporalAddresses returns the host:port of each frontend in a value of TEMPORAL_ADDRESS. The forms are those
// of gRPC: host[:port], dns:///host[:port], or a list such as ipv4:10.0.0.1:7233,10.0.0.2:7233. The default
// port is 443.
func temporalAddresses(target string) []string {
	if scheme, rest, ok := strings.Cut(target, ":"); ok {
		switch strings.ToLower(scheme) {
		case "unix", "unix-abstract": // no action can reach a socket in the file system
			return nil
		case "dns", "passthrough", "ipv4", "ipv6":
			target = rest[strings.LastIndexByte(rest, '/')+1:]
		}
	}
	var ports []string
	for address := range strings.SplitSeq(target, ",") {
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), "443") // gRPC's default port
		}
		ports = append(ports, address)
	}
	return ports
}
