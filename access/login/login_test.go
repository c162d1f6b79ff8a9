package login_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/login"
	"almanac/access/session"
	"almanac/access/token"
)

// A site is a server with login pages, at an issuer of a library for tests.
type site struct {
	*httptest.Server
	issuer *mockoidc.MockOIDC
	secret string // a token that counts
	log    *lines

	mu   sync.Mutex
	file string // of tokens
}

// A lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func startIssuer(t *testing.T) *mockoidc.MockOIDC {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048) // the library's own is the same for all
	require.NoError(t, err)
	m, err := mockoidc.NewServer(key)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, m.Start(l, nil))
	t.Cleanup(func() { _ = m.Shutdown() })
	return m
}

// provider returns where browsers log in, and what verifies its tokens.
func provider(m *mockoidc.MockOIDC, more ...string) *login.Provider {
	return &login.Provider{Issuer: m.Issuer(), ClientID: m.ClientID, ClientSecret: m.ClientSecret, Scopes: []string{"profile", "groups"}, Client: http.DefaultClient,
		Tokens: issuer.New(issuer.Options{Issuers: append(more, m.Issuer()), Audiences: []string{"api"}, Client: http.DefaultClient, Log: slog.New(slog.DiscardHandler)})}
}

func newSite(t *testing.T, change func(*login.Options)) *site {
	t.Helper()
	s := &site{issuer: startIssuer(t), secret: token.New(), log: new(lines)}
	s.file = fmt.Sprintf("- {name: ci, sha256: %x, role: owner, scope: /}", token.HashOf(s.secret))
	tokens := &token.Authenticator{Tokens: func() *token.Set {
		s.mu.Lock()
		defer s.mu.Unlock()
		set, err := token.Parse([]byte(s.file), access.Defaults{Subscription: "s", ResourceGroup: "g"})
		if err != nil {
			panic(err)
		}
		return set
	}}
	same, err := session.NewSameOrigin(nil)
	require.NoError(t, err)
	p := provider(s.issuer)
	sessions := &session.Authenticator{Key: session.RandomKey(), Tokens: []access.Authenticator{tokens, p.Tokens}, Issuer: s.issuer.Issuer(), Same: same}
	o := login.Options{Sessions: sessions, Provider: p, Lifetime: time.Hour, Home: "/docs", Log: slog.New(slog.NewTextHandler(s.log, nil))}
	if change != nil {
		change(&o)
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := sessions.Authenticate(r)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case who == nil:
			http.Error(w, "nobody", http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(w, who.ID())
		}
	})
	s.Server = httptest.NewServer(login.New(o).Before(next, func(h http.Handler) http.Handler { return h }))
	t.Cleanup(s.Close)
	return s
}

// A browser keeps cookies, and says where its requests come from.
type browser struct {
	t *testing.T
	*http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t: t, Client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// A page is an answer that a browser got.
type page struct {
	status int
	body   string
	header http.Header
	to     string // Location
}

func (b *browser) do(method, target, site string, form url.Values) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Sec-Fetch-Site", site)
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	resp, err := b.Do(r)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return page{resp.StatusCode, string(body), resp.Header, resp.Header.Get("Location")}
}

// open types an address.
func (b *browser) open(target string) page { return b.do(http.MethodGet, target, "none", nil) }

// post sends a form of a page of the same server.
func (b *browser) post(target string, form url.Values) page {
	return b.do(http.MethodPost, target, "same-origin", form)
}

// atIssuer begins a login, and returns the callback to which the issuer leads.
func (b *browser) atIssuer(s *site, start string) string {
	b.t.Helper()
	got := b.open(s.URL + start)
	require.Equal(b.t, http.StatusSeeOther, got.status, got.body)
	asked, err := url.Parse(got.to)
	require.NoError(b.t, err)
	q := asked.Query()
	require.Equal(b.t, []string{"S256", "code", s.URL + "/login/callback", "openid profile groups"}, []string{q.Get("code_challenge_method"), q.Get("response_type"), q.Get("redirect_uri"), q.Get("scope")})
	require.Len(b.t, q.Get("code_challenge"), 43)
	require.GreaterOrEqual(b.t, len(q.Get("state")), 26)
	require.NotEmpty(b.t, q.Get("nonce"))
	back := b.do(http.MethodGet, got.to, "cross-site", nil)
	require.Equal(b.t, http.StatusFound, back.status, back.body)
	return back.to
}

func TestABrowserLogsInAtAnIssuerAndOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.issuer.QueueUser(&mockoidc.MockUser{Subject: "alice", Groups: []string{"ops"}})
	b := newBrowser(t)
	require.Equal(t, http.StatusUnauthorized, b.open(s.URL+"/jobCollections").status)
	form := b.open(s.URL + "/login?return=/docs%23here")
	require.Equal(t, http.StatusOK, form.status)
	require.Contains(t, form.body, `href="login/start?return=%2Fdocs%23here"`)
	require.Contains(t, form.header.Get("Content-Security-Policy"), "form-action 'self'")

	got := b.do(http.MethodGet, b.atIssuer(s, "/login/start?return=%2Fdocs%23here"), "cross-site", nil)
	require.Equal(t, http.StatusSeeOther, got.status, got.body)
	require.Equal(t, "/docs#here", got.to)
	require.Equal(t, s.issuer.Issuer()+"#alice", b.open(s.URL+"/jobCollections").body)
	require.Regexp(t, `^{"principal":"http://127.0.0.1:\d+/oidc#alice","expires":"20\d\d-.*Z"}\n$`, b.open(s.URL+"/login/session").body)
	require.Contains(t, b.open(s.URL+"/login").body, "You are logged in as")

	got = b.post(s.URL+"/logout", url.Values{})
	require.Equal(t, "/login", got.to)
	require.Equal(t, http.StatusUnauthorized, b.open(s.URL+"/jobCollections").status)
	require.Equal(t, "{}\n", b.open(s.URL+"/login/session").body)
	require.Equal(t, http.StatusMethodNotAllowed, b.open(s.URL+"/logout").status, "a link cannot log out")
}

func TestABrowserLogsInWithATokenUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := newBrowser(t)
	got := b.post(s.URL+"/login", url.Values{"token": {" " + s.secret + "\n"}})
	require.Equal(t, http.StatusSeeOther, got.status, got.body)
	require.Equal(t, "/docs", got.to)
	require.Equal(t, "token:ci", b.open(s.URL+"/jobCollections").body)
	s.mu.Lock()
	s.file = ""
	s.mu.Unlock()
	require.Equal(t, http.StatusUnauthorized, b.open(s.URL+"/jobCollections").status)
	require.Contains(t, b.open(s.URL+"/login").body, "Or paste a token")
	require.NotContains(t, s.log.String(), s.secret[10:])
}

func TestTokensThatDoNotCountBeginNoSessionAndAreSlowedDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := newBrowser(t)
	wrong := token.New()
	for range 10 {
		got := b.post(s.URL+"/login", url.Values{"token": {wrong}})
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Contains(t, got.body, "The token is not known")
		require.NotContains(t, got.body, wrong[10:])
		require.Empty(t, got.header.Values("Set-Cookie"))
	}
	got := b.post(s.URL+"/login", url.Values{"token": {wrong}})
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.Equal(t, http.StatusSeeOther, b.post(s.URL+"/login", url.Values{"token": {s.secret}}).status, "a token that counts is not affected")
	require.NotContains(t, s.log.String(), wrong[10:])
}

func TestAPageOfAnotherSiteNeitherLogsInNorOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := newBrowser(t)
	for _, site := range []string{"cross-site", "same-site"} {
		got := b.do(http.MethodPost, s.URL+"/login", site, url.Values{"token": {s.secret}})
		require.Equal(t, http.StatusForbidden, got.status)
		require.Empty(t, got.header.Values("Set-Cookie"))
	}
	require.Equal(t, http.StatusSeeOther, b.post(s.URL+"/login", url.Values{"token": {s.secret}}).status)
	require.Equal(t, http.StatusForbidden, b.do(http.MethodPost, s.URL+"/logout", "cross-site", url.Values{}).status)
	require.Equal(t, http.StatusUnauthorized, b.do(http.MethodPost, s.URL+"/jobCollections", "cross-site", url.Values{}).status)
	require.Equal(t, "token:ci", b.open(s.URL+"/jobCollections").body, "the session goes on")

	resp, err := http.PostForm(s.URL+"/login", url.Values{"token": {s.secret}}) //nolint:gosec // of this test
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "a request that says nothing of where it comes from proves nothing")
}

func TestALoginEndsOnceAndInTheBrowserInWhichItBegan(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b, other := newBrowser(t), newBrowser(t)
	callback := b.atIssuer(s, "/login/start")
	refused := func(b *browser, target string) {
		t.Helper()
		got := b.do(http.MethodGet, target, "cross-site", nil)
		require.Equal(t, http.StatusBadRequest, got.status)
		require.Contains(t, got.body, "This login was not begun in this browser")
		require.Equal(t, http.StatusUnauthorized, b.open(s.URL+"/jobCollections").status)
	}
	refused(other, callback) // somebody sends a link with an answer of the issuer

	kept := cookie(t, b, s.URL, "almanac-login")
	got := b.do(http.MethodGet, callback, "cross-site", nil)
	require.Equal(t, "/docs", got.to)
	again := b.do(http.MethodGet, callback, "cross-site", nil)
	require.Equal(t, http.StatusBadRequest, again.status, "the browser has forgotten the attempt")

	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	other.Jar.SetCookies(at, []*http.Cookie{kept}) // a copy of the cookie, and of the code
	again = other.do(http.MethodGet, callback, "cross-site", nil)
	require.Equal(t, http.StatusUnauthorized, again.status, again.body)
	require.Contains(t, again.body, "The issuer does not accept the code of this login")

	third := newBrowser(t)
	callback = third.atIssuer(s, "/login/start")
	u, err := url.Parse(callback)
	require.NoError(t, err)
	q := u.Query()
	q.Set("state", "guessed")
	u.RawQuery = q.Encode()
	refused(third, u.String())
	refused(third, callback) // also with the right one now
}

// cookie returns a cookie of a browser.
func cookie(t *testing.T, b *browser, target, name string) *http.Cookie {
	t.Helper()
	at, err := url.Parse(target)
	require.NoError(t, err)
	for _, c := range b.Jar.Cookies(at) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no cookie %s", name)
	return nil
}

func TestACodeOfAnotherLoginIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	victim, mallory := newBrowser(t), newBrowser(t)
	mine, err := url.Parse(victim.atIssuer(s, "/login/start"))
	require.NoError(t, err)
	hers, err := url.Parse(mallory.atIssuer(s, "/login/start"))
	require.NoError(t, err)
	q := mine.Query()
	q.Set("code", hers.Query().Get("code"))
	mine.RawQuery = q.Encode()
	got := victim.do(http.MethodGet, mine.String(), "cross-site", nil)
	require.Equal(t, http.StatusUnauthorized, got.status, "PKCE binds a code to the browser")
	require.Contains(t, got.body, "does not accept the code")
}

func TestTheAnswerOfAnotherIssuerIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := newBrowser(t)
	got := b.do(http.MethodGet, b.atIssuer(s, "/login/start")+"&iss="+url.QueryEscape("https://evil.example"), "cross-site", nil)
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.Contains(t, got.body, "The answer is of another issuer")
	got = b.do(http.MethodGet, b.atIssuer(s, "/login/start")+"&iss="+url.QueryEscape(s.issuer.Issuer()), "cross-site", nil)
	require.Equal(t, "/docs", got.to)
}

// sign returns an ID token of an issuer.
func sign(t *testing.T, m *mockoidc.MockOIDC, changes map[string]any) string {
	t.Helper()
	claims := jwt.MapClaims{"iss": m.Issuer(), "sub": "alice", "aud": m.ClientID, "exp": time.Now().Add(time.Hour).Unix(), "nonce": "n"}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	signed, err := m.Keypair.SignJWT(claims)
	require.NoError(t, err)
	return signed
}

func TestAnIDTokenHasToBeOfThisLoginAtThisIssuer(t *testing.T) {
	t.Parallel()
	one, two := startIssuer(t), startIssuer(t)
	tokens := provider(one, two.Issuer()).Tokens // both issue tokens that the API accepts
	ask := func(raw string) error {
		_, err := tokens.Identity(t.Context(), one.Issuer(), one.ClientID, "n", raw)
		return err
	}
	require.NoError(t, ask(sign(t, one, nil)))
	require.NoError(t, ask(sign(t, one, map[string]any{"aud": []string{one.ClientID, "other"}, "azp": one.ClientID})))
	for want, raw := range map[string]string{
		"is of another issuer": sign(t, two, map[string]any{"aud": one.ClientID}),
		"cannot be verified":   sign(t, two, map[string]any{"aud": one.ClientID, "iss": one.Issuer()}),
		"its nonce differs":    sign(t, one, map[string]any{"nonce": "m"}),
		"nonce differs":        sign(t, one, map[string]any{"nonce": nil}),
		"another audience":     sign(t, one, map[string]any{"aud": "api"}),
		"has expired":          sign(t, one, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		"no expiry":            sign(t, one, map[string]any{"exp": nil}),
		"another client (azp)": sign(t, one, map[string]any{"azp": "other"}),
		"client (azp)":         sign(t, one, map[string]any{"aud": []string{one.ClientID, "other"}}),
	} {
		require.ErrorContains(t, ask(raw), want)
	}
	require.ErrorContains(t, ask("a.b.c"), "cannot be verified")
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"iss": one.Issuer(), "sub": "alice", "aud": one.ClientID, "exp": time.Now().Add(time.Hour).Unix(), "nonce": "n"}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	require.ErrorContains(t, ask(unsigned), "cannot be verified")
	_, err = tokens.Identity(t.Context(), one.Issuer(), one.ClientID, "", sign(t, one, map[string]any{"nonce": ""}))
	require.ErrorContains(t, err, "nonce differs", "an empty nonce is none")
}

func TestALoginLeadsToPagesOfThisServerOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, back := range []string{
		"//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "https:evil.example", "javascript:alert(1)", "evil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example",
		"/docs\r\nSet-Cookie: almanac-session=x", "/docs\x00", "http:///evil.example", "@evil.example", "/%", "", " //evil.example", "/a b", "/" + strings.Repeat("a", 2000), "/.//evil.example\\",
	} {
		b := newBrowser(t)
		got := b.post(s.URL+"/login", url.Values{"token": {s.secret}, "return": {back}})
		require.Equal(t, "/docs", got.to, "%q", back)
		require.Len(t, got.header.Values("Set-Cookie"), 1)
		shown := b.open(s.URL + "/login?return=" + url.QueryEscape(back))
		require.Contains(t, shown.body, `name="return" value=""`, "%q", back)
		got = b.do(http.MethodGet, b.atIssuer(s, "/login/start?return="+url.QueryEscape(back)), "cross-site", nil)
		require.Equal(t, "/docs", got.to, "%q", back)
	}
	for back, want := range map[string]string{
		"/docs?a=1&b=2#/x": "/docs?a=1&b=2#/x", "/jobCollections/t%C3%A4glich": "/jobCollections/t%C3%A4glich", "/jobCollections/täglich": "/jobCollections/t%C3%A4glich",
		"/%0d%0aSet-Cookie:x": "/%0d%0aSet-Cookie:x", `/docs?"><script>`: "/docs?%22%3E%3Cscript%3E", "/..//evil.example": "/..//evil.example",
	} {
		got := newBrowser(t).post(s.URL+"/login", url.Values{"token": {s.secret}, "return": {back}})
		to, err := url.Parse(s.URL)
		require.NoError(t, err)
		to, err = to.Parse(got.to)
		require.NoError(t, err)
		require.Equal(t, s.URL, to.Scheme+"://"+to.Host)
		if !strings.Contains(back, `"`) {
			require.Equal(t, want, got.to)
		}
	}
}

func TestTheLoginPageShowsTextsOfOthersAsTexts(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := newBrowser(t)
	callback, err := url.Parse(b.atIssuer(s, "/login/start"))
	require.NoError(t, err)
	q := url.Values{"state": callback.Query()["state"], "error": {"<script>alert(1)</script>" + strings.Repeat("x", 1000)}, "error_description": {"line\nfeed"}}
	callback.RawQuery = q.Encode()
	got := b.do(http.MethodGet, callback.String(), "cross-site", nil)
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.NotContains(t, got.body, "<script>")
	require.Contains(t, got.body, "&lt;script&gt;")
	require.Less(t, len(got.body), 4000)
	require.NotContains(t, s.log.String(), "\nfeed")
}

func TestACallerWithTooManyGroupsIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var groups []string
	for i := range 400 {
		groups = append(groups, fmt.Sprintf("%x", token.HashOf(fmt.Sprint(i)))[:36])
	}
	s.issuer.QueueUser(&mockoidc.MockUser{Subject: "alice", Groups: groups})
	b := newBrowser(t)
	got := b.do(http.MethodGet, b.atIssuer(s, "/login/start"), "cross-site", nil)
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Contains(t, got.body, "Have the issuer put fewer groups into tokens")
}

func TestWhereNoIssuerLogsBrowsersInATokenCanBePasted(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *login.Options) { o.Provider = nil })
	b := newBrowser(t)
	require.Contains(t, b.open(s.URL+"/login").body, "Paste a token")
	require.NotContains(t, b.open(s.URL+"/login").body, "login/start")
	require.Equal(t, http.StatusNotFound, b.open(s.URL+"/login/start").status)
	require.Equal(t, http.StatusNotFound, b.open(s.URL+"/login/callback?state=&code=x").status)
	require.Equal(t, http.StatusNotFound, b.open(s.URL+"/login/other").status)
	require.Equal(t, "/docs", b.post(s.URL+"/login", url.Values{"token": {s.secret}}).to)
}

func TestAnIssuerThatDoesNotAnswerLocksNobodyOutWhoHasAToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	require.NoError(t, s.issuer.Shutdown())
	b := newBrowser(t)
	got := b.open(s.URL + "/login/start")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.NotContains(t, got.body, "connection refused")
	require.Contains(t, s.log.String(), "connection refused")
	require.Equal(t, "/docs", b.post(s.URL+"/login", url.Values{"token": {s.secret}}).to)
}

func TestBehindAProxyThePublicURLCounts(t *testing.T) {
	t.Parallel()
	public, err := url.Parse("https://jobs.example.com/almanac/")
	require.NoError(t, err)
	s := newSite(t, func(o *login.Options) {
		o.PublicURL = public
		same, err := session.NewSameOrigin(public)
		require.NoError(t, err)
		o.Sessions.Same = same
	})
	b := newBrowser(t)
	got := b.open(s.URL + "/login/start")
	asked, err := url.Parse(got.to)
	require.NoError(t, err)
	require.Equal(t, "https://jobs.example.com/almanac/login/callback", asked.Query().Get("redirect_uri"))
	require.Regexp(t, "^__Host-almanac-login=.*; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$", got.header.Get("Set-Cookie"))
	got = b.post(s.URL+"/login", url.Values{"token": {s.secret}, "return": {"/docs"}})
	require.Equal(t, "/almanac/docs", got.to)
	require.Contains(t, got.header.Get("Set-Cookie"), "; Secure;")
}

func TestOnlyOwnersOfEverythingPassAGate(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"owner": token.New(), "reader": token.New()}
	file := fmt.Sprintf("- {name: owner, sha256: %x, role: owner, scope: /}\n- {name: reader, sha256: %x, role: reader, scope: /}", token.HashOf(secrets["owner"]), token.HashOf(secrets["reader"]))
	set, err := token.Parse([]byte(file), access.Defaults{})
	require.NoError(t, err)
	tokens := []access.Authenticator{&token.Authenticator{Tokens: func() *token.Set { return set }}}
	same, err := session.NewSameOrigin(nil)
	require.NoError(t, err)
	sessions := &session.Authenticator{Key: session.RandomKey(), Tokens: tokens, Same: same}
	log := slog.New(slog.DiscardHandler)
	gate := &login.Gate{Authenticators: append(tokens, sessions), Log: log, Pages: login.New(login.Options{Sessions: sessions, Lifetime: time.Hour, Home: "/", Log: log})}
	ui := httptest.NewServer(gate.Before(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") })))
	t.Cleanup(ui.Close)

	ask := func(b *browser, accept, bearer, site string) page {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, ui.URL+"/namespaces/default?x=1", nil)
		require.NoError(t, err)
		if accept != "" {
			r.Method = http.MethodGet
			r.Header.Set("Accept", accept)
		}
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		r.Header.Set("Sec-Fetch-Site", site)
		resp, err := b.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return page{resp.StatusCode, string(body), resp.Header, resp.Header.Get("Location")}
	}
	b := newBrowser(t)
	require.Equal(t, "/login?return=%2Fnamespaces%2Fdefault%3Fx%3D1", ask(b, "text/html,*/*", "", "none").to)
	got := ask(b, "application/json", "", "same-origin")
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.NotEmpty(t, got.header.Get("WWW-Authenticate"))
	require.Equal(t, "inside", ask(b, "application/json", secrets["owner"], "none").body)
	require.Equal(t, http.StatusForbidden, ask(b, "application/json", secrets["reader"], "none").status)
	require.Equal(t, http.StatusUnauthorized, ask(b, "application/json", token.New(), "none").status)

	require.Equal(t, "/namespaces/default?x=1", b.post(ui.URL+"/login", url.Values{"token": {secrets["owner"]}, "return": {"/namespaces/default?x=1"}}).to)
	require.Equal(t, "inside", ask(b, "text/html", "", "none").body)
	require.Equal(t, "inside", ask(b, "", "", "same-origin").body)
	require.Equal(t, http.StatusForbidden, ask(b, "", "", "cross-site").status)
	for range 12 {
		got = ask(newBrowser(t), "application/json", token.New(), "none")
	}
	require.Equal(t, http.StatusTooManyRequests, got.status)
}

func TestABrowserWhoseSessionHasEndedIsLedToTheLoginPageHoweverOftenItAsks(t *testing.T) {
	t.Parallel()
	var refused []string
	same, err := session.NewSameOrigin(nil)
	require.NoError(t, err)
	sessions, log := &session.Authenticator{Key: session.RandomKey(), Same: same}, slog.New(slog.DiscardHandler)
	gate := &login.Gate{
		Authenticators: []access.Authenticator{sessions}, Log: log, Pages: login.New(login.Options{Sessions: sessions, Log: log}),
		Refused: func(_ *http.Request, _ string, status int, code string) {
			refused = append(refused, fmt.Sprint(status, " ", code))
		},
	}
	h := gate.Before(http.NotFoundHandler())
	ask := func(accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/namespaces", nil)
		r.Header.Set("Accept", accept)
		r.AddCookie(&http.Cookie{Name: "almanac-session", Value: "of a process that has ended"})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for range 20 {
		require.Equal(t, http.StatusUnauthorized, ask("application/json").Code)
	}
	require.Equal(t, "/login?return=%2Fapi%2Fv1%2Fnamespaces", ask("text/html").Header().Get("Location"))
	require.Len(t, refused, 20)
	require.Equal(t, "401 AuthenticationFailed", refused[0])
}

func TestAPublicClientNamesItselfAndSendsNoSecret(t *testing.T) {
	t.Parallel()
	var asked []string
	var self string
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			asked = append(asked, r.Header.Get("Authorization")+r.PostFormValue("client_id")+r.PostFormValue("client_secret"))
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error": "invalid_grant"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": self, "authorization_endpoint": self + "/auth", "token_endpoint": self + "/token", "jwks_uri": self + "/keys"})
	}))
	t.Cleanup(fake.Close)
	self = fake.URL
	s := newSite(t, func(o *login.Options) {
		o.Provider = &login.Provider{Issuer: self, ClientID: "almanac", Client: http.DefaultClient, Tokens: o.Provider.Tokens}
	})
	b := newBrowser(t)
	to, err := url.Parse(b.open(s.URL + "/login/start").to)
	require.NoError(t, err)
	got := b.open(s.URL + "/login/callback?code=c&state=" + url.QueryEscape(to.Query().Get("state")))
	require.Equal(t, http.StatusUnauthorized, got.status, got.body)
	require.Equal(t, []string{"almanac"}, asked)
}

// The request has the code, its verifier and perhaps the client's secret.
func TestTheExchangeOfACodeFollowsNoRedirectToWhatIsNotSafe(t *testing.T) {
	t.Parallel()
	const elsewhere = "http://10.0.0.1/token"
	var self string
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": self, "authorization_endpoint": self + "/auth", "token_endpoint": self + "/token", "jwks_uri": self + "/keys"})
	}))
	t.Cleanup(fake.Close)
	self = fake.URL
	var asked []string
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		asked = append(asked, address)
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(self, "http://"))
	}
	s := newSite(t, func(o *login.Options) {
		o.Provider = &login.Provider{Issuer: self, ClientID: "almanac", ClientSecret: "secret", Client: &http.Client{Transport: transport}, Tokens: o.Provider.Tokens}
	})
	b := newBrowser(t)
	to, err := url.Parse(b.open(s.URL + "/login/start").to)
	require.NoError(t, err)
	got := b.open(s.URL + "/login/callback?code=c&state=" + url.QueryEscape(to.Query().Get("state")))
	require.GreaterOrEqual(t, got.status, 400, got.body)
	require.NotContains(t, asked, "10.0.0.1:80")
}

func TestAnIssuerOfWhichAPageIsNotSafeIsRefused(t *testing.T) {
	t.Parallel()
	var self string
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": self, "authorization_endpoint": "javascript:alert(1)", "token_endpoint": "http://10.0.0.1/token", "jwks_uri": self + "/keys"})
	}))
	t.Cleanup(fake.Close)
	self = fake.URL
	s := newSite(t, func(o *login.Options) {
		o.Provider = &login.Provider{Issuer: self, ClientID: "almanac", Client: http.DefaultClient, Tokens: o.Provider.Tokens}
	})
	got := newBrowser(t).open(s.URL + "/login/start")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Empty(t, got.to)
}
