package senders

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"almanac/internal/egress"
	"almanac/internal/redact"
	"almanac/job/kind"
)

// maxHopAddress is the maximum length of an address in the text of [redirects], in bytes.
const maxHopAddress = 100

// A redirects value follows the redirects of a request, only to the same scheme, host and port. POST becomes GET after
// 301 and 302, and all methods but HEAD do after 303; otherwise method and body stay (RFC 9110, section 15.4). A
// request that may change something is sent again once at most, so that a loop of redirects does not repeat it.
type redirects struct {
	body     string
	refused  bool // the job follows none
	repeated bool // the request was sent again, with its method and body
	hops     []hop
	last     hop    // the last request, whatever its answer
	why      string // why the last answer, a redirect, was not followed; "" if it was, or is none
}

// A hop is a request that was answered with a redirect.
type hop struct {
	method, address string
	status          int
}

// do sends a request and those to which its answers lead. done ends the last of them, whose body is not read further.
func (f *redirects) do(client http.RoundTripper, req *http.Request) (resp *http.Response, done context.CancelFunc, err error) {
	for {
		ctx, cancel := context.WithCancel(req.Context())
		resp, err := client.RoundTrip(req.WithContext(ctx))
		if err != nil {
			cancel()
			return nil, nil, err
		}
		next := f.next(req, resp)
		if next == nil {
			return resp, cancel, nil
		}
		drain(resp, cancel)
		resp.Body.Close()
		cancel()
		req = next
	}
}

// next returns the request to which an answer leads; nil if it leads to none, or is not followed.
func (f *redirects) next(req *http.Request, resp *http.Response) *http.Request {
	location := resp.Header.Get("Location")
	if !isRedirect(resp.StatusCode) || location == "" {
		return nil
	}
	to, err := kind.ParseURI(location)
	switch {
	case len(slices.Compact(slices.Clone(resp.Header["Location"]))) > 1:
		f.why = "it has several Location headers"
		return nil
	case err != nil:
		f.why = "its Location header cannot be read"
		return nil
	}
	target := req.URL.ResolveReference(to)
	target.Host = sentHost(target.Host)
	method := methodAfter(resp.StatusCode, req.Method)
	kept := method == req.Method && resp.StatusCode != http.StatusSeeOther
	repeats := kept && (f.body != "" || !isSafe(method))
	switch {
	case !sameOrigin(target, req.URL): // described by notFollowed
		return nil
	case f.refused:
		f.why = "the request has followRedirects false"
	case len(f.hops) == maxRedirects:
		f.why = fmt.Sprintf("at most %d redirects are", maxRedirects)
	case repeats && f.repeated:
		f.why = "a request that may change something is sent again once"
	}
	if f.why != "" {
		return nil
	}
	f.hops = append(f.hops, hop{req.Method, kind.RedactURI(req.URL.String()), resp.StatusCode})
	f.last = hop{method: method, address: kind.RedactURI(target.String())}
	f.repeated = f.repeated || repeats
	if !kept {
		f.body = ""
	}
	return f.request(req, method, target, !to.IsAbs(), kept)
}

// request returns the request of a redirect. It has the headers of the one before, except those of the content, if that
// is left out.
func (f *redirects) request(before *http.Request, method string, target *url.URL, relative, kept bool) *http.Request {
	// the method was sent before
	next, _ := http.NewRequestWithContext(before.Context(), method, "", strings.NewReader(f.body))
	next.URL, next.Host, next.Header = target, target.Host, before.Header.Clone()
	if relative {
		next.Host = before.Host // which the job may have set
	}
	if !kept {
		for name := range next.Header {
			if strings.HasPrefix(name, "Content-") || name == "Digest" || name == "Repr-Digest" || name == "Expect" {
				next.Header.Del(name)
			}
		}
	}
	return next
}

// text describes the redirects that were followed; "" if there were none.
func (f *redirects) text(s redact.Secrets) string {
	if len(f.hops) == 0 {
		return ""
	}
	var b strings.Builder
	for _, h := range f.hops {
		fmt.Fprintf(&b, "%s %s was answered %d %s; ", h.method, s.Text(h.address, maxHopAddress), h.status, reasonName(h.status))
	}
	return fmt.Sprintf(" (redirected: %sthen %s %s)", b.String(), f.last.method, s.Text(f.last.address, maxHopAddress))
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// methodAfter returns the method of the request to which a redirect leads.
func methodAfter(status int, method string) string {
	moved := status == http.StatusMovedPermanently || status == http.StatusFound
	if moved && method == http.MethodPost || status == http.StatusSeeOther && method != http.MethodHead {
		return http.MethodGet
	}
	return method
}

// isSafe reports whether requests of a method change nothing (RFC 9110, section 9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// notFollowed says why a redirect was not followed.
func (f *redirects) notFollowed(resp *http.Response, s redact.Secrets) string {
	if !isRedirect(resp.StatusCode) {
		return ""
	}
	if resp.Header.Get("Location") == "" {
		return " without a Location"
	}
	if f.why != "" {
		return ", which is not followed: " + f.why
	}
	to, err := kind.ParseURI(resp.Header.Get("Location"))
	if err != nil {
		return "" // an error before
	}
	target, from := resp.Request.URL.ResolveReference(to), resp.Request.URL
	if target.Host == "" {
		return ", which is not followed: its Location is not an http or https address"
	}
	text := fmt.Sprintf(", which is not followed: it leads to host '%s'", s.Text(target.Host, egress.MaxReason))
	if target.Scheme != from.Scheme {
		text += fmt.Sprintf(", from %s to %s", from.Scheme, s.Text(target.Scheme, maxHopAddress))
	}
	return text
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}
