package config

import (
	"fmt"

	"almanac/activities/senders"
	"almanac/internal/certificate"
	"almanac/internal/egress"
)

// makeSenders sets the senders of actions, which connect through a guard. Other machines that reach the API may
// write jobs, and these must not call this machine by default.
func (c *Config) makeSenders() (err error) {
	if c.exposed() != nil && !c.settings.Get("egress-allow").Given() {
		c.egressAllow = nil
	}
	o := &c.senderOptions
	o.SMTP.TLS = senders.SMTPSecurity(c.smtpTLS)
	o.Version, o.PropagateTrace = c.Build.Version, c.tracePropagation == "on"
	if o.RootCAs, err = certificate.Roots(c.caFile); err != nil {
		return c.settings.Get("ca-file").Wrong(err, "a file of certificates in PEM, which begin with -----BEGIN CERTIFICATE-----")
	}
	if o.Guard, err = egress.Parse(c.egressMode, c.egressAllow, c.egressDeny); err != nil {
		return nil // each mode and list has its own error
	}
	if c.Senders, err = senders.New(*o); err != nil && isQueueEndpoint(o.QueueEndpoint) { // likewise a bad endpoint
		return err
	}
	return nil
}

// Protect refuses actions every connection to the addresses, which Almanac and Temporal listen on.
func (c *Config) Protect(addresses ...string) error {
	for _, a := range addresses {
		if err := c.senderOptions.Guard.Protect(a); err != nil {
			return fmt.Errorf("keep actions from Almanac's own addresses: %w", err)
		}
	}
	return nil
}
