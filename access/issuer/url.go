package issuer

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
)

// CheckURL returns an error if keys cannot be fetched safely from a URL: by https, or by http from this machine.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%.200q is not the URL of a server", text)
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("%.200q does not begin with https://", text)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("http is not safe from others on the network; only this machine may be reached by it")
}
