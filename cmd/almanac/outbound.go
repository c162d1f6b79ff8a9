package main

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"

	"almanac/activities/senders"
	"almanac/internal/egress"
)

// makeSenders sets the senders of actions, which connect through a guard. Other machines that reach the API may
// write jobs, and these must not call this machine by default.
func (c *config) makeSenders() (err error) {
	if c.exposed() != nil && !c.settings.Get("egress-allow").Given() {
		c.egressAllow = nil
	}
	o := &c.senderOptions
	o.Version = built().Version
	if o.RootCAs, err = rootCAs(c.caFile); err != nil {
		return c.settings.Get("ca-file").Wrong(err, "a file of certificates in PEM, which begin with -----BEGIN CERTIFICATE-----")
	}
	if o.Guard, err = egress.Parse(c.egressMode, c.egressAllow, c.egressDeny); err != nil {
		return nil // each mode and list has its own error
	}
	if c.senders, err = senders.New(*o); err != nil && isQueueEndpoint(o.QueueEndpoint) { // likewise a bad endpoint
		return err
	}
	return nil
}

// protect refuses actions every connection to the addresses, which Almanac and Temporal listen on.
func (c *config) protect(addresses ...string) error {
	for _, a := range addresses {
		if err := c.senderOptions.Guard.Protect(a); err != nil {
			return fmt.Errorf("keep actions from Almanac's own addresses: %w", err)
		}
	}
	return nil
}

// rootCAs returns the system's certificate authorities plus those in a PEM file; nil, for the system's,
// without a file.
func rootCAs(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return pool, nil
}

// temporalPorts returns the host:port of each frontend in a value of TEMPORAL_ADDRESS. The forms are those
// of gRPC: host[:port], dns:///host[:port], or a list such as ipv4:10.0.0.1:7233,10.0.0.2:7233. The default
// port is 443.
func temporalPorts(target string) []string {
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
