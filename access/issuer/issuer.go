// Package issuer authenticates callers by JSON Web Tokens of OpenID Connect issuers, such as Entra ID, dex or Keycloak.
package issuer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"almanac/access"
)

// Leeway is how far the clocks of an issuer and of this machine may differ.
const Leeway = time.Minute

// algorithms are those whose signatures count: with public keys only, so that no key of an issuer is a shared secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Options configure an [Authenticator].
type Options struct {
	Issuers   []string // as they stand in tokens, byte by byte
	Audiences []string // a token has to be for one of them
	Client    *http.Client
	Log       *slog.Logger
	Now       func() time.Time // nil means [time.Now]
}

// An Authenticator checks tokens. It is safe for concurrent use.
type Authenticator struct {
	audiences []string
	issuers   map[string]*keySet // those whose tokens are accepted
	now       func() time.Time
	memory    memory
}

// New returns an authenticator. It asks no issuer before there is a token of it.
func New(o Options) *Authenticator {
	a := &Authenticator{audiences: o.Audiences, issuers: map[string]*keySet{}, now: o.Now}
	if a.now == nil {
		a.now = time.Now
	}
	for _, name := range o.Issuers {
		a.issuers[name] = &keySet{issuer: name, client: Bounded(o.Client), log: o.Log, now: a.now}
	}
	return a
}

// Authenticate returns the subject of a bearer token; nil for a text that is no JSON Web Token. An issuer that cannot
// be asked for a key that is needed is no [access.CredentialError].
func (a *Authenticator) Authenticate(r *http.Request) (*access.Principal, error) {
	bearer := access.Bearer(r)
	if strings.Count(bearer, ".") != 2 {
		return nil, nil
	}
	hash := sha256.Sum256([]byte(bearer))
	if who := a.memory.find(r.Context(), hash, a.now()); who != nil {
		return who, nil
	}
	said, keys, err := a.verify(r.Context(), bearer)
	if err != nil {
		return nil, err
	}
	if problem := a.problem(said, a.audiences); problem != "" {
		return nil, refuse(problem, nil)
	}
	who := said.Principal()
	said.selects(who, access.KindApplication, cmp.Or(said.AppV1, said.AppV2, said.ClientID))
	a.memory.add(hash, remembered{who, keys, a.issuers[said.Issuer], at(*said.Expires).Add(Leeway)})
	return who, nil
}

// verify reads the claims of a token and checks its signature, by the returned keys of its issuer.
func (a *Authenticator) verify(ctx context.Context, raw string) (*claims, *keys, error) {
	signed, err := jose.ParseSignedCompact(raw, algorithms)
	if err != nil {
		return nil, nil, refuse(badSignature, err)
	}
	said, err := parseClaims(signed.UnsafePayloadWithoutVerification()) // the signature is of these very bytes
	switch {
	case errors.Is(err, errRepeated):
		return nil, nil, refuse("The token has a claim twice.", err)
	case errors.Is(err, errType):
		return nil, nil, refuse("The token has a claim of a wrong type.", err)
	case err != nil:
		return nil, nil, refuse(badIssuer, err)
	}
	from, ok := a.issuers[said.Issuer]
	if !ok {
		return nil, nil, refuse(badIssuer, nil)
	}
	keys, err := from.verify(ctx, signed)
	switch {
	case errors.Is(err, errNoKey):
		return nil, nil, refuse(badSignature, err)
	case err != nil:
		return nil, nil, err
	}
	return said, keys, nil
}

const (
	badSignature = "The token's signature cannot be verified with the keys of its issuer."
	badIssuer    = "The token is of an issuer that is not accepted, or is damaged."
)

// problem says why a token with a good signature does not count for one of some audiences; "" if it does.
func (a *Authenticator) problem(said *claims, audiences []string) string {
	now := a.now()
	switch {
	case said.Expires == nil:
		return "The token has no expiry (exp), so it is not accepted."
	case !now.Before(at(*said.Expires).Add(Leeway)):
		return "The token has expired."
	case said.NotBefore != nil && now.Before(at(*said.NotBefore).Add(-Leeway)):
		return "The token is not valid yet."
	case !slices.ContainsFunc(said.Audience, func(audience string) bool { return slices.Contains(audiences, audience) }):
		return "The token is for another audience (aud)."
	case said.Subject == "":
		return "The token has no subject (sub)."
	case len(said.Subject) > maxName || len(said.Object) > maxName:
		return "The token has a name (sub or oid) of more than 255 bytes."
	}
	return ""
}

// maxName is the size limit of a caller's name, in bytes, as OpenID Connect has it: each change keeps the name.
const maxName = 255

func at(seconds float64) time.Time {
	const most = 1 << 40 // some ten thousand years; beyond that a time cannot be computed with
	return time.Unix(int64(max(-most, min(most, seconds))), 0)
}

func refuse(problem string, err error) error {
	return &access.CredentialError{Problem: problem, Err: err}
}

var errNoKey = errors.New("no key of the issuer verifies the signature")
