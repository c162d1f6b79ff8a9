package session

import (
	"errors"
	"net/http"
	"net/url"
)

// SameOrigin recognizes requests of this server's own web pages.
type SameOrigin struct {
	protection *http.CrossOriginProtection
	https      bool
}

// NewSameOrigin returns the SameOrigin of a server that browsers reach at a URL; nil means by the address of each
// request.
func NewSameOrigin(public *url.URL) (*SameOrigin, error) {
	s := &SameOrigin{protection: http.NewCrossOriginProtection()}
	if public == nil {
		return s, nil
	}
	s.https = public.Scheme == "https"
	return s, s.protection.AddTrustedOrigin(public.Scheme + "://" + public.Host) // a proxy may send another Host
}

// Secure reports whether browsers reach the server by TLS.
func (s *SameOrigin) Secure(r *http.Request) bool { return s.https || r.TLS != nil }

var (
	errUnproven = errors.New("a request that may change something has neither Sec-Fetch-Site nor Origin")
	errEmbedded = errors.New("a page of another site has loaded it")
)

// Check returns an error unless a request was sent by a page of this server, or is a link that was followed. A request
// that may change something has to prove it: current browsers send Sec-Fetch-Site by TLS and on this machine, and
// Origin elsewhere.
func (s *SameOrigin) Check(r *http.Request) error {
	if err := s.protection.Check(r); err != nil {
		return err
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		other := site == "cross-site" || site == "same-site"
		if other && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return errEmbedded
		}
		return nil
	}
	if site == "" && r.Header.Get("Origin") == "" {
		return errUnproven
	}
	return nil
}
