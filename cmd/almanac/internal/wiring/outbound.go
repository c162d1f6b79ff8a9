package wiring

import (
	"fmt"
	"net"
	"slices"

	"almanac/activities/senders"
	"almanac/internal/egress"
)

// makeSenders makes the senders of actions, which connect through a guard.
func (p *Process) makeSenders() (err error) {
	if p.guard, err = egress.Parse(p.EgressMode, p.EgressAllow, p.EgressDeny); err != nil {
		return err
	}
	o := p.Sending
	o.Guard, o.RootCAs, o.SMTP.TLS = p.guard, p.Roots, senders.SMTPSecurity(p.SMTPTLS)
	o.Version, o.PropagateTrace = p.Build.Version, p.TracePropagation == "on"
	p.Senders, err = senders.New(o)
	return err
}

// ownPorts are the default ports of the API, of a worker's probes, of the Web UI and of the codec server.
var ownPorts = []uint16{8080, 8081, 8233, 8234}

// Protect refuses actions every connection to the addresses that this process listens on, and to the hosts of Almanac's
// other services. temporal is where Temporal runs, if it is not in this process; then this process does not know which
// servers of Almanac listen on this machine, and their default ports are refused, too.
func (p *Process) Protect(listening []string, temporal ...string) error {
	g := p.guard
	hosts := append([]string{"127.0.0.1"}, p.EgressProtect...)
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
		return p.Setting("egress-allow").Wrong(err, "")
	}
	return nil
}
