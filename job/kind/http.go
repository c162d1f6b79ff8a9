package kind

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"almanac/internal/fields"
)

// A Request is a web request.
type Request struct {
	URI      string         `json:"uri" field:"required,rule=uri"`
	Method   string         `json:"method" field:"rule=method,default=GET"`
	Headers  fields.Members `json:"headers,omitzero"`
	Body     string         `json:"body,omitempty" field:"rule=body,secret"`
	Template bool           `json:"template,omitempty"` // uri, headers and body have placeholders; see package template

	// Traceparent says whether the receiver gets the trace of the attempt; nil means true.
	Traceparent    *bool           `json:"traceparent,omitempty"`
	Authentication *Authentication `json:"authentication,omitempty"`
	// FollowRedirects says whether redirects to the same scheme, host and port are followed; nil means true.
	FollowRedirects *bool `json:"followRedirects,omitempty"`

	_ struct{} `ignore:"retryPolicy"` // a published quickstart sends it here; the service ignored it
}

// IsMethod reports whether a request may have a method: one of those that Azure Scheduler names, in any
// case, except CONNECT and TRACE. CONNECT opens a tunnel through a proxy, and TRACE returns credentials.
func IsMethod(name string) bool {
	switch strings.ToUpper(name) {
	case "GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS":
		return true
	}
	return false
}

func (r *Request) rules(l Limits) map[string]fields.Rule {
	return map[string]fields.Rule{
		"method": {Code: fields.Unsupported, Allowed: "GET, PUT, POST, PATCH, DELETE, HEAD or OPTIONS", Valid: IsMethod},
		"uri":    {Allowed: "an absolute http or https URL"}, // the rest is for checkURI
		"body":   bodyRule(l),
		"pfx":    pfxRule,
	}
}

// Text implements [Parameters].
func (r *Request) Text() string { return r.Method + " " + RedactURI(r.URI) }

// TargetText implements [ActionParameters]. The path is left out, since that of a webhook of Slack or Teams is its
// secret.
func (r *Request) TargetText() string { return withoutPath(r.Method, r.URI) }

// withoutPath describes a request to a URI for logs and records.
func withoutPath(method, uri string) string {
	u, err := ParseURI(uri)
	if err != nil {
		return method + " (a URI that cannot be read)"
	}
	text := method + " " + u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		text += "/…"
	}
	return text
}

// Host implements [ActionParameters]. It has the port if the address names one.
func (r *Request) Host() string {
	u, err := ParseURI(r.URI)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// HostKey implements [ActionParameters]. It has the port.
func (r *Request) HostKey() string {
	u, err := ParseURI(r.URI)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	return "host " + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Templated implements [ActionParameters].
func (r *Request) Templated() *bool { return &r.Template }

// Texts implements [ActionParameters].
func (r *Request) Texts() []Text {
	all := []Text{
		{Path: "uri", Value: &r.URI, Use: InURI},
		{Path: "body", Value: &r.Body, MediaType: r.Headers.Get("Content-Type")},
	}
	all = append(all, inMembers(r.Headers, "headers", InHeader)...)
	if a := r.Authentication; a != nil {
		all = append(all, Text{Path: "authentication.username", Value: &a.Username, Use: InUser})
	}
	return all
}

func (r *Request) copied() Parameters {
	c := cloned(r)
	c.Headers, c.Authentication = slices.Clone(r.Headers), cloned(r.Authentication)
	return c
}

// Check implements [Parameters]. It removes an authentication of type NotSpecified.
func (r *Request) Check(c *Checker) {
	if c.Has("uri") || r.URI != "" && c.Add("uri", r.uri(c)) {
		r.URI = ""
	}
	size := 0
	for _, h := range r.Headers {
		c.Add("headers."+fields.Shorten(h.Name), checkHeader(h))
		size += len(h.Name) + len(h.Value)
	}
	if n, most := len(r.Headers), c.Limits.Headers; n > most {
		c.Fail("headers", fields.TooMany, fmt.Sprintf("at most %d headers, not %d", most, n), "")
	}
	if most := c.Limits.HeaderBytes; size > most {
		c.Fail("headers", fields.TooLong,
			fmt.Sprintf("names and values of at most %d bytes in all, not %d", most, size), "")
	}
	if auth := r.Authentication; auth != nil {
		auth.check(c)
		if auth.Type == "" || auth.Type == authNone {
			r.Authentication = nil
		}
	}
}

// uri returns what is wrong with the URI, without its path; nil if nothing is.
func (r *Request) uri(c *Checker) *fields.Error {
	if r.Template && len(r.URI) <= c.Limits.URIBytes {
		return checkURI(c.Filled(r.URI), c.Type)
	}
	return c.uri(r.URI)
}

// Target implements [ActionParameters].
func (r *Request) Target(c *Checker) {
	c.own("body", r.Body != "")
	c.own("template", r.Template)
	r.Body, r.Template = "", false
}

// PostByDefault gives the request of a target the method POST if it has none.
func PostByDefault(target *fields.Node) {
	request := target.Member("request")
	if request == nil || request.Kind != fields.Object || request.Member("method") != nil {
		return
	}
	request.Remove("method") // which is null
	post := &fields.Node{Kind: fields.String, Text: "POST"}
	request.Entries = append(request.Entries, fields.Entry{Name: "method", Value: post})
}

// Carry implements [ActionParameters].
func (r *Request) Carry(content, mediaType string) {
	r.Body = content
	if r.Headers.Get("Content-Type") == "" {
		r.Headers = append(slices.Clip(r.Headers), fields.Member{Name: "Content-Type", Value: mediaType})
	}
}
