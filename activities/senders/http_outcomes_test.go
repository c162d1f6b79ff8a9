package senders_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// Secrets of a request. Each contains the word, encoded or not.
const (
	canary       = "canary"
	canaryQuery  = "canary+0123456789abcdef/=="
	canaryInURI  = "canary-in-uri"
	canaryBasic  = "canary-password"
	canaryToken  = "canary.token.of-oauth"
	canarySecret = "canary~secret"
)

// requireNoCanary requires that a text contains no secret, nor a part of one.
func requireNoCanary(t *testing.T, text string) {
	t.Helper()
	require.NotContains(t, text, canary)
	for _, credentials := range []string{"me:" + canaryInURI, "me:" + canaryBasic} {
		require.NotContains(t, text, base64.StdEncoding.EncodeToString([]byte(credentials))[:10])
	}
}

func canaryAddress(scheme string) string {
	return scheme + "://me:" + canaryInURI + "@target.example/hook?code=canary%2B0123456789abcdef%2F%3D%3D&sig=" + canaryQuery
}

// Every kind of outcome: its text in the history and the action's result.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for n := 0; n < len(header); n += 2 {
				w.Header().Set(header[n], header[n+1])
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, "you asked for %s", r.URL)
		}
	}
	const response, request = "Response from host 'target.example': ", "Request to host 'target.example' failed: "
	type dial func(giveUp context.CancelCauseFunc) error
	failing := func(err error) dial {
		return func(context.CancelCauseFunc) error { return &net.OpError{Op: "dial", Err: err} }
	}
	refused := &egress.RefusedError{Target: "target.example", Rule: "private addresses are refused in egress mode public"}
	for _, tt := range []struct {
		name      string
		scheme    string // "" means http
		target    http.HandlerFunc
		dial      dial
		message   string // prefix
		err       string // "" means success
		permanent bool
		after     time.Duration
	}{
		{name: "success", target: answer(200), message: response + "'OK'"},
		{name: "accepted", target: answer(202), message: response + "'Accepted'"},
		{name: "unauthorised", target: answer(401, "WWW-Authenticate", "Bearer"), message: response + "'Unauthorized'", err: "the host answered 401 Unauthorized"},
		{name: "forbidden", target: answer(403), message: response + "'Forbidden'", err: "the host answered 403 Forbidden"},
		{name: "missing", target: answer(404), message: response + "'NotFound'", err: "the host answered 404 NotFound"},
		{name: "too large", target: answer(413), message: response + "'RequestEntityTooLarge'", err: "the host answered 413 RequestEntityTooLarge"},
		{name: "throttled", target: answer(429, "Retry-After", "90"), message: response + "'TooManyRequests'", err: "the host answered 429 TooManyRequests", after: 90 * time.Second},
		{name: "throttled for an unknown time", target: answer(429), message: response + "'TooManyRequests'", err: "the host answered 429 TooManyRequests"},
		{name: "broken", target: answer(500), message: response + "'InternalServerError'", err: "the host answered 500 InternalServerError"},
		{name: "unavailable", target: answer(503, "Retry-After", "5"), message: response + "'ServiceUnavailable'", err: "the host answered 503 ServiceUnavailable", after: 5 * time.Second},
		{name: "redirected elsewhere", target: answer(302, "Location", canaryAddress("https")), message: response + "'Found'",
			err: "the host answered 302 Found, which is not followed: it leads to host 'target.example', from http to https"},
		{name: "closed", target: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			message: request, err: "the host closed the connection before its answer was complete; it may have read the request"},
		{name: "TLS not spoken", scheme: "https", target: answer(200), message: request, err: "TLS: the host does not speak TLS at this port; is the uri to begin with http?"},
		{name: "DNS", dial: failing(&net.DNSError{Name: "target.example", IsNotFound: true}), message: request, err: "the name 'target.example' is not known to DNS"},
		{name: "refused", dial: failing(syscall.ECONNREFUSED), message: request, err: "the connection was refused: nothing listens at this port"},
		{name: "no route", dial: failing(syscall.EHOSTUNREACH), message: request, err: "there is no route to the host"},
		{name: "not accepted in time", dial: failing(context.DeadlineExceeded), message: request, err: "the host did not accept a connection within 10 s"},
		{name: "timed out", dial: func(giveUp context.CancelCauseFunc) error {
			giveUp(errors.New("timed out: not complete after 60 s"))
			return context.Canceled
		}, message: request, err: "timed out: not complete after 60 s"},
		{name: "guard", dial: failing(refused), message: request, err: refused.Error(), permanent: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewUnstartedServer(tt.target)
			s.Config.ErrorLog = quiet
			s.Start()
			defer s.Close()
			ctx, giveUp := context.WithCancelCause(t.Context())
			defer giveUp(nil)
			h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				if tt.dial != nil {
					return nil, tt.dial(giveUp)
				}
				return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
			}})
			scheme := "http"
			if tt.scheme != "" {
				scheme = tt.scheme
			}
			message, err := h.Send(ctx, sendertest.Execution, action(kind.Request{URI: canaryAddress(scheme)}))
			require.True(t, strings.HasPrefix(message, "Http Action - "+tt.message), message)
			requireNoCanary(t, message)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.err)
			require.Contains(t, message, tt.err)
			sendertest.RequirePermanent(t, tt.permanent, err)
			require.Equal(t, tt.after, retryAfter(err))
		})
	}
}

// Hosts may echo anything, anywhere in a response.
func TestNoOutcomeShowsSecretsOfTheRequest(t *testing.T) {
	t.Parallel()
	everything := func(r *http.Request) string {
		dump, _ := httputil.DumpRequest(r, true)
		_, password, _ := r.BasicAuth()
		return fmt.Sprintf("%s %s %s %q", dump, password, r.FormValue("code"), r.Header)
	}
	inHeaders := func(h http.Header, r *http.Request) {
		_, password, _ := r.BasicAuth()
		h.Set("WWW-Authenticate", "Basic realm="+password+", got="+r.Header.Get("Authorization"))
		h.Set("X-Echo", strings.Join(r.Header.Values("Authorization"), " ")+" "+r.RequestURI+" "+r.FormValue("code"))
		h.Set("Set-Cookie", "a="+r.Header.Get("Authorization"))
		h.Set("Location", "https://me:"+password+"@elsewhere.example"+r.RequestURI)
	}
	hosts := map[string]func(c net.Conn, r *http.Request){
		"status line": func(c net.Conn, r *http.Request) { fmt.Fprintf(c, "HTTP/1.1 %q\r\n\r\n", everything(r)) },
		"no HTTP":     func(c net.Conn, r *http.Request) { io.WriteString(c, everything(r)) },
		"no header":   func(c net.Conn, r *http.Request) { fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%q\r\n\r\n", everything(r)) },
		"no length": func(c net.Conn, r *http.Request) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %q\r\n\r\n", everything(r))
		},
		"no address": func(c net.Conn, r *http.Request) {
			fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nLocation: http://[%q\r\n\r\n", everything(r))
		},
		"other host": func(c net.Conn, r *http.Request) {
			_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nLocation: http://%s.elsewhere.example/\r\n\r\n", strings.TrimRight(token, "="))
		},
		"short answer": func(c net.Conn, r *http.Request) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n%s", everything(r))
		},
	}
	for _, status := range []int{200, 302, 401, 500} {
		hosts[http.StatusText(status)] = func(c net.Conn, r *http.Request) {
			resp := &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Close: true, ContentLength: -1}
			inHeaders(resp.Header, r)
			resp.Body = io.NopCloser(strings.NewReader(everything(r)))
			_ = resp.Write(c)
		}
	}
	authority := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"expires_in":3600,"access_token":%q}`, canaryToken)
	})
	requests := map[string]kind.Request{
		"address": {URI: canaryAddress("http")},
		"header":  {URI: canaryAddress("http"), Headers: job.Members{{Name: "Authorization", Value: "Bearer " + canaryToken}}},
		"Basic":   {URI: canaryAddress("http"), Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "me", Password: canaryBasic}},
		"OAuth": {URI: canaryAddress("http"), Authentication: &kind.Authentication{
			Type: kind.AuthOAuth, Tenant: "contoso", ClientID: "me", Audience: "https://api.example", Secret: canarySecret,
		}},
	}
	for host, answer := range hosts {
		for kind, r := range requests {
			t.Run(host+", "+kind, func(t *testing.T) {
				t.Parallel()
				seen := make(chan string, 1)
				target := respond(t, func(c net.Conn, r *http.Request) {
					seen <- everything(r)
					answer(c, r)
				})
				h := senders.NewHTTP(senders.Options{
					Authority: authority.URL,
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						if address == "target.example:80" {
							address = strings.TrimPrefix(target, "http://")
						}
						return (&net.Dialer{}).DialContext(ctx, network, address)
					},
				})
				message, err := h.Send(t.Context(), sendertest.Execution, action(r))
				require.Contains(t, <-seen, canary, "the host got secrets")
				requireNoCanary(t, message)
				if err != nil {
					requireNoCanary(t, err.Error())
					requireNoCanary(t, activities.ReasonOf(err))
				}
			})
		}
	}
}

func TestTheReasonOfAFailureIsTheStatusAndTheBeginningOfTheBody(t *testing.T) {
	t.Parallel()
	const invoice = `{"error":"invoice 4711 has no customer"}`
	answer := func(status int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for n := range 30 {
				w.Header().Set(fmt.Sprintf("X-Ordinary-%02d", n), strings.Repeat("v", 60))
			}
			for n := 0; n < len(header); n += 2 {
				w.Header().Set(header[n], header[n+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		target http.HandlerFunc
		reason string
	}{
		"a body":                   {answer(500, invoice), `500 Internal Server Error: ` + invoice},
		"a body in several lines":  {answer(422, "{\r\n\t\"error\": \"no customer\"\n}\n"), `422 Unprocessable Entity: { "error": "no customer" }`},
		"no body":                  {answer(503, "", "Retry-After", "1"), "503 Service Unavailable"},
		"a status without a name":  {answer(599, "late"), "599 (a status without a name): late"},
		"a redirect":               {answer(302, "moved", "Location", "https://target.example/b"), "302 Found, which is not followed: it leads to host 'target.example', from http to https"},
		"a body that echoes a key": {answer(403, "key "+canaryInURI+" is wrong"), "403 Forbidden: key … is wrong"},
		"a connection that is lost": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"Request to host 'target.example' failed: the host closed the connection before its answer was complete; it may have read the request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewUnstartedServer(tt.target)
			s.Config.ErrorLog = quiet
			s.Start()
			defer s.Close()
			h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
			}})
			_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: canaryAddress("http"), Method: "POST"}))
			require.Error(t, err)
			require.Equal(t, tt.reason, activities.ReasonOf(err))
		})
	}
}

// The part of a secret that is left where the body is cut off is hidden.
func TestSecretAtTheEndOfTheBodyIsHidden(t *testing.T) {
	t.Parallel()
	for n := range len(canaryQuery) + 1 {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, strings.Repeat("x", 2048-n)+r.FormValue("code"))
		})
		message, err := send(t, kind.Request{URI: s.URL + "/?code=canary%2B0123456789abcdef%2F%3D%3D"})
		require.NoError(t, err)
		requireNoCanary(t, message)
		require.Contains(t, message, " Body: xxxx")
	}
}

func TestSecretWithinAnotherIsHiddenWithIt(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "got "+r.FormValue("sig")+".") })
	message, err := send(t, kind.Request{
		URI:            s.URL + "/?sig=winter-0123456789abcdef",
		Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "me", Password: "winter"},
	})
	require.NoError(t, err)
	require.Contains(t, message, " Body: got ….")
}

func TestWordsThatAreNoSecretsStay(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "order 4711 of abc is done") })
	message, err := send(t, kind.Request{
		URI:            s.URL + "/?order=4711&state=done",
		Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "order", Password: "abc"},
	})
	require.NoError(t, err)
	require.Contains(t, message, " Body: order 4711 of abc is done")
}
