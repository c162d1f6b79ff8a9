// Package issuer knows callers by JSON Web Tokens of OpenID Connect issuers, such as Entra ID, dex or Keycloak.
package issuer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
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
	issuers   map[string]trusted
	now       func() time.Time
	memory    memory
}

// A trusted is an issuer whose tokens are accepted.
type trusted struct {
	verifier *oidc.IDTokenVerifier
	keys     *keySet
}

// New returns an authenticator. It asks no issuer before there is a token of it.
func New(o Options) *Authenticator {
	a := &Authenticator{audiences: o.Audiences, issuers: map[string]trusted{}, now: o.Now}
	if a.now == nil {
		a.now = time.Now
	}
	var names []string
	for _, name := range algorithms {
		names = append(names, string(name))
	}
	for _, name := range o.Issuers {
		// The audience and the times are checked here: there are several audiences, and the library's leeways differ.
		config := &oidc.Config{SupportedSigningAlgs: names, SkipClientIDCheck: true, SkipExpiryCheck: true, Now: a.now}
		keys := &keySet{issuer: name, client: o.Client, log: o.Log, now: a.now}
		a.issuers[name] = trusted{oidc.NewVerifier(name, keys, config), keys}
	}
	return a
}

// claims are what a token says, in the names of OpenID Connect and of Entra ID.
type claims struct {
	Identity
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	AppV1     string   `json:"appid"`     // in Entra ID's tokens of version 1
	AppV2     string   `json:"azp"`       // in those of version 2, and elsewhere
	ClientID  string   `json:"client_id"` // in access tokens of RFC 9068
}

// many is a list of texts, which some issuers write as a text if there is one.
type many []string

// UnmarshalJSON reads a text or a list of texts.
func (m *many) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*m = make(many, 1)
		return json.Unmarshal(text, &(*m)[0])
	}
	return json.Unmarshal(text, (*[]string)(m))
}

// Authenticate tells who a bearer token is about. What is no JSON Web Token is left to others. An issuer that cannot be
// asked for a key that is needed is no [access.CredentialError].
func (a *Authenticator) Authenticate(r *http.Request) (*access.Principal, error) {
	bearer := access.Bearer(r)
	if strings.Count(bearer, ".") != 2 {
		return nil, nil
	}
	hash := sha256.Sum256([]byte(bearer))
	if who := a.memory.find(r.Context(), hash, a.now()); who != nil {
		return who, nil
	}
	from, ok := a.issuers[claimedIssuer(bearer)]
	if !ok {
		return nil, refuse("The token is of an issuer that is not accepted, or is damaged.", nil)
	}
	token, said, asked, err := a.verify(r.Context(), from, bearer)
	if err != nil {
		return nil, err
	}
	if problem := a.problem(token, said, a.audiences); problem != "" {
		return nil, refuse(problem, nil)
	}
	who := said.Principal()
	said.selects(who, access.KindApplication, cmp.Or(said.AppV1, said.AppV2, said.ClientID))
	a.memory.add(hash, remembered{who, asked.keys, from.keys, at(*said.Expires).Add(Leeway)})
	return who, nil
}

// verify checks the signature of a token and reads its claims.
func (a *Authenticator) verify(ctx context.Context, from trusted, raw string) (*oidc.IDToken, *claims, *answer, error) {
	asked := new(answer)
	token, err := from.verifier.Verify(context.WithValue(ctx, answerKey{}, asked), raw)
	switch {
	case asked.err != nil:
		return nil, nil, nil, asked.err
	case err != nil:
		return nil, nil, nil, refuse("The token's signature cannot be verified with the keys of its issuer.", err)
	}
	said := new(claims)
	if err := token.Claims(said); err != nil {
		return nil, nil, nil, refuse("The token has a claim of a wrong type.", err)
	}
	return token, said, asked, nil
}

// problem says why a token with a good signature does not count for one of some audiences; "" if it does.
func (a *Authenticator) problem(token *oidc.IDToken, said *claims, audiences []string) string {
	now := a.now()
	switch {
	case said.Expires == nil:
		return "The token has no expiry (exp), so it is not accepted."
	case !now.Before(at(*said.Expires).Add(Leeway)):
		return "The token has expired."
	case said.NotBefore != nil && now.Before(at(*said.NotBefore).Add(-Leeway)):
		return "The token is not valid yet."
	case !slices.ContainsFunc(token.Audience, func(audience string) bool { return slices.Contains(audiences, audience) }):
		return "The token is for another audience (aud)."
	case token.Subject == "":
		return "The token has no subject (sub)."
	case len(token.Subject) > maxName || len(said.Object) > maxName:
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

// claimedIssuer returns the issuer that a token names, which is not verified; "" if it names none.
func claimedIssuer(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	var said struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(text, &said) != nil {
		return ""
	}
	return said.Issuer
}

func refuse(problem string, err error) error {
	return &access.CredentialError{Problem: problem, Err: err}
}

// An answer is how a [keySet] verified a token, or why it could not have the keys. The library passes on the text of
// errors alone.
type answer struct {
	keys *keys
	err  error
}

type answerKey struct{}

var errNoKey = errors.New("no key of the issuer verifies the signature")
