package senders

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// MailDomains are the domains of addresses to which mail may be sent; *.example.com is all below example.com. None
// allows all.
type MailDomains []string

var mailDomain = regexp.MustCompile(`^(\*\.)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$`)

// ParseMailDomains parses domains. The error lists every mistake.
func ParseMailDomains(list []string) (MailDomains, error) {
	var domains MailDomains
	var errs []error
	for _, text := range list {
		wildcard, rest := "", text
		if below, ok := strings.CutPrefix(text, "*."); ok {
			wildcard, rest = "*.", below
		}
		name := wildcard + asciiDomain(rest)
		if !mailDomain.MatchString(name) {
			errs = append(errs, fmt.Errorf("%q is no domain such as example.com or *.example.com", text))
			continue
		}
		domains = append(domains, name)
	}
	return domains, errors.Join(errs...)
}

// asciiDomain returns a domain in lower case, and in the letters of DNS.
func asciiDomain(text string) string {
	text = strings.ToLower(strings.TrimSuffix(text, "."))
	if ascii, err := idna.Lookup.ToASCII(text); err == nil {
		return ascii
	}
	return text
}

// Check returns an error if mail may not be sent to one of some addresses.
func (d MailDomains) Check(addresses []string) error {
	for _, address := range addresses {
		if !d.allow(address) {
			return fmt.Errorf("mail may be sent to addresses of %s only (--mail-domains), and %.200q is none", strings.Join(d, ", "), address)
		}
	}
	return nil
}

func (d MailDomains) allow(address string) bool {
	if len(d) == 0 {
		return true
	}
	domain := asciiDomain(address[strings.LastIndexByte(address, '@')+1:])
	for _, allowed := range d {
		below, wildcard := strings.CutPrefix(allowed, "*")
		if domain == allowed || wildcard && strings.HasSuffix(domain, below) {
			return true
		}
	}
	return false
}
