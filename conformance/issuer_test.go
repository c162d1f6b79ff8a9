package conformance_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The tokens that the issuers give have the claims of Entra ID's, for these.
const (
	tenant  = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	readers = "5f9c1f4e-0a52-4b55-9c2c-0d2f1f0b8a11" // a group
	appRole = "Jobs.Contribute"
	// the resource of Azure's clients; the one that they name in version 1 has a slash at the end.
	manager  = "https://management.azure.com"
	secret   = canary + "secret of an application"
	ownParty = "almanac" // the audience that an issuer other than Entra ID has for Almanac
)

// applications are those that get tokens by their secret, with the claims that Entra ID has for them.
var applications = map[string]map[string]any{
	"contributor": {"oid": "00000000-0000-0000-0000-00000000c047", "roles": []string{appRole}},
	"reader":      {"oid": "00000000-0000-0000-0000-00000000ead0", "groups": []string{"another", readers}},
	"stranger":    {"oid": "00000000-0000-0000-0000-00000000057a"},
	// its tokens have expired when it gets them
	"late": {"oid": "00000000-0000-0000-0000-00000000c047", "roles": []string{appRole}},
}

// issuers are OpenID Connect issuers on this machine, certified ones but for what they know of their clients: one of
// no vendor, and one that has the paths and the claims of a tenant of Entra ID, in its two versions.
type issuers struct {
	*httptest.Server
	plain, v1, v2 string // as tokens name them
	roots         string // a PEM file of the authority of the server's certificate
}

// newIssuers starts them. They stop when the test ends.
func newIssuers(t *testing.T) issuers {
	t.Helper()
	mux := http.NewServeMux()
	s := issuers{Server: httptest.NewTLSServer(mux), roots: filepath.Join(t.TempDir(), "roots.pem")}
	t.Cleanup(s.Close)
	require.NoError(t, os.WriteFile(s.roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	s.plain, s.v1, s.v2 = s.URL+"/plain", s.URL+"/"+tenant+"/", s.URL+"/"+tenant+"/v2.0"

	plain := newProvider(t, s.plain, func(string, []string) ([]string, map[string]any) { return []string{ownParty}, nil })
	v1 := newProvider(t, s.v1, func(client string, _ []string) ([]string, map[string]any) {
		return []string{manager + "/"}, entra(client, "1.0", "appid")
	})
	v2 := newProvider(t, s.v2, func(client string, scopes []string) ([]string, map[string]any) {
		return []string{strings.TrimSuffix(scopes[0], "/.default")}, entra(client, "2.0", "azp")
	})
	mux.Handle("/plain/", http.StripPrefix("/plain", plain))
	mux.Handle("/"+tenant+"/v2.0/", http.StripPrefix("/"+tenant+"/v2.0", v2))
	mux.Handle("/"+tenant+"/", http.StripPrefix("/"+tenant, v1))
	mux.Handle("/"+tenant+"/oauth2/token", moved("/oauth/token", v1))
	mux.Handle("/"+tenant+"/oauth2/v2.0/token", moved("/oauth/token", v2))
	return s
}

// entra returns the claims of a token of Entra ID.
func entra(client, version, party string) map[string]any {
	claims := map[string]any{"tid": tenant, "ver": version, party: client, "idtyp": "app"}
	maps.Copy(claims, applications[client])
	return claims
}

// moved passes all requests on to one path.
func moved(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = path
		next.ServeHTTP(w, r)
	})
}

// newProvider returns an issuer whose tokens have the audience and the further claims that describe returns.
func newProvider(t *testing.T, name string, describe func(client string, scopes []string) (audience []string, more map[string]any)) http.Handler {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	provider, err := op.NewProvider(&op.Config{AuthMethodPost: true}, &registry{key: signingKey{private}, describe: describe}, op.StaticIssuer(name),
		op.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	return provider
}

// A registry has the applications. What only people who log in need is not there.
type registry struct {
	op.Storage
	key      signingKey
	describe func(client string, scopes []string) (audience []string, more map[string]any)
}

var _ op.ClientCredentialsStorage = (*registry)(nil)

func (r *registry) Health(context.Context) error { return nil }

func (r *registry) SigningKey(context.Context) (op.SigningKey, error) { return r.key, nil }

func (r *registry) KeySet(context.Context) ([]op.Key, error) { return []op.Key{publicKey{r.key}}, nil }

func (r *registry) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

func (r *registry) ClientCredentials(_ context.Context, id, given string) (op.Client, error) {
	if _, known := applications[id]; !known || given != secret {
		return nil, fmt.Errorf("the secret of %s is wrong", id)
	}
	return application{id: id}, nil
}

func (r *registry) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	audience, _ := r.describe(id, scopes)
	return &oidc.JWTTokenRequest{Subject: id, Audience: audience, Scopes: scopes}, nil
}

func (r *registry) CreateAccessToken(_ context.Context, request op.TokenRequest) (id string, expires time.Time, err error) {
	expires = time.Now().Add(time.Hour)
	if request.GetSubject() == "late" {
		expires = expires.Add(-lateBy)
	}
	return rand.Text(), expires, nil
}

func (r *registry) GetPrivateClaimsFromScopes(_ context.Context, _, client string, scopes []string) (map[string]any, error) {
	_, more := r.describe(client, scopes)
	return more, nil
}

// lateBy is how much earlier than others the tokens of an application expire that is late.
const lateBy = 2 * time.Hour

// An application gets tokens by its secret alone.
type application struct {
	op.Client
	id string
}

func (a application) GetID() string { return a.id }

func (application) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}

func (application) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

func (application) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}

// ClockSkew has the issuer say that a token is good for an hour, although it has expired.
func (a application) ClockSkew() time.Duration {
	if a.id == "late" {
		return lateBy
	}
	return 0
}

// A signingKey signs tokens, and a publicKey verifies them.
type signingKey struct{ private *rsa.PrivateKey }

func (signingKey) ID() string                                  { return "key" }
func (signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k signingKey) Key() any                                  { return k.private }

type publicKey struct{ signingKey }

func (publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                         { return k.private.Public() }

// subscriptions are those in which the applications have roles, one for each way to get a token.
type subscriptions struct{ Plain, V1, V2 string }

// A locked is an Almanac that asks who calls, and the issuers whose tokens it accepts.
type locked struct {
	issuers
	url           string
	subscriptions subscriptions
}

// newLocked starts both.
func newLocked(t *testing.T) locked {
	t.Helper()
	l := locked{issuers: newIssuers(t), subscriptions: subscriptions{newSubscription(), newSubscription(), newSubscription()}}
	assignments := filepath.Join(t.TempDir(), "access.yaml")
	require.NoError(t, os.WriteFile(assignments, []byte(l.assignments()), 0o600))
	l.url = startNode(t, "--ca-file", l.roots, "--access", assignments,
		"--oidc-issuer", l.plain, "--oidc-issuer", l.v1, "--oidc-issuer", l.v2,
		"--oidc-audience", ownParty, "--oidc-audience", manager, "--oidc-audience", manager+"/").addresses["API"]
	return l
}

// assignments returns the file that gives the applications their roles, each by what else a token says.
func (l locked) assignments() string {
	var text strings.Builder
	text.WriteString("assignments:\n")
	for _, a := range []struct{ kind, value, issuer, role, subscription string }{
		{"subject", "contributor", l.plain, "contributor", l.subscriptions.Plain},
		{"application", "reader", l.plain, "reader", l.subscriptions.Plain},
		{"appRole", appRole, l.v1, "contributor", l.subscriptions.V1},
		{"group", readers, l.v1, "reader", l.subscriptions.V1},
		{"object", applications["contributor"]["oid"].(string), l.v2, "contributor", l.subscriptions.V2},
		{"application", "reader", l.v2, "reader", l.subscriptions.V2},
	} {
		fmt.Fprintf(&text, "- {principal: {%s: %s, issuer: %q}, role: %s, scope: /subscriptions/%s}\n", a.kind, a.value, a.issuer, a.role, a.subscription)
	}
	return text.String()
}
