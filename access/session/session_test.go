package session_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/access/session"
	"almanac/access/token"
)

const idp = "https://login.example.com"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A server knows sessions, and the tokens of a file.
type server struct {
	*session.Authenticator
	file string
	now  time.Time
}

func newServer(t testing.TB, key *session.Key, public string) *server {
	t.Helper()
	var at *url.URL
	if public != "" {
		var err error
		at, err = url.Parse(public)
		require.NoError(t, err)
	}
	same, err := session.NewSameOrigin(at)
	require.NoError(t, err)
	s := &server{now: start}
	tokens := &token.Authenticator{Now: func() time.Time { return s.now }, Tokens: func() *token.Set {
		set, err := token.Parse([]byte(s.file), access.Defaults{Subscription: "s", ResourceGroup: "g"})
		require.NoError(t, err)
		return set
	}}
	s.Authenticator = &session.Authenticator{Key: key, Tokens: []access.Authenticator{tokens}, Issuer: idp, Same: same, Now: func() time.Time { return s.now }}
	return s
}

// begun returns the cookie of a session that begins.
func (s *server) begun(t testing.TB, of session.Session) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	require.NoError(t, s.Begin(w, httptest.NewRequest(http.MethodPost, "/login", nil), of))
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	return cookies[0]
}

// request returns a request of a page of the server itself.
func request(method string, cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(method, "/", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

var alice = session.Session{Expires: start.Add(time.Hour), Identity: &issuer.Identity{Issuer: idp, Subject: "alice", Tenant: "t", Groups: []string{"ops"}, Roles: []string{"Run"}}}

func TestASessionOfAnIssuerSaysWhatTheIssuerSaid(t *testing.T) {
	t.Parallel()
	s := newServer(t, session.RandomKey(), "")
	cookie := s.begun(t, alice)
	who, err := s.Authenticate(request(http.MethodGet, cookie))
	require.NoError(t, err)
	require.Equal(t, alice.Identity.Principal(), who)
	require.Zero(t, who.Grant, "no role is in a cookie")
	require.NotContains(t, cookie.Value, "alice")

	s.now = start.Add(time.Hour - time.Second)
	_, err = s.Authenticate(request(http.MethodGet, cookie))
	require.NoError(t, err)
	s.now = start.Add(time.Hour)
	_, err = s.Authenticate(request(http.MethodGet, cookie))
	require.ErrorContains(t, err, "The session has ended")

	s.now, s.Issuer = start, "https://other.example.com"
	_, err = s.Authenticate(request(http.MethodGet, cookie))
	require.ErrorContains(t, err, "The session has ended", "nobody logs in at that issuer any more")
}

func TestASessionOfATokenEndsWithTheTokenAndHasItsRoleOfNow(t *testing.T) {
	t.Parallel()
	s := newServer(t, session.RandomKey(), "")
	secret := token.New()
	line := func(more string) string { return fmt.Sprintf("- {name: ci, sha256: %x%s}", token.HashOf(secret), more) }
	s.file = line(", role: reader, scope: /")
	cookie := s.begun(t, session.Session{Expires: start.Add(24 * time.Hour), Token: secret})
	ask := func() (*access.Principal, error) { return s.Authenticate(request(http.MethodGet, cookie)) }

	who, err := ask()
	require.NoError(t, err)
	require.Equal(t, access.Reader, who.Grant.Role)
	s.file = line(", role: owner, scope: /")
	who, err = ask()
	require.NoError(t, err)
	require.Equal(t, access.Owner, who.Grant.Role)
	s.file = line(", expires: 2026-03-01T13:00:00Z")
	s.now = start.Add(time.Hour)
	_, err = ask()
	require.ErrorContains(t, err, "The token has expired.")
	s.file = ""
	_, err = ask()
	require.ErrorContains(t, err, "it may have been revoked")
}

func TestACookieThatIsNotWhatWasSetIsRefused(t *testing.T) {
	t.Parallel()
	key := session.RandomKey()
	s := newServer(t, key, "")
	good := s.begun(t, alice)
	refused := func(value string) {
		t.Helper()
		who, err := s.Authenticate(request(http.MethodGet, &http.Cookie{Name: good.Name, Value: value}))
		require.Nil(t, who)
		if bad, ok := err.(*access.CredentialError); value != "" { //nolint:errorlint // it is not wrapped
			require.True(t, ok, "%.80s: %v", value, err)
			require.Contains(t, bad.Problem, "The session has ended")
		}
	}
	for i := range good.Value {
		refused(good.Value[:i])
		changed := byte('A')
		if good.Value[i] == changed {
			changed = 'Q'
		}
		refused(good.Value[:i] + string(changed) + good.Value[i+1:])
	}
	mallory := s.begun(t, session.Session{Expires: start.Add(time.Hour), Identity: &issuer.Identity{Issuer: idp, Subject: "mallory"}})
	mine, hers := strings.Split(mallory.Value, "."), strings.Split(good.Value, ".")
	for part := range mine {
		swapped := append([]string(nil), mine...)
		swapped[part] = hers[part]
		if swapped[part] != mine[part] {
			refused(strings.Join(swapped, "."))
		}
	}
	another := newServer(t, session.RandomKey(), "")
	refused(another.begun(t, alice).Value)
	other, err := key.Seal("login", alice)
	require.NoError(t, err)
	refused(other)
	for _, text := range []string{strings.Repeat("A", 60<<10), "....", "eyJhbGciOiJub25lIn0.e30.", strings.Repeat(".", 4000)} {
		refused(text)
	}
}

func TestASessionThatDoesNotFitIntoACookieDoesNotBegin(t *testing.T) {
	t.Parallel()
	s := newServer(t, session.RandomKey(), "")
	many := func(n int) session.Session {
		of := &issuer.Identity{Issuer: idp, Subject: "alice"}
		for i := range n {
			of.Groups = append(of.Groups, fmt.Sprintf("%x", token.HashOf(fmt.Sprint(i)))[:36])
		}
		return session.Session{Expires: start.Add(time.Hour), Identity: of}
	}
	cookie := s.begun(t, many(100))
	require.LessOrEqual(t, len(cookie.Raw), 4096)
	who, err := s.Authenticate(request(http.MethodGet, cookie))
	require.NoError(t, err)
	require.Len(t, who.Selectors, 101)
	w := httptest.NewRecorder()
	require.ErrorIs(t, s.Begin(w, request(http.MethodPost), many(400)), session.ErrTooLong)
	require.Empty(t, w.Result().Cookies())
}

func TestACookieCountsForPagesOfItsServerOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method, site, mode, origin string
		counts                           bool
	}{
		{"a page of the server reads", http.MethodGet, "same-origin", "cors", "", true},
		{"a page of the server changes something", http.MethodPut, "same-origin", "cors", "https://jobs.example.com", true},
		{"an address is typed", http.MethodGet, "none", "navigate", "", true},
		{"a link of another site is followed", http.MethodGet, "cross-site", "navigate", "", true},
		{"another site loads it as a script", http.MethodGet, "cross-site", "no-cors", "", false},
		{"a site below the same domain loads it", http.MethodGet, "same-site", "cors", "", false},
		{"another site posts a form", http.MethodPost, "cross-site", "navigate", "https://evil.example", false},
		{"a site below the same domain posts a form", http.MethodPost, "same-site", "navigate", "https://evil.example.com", false},
		{"an older browser posts a form of another site", http.MethodPost, "", "", "https://evil.example", false},
		{"a page in a sandbox posts a form", http.MethodPost, "", "", "null", false},
		{"an older browser posts a form of the server", http.MethodPost, "", "", "https://jobs.example.com", true},
		{"an older browser reads", http.MethodGet, "", "", "", true},
		{"a client that says nothing deletes something", http.MethodDelete, "", "", "", false},
		{"a proxy changes the host", http.MethodPost, "", "", "https://public.example.com", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, session.RandomKey(), "https://public.example.com/almanac")
			r := httptest.NewRequest(tt.method, "https://jobs.example.com/jobCollections/c", nil)
			for name, value := range map[string]string{"Sec-Fetch-Site": tt.site, "Sec-Fetch-Mode": tt.mode, "Origin": tt.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			r.AddCookie(s.begun(t, alice))
			who, err := s.Authenticate(r)
			if tt.counts {
				require.NoError(t, err)
				require.NotNil(t, who)
				return
			}
			require.Nil(t, who)
			require.ErrorContains(t, err, "A session counts for web pages of this server only.")
		})
	}
}

func TestATokenInTheHeaderIsStrongerThanACookie(t *testing.T) {
	t.Parallel()
	s := newServer(t, session.RandomKey(), "")
	r := request(http.MethodGet, s.begun(t, alice))
	r.Header.Set("Authorization", "Bearer x")
	who, err := s.Authenticate(r)
	require.NoError(t, err)
	require.Nil(t, who)
	who, err = s.Authenticate(request(http.MethodGet))
	require.NoError(t, err)
	require.Nil(t, who)
}

// A server of the same host and another port, or below the same domain, can set cookies where there is no TLS.
func TestAnotherServerCannotPutItsSessionBesideTheOneOfABrowser(t *testing.T) {
	t.Parallel()
	s := newServer(t, session.RandomKey(), "")
	mine, planted := s.begun(t, alice), s.begun(t, session.Session{Expires: start.Add(time.Hour), Identity: &issuer.Identity{Issuer: idp, Subject: "mallory"}})
	_, err := s.Authenticate(request(http.MethodGet, planted, mine))
	require.ErrorContains(t, err, "several session cookies")

	secure := newServer(t, session.RandomKey(), "https://jobs.example.com")
	planted = secure.begun(t, alice)
	planted.Name = strings.TrimPrefix(planted.Name, "__Host-")
	who, err := secure.Authenticate(request(http.MethodGet, planted))
	require.NoError(t, err)
	require.Nil(t, who, "with TLS only a cookie that the host itself set counts")
}

func TestScriptsAndOtherSitesDoNotGetTheCookie(t *testing.T) {
	t.Parallel()
	cookie := newServer(t, session.RandomKey(), "").begun(t, alice)
	require.Equal(t, []any{"almanac-session", "/", "", true, false, http.SameSiteLaxMode, 3600},
		[]any{cookie.Name, cookie.Path, cookie.Domain, cookie.HttpOnly, cookie.Secure, cookie.SameSite, cookie.MaxAge})
	s := newServer(t, session.RandomKey(), "https://jobs.example.com")
	cookie = s.begun(t, alice)
	require.Equal(t, []any{"__Host-almanac-session", "/", "", true, true, http.SameSiteLaxMode},
		[]any{cookie.Name, cookie.Path, cookie.Domain, cookie.HttpOnly, cookie.Secure, cookie.SameSite})
	w := httptest.NewRecorder()
	s.End(w, request(http.MethodPost))
	require.Equal(t, "__Host-almanac-session", w.Result().Cookies()[0].Name)
	require.Negative(t, w.Result().Cookies()[0].MaxAge)
}

func TestASecretHasToBeLongAndTheSameSecretIsTheSameKey(t *testing.T) {
	t.Parallel()
	_, err := session.NewKey(strings.Repeat("x", session.MinSecret-1))
	require.Error(t, err)
	one, err := session.NewKey(strings.Repeat("x", session.MinSecret))
	require.NoError(t, err)
	two, err := session.NewKey(strings.Repeat("x", session.MinSecret))
	require.NoError(t, err)
	cookie := newServer(t, one, "").begun(t, alice)
	who, err := newServer(t, two, "").Authenticate(request(http.MethodGet, cookie))
	require.NoError(t, err)
	require.Equal(t, "alice", who.Name)
}

func BenchmarkAuthenticate(b *testing.B) {
	s := newServer(b, session.RandomKey(), "")
	r := request(http.MethodGet, s.begun(b, alice))
	b.ReportAllocs()
	for b.Loop() {
		if who, err := s.Authenticate(r); who == nil || err != nil {
			b.Fatal(err)
		}
	}
}
