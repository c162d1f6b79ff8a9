package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"almanac/internal/codec"
	"almanac/internal/emulators"
)

// nowhere is a Temporal that does not exist. What an API refuses, it refuses without Temporal.
const nowhere = "TEMPORAL_ADDRESS=127.0.0.1:1"

// apiOf starts an API that listens on loopback, and returns its URL.
func apiOf(t *testing.T, variables []string, args ...string) (*half, string) {
	t.Helper()
	h, found := runs(t, `(?m)^API +(\S+)`, append(variables, nowhere), append([]string{"api", "--listen", "127.0.0.1:0"}, args...)...)
	return h, found[1]
}

// newToken makes a token in a file.
func newToken(t *testing.T, file, name string, more ...string) string {
	t.Helper()
	return strings.TrimSpace(prints(t, append([]string{"token", "create", "--name", name, "--token-file", file}, more...)...))
}

// statusOf asks for the metrics, which take a reader, and returns the status of the answer.
func statusOf(t *testing.T, c *http.Client, url string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := c.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

func anAPIAsksWhoCalls(t *testing.T) {
	tokens, audit := filepath.Join(t.TempDir(), "tokens.yaml"), filepath.Join(t.TempDir(), "audit.jsonl")
	me := newToken(t, tokens, "me")
	policy := written(t, "assignments:\n- principal: {token: me}\n  role: reader\n  scope: /\n")
	const secret = "a secret of at least thirty-two bytes"
	first, at := apiOf(t, nil, "--token-file", tokens, "--access", policy, "--hide-responses", "--audit-log", audit, "--trusted-proxies", "127.0.0.1",
		"--session-key-file", written(t, secret), "--session-lifetime", "10m", "--log-level", "error")
	require.Equal(t, http.StatusUnauthorized, statusOf(t, http.DefaultClient, at, "X-Forwarded-For", "192.0.2.7"))
	require.Equal(t, http.StatusOK, statusOf(t, http.DefaultClient, at, "Authorization", "Bearer "+me))
	lines, err := os.ReadFile(audit)
	require.NoError(t, err)
	require.Contains(t, string(lines), `"client":"192.0.2.7"`)
	require.NotContains(t, first.log.String(), "level=INFO")

	// Behind one address, a session that one API began counts at the other, and strangers are told apart.
	second, other := apiOf(t, []string{"ALMANAC_SESSION_KEY=" + secret, "ALMANAC_TOKEN_FILE=" + tokens, "ALMANAC_ACCESS=" + policy, "ALMANAC_TRUSTED_PROXIES=127.0.0.1"})
	form, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/login", strings.NewReader(url.Values{"token": {me}}.Encode()))
	require.NoError(t, err)
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	form.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultTransport.RoundTrip(form)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.NotEmpty(t, answer.Cookies())
	session := answer.Cookies()[0]
	require.Positive(t, session.MaxAge)
	require.LessOrEqual(t, session.MaxAge, 600)
	for _, api := range []string{at, other} {
		require.Equal(t, http.StatusOK, statusOf(t, http.DefaultClient, api, "Cookie", session.Name+"="+session.Value, "Sec-Fetch-Site", "same-origin"), api)
	}
	for range 12 {
		statusOf(t, http.DefaultClient, other, "X-Forwarded-For", "192.0.2.8", "Authorization", "Bearer alm_wrong")
	}
	require.Equal(t, http.StatusTooManyRequests, statusOf(t, http.DefaultClient, other, "X-Forwarded-For", "192.0.2.8", "Authorization", "Bearer alm_wrong"))
	require.Equal(t, http.StatusUnauthorized, statusOf(t, http.DefaultClient, other, "X-Forwarded-For", "192.0.2.9", "Authorization", "Bearer alm_wrong"))
	require.Contains(t, second.log.String(), "level=INFO", "the default")
	hidesResponses(t)
}

func anAPIHasAConsole(t *testing.T) {
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	_, with := apiOf(t, nil)
	_, without := apiOf(t, nil, "--console=false")
	for at, want := range map[string]int{with: http.StatusSeeOther, without: http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/", nil)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html")
		answer, err := stay.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode)
	}
	for at, want := range map[string]int{with: http.StatusOK, without: http.StatusNotFound} {
		answer, err := http.Get(at + "/console/about")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode)
	}
}

// hidesResponses asks a node for a history, since an API without Temporal has none.
func hidesResponses(t *testing.T) {
	t.Helper()
	target := newSink(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "canary-of-answers") })
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	owner, reader := newToken(t, tokens, "owner", "--role", "owner"), newToken(t, tokens, "reader", "--role", "reader")
	p := dev(t, t.TempDir(), "--token-file", tokens, "--hide-responses")
	ask := func(method, path, token, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, p.url+defaultJobs+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	code, text := ask(http.MethodPut, "/j", owner, get(target.URL+"/", ""))
	require.Equal(t, http.StatusCreated, code, text)
	eventually(t, "answer in the history", func() bool {
		_, text = ask(http.MethodGet, "/j/history", owner, "")
		return strings.Contains(text, "canary-of-answers")
	})
	code, text = ask(http.MethodGet, "/j/history", reader, "")
	require.Equal(t, http.StatusOK, code)
	require.NotContains(t, text, "canary-of-answers")
}

// An issuer is one of OpenID Connect.
type issuer struct {
	*httptest.Server
	key   jose.JSONWebKey
	asked chan *http.Request // for tokens
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i := &issuer{key: jose.JSONWebKey{Key: private, KeyID: "one", Algorithm: "RS256", Use: "sig"}, asked: make(chan *http.Request, 10)}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token"})
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
	case "/token":
		_ = r.ParseForm()
		i.asked <- r
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
	default:
		http.NotFound(w, r)
	}
}

// token returns one for a subject.
func (i *issuer) token(t *testing.T, subject, audience string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, new(jose.SignerOptions).WithType("JWT"))
	require.NoError(t, err)
	payload, err := json.Marshal(map[string]any{"iss": i.URL, "sub": subject, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()})
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	return text
}

func anAPIAsksAnIssuer(t *testing.T) {
	first, second := newIssuer(t), newIssuer(t)
	policy := written(t, "assignments:\n- principal: {subject: alice, issuer: '"+second.URL+"'}\n  role: reader\n  scope: /\n")
	common := []string{"--oidc-issuer", first.URL, "--oidc-issuer", second.URL, "--oidc-audience", "jobs", "--access", policy, "--oidc-client-id", "almanac", "--oidc-login-issuer", second.URL, "--oidc-scopes", "groups"}
	_, inFile := apiOf(t, nil, append(common, "--oidc-client-secret-file", written(t, "canary-of-client\n"))...)
	require.Equal(t, http.StatusOK, statusOf(t, http.DefaultClient, inFile, "Authorization", "Bearer "+second.token(t, "alice", "jobs")))
	require.Equal(t, http.StatusForbidden, statusOf(t, http.DefaultClient, inFile, "Authorization", "Bearer "+first.token(t, "alice", "jobs")))
	require.Equal(t, http.StatusUnauthorized, statusOf(t, http.DefaultClient, inFile, "Authorization", "Bearer "+second.token(t, "alice", "others")))
	_, public := apiOf(t, nil, append(common, "--public-url", "https://jobs.example.com/base", "--oidc-cli-client-id", "almanac-cli", "--oidc-cli-scopes", "api://jobs/.default")...)
	metadata := func(at string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/.well-known/oauth-protected-resource", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	status, said := metadata(public)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"resource":"https://jobs.example.com/base","authorization_servers":["`+second.URL+`"],"bearer_methods_supported":["header"],
		"scopes_supported":["openid","api://jobs/.default"],"almanac_cli_client_id":"almanac-cli"}`, said)
	status, _ = metadata(inFile)
	require.Equal(t, http.StatusUnauthorized, status)
	_, inVariable := apiOf(t, []string{"ALMANAC_OIDC_CLIENT_SECRET=canary-of-client"}, common...)
	start, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public+"/login/start", nil)
	require.NoError(t, err)
	answer, err := http.DefaultTransport.RoundTrip(start)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, answer.Header.Get("Location"), "redirect_uri="+url.QueryEscape("https://jobs.example.com/base/login/callback"))
	for _, api := range []string{inFile, inVariable} {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		visit := func(address string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			require.NoError(t, err)
			answer, err := browser.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			return answer
		}
		to, err := url.Parse(visit(api + "/login/start").Header.Get("Location"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(to.String(), second.URL+"/auth?"), to)
		require.Equal(t, []string{"almanac", "openid groups"}, []string{to.Query().Get("client_id"), to.Query().Get("scope")})
		visit(api + "/login/callback?code=c&state=" + url.QueryEscape(to.Query().Get("state")))
		select {
		case asked := <-second.asked:
			_, password, basic := asked.BasicAuth()
			if !basic {
				password = asked.PostForm.Get("client_secret")
			}
			require.Equal(t, "canary-of-client", password)
		case <-time.After(patience):
			t.Fatal("the issuer was not asked for a token")
		}
	}
}

func anAPIHasAFrontDoor(t *testing.T) {
	cert, tlsKey, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	reader := newToken(t, tokens, "prometheus", "--role", "reader")
	_, at := apiOf(t, nil, "--tls-cert", cert, "--tls-key", tlsKey, "--client-ca", cert, "--max-rate-per-caller", "1", "--token-file", tokens)
	asked := false
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		GetClientCertificate: func(i *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = len(i.AcceptableCAs) == 1
			return &tls.Certificate{}, nil
		}}}}
	require.True(t, strings.HasPrefix(at, "https://"), at)
	answer, err := trusting.Get(at + "/openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.True(t, asked, "for a certificate of the authority")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/metrics", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+reader)
	scrape, err := trusting.Do(r)
	require.NoError(t, err)
	metrics, err := io.ReadAll(scrape.Body)
	require.NoError(t, err)
	require.NoError(t, scrape.Body.Close())
	for _, use := range []string{"server", "client-ca"} {
		require.Regexp(t, `(?m)^almanac_certificate_expiry_timestamp_seconds\{use="`+use+`"\} [0-9.]+e\+09$`, string(metrics))
	}
	limited := false
	for range 50 {
		answer, err := trusting.Get(at + "/openapi.yaml")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		limited = limited || answer.StatusCode == http.StatusTooManyRequests
	}
	require.True(t, limited)

	out, err := refusedStart(t, "api", "--listen", "0.0.0.0:0")
	require.Error(t, err)
	require.Contains(t, out, "--unauthenticated")
	temporal := "TEMPORAL_ADDRESS=" + printed(t, dev(t, t.TempDir()), "Temporal")
	_, open := runs(t, `(?m)^API +http://\[::\]:(\d+)`, []string{temporal}, "api", "--listen", "[::]:0", "--unauthenticated")
	refused := call(t, http.MethodPut, "http://127.0.0.1:"+open[1]+defaultJobs+"/j", get("http://127.0.0.1:9/", later))
	require.Equal(t, http.StatusBadRequest, refused.code)
	_, allowing := runs(t, `(?m)^API +(\S+)`, []string{temporal}, "api", "--listen", "127.0.0.1:0", "--egress-allow", "127.0.0.1", "--mail-domains", "example.org")
	created(t, allowing[1]+defaultJobs+"/j", get("http://127.0.0.1:9/", later))
	elsewhere := call(t, http.MethodPut, allowing[1]+defaultJobs+"/mailed", get("http://127.0.0.1:9/", later+`,"notifications":[{"name":"m","on":["failed"],"target":{"type":"Email","email":{"to":["a@example.com"]}}}]`))
	require.Equal(t, http.StatusBadRequest, elsewhere.code, elsewhere.body)
	require.Contains(t, elsewhere.body, "example.org")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // a Temporal that never answers
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	_, found := runs(t, `(?m)^API +(\S+)`, []string{"TEMPORAL_ADDRESS=" + silent.Addr().String()}, "api", "--listen", "127.0.0.1:0", "--max-in-flight-per-caller", "1")
	var all sync.WaitGroup
	codes := make(chan int, 20)
	for range cap(codes) {
		all.Go(func() {
			if r, err := tryCall(t.Context(), http.MethodGet, found[1]+defaultJobs, ""); err == nil {
				codes <- r.code
			}
		})
	}
	all.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	require.Positive(t, count[http.StatusTooManyRequests], "one is answered at a time, and eight wait: %v", count)
}

// refusedStart runs a program that ends.
func refusedStart(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput()
	return string(out), err
}

func theHealthCheckAsksWhatItIsTold(t *testing.T) {
	cert, tlsKey, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	_, at := apiOf(t, nil, "--tls-cert", cert, "--tls-key", tlsKey)
	listen := strings.TrimPrefix(at, "https://")
	require.Equal(t, "alive\n", prints(t, "healthcheck", "--live", "--listen", listen, "--tls-cert", cert))
	out, err := refusedStart(t, "healthcheck", "--listen", listen, "--tls-cert", cert)
	require.Error(t, err, "Temporal does not answer")
	require.Contains(t, out, "not ready")
}

func aCodecServerHasItsSettings(t *testing.T) {
	_, found := runs(t, `(?m)^Codec +(\S+)`, []string{"ALMANAC_ENCRYPTION_KEYS=one:" + codec.GenerateKey()}, "codec", "--listen", "127.0.0.1:0", "--origin", "https://ui.example")
	for origin, allowed := range map[string]string{"https://ui.example": "https://ui.example", "https://other.example": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, found[1]+"/decode", nil)
		require.NoError(t, err)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "POST")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, allowed, answer.Header.Get("Access-Control-Allow-Origin"))
	}
}

// A pollServer is a Temporal that has a namespace, and tells how long polls stay open.
type pollServer struct {
	workflowservice.UnimplementedWorkflowServiceServer
	polls chan time.Duration
}

func (*pollServer) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (*pollServer) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (s *pollServer) PollActivityTaskQueue(ctx context.Context, _ *workflowservice.PollActivityTaskQueueRequest) (*workflowservice.PollActivityTaskQueueResponse, error) {
	if deadline, ok := ctx.Deadline(); ok {
		select {
		case s.polls <- time.Until(deadline):
		default:
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func aWorkerHasItsSettings(t *testing.T) {
	s := &pollServer{polls: make(chan time.Duration, 10)}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	listen := freeAddress(t)
	runs(t, `(?m)^Worker`, []string{"TEMPORAL_ADDRESS=" + l.Addr().String()}, "worker", "--listen", listen, "--poll-timeout", "40s")
	r := call(t, http.MethodGet, "http://"+listen+"/healthz", "")
	require.Equal(t, http.StatusOK, r.code)
	select {
	case open := <-s.polls:
		require.Greater(t, open, 30*time.Second)
		require.LessOrEqual(t, open, 41*time.Second)
	case <-time.After(patience):
		t.Fatal("the worker polls nothing")
	}
}
