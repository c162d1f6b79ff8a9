//go:build !slim

package main

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
)

// firstCommand returns a command that makes a job at this process's API, which listens at an address, and what its
// reader has to know first, a line each.
func firstCommand(p *wiring.Process, listen net.Addr) (command string, remarks []string) {
	host, port, _ := net.SplitHostPort(listen.String())
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	options, login := "", ""
	if p.Certificates != nil {
		leaf, intermediates := p.Certificates.Shown()
		name := callableName(p, leaf, host)
		switch name {
		case "":
			remarks = append(remarks, fmt.Sprintf("its certificate is not for %s, and the API goes by none of its names: give one of them in --allowed-hosts", host))
		case host:
		case "localhost":
			host = name
		default:
			options += "--resolve " + name + ":" + port + ":" + bracketed(host) + " "
			host = name
		}
		options += trustOption(p, leaf, intermediates, host)
	}
	login, more := curlLogin(p)
	return fmt.Sprintf(`curl %s-X PUT %s://%s/jobCollections/%s/jobs/hello -d '{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"https://example.com/"}},"recurrence":{"frequency":"minute"}}}'`,
		options+login, p.Scheme(), net.JoinHostPort(host, port), settings.DefaultCollection), append(remarks, more...)
}

// callableName returns a name of a certificate by which the API at a host can be called; "" if there is none.
func callableName(p *wiring.Process, leaf *x509.Certificate, host string) string {
	names := []string{host}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		names = append(names, "localhost")
	}
	if p.PublicURL != nil {
		names = append(names, p.PublicURL.Hostname())
	}
	for _, name := range append(names, leaf.DNSNames...) {
		if leaf.VerifyHostname(name) == nil && p.Hosts.Allows(name) {
			return name
		}
	}
	return ""
}

// trustOption returns the option by which curl trusts a certificate for a name, with a blank after it; "" if it does
// by the machine's authorities. The file of a server's certificate is enough: curl takes a certificate in it for an
// authority.
func trustOption(p *wiring.Process, leaf *x509.Certificate, intermediates *x509.CertPool, name string) string {
	verify := x509.VerifyOptions{DNSName: name, Intermediates: intermediates}
	if _, err := leaf.Verify(verify); err == nil {
		return ""
	}
	file := p.Setting("tls-cert").Text()
	if verify.Roots = p.Roots; verify.Roots != nil {
		if _, err := leaf.Verify(verify); err == nil {
			file = p.Setting("ca-file").Text()
		}
	}
	return "--cacert " + quoted(file) + " "
}

// curlLogin returns the options by which a caller shows curl's server who it is, with a blank after them, and where it
// gets what they name; "" if the API does not ask for that.
func curlLogin(p *wiring.Process) (options string, remarks []string) {
	a := &p.Access
	if p.TokenFile != "" {
		remarks = append(remarks, fmt.Sprintf(`$TOKEN is a token of a contributor or owner; "almanac token create --name NAME --role owner --token-file %s" makes one`,
			quoted(p.TokenFile)))
	}
	if len(a.Issuers) > 0 {
		remarks = append(remarks, fmt.Sprintf("$TOKEN is a token of %s for the audience %s, whose bearer %s; %s",
			strings.Join(a.Issuers, " or "), strings.Join(a.Audiences, " or "), mayCreate(p), tokenSource(a)))
	}
	switch {
	case p.AsksForToken():
		return `-H "Authorization: Bearer $TOKEN" `, remarks
	case p.Authenticating():
		return "--cert client.pem --key client.key ", []string{
			"client.pem and client.key are a certificate that an authority of --client-ca signed, and its key; its subject " + mayCreate(p),
		}
	}
	return "", nil
}

// mayCreate says where a caller gets a role without a token of --token-file.
func mayCreate(p *wiring.Process) string {
	if file := p.Setting("access").Text(); file != "" {
		return "is a contributor or owner by " + file
	}
	return "needs a role in a file that --access names"
}

// entraID matches the issuers of Entra ID.
var entraID = regexp.MustCompile(`^https://(?:login\.microsoftonline\.com|sts\.windows\.net)/`)

// tokenSource says how to get a token of an issuer.
func tokenSource(a *settings.Access) string {
	if entraID.MatchString(a.Issuers[0]) {
		return fmt.Sprintf(`"az account get-access-token --resource %s --query accessToken --output tsv" prints one`, quoted(a.Audiences[0]))
	}
	return fmt.Sprintf("the token_endpoint in %s/.well-known/openid-configuration gives one", strings.TrimSuffix(a.Issuers[0], "/"))
}

// bracketed returns a host as an address of an URL has it.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// plainWord matches what a shell reads as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// quoted returns a text as a word of a shell.
func quoted(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
