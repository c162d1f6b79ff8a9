package issuer_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/issuer"
)

const audience = "https://management.azure.com/"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A provider is an issuer with discovery and keys, as on the internet.
type provider struct {
	*httptest.Server
	t testing.TB

	mu    sync.Mutex
	keys  []jose.JSONWebKey // with their private halves
	odd   []any             // further keys of the set
	down  bool
	asked int // for keys
	now   time.Time
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{t: t, now: start}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	p.add("one", jose.RS256)
	return p
}

// add makes a key, with which the tokens from now on are signed.
func (p *provider) add(id string, algorithm jose.SignatureAlgorithm) {
	p.t.Helper()
	var private any
	var err error
	if algorithm == jose.ES256 {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	require.NoError(p.t, err)
	p.change(func() {
		p.keys = append(p.keys, jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(algorithm), Use: "sig"})
	})
}

func (p *provider) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.down:
		http.Error(w, "out of order", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token"})
	case r.URL.Path == "/keys":
		p.asked++
		all := slices.Clone(p.odd)
		for _, k := range p.keys {
			all = append(all, k.Public())
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": all})
	default:
		http.NotFound(w, r)
	}
}

func (p *provider) authenticator(more ...string) *issuer.Authenticator {
	return issuer.New(issuer.Options{
		Issuers: append(more, p.URL), Audiences: []string{"other", audience}, Client: p.Client(), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.now },
	})
}

// claims returns those of a good token, with changes. A nil value removes a claim.
func (p *provider) claims(changes map[string]any) map[string]any {
	all := map[string]any{"iss": p.URL, "sub": "alice", "aud": audience, "exp": start.Add(time.Hour).Unix(), "nbf": start.Unix(), "iat": start.Unix()}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// sign returns a token with a key.
func sign(t testing.TB, key jose.JSONWebKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, new(jose.SignerOptions).WithType("JWT"))
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// token returns one that is signed with the newest key.
func (p *provider) token(changes map[string]any) string {
	return sign(p.t, p.keys[len(p.keys)-1], p.claims(changes))
}

func authenticate(a *issuer.Authenticator, token string) (*access.Principal, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return a.Authenticate(r)
}

func requireRefused(t *testing.T, a *issuer.Authenticator, token, want string) {
	t.Helper()
	p, err := authenticate(a, token)
	require.Nil(t, p)
	_, bad := errors.AsType[*access.CredentialError](err)
	require.True(t, bad, "%v", err)
	require.EqualError(t, err, want)
}

const badSignature = "The token's signature cannot be verified with the keys of its issuer."

func TestTokensOfEntraIDSayWhoTheyAreAbout(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	got, err := authenticate(a, p.token(map[string]any{
		"ver": "1.0", "tid": "tenant", "oid": "object", "appid": "client", "roles": []string{"Jobs.Run"}, "groups": []string{"g1", "g2"},
	}))
	require.NoError(t, err)
	of := func(kind access.Kind, value string) access.Selector {
		return access.Selector{Kind: kind, Issuer: p.URL, Value: value}
	}
	require.Equal(t, &access.Principal{Kind: access.KindSubject, Name: "object", Issuer: p.URL, Tenant: "tenant", Object: "object", Selectors: []access.Selector{
		of(access.KindSubject, "alice"), of(access.KindObject, "object"),
		of(access.KindGroup, "g1"), of(access.KindGroup, "g2"), of(access.KindAppRole, "Jobs.Run"), of(access.KindApplication, "client"),
	}}, got)

	got, err = authenticate(a, p.token(map[string]any{"ver": "2.0", "azp": "client", "aud": []string{"x", audience}, "roles": "Jobs.Run"}))
	require.NoError(t, err)
	require.Equal(t, "alice", got.Name)
	require.Equal(t, []access.Selector{of(access.KindSubject, "alice"), of(access.KindAppRole, "Jobs.Run"), of(access.KindApplication, "client")}, got.Selectors)
}

// RFC 9068 has access tokens name the client in client_id. Some issuers write it beside azp.
func TestTokensOfOtherIssuersNameTheClientInTheirOwnWay(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	for _, said := range []map[string]any{{"client_id": "client"}, {"azp": "client", "client_id": "client"}} {
		got, err := authenticate(a, p.token(said))
		require.NoError(t, err)
		require.Equal(t, []access.Selector{
			{Kind: access.KindSubject, Issuer: p.URL, Value: "alice"}, {Kind: access.KindApplication, Issuer: p.URL, Value: "client"},
		}, got.Selectors)
	}
}

func TestOnlyJSONWebTokensAreLookedAt(t *testing.T) {
	t.Parallel()
	a := newProvider(t).authenticator()
	for _, text := range []string{"", "alm_00", "a.b", "a.b.c.d"} {
		p, err := authenticate(a, text)
		require.NoError(t, err)
		require.Nil(t, p)
	}
}

func TestATokenCountsForItsAudienceAndInItsTime(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	seconds := func(d time.Duration) int64 { return start.Add(d).Unix() }
	for _, good := range []map[string]any{{"exp": seconds(-issuer.Leeway + time.Second)}, {"nbf": seconds(issuer.Leeway)}, {"nbf": nil}, {"exp": 1e300}} {
		_, err := authenticate(a, p.token(good))
		require.NoError(t, err, good)
	}
	for _, tt := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"exp": seconds(-issuer.Leeway)}, "The token has expired."},
		{map[string]any{"exp": -1e300}, "The token has expired."},
		{map[string]any{"exp": nil}, "The token has no expiry (exp), so it is not accepted."},
		{map[string]any{"nbf": seconds(issuer.Leeway + time.Second)}, "The token is not valid yet."},
		{map[string]any{"aud": "https://management.azure.com"}, "The token is for another audience (aud)."},
		{map[string]any{"aud": []string{}}, "The token is for another audience (aud)."},
		{map[string]any{"aud": nil}, "The token is for another audience (aud)."},
		{map[string]any{"sub": nil}, "The token has no subject (sub)."},
		{map[string]any{"sub": strings.Repeat("x", 256)}, "The token has a name (sub or oid) of more than 255 bytes."},
		{map[string]any{"groups": 7}, "The token has a claim of a wrong type."},
		{map[string]any{"iss": p.URL + "/"}, "The token is of an issuer that is not accepted, or is damaged."},
		{map[string]any{"iss": nil}, "The token is of an issuer that is not accepted, or is damaged."},
	} {
		requireRefused(t, a, p.token(tt.change), tt.want)
	}
}

func TestForgedAndDamagedTokensAreRefused(t *testing.T) {
	t.Parallel()
	p, stranger := newProvider(t), newProvider(t)
	a := p.authenticator()
	good := p.token(nil)
	_, err := authenticate(a, good)
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	encode := func(v any) string {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	public := p.keys[0].Public()
	der, err := x509.MarshalPKIXPublicKey(public.Key)
	require.NoError(t, err)
	shared := jose.JSONWebKey{Key: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), KeyID: "one", Algorithm: string(jose.HS256)}

	requireRefused(t, a, encode(map[string]any{"alg": "none"})+"."+parts[1]+".", badSignature)
	requireRefused(t, a, encode(map[string]any{"alg": "none", "kid": "one"})+"."+parts[1]+"."+parts[2], badSignature)
	requireRefused(t, a, sign(t, shared, p.claims(nil)), badSignature) // the public key as a shared secret
	requireRefused(t, a, sign(t, stranger.keys[0], p.claims(nil)), badSignature)
	requireRefused(t, a, parts[0]+"."+encode(p.claims(map[string]any{"sub": "admin"}))+"."+parts[2], badSignature)
	embedded := map[string]any{"alg": "RS256", "jwk": stranger.keys[0].Public()}
	requireRefused(t, a, encode(embedded)+"."+strings.Join(strings.Split(sign(t, stranger.keys[0], p.claims(nil)), ".")[1:], "."), badSignature)
	requireRefused(t, a, encode(map[string]any{"alg": "ES256", "kid": "one"})+"."+parts[1]+"."+parts[2], badSignature)
	for cut := 1; cut < len(parts[2]); cut += 37 {
		requireRefused(t, a, good[:len(good)-cut], badSignature)
	}
	requireRefused(t, a, parts[0]+"."+parts[1]+".", badSignature)
	requireRefused(t, a, parts[0]+"..", "The token is of an issuer that is not accepted, or is damaged.")
	requireRefused(t, a, stranger.token(nil), "The token is of an issuer that is not accepted, or is damaged.")
}

func TestANewKeyIsFetchedAndAKeyThatWasTakenBackStopsCounting(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	old := p.token(map[string]any{"exp": start.Add(24 * time.Hour).Unix()})
	_, err := authenticate(a, old)
	require.NoError(t, err)

	p.add("two", jose.ES256)
	rotated := p.token(map[string]any{"exp": start.Add(24 * time.Hour).Unix()})
	p.change(func() { p.now = p.now.Add(10 * time.Second) })
	_, err = authenticate(a, rotated)
	require.NoError(t, err)
	require.Equal(t, 2, p.asked)
	_, err = authenticate(a, old)
	require.NoError(t, err, "both count until the old one is taken back")
	require.Equal(t, 2, p.asked)

	p.change(func() { p.keys = p.keys[1:]; p.now = p.now.Add(20 * time.Minute) })
	require.Eventually(t, func() bool {
		_, err := authenticate(a, old)
		return err != nil
	}, 10*time.Second, time.Millisecond, "keys that are old are fetched anew")
	_, err = authenticate(a, rotated)
	require.NoError(t, err)
}

func TestAKeyOfAnotherTypeLocksNobodyOut(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.odd = []any{
		map[string]string{"kty": "EC", "crv": "secp256k1", "alg": "ES256K", "kid": "k1", "x": "AAAA", "y": "AAAA"},
		map[string]string{"kty": "OKP", "crv": "Ed448", "kid": "k2", "x": "AAAA"},
		map[string]string{"kty": "AKP", "kid": "k3"},
	}
	_, err := authenticate(p.authenticator(), p.token(nil))
	require.NoError(t, err)
}

func TestAnIssuerThatIsDownLocksNobodyOutWhoseKeyIsKnown(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	known := p.token(map[string]any{"exp": start.Add(100 * time.Hour).Unix()})
	p.change(func() { p.down = true })
	_, err := authenticate(a, known)
	_, bad := errors.AsType[*access.CredentialError](err)
	require.Error(t, err)
	require.False(t, bad, "that the token does not count is not known: %v", err)

	p.change(func() { p.down, p.now = false, p.now.Add(10*time.Second) })
	_, err = authenticate(a, known)
	require.NoError(t, err)
	p.add("two", jose.RS256)
	p.change(func() { p.down, p.now = true, p.now.Add(48*time.Hour) })
	for range 10 {
		_, err = authenticate(a, known)
		require.NoError(t, err)
	}
	_, err = authenticate(a, p.token(map[string]any{"exp": start.Add(100 * time.Hour).Unix()}))
	require.ErrorContains(t, err, "ask the issuer "+p.URL)
}

func TestTokensWithKeysThatDoNotExistDoNotFloodTheIssuer(t *testing.T) {
	t.Parallel()
	p, stranger := newProvider(t), newProvider(t)
	a := p.authenticator()
	forged := stranger.keys[0]
	for i := range 50 {
		forged.KeyID = strings.Repeat("x", i)
		requireRefused(t, a, sign(t, forged, p.claims(nil)), badSignature)
	}
	require.Equal(t, 1, p.asked)
}

func TestKeysAreFetchedFromThisMachineOrByHTTPS(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://login.microsoftonline.com/t/v2.0", "http://127.0.0.1:5556/dex", "http://localhost/x", "http://[::1]:80"} {
		require.NoError(t, issuer.CheckURL(good))
	}
	for _, bad := range []string{"", "dex", "http://dex.internal:5556/dex", "ftp://127.0.0.1", "https://u:p@example.com", "https://", "http://127.0.0.1.example.com"} {
		require.Error(t, issuer.CheckURL(bad), bad)
	}
	var log bytes.Buffer
	elsewhere := httptest.NewServer(nil)
	defer elsewhere.Close()
	elsewhere.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": elsewhere.URL, "jwks_uri": "http://keys.example/keys"})
	})
	a := issuer.New(issuer.Options{Issuers: []string{elsewhere.URL}, Audiences: []string{audience}, Client: elsewhere.Client(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	p := newProvider(t)
	_, err := authenticate(a, p.token(map[string]any{"iss": elsewhere.URL}))
	require.ErrorContains(t, err, "jwks_uri: http is not safe")
	require.Contains(t, log.String(), "an issuer of tokens does not answer")
}

func TestATokenThatIsRememberedStillExpires(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	token := p.token(nil)
	for range 3 {
		_, err := authenticate(a, token)
		require.NoError(t, err)
	}
	p.change(func() { p.now = start.Add(time.Hour + issuer.Leeway - time.Second) })
	_, err := authenticate(a, token)
	require.NoError(t, err)
	p.change(func() { p.now = start.Add(time.Hour + issuer.Leeway) })
	requireRefused(t, a, token, "The token has expired.")
}

func BenchmarkVerifyASignatureWithACachedKey(b *testing.B) {
	p := newProvider(b)
	a := p.authenticator()
	first, tokens := p.token(nil), make([]string, 1000)
	for i := range tokens {
		tokens[i] = p.token(map[string]any{"jti": i})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(tokens) == 0 {
			b.StopTimer()
			a = p.authenticator() // which remembers none of them
			_, err := authenticate(a, first)
			require.NoError(b, err)
			b.StartTimer()
		}
		if _, err := authenticate(a, tokens[i%len(tokens)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthenticateAndAuthorizeWithACachedKey(b *testing.B) {
	p := newProvider(b)
	a := p.authenticator()
	token := p.token(map[string]any{"tid": "t", "oid": "o", "groups": []string{"a", "b", "c", "d"}})
	var assignments []access.Assignment
	scope := access.NewScope("s", "g", "c", "")
	for _, group := range []string{"x", "y", "c"} {
		assignments = append(assignments, access.Assignment{
			Principal: access.Selector{Kind: access.KindGroup, Issuer: p.URL, Value: group}, Grant: access.Grant{Role: access.Reader, Scope: scope}})
	}
	policy := access.NewPolicy(assignments)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	b.ReportAllocs()
	for b.Loop() {
		who, err := a.Authenticate(r)
		if err != nil || !policy.For(who).Allows(access.ReadJobs, access.NewScope("s", "g", "c", "j")) {
			b.Fatal(err)
		}
	}
}
