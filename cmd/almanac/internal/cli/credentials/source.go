package credentials

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/files"
)

// A Transport adds the token of a login to requests, and renews it before it expires. Of several processes one renews
// it, and the others find the new one: issuers take a refresh token once. It is safe for concurrent use.
type Transport struct {
	Path    string            // of the login
	API     string            // URL for which the token is
	Context string            // its name
	Base    http.RoundTripper // for requests to the API and to the issuer

	mu   sync.Mutex
	last *Login
}

// RoundTrip sends a request with a token.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.token(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	sent := r.Clone(r.Context())
	sent.Header.Set("Authorization", "Bearer "+token)
	return t.Base.RoundTrip(sent)
}

func (t *Transport) token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || !t.last.fresh(time.Now()) {
		l, err := Load(t.Path, t.API)
		if err == nil && l != nil && !l.fresh(time.Now()) {
			l, err = t.renew(ctx)
		}
		switch {
		case err != nil:
			return "", err
		case l == nil:
			return "", t.over("nobody is logged in any more")
		}
		t.last = l
	}
	return t.last.Token, nil
}

// renew replaces the token in the file, unless another process has done so meanwhile.
func (t *Transport) renew(ctx context.Context) (l *Login, err error) {
	err = files.Change(t.Path, false, func(text []byte) ([]byte, error) {
		if l, err = parse(text); err != nil {
			return nil, err
		}
		if l.fresh(time.Now()) {
			return text, nil
		}
		if err := t.refresh(ctx, l); err != nil {
			return nil, err
		}
		return json.Marshal(l)
	})
	return l, err
}

// refresh gets a new token from the issuer.
func (t *Transport) refresh(ctx context.Context, l *Login) error {
	if l.RefreshToken == "" {
		return t.over("the login has expired")
	}
	s, err := discover(ctx, t.Base, Place{Issuer: l.Issuer, ClientID: l.ClientID})
	if err != nil {
		return fmt.Errorf("renew the login: %w", err)
	}
	token, err := s.TokenSource(s.with(ctx), &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if err != nil {
		answered := refusal(ctx, l.Issuer, err)
		if exit.CodeOf(answered) == exit.Refused {
			return t.over("the login has ended: " + answered.Error())
		}
		return fmt.Errorf("renew the login: %w", answered)
	}
	return l.take(token)
}

// over returns the error of a login that does not count any more.
func (t *Transport) over(why string) error {
	return exit.With(exit.Refused, fmt.Errorf("%s\n\"almanac login %s\" begins a new one", why, t.Context))
}
