package senders_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

func registered(id string) *kind.Authentication {
	return &kind.Authentication{
		Type: kind.AuthOAuth, Tenant: "contoso.example", ClientID: id, Audience: "https://api.example/", Secret: "topsecret+/=",
	}
}

func TestTokenIsAskedForAndSent(t *testing.T) {
	t.Parallel()
	asked := make(chan received, 1)
	authority := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- received{r, string(body)}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"token_type":"Bearer","expires_in":"3599","access_token":"t0k"}`)
	})
	s, requests := recording(t)
	h := senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, Authority: authority.URL + "/"})
	for range 3 {
		_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{
			URI: s.URL, Authentication: registered("me"), Headers: job.Members{{Name: "authorization", Value: "Bearer mine"}},
		}))
		require.NoError(t, err)
		require.Equal(t, []string{"Bearer t0k"}, (<-requests).Header.Values("Authorization"), "it wins over the header of the author")
	}

	r := <-asked
	require.Empty(t, asked, "a token is used again")
	require.Equal(t, "POST /contoso.example/oauth2/token", r.Method+" "+r.RequestURI)
	require.Empty(t, r.Header.Values("Authorization"))
	form, err := url.ParseQuery(r.body)
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"me"}, "client_secret": {"topsecret+/="}, "resource": {"https://api.example/"},
	}, form)
}

// A bubble is a network of a target and an authority on a synctest clock. Tokens are t1, t2 and so on.
type bubble struct {
	sender *senders.HTTP
	tokens atomic.Int64 // tokens issued
	answer http.HandlerFunc
	target http.HandlerFunc
}

// inBubble runs f in a bubble. Tokens are valid for an hour.
func inBubble(t *testing.T, f func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{}
		b.answer = func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"expires_in":"3600","access_token":"t%d"}`, b.tokens.Load())
		}
		b.target = func(http.ResponseWriter, *http.Request) {}
		hosts := map[string]*emulators.Pipes{"authority.example:80": emulators.NewPipes(t), "target.example:80": emulators.NewPipes(t)}
		handlers := map[string]http.HandlerFunc{
			"authority.example:80": func(w http.ResponseWriter, r *http.Request) {
				b.tokens.Add(1)
				w.Header().Set("Content-Type", "application/json")
				b.answer(w, r)
			},
			"target.example:80": func(w http.ResponseWriter, r *http.Request) { b.target(w, r) },
		}
		for host, network := range hosts {
			s := &http.Server{Handler: handlers[host], ErrorLog: quiet}
			go s.Serve(network)
			defer s.Close()
		}
		b.sender = senders.NewHTTP(senders.Options{
			Authority: "http://authority.example",
			Dial:      func(_ context.Context, _, address string) (net.Conn, error) { return hosts[address].Dial() },
		})
		f(t, b)
	})
}

func (b *bubble) send(ctx context.Context, a *kind.Authentication) error {
	_, err := b.sender.Send(ctx, sendertest.Execution, action(kind.Request{URI: "http://target.example", Authentication: a}))
	return err
}

func TestTokenIsAskedForOnceByManyJobs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		release := make(chan struct{})
		b.answer = func(w http.ResponseWriter, _ *http.Request) {
			<-release
			io.WriteString(w, `{"expires_in":"3600","access_token":"shared"}`)
		}
		var arrived atomic.Int64
		b.target = func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer shared" {
				arrived.Add(1)
			}
		}

		first, giveUp := context.WithCancelCause(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			err := b.send(first, registered("me"))
			if err == nil || err.Error() != "enough" {
				t.Errorf("the first one gave up, got %v", err)
			}
		})
		synctest.Wait()
		for range 100 {
			group.Go(func() {
				if err := b.send(t.Context(), registered("me")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all wait for the token
		giveUp(errors.New("enough"))
		synctest.Wait()
		close(release)
		group.Wait()
		require.EqualValues(t, 1, b.tokens.Load())
		require.EqualValues(t, 100, arrived.Load())
	})
}

func TestTokenIsUsedUntilShortlyBeforeItExpires(t *testing.T) {
	t.Parallel()
	const always = time.Duration(0)
	for _, tt := range []struct {
		name, expires string
		used          time.Duration // how long the token is used
	}{
		{"an hour, as a text", `"expires_in":"3600",`, 58 * time.Minute},
		{"an hour, as a number", `"expires_in":3600,`, 58 * time.Minute},
		{"shorter than the margin", `"expires_in":60,`, 30 * time.Second},
		{"unknown", ``, always},
		{"over", `"expires_in":-1,`, always},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, b *bubble) {
				b.answer = func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprintf(w, `{%s"access_token":"t%d"}`, tt.expires, b.tokens.Load())
				}
				var got string
				b.target = func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }
				send := func() {
					t.Helper()
					require.NoError(t, b.send(t.Context(), registered("me")))
				}
				send()
				require.Equal(t, "Bearer t1", got)
				if tt.used > 0 {
					time.Sleep(tt.used - time.Second)
					send()
					require.Equal(t, "Bearer t1", got)
					time.Sleep(time.Second)
				}
				send()
				require.Equal(t, "Bearer t2", got)
			})
		})
	}
}

func TestTokensAreOfOneClientForOneAudience(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		for n, spoil := range []func(*kind.Authentication){
			func(*kind.Authentication) {},
			func(a *kind.Authentication) { a.Tenant = "fabrikam.example" },
			func(a *kind.Authentication) { a.ClientID = "you" },
			func(a *kind.Authentication) { a.Audience = "https://other.example/" },
			func(a *kind.Authentication) { a.Secret = "changed" },
		} {
			a := registered("me")
			spoil(a)
			for range 2 {
				require.NoError(t, b.send(t.Context(), a))
				require.EqualValues(t, n+1, b.tokens.Load())
			}
		}
	})
}

func TestTokenThatTheTargetDoesNotAcceptIsForgotten(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int64{http.StatusUnauthorized: 2, http.StatusForbidden: 1, http.StatusOK: 1} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, b *bubble) {
				b.target = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
				for range 2 {
					b.send(t.Context(), registered("me"))
				}
				require.Equal(t, want, b.tokens.Load())
			})
		})
	}
}

func TestTokenThatReplacedAnotherIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.target = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer t1" {
				time.Sleep(time.Second) // so that both requests carry it
				w.WriteHeader(http.StatusUnauthorized)
			}
		}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if err := b.send(t.Context(), registered("me")); err == nil {
					t.Error("want 401")
				}
			})
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(250 * time.Millisecond) // the first is answered, the second is not
		require.NoError(t, b.send(t.Context(), registered("me")))
		group.Wait()
		require.NoError(t, b.send(t.Context(), registered("me")))
		require.EqualValues(t, 2, b.tokens.Load())
	})
}

func TestAuthorityThatHangs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.answer = func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // the server notices only then that the client is gone
			<-r.Context().Done()
		}
		start := time.Now()
		err := b.send(t.Context(), registered("me"))
		require.EqualError(t, err, "no token from http://authority.example: no answer within 30 s")
		sendertest.RequirePermanent(t, false, err)
		require.Equal(t, 30*time.Second, time.Since(start))
	})
}

func TestAnswersOfTheAuthority(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the secret went elsewhere") })
	for _, tt := range []struct {
		name   string
		status int
		header string // a further header, as name: value
		body   string
		want   string
		after  time.Duration
	}{
		{name: "wrong secret", status: 401, body: `{"error":"invalid_client","error_description":"topsecret is wrong"}`,
			want: "the host answered 401 Unauthorized (invalid_client): the secret is wrong or has expired"},
		{name: "unknown client", status: 400, body: `{"error":"unauthorized_client"}`,
			want: "the host answered 400 BadRequest (unauthorized_client): the tenant does not know the clientId"},
		{name: "unknown audience", status: 400, body: `{"error":"invalid_resource"}`,
			want: "the host answered 400 BadRequest (invalid_resource): the tenant does not know the audience"},
		{name: "unknown tenant", status: 400, body: `{"error":"invalid_request"}`,
			want: "the host answered 400 BadRequest (invalid_request): the tenant may be wrong, or a value malformed"},
		{name: "error without advice", status: 400, body: `{"error":"topsecret"}`, want: "the host answered 400 BadRequest"},
		{name: "error in an answer of success", status: 200, body: `{"error":"access_denied"}`,
			want: "the host answered 200 OK (access_denied): the client may not have tokens for the audience"},
		{name: "throttled", status: 429, header: "Retry-After: 7", want: "the host answered 429 TooManyRequests", after: 7 * time.Second},
		{name: "unavailable", status: 503, body: "topsecret", want: "the host answered 503 ServiceUnavailable"},
		{name: "redirect", status: 307, header: "Location: " + elsewhere.URL, want: "the host answered 307 TemporaryRedirect"},
		{name: "no JSON", status: 200, body: "<p>topsecret</p>", want: "the answer holds none that can be read"},
		{name: "no token", status: 200, body: `{"refresh_token":"topsecret"}`, want: "the answer holds none that can be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			authority := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if name, value, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			h := senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, Authority: authority.URL})
			message, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: elsewhere.URL + "/?sig=topsecret", Authentication: registered("me")}))
			want := "no token from " + authority.URL + ": " + tt.want
			require.EqualError(t, err, want)
			require.Equal(t, "Http Action - Request to host '"+strings.TrimPrefix(elsewhere.URL, "http://")+"' cannot be authenticated: "+want, message)
			sendertest.RequirePermanent(t, false, err)
			require.Equal(t, tt.after, retryAfter(err))
		})
	}
}

func TestAnswersOfTheAuthorityAreReadInTheirEncodings(t *testing.T) {
	t.Parallel()
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	const issued, refused = `{"expires_in":3600,"access_token":"t0k"}`, `{"error":"invalid_client","error_description":"falscher Schlüssel"}`
	const wrongSecret = "the host answered 401 Unauthorized (invalid_client): the secret is wrong or has expired"
	const unread = "the answer has a content encoding that was not asked for and cannot be read"
	for _, tt := range []struct {
		name, contentType, encoding string
		status                      int
		body                        string
		want                        string // "" for a token
	}{
		{"a token in gzip", "application/json", "gzip", 200, compressed(t, gzipped, issued), ""},
		{"a token in UTF-16", "application/json; charset=utf-16", "", 200, inCharset(t, utf16, issued), ""},
		{"a token in UTF-8 with a mark", "application/json", "", 200, inCharset(t, unicode.UTF8BOM, issued), ""},
		{"a token in a form in gzip", "application/x-www-form-urlencoded", "x-gzip", 200, compressed(t, gzipped, "access_token=t0k&expires_in=3600"), ""},
		{"a refusal in gzip", "application/json", "gzip", 401, compressed(t, gzipped, refused), wrongSecret},
		{"a refusal in ISO 8859-1", "application/json; charset=iso-8859-1", "", 401, inCharset(t, charmap.ISO8859_1, refused), wrongSecret},
		{"a refusal in UTF-16 and gzip", "application/json; charset=utf-16", "gzip", 401, compressed(t, gzipped, inCharset(t, utf16, refused)), wrongSecret},
		{"a refusal in an encoding that is not read", "application/json", "br", 401, "\x8b\x03\x80", "the host answered 401 Unauthorized"},
		{"a token in an encoding that is not read", "application/json", "topsecret", 200, "\x8b\x03\x80", unread},
		{"a token that is not in its encoding", "application/json", "gzip", 200, "\x8b\x03\x80", unread},
		{"a token that says gzip and is not", "application/json", "gzip", 200, issued, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			authority := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			s, requests := recording(t)
			h := senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, Authority: authority.URL})
			message, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Authentication: registered("me")}))
			require.NotContains(t, message, "topsecret")
			if tt.want != "" {
				require.EqualError(t, err, "no token from "+authority.URL+": "+tt.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"Bearer t0k"}, (<-requests).Header.Values("Authorization"))
		})
	}
}

// retryAfter returns the pause that the receiver asks for; 0 if none.
func retryAfter(err error) time.Duration {
	asked, ok := errors.AsType[*activities.RetryAfterError](err)
	if !ok {
		return 0
	}
	return asked.After
}

func TestAuthorityThatCannotBeReached(t *testing.T) {
	t.Parallel()
	refused := &egress.RefusedError{Target: "authority.invalid", Rule: "the egress deny list has it"}
	for _, tt := range []struct {
		name      string
		err       error
		want      string
		permanent bool
	}{
		{"unknown name", &net.DNSError{Name: "authority.invalid", IsNotFound: true},
			"no token from https://authority.invalid: the name 'authority.invalid' is not known to DNS", false},
		{"silence", context.DeadlineExceeded, "no token from https://authority.invalid: the host did not accept a connection within 10 s", false},
		{"guard", refused, refused.Error(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := senders.NewHTTP(senders.Options{
				Authority: "https://authority.invalid",
				Dial: func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: tt.err}
				},
			})
			_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://target.invalid", Authentication: registered("me")}))
			require.EqualError(t, err, tt.want)
			sendertest.RequirePermanent(t, tt.permanent, err)
		})
	}
}

func TestTokensThatAreKeptAreLimited(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		for range 2 {
			for n := range 1200 {
				require.NoError(t, b.send(t.Context(), registered(fmt.Sprint(n))))
			}
		}
		require.GreaterOrEqual(t, b.tokens.Load(), int64(1200+200), "at most 1000 are kept")
	})
}
