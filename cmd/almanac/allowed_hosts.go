package main

import (
	"errors"
	"net"
	"slices"

	"almanac/cmd/almanac/internal/address"
	"almanac/internal/settings"
	"almanac/internal/web"
)

// exposed returns the first setting that lets other machines reach a server that asks for no login; nil if
// there is none.
func (c *config) exposed() *settings.Setting {
	for _, s := range []*settings.Setting{c.settings.Get("listen"), c.settings.Get("temporal-listen"), c.settings.Get("ui-listen")} {
		if s.Text() != "" && !address.IsLoopback(s.Text()) {
			return s
		}
	}
	return nil
}

func (c *config) checkExposure() error {
	s := c.exposed()
	if s == nil || c.unauthenticated {
		return nil
	}
	return s.Wrong(errors.New(s.Text()+" can be reached by other machines, and asks for no login"),
		"a loopback address such as 127.0.0.1, or any with --unauthenticated if a proxy or a firewall keeps strangers out")
}

// readHosts sets the host names to which the servers of this process answer.
func (c *config) readHosts() (err error) {
	names := slices.Clone(c.allowedHosts)
	for _, address := range []string{c.listen, c.uiListen, c.codecListen, c.workerListen} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			names = append(names, host)
		}
	}
	if c.publicURL != nil {
		names = append(names, c.publicURL.Hostname())
	}
	if c.hosts, err = web.ParseHosts(names...); err != nil { // bad names and addresses have their own errors
		c.hosts, _ = web.ParseHosts(c.allowedHosts...)
	}
	return nil
}
