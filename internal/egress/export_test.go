package egress

import (
	"context"
	"net"
	"syscall"
	"time"
)

// Resolve makes the guard use r for DNS.
func (g *Guard) Resolve(r *net.Resolver) { g.resolver = r }

// Clock makes the guard use now for the age of what DNS said.
func (g *Guard) Clock(now func() time.Time) { g.clock = now }

// Own replaces the addresses of the guard's machine.
func (g *Guard) Own(addresses ...string) {
	g.machine.addresses = func() ([]net.Addr, error) {
		var own []net.Addr
		for _, a := range addresses {
			own = append(own, &net.IPNet{IP: net.ParseIP(a), Mask: net.CIDRMask(24, 32)})
		}
		return own, nil
	}
}

// DialUntilAllowed is DialContext, but calls allowed instead of making a connection that the rules allow.
func (g *Guard) DialUntilAllowed(ctx context.Context, address string, allowed func(address string) error) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if err := g.checkName(host, port); err != nil {
		return err
	}
	d := g.target(host, port).dialer()
	control := d.ControlContext
	d.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if err := control(ctx, network, address, c); err != nil {
			return err
		}
		return allowed(address)
	}
	_, err = d.DialContext(ctx, "tcp", address)
	return err
}
