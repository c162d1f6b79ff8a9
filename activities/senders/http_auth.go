package senders

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"almanac/activities"
	"almanac/job/kind"
)

// authenticate adds the action's authentication to a request and returns the client to send it with, which is
// released by done. It takes precedence over an Authorization header and over user info in the uri, which are
// not kept secret.
func (h *HTTP) authenticate(ctx context.Context, req *http.Request, a *kind.Authentication) (client transports, done func(), err error) {
	done = func() {}
	if a == nil {
		return h.client, done, nil
	}
	switch a.Type {
	case kind.AuthBasic:
		req.SetBasicAuth(a.Username, a.Password)
	case kind.AuthClientCertificate:
		if req.URL.Scheme != "https" {
			return transports{}, nil, &activities.PermanentError{Err: errors.New("a client certificate can only be shown over https, which the uri is to begin with")}
		}
		return h.withCertificate(ctx, a)
	case kind.AuthOAuth:
		authorization, err := h.tokens.authorization(ctx, a)
		if err != nil {
			return transports{}, nil, err
		}
		req.Header.Set("Authorization", authorization)
	default:
		return transports{}, nil, &activities.PermanentError{Err: fmt.Errorf("%q is not a type of authentication", a.Type)}
	}
	return h.client, done, nil
}

// forget drops the request's token after the host refused it, since it may have been revoked.
func (h *HTTP) forget(req *http.Request, a *kind.Authentication) {
	if a != nil && a.Type == kind.AuthOAuth {
		h.tokens.drop(a, req.Header.Get("Authorization"))
	}
}
