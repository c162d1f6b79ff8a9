package senders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"almanac/activities"
	"almanac/internal/egress"
	"almanac/internal/pool"
	"almanac/internal/telemetry"
	"almanac/job"
	"almanac/job/kind"
)

// Limits of a request and its response.
const (
	maxRedirects = 10
	maxHeader    = 64 << 10 // bytes of a response's headers
	maxBody      = 2048     // bytes of a response's body kept for the history
	maxDrain     = 16 << 10 // further bytes of the body read so that the connection can be reused
	drainTimeout = 50 * time.Millisecond
)

// DefaultAuthority issues tokens for Azure's public cloud.
const DefaultAuthority = "https://login.microsoftonline.com"

// HTTP sends web requests. It is safe for concurrent use. It caches connections and tokens, so use one
// for all jobs.
type HTTP struct {
	client       transports // for requests without a client certificate
	certificates *pool.Pool[string, certificateClient]
	tokens       *tokens
	options      Options
}

// NewHTTP returns a sender for actions of type Http and Https. It uses no proxy, and follows up to 10
// redirects, only to the same scheme, host and port.
func NewHTTP(o Options) *HTTP {
	client := newTransports(o, nil)
	return &HTTP{
		client:       client,
		certificates: pool.New[string, certificateClient](maxCertificates, certificateIdle),
		tokens:       newTokens(client.once, cmp.Or(o.Authority, DefaultAuthority)),
		options:      o,
	}
}

// Send makes the request once. It succeeds on a 2xx status, provided that the first 2048 bytes of the
// body, or all of a shorter one, arrive too.
func (h *HTTP) Send(ctx context.Context, e job.Execution, a *job.Action) (string, error) {
	req, err := h.request(ctx, e, a.Request)
	if err != nil {
		return activities.Fail(kind.HTTP, "Request cannot be sent: "+err.Error(), &activities.PermanentError{Err: err})
	}
	client, done, err := h.authenticate(ctx, req, a.Request.Authentication)
	if err != nil {
		return activities.Fail(kind.HTTP, fmt.Sprintf("Request to host '%s' cannot be authenticated: %s", req.URL.Host, err), err)
	}
	defer done()
	s := withRequest(secretsOf(a), req)
	follow := &redirects{body: a.Request.Body, refused: a.Request.FollowRedirects != nil && !*a.Request.FollowRedirects}
	resp, cancel, err := follow.do(client.of(a, a.Request.Body != ""), req)
	if err != nil {
		err = failure(ctx, err)
		message, err := activities.Fail(kind.HTTP, fmt.Sprintf("Request to host '%s' failed: %s", req.URL.Host, err), err)
		return message + follow.text(s), err
	}
	defer cancel()
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		h.forget(req, a.Request.Authentication)
	}
	read, err := readBody(resp.Header, resp.Body, maxBody)
	body := read.shown(s)
	message := job.ResponseMessage(req.URL.Host, reasonName(resp.StatusCode), headerText(resp.Header, s), body) + follow.text(s)
	if err == nil {
		drain(resp, cancel)
	}
	reason, err := outcome(ctx, resp, body, err, follow.notFollowed(resp, s))
	if err != nil {
		return message + " (" + err.Error() + ")", &activities.ReasonError{Reason: reason, Err: err}
	}
	return message, nil
}

// Address returns the host and port to which a request goes.
func (h *HTTP) Address(p kind.Parameters) string {
	r, ok := p.(*kind.Request)
	if !ok {
		return ""
	}
	return addressOf(r.URI)
}

// failure returns the attempt's error if there was no response.
func failure(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return &activities.PermanentError{Err: refused}
	}
	return errors.New(reason(ctx, err))
}

// request builds the job's request. It adds headers that identify the execution, unless the job sets them.
func (h *HTTP) request(ctx context.Context, e job.Execution, r *kind.Request) (*http.Request, error) {
	if r == nil {
		return nil, errors.New("the action has no request")
	}
	uri, err := kind.ParseURI(r.URI)
	if err != nil || uri.Host == "" || uri.Scheme != "http" && uri.Scheme != "https" {
		return nil, errors.New("the uri is not an absolute http or https address") // err would quote the whole address
	}
	method := strings.ToUpper(cmp.Or(r.Method, http.MethodGet))
	req, err := http.NewRequestWithContext(ctx, method, "", strings.NewReader(r.Body))
	if err != nil || !kind.IsMethod(method) {
		return nil, fmt.Errorf("%q is not a method that requests may have", r.Method)
	}
	uri.Host = sentHost(uri.Host)
	req.URL, req.Host = uri, uri.Host
	for _, m := range r.Headers {
		value := strings.Trim(m.Value, " \t") // blanks around a value are no part of it, and malformed in HTTP/2
		if strings.EqualFold(m.Name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Add(m.Name, value)
	}
	for _, m := range h.ownHeaders(ctx, r, e) {
		if len(req.Header.Values(m.Name)) == 0 {
			req.Header.Set(m.Name, m.Value)
		}
	}
	if u := uri.User; u != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	return req, nil
}

// sentHost returns the host of a URI, with its port, as it is sent: internationalized names in ASCII (RFC 5891), and no
// colon without a port.
func sentHost(host string) string {
	host = strings.TrimSuffix(host, ":")
	name, port, hasPort := strings.Cut(host, ":")
	ascii, err := idna.Lookup.ToASCII(name)
	switch {
	case err != nil || !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }):
		return host
	case hasPort:
		return ascii + ":" + port
	}
	return ascii
}

// ownHeaders returns the headers that Almanac adds. The x-ms names and formats are Azure Scheduler's. If trace
// propagation is on, also for r, the trace headers of ctx are among them, so that the receiver continues the trace.
func (h *HTTP) ownHeaders(ctx context.Context, r *kind.Request, e job.Execution) job.Members {
	own := job.Members{
		{Name: "User-Agent", Value: "Almanac/" + h.options.Version},
		{Name: "Idempotency-Key", Value: e.ID},
		{Name: "x-ms-client-request-id", Value: e.ID},
		{Name: "x-ms-execution-tag", Value: strings.ReplaceAll(e.ID, "-", "")},
		{Name: "x-ms-scheduler-expected-execution-time", Value: e.Due.UTC().Format("2006-01-02T15:04:05")},
		{Name: "x-ms-scheduler-jobid", Value: headerValue(e.Job)},
		{Name: "x-ms-scheduler-jobcollectionid", Value: headerValue(e.Collection)},
	}
	if h.options.PropagateTrace && (r.Traceparent == nil || *r.Traceparent) {
		for name, value := range telemetry.Headers(ctx) {
			own = append(own, job.Member{Name: name, Value: value})
		}
	}
	return own
}

// headerValue percent-encodes non-ASCII bytes. Names contain no percent sign, so a receiver can always
// decode it.
func headerValue(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// outcome returns nil on success, otherwise the failure and the sentence that says why. bodyErr is the error of reading
// the beginning of the body, and notFollowed says why a redirect was not followed.
func outcome(ctx context.Context, resp *http.Response, body string, bodyErr error, notFollowed string) (why string, err error) {
	status := fmt.Sprintf("the host answered %d %s", resp.StatusCode, reasonName(resp.StatusCode))
	answered := func(text string) error {
		return activities.AnsweredWith(errors.New(text), resp.StatusCode)
	}
	switch {
	case isRedirect(resp.StatusCode):
		return job.AnsweredReason(resp.StatusCode, "") + notFollowed, answered(status + notFollowed)
	case resp.StatusCode/100 != 2:
		return job.AnsweredReason(resp.StatusCode, body), withRetryAfter(answered(status), resp)
	case bodyErr != nil:
		incomplete := ", but not all of its body came: " + reason(ctx, bodyErr)
		return job.AnsweredReason(resp.StatusCode, "") + incomplete, errors.New(status + incomplete)
	}
	return "", nil
}

// drain reads the rest of a short body so that the connection can be reused. After drainTimeout it
// calls cancel, so a slow receiver does not delay the attempt.
func drain(resp *http.Response, cancel context.CancelFunc) {
	if resp.ContentLength > maxBody+maxDrain {
		return
	}
	timer := time.AfterFunc(drainTimeout, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain) // best effort: the outcome is known
}
