// Package issuertest has an OpenID Connect issuer for tests, which logs command lines in by the device flow (RFC 8628).
package issuertest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// An Issuer is an issuer at a URL. It takes each refresh token once.
type Issuer struct {
	URL string

	t   testing.TB
	key jose.JSONWebKey

	mu       sync.Mutex
	answers  []string // to polls, first to last, "" being the token; the last one stays
	claims   map[string]any
	lifetime time.Duration // of tokens
	opaque   bool
	refresh  string // the refresh token that counts
	forms    []map[string]string
}

// New starts an issuer, whose tokens are for an audience and last an hour.
func New(t testing.TB, audience string) *Issuer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i := &Issuer{
		t: t, key: jose.JSONWebKey{Key: private, KeyID: "one", Algorithm: string(jose.RS256), Use: "sig"},
		answers: []string{""}, lifetime: time.Hour, claims: map[string]any{"sub": "alice", "aud": audience},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.describe)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"keys": []any{i.key.Public()}})
	})
	mux.HandleFunc("POST /device", i.begin)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /revoke", i.revoke)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Answer sets what the next polls are answered, such as authorization_pending; "" is a token. The last one stays.
func (i *Issuer) Answer(errors ...string) { i.change(func() { i.answers = errors }) }

// Lasting sets how long the tokens from now on last.
func (i *Issuer) Lasting(lifetime time.Duration) { i.change(func() { i.lifetime = lifetime }) }

// Opaque has access tokens from now on be texts that only the issuer can read.
func (i *Issuer) Opaque() { i.change(func() { i.opaque = true }) }

// Forget has no refresh token count any more.
func (i *Issuer) Forget() { i.change(func() { i.refresh = "" }) }

// Sent returns the forms that were sent to the issuer so far, each with its path.
func (i *Issuer) Sent() (forms []map[string]string) {
	i.change(func() { forms = i.forms })
	return forms
}

func (i *Issuer) change(do func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	do()
}

func (i *Issuer) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
		"device_authorization_endpoint": i.URL + "/device", "revocation_endpoint": i.URL + "/revoke",
	})
}

// begin answers with a code.
func (i *Issuer) begin(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keep(r)
	answer(w, http.StatusOK, map[string]any{
		"device_code": "canary-device-code", "user_code": "WDJB-MJHT", "verification_uri": i.URL + "/activate",
		"verification_uri_complete": i.URL + "/activate?user_code=WDJB-MJHT", "expires_in": 900, "interval": 1,
	})
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keep(r)
	switch r.PostForm.Get("grant_type") {
	case "refresh_token":
		if i.refresh == "" || r.PostForm.Get("refresh_token") != i.refresh {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "the refresh token was used"})
			return
		}
	case "urn:ietf:params:oauth:grant-type:device_code":
		problem := i.answers[0]
		if len(i.answers) > 1 {
			i.answers = i.answers[1:]
		}
		if problem != "" {
			answer(w, http.StatusBadRequest, map[string]any{"error": problem})
			return
		}
	default:
		answer(w, http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type"})
		return
	}
	i.refresh = "canary-refresh-" + rand.Text()
	signed, access := i.sign(), i.sign()
	if i.opaque {
		access = "canary-opaque"
	}
	answer(w, http.StatusOK, map[string]any{
		"access_token": access, "id_token": signed, "refresh_token": i.refresh, "token_type": "Bearer", "expires_in": int(i.lifetime.Seconds()),
	})
}

func (i *Issuer) revoke(_ http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keep(r)
	if r.PostForm.Get("token") == i.refresh {
		i.refresh = ""
	}
}

// keep remembers a form.
func (i *Issuer) keep(r *http.Request) {
	_ = r.ParseForm()
	form := map[string]string{"path": r.URL.Path}
	for name := range r.PostForm {
		form[name] = r.PostForm.Get(name)
	}
	i.forms = append(i.forms, form)
}

// sign returns a token.
func (i *Issuer) sign() string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, new(jose.SignerOptions).WithType("JWT"))
	require.NoError(i.t, err)
	claims := maps.Clone(i.claims)
	claims["iss"], claims["jti"] = i.URL, rand.Text()
	claims["exp"] = time.Now().Add(i.lifetime).Unix()
	payload, err := json.Marshal(claims)
	require.NoError(i.t, err)
	signed, err := signer.Sign(payload)
	require.NoError(i.t, err)
	text, err := signed.CompactSerialize()
	require.NoError(i.t, err)
	return text
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
