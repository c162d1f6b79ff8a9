package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// Hosts are the host names that a server answers to. Addresses and localhost are always
// allowed; a nil Hosts allows nothing else.
//
// This protects against DNS rebinding: a web page may resolve a name of its own to the
// address of a server on its reader's machine or network. To the browser both are the same
// site, so rules about other sites do not help, but the Host header still has the page's name.
type Hosts struct {
	names []string // in lower case; one that begins with "." stands for every name below
}

var hostName = regexp.MustCompile(`^(\*\.)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$`)

// ParseHosts parses names such as www.example.com, or *.example.com for every name below
// example.com. Addresses are accepted and have no effect. The error lists every mistake.
func ParseHosts(names ...string) (*Hosts, error) {
	h := &Hosts{}
	var errs []error
	for _, entry := range names {
		name := normal(entry)
		switch {
		case isAddress(name):
		case !hostName.MatchString(name):
			errs = append(errs, fmt.Errorf("%q is no host name such as jobs.example.com or *.example.com, without a port", entry))
		default:
			h.names = append(h.names, strings.TrimPrefix(name, "*"))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return h, nil
}

// Allows reports whether the value of a Host header is allowed. An empty value is: browsers
// always send one.
func (h *Hosts) Allows(value string) bool {
	host := value
	if name, _, err := net.SplitHostPort(value); err == nil {
		host = name
	}
	host = normal(host)
	if host == "" || host == "localhost" || isAddress(host) {
		return true
	}
	if h == nil {
		return false
	}
	for _, name := range h.names {
		if host == name || name[0] == '.' && strings.HasSuffix(host, name) {
			return true
		}
	}
	return false
}

// Check returns a handler that answers requests to other hosts with 421, in the form of the
// API's errors, and passes the others to next. HTTP/2 has the host as :authority; a Host header
// beside it has to be allowed as well.
func (h *Hosts) Check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refused, isRefused := h.refused(r)
		if !isRefused {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := json.Marshal(map[string]any{"error": map[string]string{ // cannot fail
			"code": "MisdirectedRequest",
			"message": fmt.Sprintf("This server does not go by the name %.100q, in the Host header. Call it by its "+
				"address, or have its operator start it with that name in --allowed-hosts.",
				refused),
		}})
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = w.Write(body) // the caller may be gone
	})
}

// refused returns the host of a request that is not allowed, if there is one.
func (h *Hosts) refused(r *http.Request) (host string, refused bool) {
	if !h.Allows(r.Host) {
		return r.Host, true
	}
	for _, host := range r.Header["Host"] {
		if !h.Allows(host) {
			return host, true
		}
	}
	return "", false
}

func normal(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
