package main

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"almanac/internal/web"
)

// A listener is the flag for the address of a server that asks for no login.
type listener struct {
	flag    string
	address *string // empty: no such server
}

// exposed reports whether the listener can be reached from other machines.
func (l listener) exposed() bool {
	host, _, err := net.SplitHostPort(*l.address)
	return err == nil && !isLoopback(host)
}

// unauthenticated defines the flag --unauthenticated, without which listeners must have loopback addresses.
// The result reports whether a listener can be reached from other machines.
func (s *settings) unauthenticated(listeners ...listener) (exposed func() bool) {
	agreed := s.boolean("unauthenticated", "ALMANAC_UNAUTHENTICATED",
		"let others than this machine reach what asks for no login; something else has to keep strangers out")
	s.checks = append(s.checks, func() error {
		for _, l := range listeners {
			if l.exposed() && !*agreed {
				return fmt.Errorf("%s is %q, where others reach it, and it asks for no login: listen on a loopback address such as 127.0.0.1, "+
					"or give --unauthenticated if a proxy or a firewall keeps strangers out", s.source(l.flag), *l.address)
			}
		}
		return nil
	})
	return func() bool {
		for _, l := range listeners {
			if l.exposed() {
				return true
			}
		}
		return false
	}
}

// hosts defines the host names that the servers at the addresses answer to, and returns a function for the
// result, to be called after check. The hosts of the addresses and of public, the URL of the API, are
// added. public may be nil.
func (s *settings) hosts(public func() *url.URL, addresses ...*string) func() *web.Hosts {
	allowed := s.text("allowed-hosts", "ALMANAC_ALLOWED_HOSTS", "",
		"host names to answer to, besides addresses, localhost and the hosts of other flags, such as jobs.example.com,*.internal; others get 421")
	var hosts *web.Hosts
	s.checks = append(s.checks, func() (err error) {
		if hosts, err = web.ParseHosts(words(*allowed)...); err != nil {
			return s.blame("allowed-hosts", err)
		}
		names := words(*allowed)
		for _, a := range addresses {
			if host, _, err := net.SplitHostPort(*a); err == nil && host != "" {
				names = append(names, host)
			}
		}
		if public != nil && public() != nil {
			names = append(names, public().Hostname())
		}
		if known, err := web.ParseHosts(names...); err == nil { // other checks report bad addresses and URLs
			hosts = known
		}
		return nil
	})
	return func() *web.Hosts { return hosts }
}

// publicURL defines the URL at which callers reach the API, and returns a function for it, to be called
// after check. It is nil if callers use the address of the listener.
func (s *settings) publicURL() func() *url.URL {
	text := s.typed("URL", "public-url", "ALMANAC_PUBLIC_URL", "",
		"where callers reach the API if a proxy stands before it, such as https://jobs.example.com; links in answers begin with it")
	var public *url.URL
	s.checks = append(s.checks, func() error {
		if *text == "" {
			return nil
		}
		u, err := url.Parse(*text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(*text, "?#") {
			return fmt.Errorf("%s is %q, want an absolute http or https URL without a user, a query and a fragment, such as https://jobs.example.com", s.source("public-url"), redacted(*text))
		}
		public = u
		return nil
	})
	return func() *url.URL { return public }
}

// redacted returns a URL without its password.
func redacted(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return "…"
}
