package senders

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"almanac/activities"
	"almanac/activities/lease"
	"almanac/job/kind"
)

const (
	oauthTimeout = 30 * time.Second // per token request; half of an attempt's time limit
	// shortest remaining validity of a token in use, for the attempt's duration and clock skew.
	oauthMargin    = 2 * time.Minute
	maxOAuthTokens = 1000
)

var errOAuthTimeout = fmt.Errorf("no answer within %g s", oauthTimeout.Seconds())

// tokens fetches and caches tokens by the client credentials grant of OAuth 2.0 (RFC 6749) from one
// authority, at Azure AD v1 endpoints.
type tokens struct {
	client    *http.Client
	authority string
	requests  singleflight.Group // by digest, as in known

	mu    sync.Mutex
	known map[string]token
}

// A token is the value of an Authorization header, and until when it may be used.
type token struct {
	authorization string
	until         time.Time
}

// newTokens returns an empty cache. Requests for tokens are not repeated, so the transport is one for these.
func newTokens(transport http.RoundTripper, authority string) *tokens {
	return &tokens{
		// The body holds the secret, so redirects are not followed.
		client: &http.Client{Transport: tokenTransport{transport}, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		authority: strings.TrimRight(authority, "/"),
		known:     map[string]token{},
	}
}

// tokenKey returns the cache key of a client, its audience and its secret.
func tokenKey(a *kind.Authentication) string {
	return digest(a.Tenant, a.ClientID, a.Audience, a.Secret)
}

// authorization returns the value of the Authorization header. Concurrent calls share one token request.
func (t *tokens) authorization(ctx context.Context, a *kind.Authentication) (string, error) {
	key := tokenKey(a)
	if authorization, ok := t.lookup(key); ok {
		return authorization, nil
	}
	answer := t.requests.DoChan(key, func() (any, error) {
		if authorization, ok := t.lookup(key); ok { // another request stored it meanwhile
			return authorization, nil
		}
		// Other callers still wait for the token if the first one gives up.
		ctx, cancel := context.WithTimeoutCause(lease.Without(context.WithoutCancel(ctx)), oauthTimeout, errOAuthTimeout)
		defer cancel()
		return t.request(ctx, key, a)
	})
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case r := <-answer:
		if r.Err != nil {
			return "", r.Err
		}
		return r.Val.(string), nil
	}
}

func (t *tokens) lookup(key string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.known[key]
	return found.authorization, ok && time.Now().Before(found.until)
}

// drop removes a token from the cache unless it was replaced by a newer one.
func (t *tokens) drop(a *kind.Authentication, authorization string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := tokenKey(a); t.known[key].authorization == authorization {
		delete(t.known, key)
	}
}

// keep caches a token that is valid until expiry. A token without a lifetime is not cached.
func (t *tokens) keep(key, authorization string, now, expiry time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.known, func(_ string, k token) bool { return !now.Before(k.until) })
	for other := range t.known {
		if len(t.known) < maxOAuthTokens {
			break
		}
		delete(t.known, other)
	}
	if lifetime := expiry.Sub(now); lifetime > 0 {
		t.known[key] = token{authorization, expiry.Add(-min(oauthMargin, lifetime/2))}
	}
}

func (t *tokens) request(ctx context.Context, key string, a *kind.Authentication) (string, error) {
	config := clientcredentials.Config{
		ClientID:       a.ClientID,
		ClientSecret:   a.Secret,
		TokenURL:       t.authority + "/" + url.PathEscape(a.Tenant) + "/oauth2/token",
		EndpointParams: url.Values{"resource": {a.Audience}},
		AuthStyle:      oauth2.AuthStyleInParams,
	}
	now := time.Now()
	got, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		return "", t.failure(ctx, err)
	}
	authorization := "Bearer " + got.AccessToken
	t.keep(key, authorization, now, got.Expiry)
	return authorization, nil
}

// maxTokenAnswer is how many bytes of an answer are read.
const maxTokenAnswer = 64 << 10

var errTokenEncoding = errors.New("the answer has a content encoding that was not asked for and cannot be read")

// A tokenTransport gives what reads an answer its text in UTF-8, without content encodings.
type tokenTransport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	read, err := readBody(resp.Header, resp.Body, maxTokenAnswer)
	if err == nil && read.note != "" {
		err = errTokenEncoding
	}
	if err != nil && resp.StatusCode < http.StatusMultipleChoices { // the status of another says why there is no token
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(read.text))
	return resp, nil
}

// tokenErrors explains the error codes of RFC 6749 and Azure AD that a client can fix.
var tokenErrors = map[string]string{
	"invalid_client":      "the secret is wrong or has expired",
	"unauthorized_client": "the tenant does not know the clientId",
	"invalid_resource":    "the tenant does not know the audience",
	"invalid_request":     "the tenant may be wrong, or a value malformed",
	"access_denied":       "the client may not have tokens for the audience",
}

// failure says why there is no token. It quotes only parts of the response known to hold no secret.
func (t *tokens) failure(ctx context.Context, err error) error {
	text := "no token from " + kind.RedactURI(t.authority) + ": "
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text += fmt.Sprintf("the host answered %d %s", answer.Response.StatusCode, reasonName(answer.Response.StatusCode))
		if advice := tokenErrors[answer.ErrorCode]; advice != "" {
			text += fmt.Sprintf(" (%s): %s", answer.ErrorCode, advice)
		}
		return withRetryAfter(errors.New(text), answer.Response)
	}
	if _, transport := errors.AsType[*url.Error](err); !transport && ctx.Err() == nil {
		return errors.New(text + "the answer holds none that can be read")
	}
	if unanswered, ok := errors.AsType[*unansweredError](err); ok {
		// it says what became of this request, not of the job's
		err = unanswered.error
	}
	err = failure(ctx, err)
	if _, permanent := errors.AsType[*activities.PermanentError](err); permanent {
		return err
	}
	return errors.New(text + err.Error())
}
