package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"almanac/activities/senders"
	"almanac/activities/senders/servicebus"
	"almanac/internal/egress"
)

// An outbound sends the requests of actions, through a guard.
type outbound struct {
	*senders.Senders
	guard *egress.Guard
}

// protect refuses actions every connection to the addresses, which Almanac and Temporal listen on.
func (o *outbound) protect(addresses ...string) error {
	for _, a := range addresses {
		if err := o.guard.Protect(a); err != nil {
			return fmt.Errorf("keep actions from Almanac's own addresses: %w", err)
		}
	}
	return nil
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

// outbound defines the settings for outbound connections, and returns a function for the result, to be
// called after check. allow is the default of the egress allow list. It does not apply if exposed, which
// may be nil, reports that others reach the listeners of this process: they may write jobs, and this
// machine is not theirs.
func (s *settings) outbound(allow string, exposed func() bool) func() *outbound {
	mode := s.text("egress", "ALMANAC_EGRESS", egress.ModePrivate,
		"which addresses actions may connect to: public, those on the internet; private, those and private networks, but not this machine, "+
			"link-local addresses and cloud metadata; any")
	s.offer("egress", egress.ModePublic, egress.ModePrivate, egress.ModeAny)
	allowed := s.text("egress-allow", "ALMANAC_EGRESS_ALLOW", allow,
		"addresses and networks to allow on top, and names that may lead to private addresses, such as 127.0.0.1,169.254.7.0/24,*.example.com")
	denied := s.text("egress-deny", "ALMANAC_EGRESS_DENY", "", "addresses, networks and names to refuse whatever else is allowed; host:port for one port of a host, such as another process of Almanac")
	authorities := s.file("ca-file", "ALMANAC_CA_FILE", "", "PEM file of certificate authorities to trust besides the system's")
	o := senders.Options{Version: buildVersion()}
	s.into(&o.Authority, "oauth-authority", "ALMANAC_OAUTH_AUTHORITY", senders.DefaultAuthority,
		"where ActiveDirectoryOAuth gets its tokens, less the tenant")
	s.into(&o.QueueEndpoint, "storage-queue-endpoint", "ALMANAC_STORAGE_QUEUE_ENDPOINT", senders.DefaultQueueEndpoint,
		"address of storage queues, for other clouds and emulators")
	s.into(&o.BusHost, "service-bus-host", "ALMANAC_SERVICE_BUS_HOST", servicebus.DefaultHost,
		"host name of Service Bus namespaces, for other clouds")
	s.into(&o.BusEndpoint, "service-bus-endpoint", "ALMANAC_SERVICE_BUS_ENDPOINT", "",
		"host:port to connect to in place of the namespace's host, whose certificate is expected all the same")
	var all *senders.Senders
	s.checks = append(s.checks, func() (err error) {
		var errs []error
		if exposed != nil && exposed() && !s.given("egress-allow") {
			*allowed = ""
		}
		if o.Guard, err = egress.Parse(*mode, words(*allowed), words(*denied)); err != nil {
			errs = append(errs, s.blameEgress(*mode, words(*allowed), words(*denied)))
		}
		if o.RootCAs, err = rootCAs(*authorities); err != nil {
			errs = append(errs, s.blame("ca-file", err))
		}
		if u, err := url.Parse(o.Authority); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, fmt.Errorf("%s is %q, want an address such as %s", s.source("oauth-authority"), o.Authority, senders.DefaultAuthority))
		}
		if !strings.Contains(o.BusHost, "{namespace}") {
			errs = append(errs, fmt.Errorf("%s is %q, want a host name with {namespace} in it, such as %s", s.source("service-bus-host"), o.BusHost, servicebus.DefaultHost))
		}
		if o.BusEndpoint != "" {
			errs = append(errs, checkAddress(s.source("service-bus-endpoint"), o.BusEndpoint, "127.0.0.1:5671"))
		}
		if all, err = senders.New(o); err != nil {
			errs = append(errs, s.blame("storage-queue-endpoint", err)) // no other check covers it
		}
		return errors.Join(errs...)
	})
	return func() *outbound { return &outbound{all, o.Guard} }
}

// blameEgress returns the mistakes in the egress rules, each with the name of its setting.
func (s *settings) blameEgress(mode string, allow, deny []string) error {
	_, inMode := egress.Parse(mode, nil, nil)
	_, inAllow := egress.Parse(egress.ModeAny, allow, nil)
	_, inDeny := egress.Parse(egress.ModeAny, nil, deny)
	return errors.Join(s.blame("egress", inMode), s.blame("egress-allow", inAllow), s.blame("egress-deny", inDeny))
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
		return nil, fmt.Errorf("%s holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----", file)
	}
	return pool, nil
}

// words splits a list at commas and blanks.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
