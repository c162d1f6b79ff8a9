package config

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"almanac/activities/senders"
	"almanac/internal/certificate"
	"almanac/internal/egress"
)

// readAuthorities reads the file of certificate authorities.
func (c *Config) readAuthorities() (err error) {
	if c.roots, err = certificate.Roots(c.caFile); err != nil {
		return c.settings.Get("ca-file").Wrong(err, "a file of certificates in PEM, which begin with -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// wire makes what connects to others. All settings have been read and checked, and all their files: what is made here has its values
// for good, so none of it is made by a check.
func (c *Config) wire() error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}
	c.access.client = &http.Client{Transport: transport, Timeout: 10 * time.Second}
	if c.egressMode == "" {
		return nil // this command neither sends nor checks what is sent
	}
	return c.makeSenders()
}

// makeSenders makes the senders of actions, which connect through a guard. Other machines that reach the API may
// write jobs, and these must not call this machine by default.
func (c *Config) makeSenders() (err error) {
	if c.exposed() != nil && !c.settings.Get("egress-allow").Given() {
		c.egressAllow = nil
	}
	o := &c.senderOptions
	o.RootCAs, o.SMTP.TLS = c.roots, senders.SMTPSecurity(c.smtpTLS)
	o.Version, o.PropagateTrace = c.Build.Version, c.tracePropagation == "on"
	if o.Guard, err = egress.Parse(c.egressMode, c.egressAllow, c.egressDeny); err != nil {
		return err
	}
	c.Senders, err = senders.New(*o)
	return err
}

// ownPorts are the default ports of the API, of a worker's probes, of the Web UI and of the codec server.
var ownPorts = []uint16{8080, 8081, 8233, 8234}

// Protect refuses actions every connection to the addresses that this process listens on, and to the hosts of Almanac's other
// services. temporal is where Temporal runs, if it is not in this process; then this process does not know which servers of Almanac
// listen on this machine, and their default ports are refused, too.
func (c *Config) Protect(listening []string, temporal ...string) error {
	g := c.senderOptions.Guard
	hosts := append([]string{"127.0.0.1"}, c.egressProtect...)
	for _, at := range append(slices.Clone(listening), temporal...) {
		if err := g.Protect(at); err != nil {
			return fmt.Errorf("keep actions from Almanac's own addresses: %w", err)
		}
	}
	for _, at := range temporal {
		host, _, err := net.SplitHostPort(at)
		if err != nil {
			return fmt.Errorf("keep actions from Temporal: %w", err)
		}
		if host != "" {
			hosts = append(hosts, host)
		}
	}
	for _, host := range hosts {
		if err := g.ProtectHost(host); err != nil {
			return fmt.Errorf("keep actions from the hosts of Temporal and of Almanac's services: %w", err)
		}
	}
	if len(temporal) > 0 {
		g.ProtectLikely(ownPorts...)
	}
	if err := g.CheckExceptions(); err != nil {
		return c.settings.Get("egress-allow").Wrong(err, "")
	}
	return nil
}
