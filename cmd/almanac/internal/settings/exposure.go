package settings

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/web"
)

// exposed returns the first setting, but for some, that lets other machines reach a server; nil if there is none.
func (c *Config) exposed(but ...string) *flags.Setting {
	for _, name := range []string{"listen", "temporal-listen", "ui-listen"} {
		s := c.set.Get(name)
		if s.Text() != "" && !isLoopback(s.Text()) && !slices.Contains(but, name) {
			return s
		}
	}
	return nil
}

func (c *Config) checkExposure() error {
	asking := []string{"listen", "ui-listen"} // the servers that ask for a login, if there is one
	if !c.Authenticating() {
		asking = nil
	}
	s := c.exposed(asking...)
	if s == nil || c.unauthenticated {
		return nil
	}
	allowed := "a loopback address such as 127.0.0.1, or any with --unauthenticated if a proxy or a firewall keeps strangers out"
	if s != c.set.Get("temporal-listen") {
		allowed += "; with --token-file, --oidc-issuer or --client-ca it asks for a login"
	}
	return s.Wrong(errors.New(s.Text()+" can be reached by other machines, and asks for no login"),
		allowed)
}

// readHosts sets the host names to which the servers of this process answer.
func (c *Config) readHosts() (err error) {
	names := slices.Clone(c.allowedHosts)
	for _, address := range []string{c.Listen, c.UIListen, c.CodecListen, c.WorkerListen} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			names = append(names, host)
		}
	}
	if c.PublicURL != nil {
		names = append(names, c.PublicURL.Hostname())
	}
	if c.Hosts, err = web.ParseHosts(names...); err != nil { // bad names and addresses have their own errors
		c.Hosts, _ = web.ParseHosts(c.allowedHosts...)
	}
	return nil
}

// isLoopback reports whether only this machine reaches an address. A text that is no host:port counts as one: its
// setting has an error of its own.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, notIP := netip.ParseAddr(host)
	return err != nil || host == "localhost" || notIP == nil && ip.IsLoopback()
}
