package token

import (
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"almanac/access"
)

// A Holder is a token with the principal that it stands for.
type Holder struct {
	Entry
	principal access.Principal
}

func newHolder(e Entry) *Holder {
	return &Holder{e, access.Principal{
		Kind: access.KindToken, Name: e.Name, Grant: e.Grant, Selectors: []access.Selector{{Kind: access.KindToken, Value: e.Name}},
	}}
}

// Find returns the token with a hash; nil if there is none.
func (s *Set) Find(h Hash) *Holder {
	for _, candidate := range s.byHash[index(h)] {
		if subtle.ConstantTimeCompare(candidate.Hash[:], h[:]) == 1 {
			return candidate
		}
	}
	return nil
}

// An Authenticator authenticates callers by the tokens of a file.
type Authenticator struct {
	Tokens func() *Set      // those in force
	Now    func() time.Time // nil means [time.Now]
}

// Authenticate returns the holder of a request's bearer token; nil for a text without the prefix of a token.
func (a *Authenticator) Authenticate(r *http.Request) (*access.Principal, error) {
	bearer := access.Bearer(r)
	if !strings.HasPrefix(bearer, Prefix) {
		return nil, nil
	}
	if !WellFormed(bearer) {
		return nil, &access.CredentialError{Problem: "The token is not complete, or was mistyped: its checksum is wrong."}
	}
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	found := a.Tokens().Find(HashOf(bearer))
	switch {
	case found == nil:
		return nil, &access.CredentialError{Problem: "The token is not known; it may have been revoked."}
	case found.Expired(now()):
		return nil, &access.CredentialError{Problem: "The token has expired."}
	}
	return &found.principal, nil
}
