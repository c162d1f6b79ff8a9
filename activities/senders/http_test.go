package senders_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

var sender = senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, Version: "1.2.3"})

func action(r kind.Request) *job.Action {
	return &job.Action{Type: "Http", Content: kind.Content{Request: &r}}
}

func send(t *testing.T, r kind.Request) (string, error) {
	t.Helper()
	return sender.Send(t.Context(), sendertest.Execution, action(r))
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// received is a request as the target saw it.
type received struct {
	*http.Request
	body string
}

// recording answers every request with 200 and hands it on.
func recording(t *testing.T) (*httptest.Server, <-chan received) {
	t.Helper()
	requests := make(chan received, 100)
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- received{r, string(body)}
	}), requests
}

func TestRequestArrivesAsWritten(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	_, err := send(t, kind.Request{
		URI:    s.URL + "/a%2Fb/c!?q=%20x&q=1;2",
		Method: "put",
		Body:   "Grüße\r\n",
		Headers: job.Members{
			{Name: "Content-Type", Value: "text/x-greeting"},
			{Name: "x-list", Value: "one"},
			{Name: "host", Value: "virtual.example"},
			{Name: "X-List", Value: "two"},
		},
	})
	require.NoError(t, err)
	got := <-requests
	require.Equal(t, "PUT", got.Method)
	require.Equal(t, "/a%2Fb/c!?q=%20x&q=1;2", got.RequestURI)
	require.Equal(t, "virtual.example", got.Host)
	require.Equal(t, "Grüße\r\n", got.body)
	require.EqualValues(t, len("Grüße\r\n"), got.ContentLength)
	require.Equal(t, "text/x-greeting", got.Header.Get("Content-Type"))
	require.Equal(t, []string{"one", "two"}, got.Header.Values("X-List"))
	require.Empty(t, got.Header.Values("Accept-Encoding"), "the body is to come as it is")
}

func TestMethodOnTheWire(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	for written, want := range map[string]string{"": "GET", "get": "GET", "Patch": "PATCH", "OPTIONS": "OPTIONS"} {
		_, err := send(t, kind.Request{URI: s.URL, Method: written})
		require.NoError(t, err)
		got := <-requests
		require.Equal(t, want, got.Method)
		require.Zero(t, got.ContentLength)
		require.Empty(t, got.TransferEncoding)
	}
}

func TestOwnHeadersNameTheExecution(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	_, err := send(t, kind.Request{URI: s.URL})
	require.NoError(t, err)
	got := (<-requests).Header
	for name, want := range map[string]string{
		"User-Agent":                             "Almanac/1.2.3",
		"Idempotency-Key":                        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"x-ms-client-request-id":                 "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"x-ms-execution-tag":                     "6ba7b8109dad11d180b400c04fd430c8",
		"x-ms-scheduler-expected-execution-time": "2015-09-10T00:00:00",
		"x-ms-scheduler-jobid":                   "nightly",
		"x-ms-scheduler-jobcollectionid":         "reports",
	} {
		require.Equal(t, []string{want}, got.Values(name), name)
	}
}

func TestHeadersOfTheJobReplaceOwnHeaders(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	names := []string{"User-Agent", "idempotency-key", "X-MS-Scheduler-JobId"}
	var headers job.Members
	for _, name := range names {
		headers = append(headers, job.Member{Name: name, Value: "mine"})
	}
	_, err := send(t, kind.Request{URI: s.URL, Headers: headers})
	require.NoError(t, err)
	got := (<-requests).Header
	for _, name := range names {
		require.Equal(t, []string{"mine"}, got.Values(name), name)
	}
}

func TestNamesOutsideASCIIArePercentEncodedInHeaders(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	e := sendertest.Execution
	e.Job, e.Collection = "täglich 5", "報告"
	_, err := sender.Send(t.Context(), e, action(kind.Request{URI: s.URL}))
	require.NoError(t, err)
	got := (<-requests).Header
	require.Equal(t, "t%C3%A4glich 5", got.Get("x-ms-scheduler-jobid"))
	require.Equal(t, "%E5%A0%B1%E5%91%8A", got.Get("x-ms-scheduler-jobcollectionid"))
}

func TestStatusDecides(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
	})
	for _, tt := range []struct {
		status int
		name   string
		ok     bool
	}{
		{200, "OK", true},
		{202, "Accepted", true},
		{203, "NonAuthoritativeInformation", true},
		{204, "NoContent", true},
		{299, "299", true},
		{300, "MultipleChoices", false},
		{304, "NotModified", false},
		{400, "BadRequest", false},
		{404, "NotFound", false},
		{407, "ProxyAuthenticationRequired", false},
		{414, "RequestUriTooLong", false},
		{418, "418", false},
		{429, "TooManyRequests", false},
		{500, "InternalServerError", false},
		{503, "ServiceUnavailable", false},
		{505, "HttpVersionNotSupported", false},
		{599, "599", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message, err := send(t, kind.Request{URI: fmt.Sprintf("%s/%d", s.URL, tt.status)})
			require.Contains(t, message, ": '"+tt.name+"' Response Headers: ")
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, fmt.Sprintf("the host answered %d %s", tt.status, tt.name))
			_, permanent := errors.AsType[*activities.PermanentError](err)
			require.False(t, permanent)
		})
	}
}

func TestRequestsThatCannotBeSentFailPermanently(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		action *job.Action
		want   string
	}{
		{"no request", &job.Action{Type: "Http"}, "the action has no request"},
		{"no address", action(kind.Request{URI: "https://topsecret@h:x/?sig=topsecret"}), "the uri is not an absolute http or https address"},
		{"relative", action(kind.Request{URI: "/path"}), "the uri is not an absolute http or https address"},
		{"other scheme", action(kind.Request{URI: "ftp://example.com/"}), "the uri is not an absolute http or https address"},
		{"bad method", action(kind.Request{URI: "https://example.com/", Method: "A B"}), `"A B" is not a method that requests may have`},
		{"method for proxies", action(kind.Request{URI: "https://example.com/", Method: "connect"}), `"connect" is not a method that requests may have`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message, err := sender.Send(t.Context(), sendertest.Execution, tt.action)
			_, permanent := errors.AsType[*activities.PermanentError](err)
			require.True(t, permanent)
			require.EqualError(t, err, tt.want)
			require.Equal(t, "Http Action - Request cannot be sent: "+tt.want, message)
		})
	}
}

func TestHeaderThatCannotBeSentIsNamedWithoutItsValue(t *testing.T) {
	t.Parallel()
	_, err := send(t, kind.Request{URI: "http://127.0.0.1", Headers: job.Members{{Name: "X-Key", Value: "topsecret\n"}}})
	require.EqualError(t, err, `invalid header field value for "X-Key"`)
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var other atomic.Int64
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { other.Add(1) })
	elsewhereHost := strings.TrimPrefix(elsewhere.URL, "http://")
	for _, tt := range []struct {
		name     string
		status   int
		location string // {self} is the server that is asked; a line for each header
		method   string
		want     []string // method, path and body of each request
		err      string
	}{
		{"same host, relative", 302, "/end", "GET", []string{"GET /start ", "GET /end "}, ""},
		{"same host, absolute", 301, "http://{self}/end", "GET", []string{"GET /start ", "GET /end "}, ""},
		{"303 becomes GET", 303, "/end", "POST", []string{"POST /start body", "GET /end "}, ""},
		{"301 becomes GET after POST", 301, "/end", "POST", []string{"POST /start body", "GET /end "}, ""},
		{"302 becomes GET after POST", 302, "/end", "POST", []string{"POST /start body", "GET /end "}, ""},
		{"301 keeps PUT and its body", 301, "/end", "PUT", []string{"PUT /start body", "PUT /end body"}, ""},
		{"302 keeps PATCH and its body", 302, "/end", "PATCH", []string{"PATCH /start body", "PATCH /end body"}, ""},
		{"302 keeps DELETE and its body", 302, "/end", "DELETE", []string{"DELETE /start body", "DELETE /end body"}, ""},
		{"303 becomes GET after PUT", 303, "/end", "PUT", []string{"PUT /start body", "GET /end "}, ""},
		{"303 becomes GET after DELETE", 303, "/end", "DELETE", []string{"DELETE /start body", "GET /end "}, ""},
		{"303 keeps HEAD", 303, "/end", "HEAD", []string{"HEAD /start body", "HEAD /end "}, ""},
		{"301 keeps OPTIONS", 301, "/end", "OPTIONS", []string{"OPTIONS /start body", "OPTIONS /end body"}, ""},
		{"304 is no redirect", 304, "/end", "GET", []string{"GET /start "}, "the host answered 304 NotModified"},
		{"307 keeps method and body", 307, "/end", "POST", []string{"POST /start body", "POST /end body"}, ""},
		{"308 keeps method and body", 308, "/end", "PUT", []string{"PUT /start body", "PUT /end body"}, ""},
		{"other port", 302, elsewhere.URL + "/x?sig=topsecret", "GET", []string{"GET /start "},
			"the host answered 302 Found, which is not followed: it leads to host '" + elsewhereHost + "'"},
		{"other scheme", 301, "https://{self}/end", "GET", []string{"GET /start "},
			"the host answered 301 MovedPermanently, which is not followed: it leads to host '{self}', from http to https"},
		{"other host", 307, "//elsewhere.example/", "POST", []string{"POST /start body"},
			"the host answered 307 TemporaryRedirect, which is not followed: it leads to host 'elsewhere.example'"},
		{"nowhere", 302, "", "GET", []string{"GET /start "}, "the host answered 302 Found without a Location"},
		{"the same place twice", 302, "/end\n/end", "GET", []string{"GET /start ", "GET /end "}, ""},
		{"two places", 302, "/end\n/other", "POST", []string{"POST /start body"}, "the host answered 302 Found, which is not followed: it has several Location headers"},
		{"unreadable", 302, "http://[::1/?sig=topsecret", "GET", []string{"GET /start "},
			"the host answered 302 Found, which is not followed: its Location header cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var hops []string
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				hops = append(hops, r.Method+" "+r.URL.Path+" "+string(body))
				if r.Header.Get("Idempotency-Key") != sendertest.Execution.ID {
					t.Error("the key is missing")
				}
				if r.URL.Path == "/start" {
					w.Header()["Location"] = strings.Split(strings.ReplaceAll(tt.location, "{self}", r.Host), "\n")
					w.WriteHeader(tt.status)
				}
			})
			r := kind.Request{URI: s.URL + "/start", Method: tt.method}
			if tt.method != "GET" {
				r.Body = "body"
			}
			message, err := send(t, r)
			require.Equal(t, tt.want, hops)
			require.NotContains(t, message, "topsecret")
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			want := strings.ReplaceAll(tt.err, "{self}", strings.TrimPrefix(s.URL, "http://"))
			require.EqualError(t, err, want)
			require.Contains(t, message, want)
		})
	}
	require.Zero(t, other.Load(), "nobody else is asked")
}

func TestRedirectsEndAfterTen(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	_, err := send(t, kind.Request{URI: s.URL})
	require.EqualError(t, err, "the host answered 302 Found, which is not followed: at most 10 redirects are")
	require.EqualValues(t, 11, requests.Load())
}

func TestRequestIsNotRepeatedOnALostConnection(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST", "DELETE"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			s := serve(t, func(_ http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) == 1 {
					return // leaves a connection that can be used again
				}
				panic(http.ErrAbortHandler) // closes it without an answer
			})
			r := kind.Request{URI: s.URL, Method: method}
			_, err := send(t, r)
			require.NoError(t, err)
			_, err = send(t, r)
			require.EqualError(t, err, "the host closed the connection before its answer was complete; it may have read the request")
			require.EqualValues(t, 2, requests.Load(), "the second request is seen once")
		})
	}
}

// Microsoft recorded this text, up to where it is cut.
const recorded = "Http Action - Response from host 'www.bing.com': 'OK' Response Headers: Vary: Accept-Encoding\r\n" +
	"Cache-Control: max-age=0, private\r\nP3P: CP=\"NON UNI COM NAV STA L"

func TestMessageHasTheFormOfAzureScheduler(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Date"] = nil
		h.Set("Vary", "Accept-Encoding")
		h.Add("Cache-Control", "max-age=0")
		h.Add("Cache-Control", "private")
		h["P3P"] = []string{`CP="NON UNI COM NAV STA L"`}
		h.Set("Content-Type", "text/plain")
		io.WriteString(w, "hello")
	})
	h := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}})
	message, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://www.bing.com"}))
	require.NoError(t, err)
	require.Equal(t, "Http Action - Response from host 'www.bing.com': 'OK' Response Headers: "+
		"Cache-Control: max-age=0, private\r\n"+
		"Content-Length: 5\r\n"+
		"Content-Type: text/plain\r\n"+
		"P3p: CP=\"NON UNI COM NAV STA L\"\r\n"+
		"Vary: Accept-Encoding\r\n"+
		" Body: hello", message)
	start, lines, _ := strings.Cut(recorded, "Response Headers: ")
	require.True(t, strings.HasPrefix(message, start+"Response Headers: "))
	for line := range strings.SplitSeq(lines, "\r\n") {
		require.Contains(t, strings.ToLower(message), strings.ToLower(line))
	}
}

func TestMessageHoldsTheBeginningOfTheBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"empty", "", ""},
		{"whole", strings.Repeat("x", 2048), strings.Repeat("x", 2048)},
		{"cut", strings.Repeat("x", 2049), strings.Repeat("x", 2048)},
		{"cut at a rune", "x" + strings.Repeat("ä", 2000), "x" + strings.Repeat("ä", 1023)},
		{"cut at a long rune", "xy" + strings.Repeat("😀", 2000), "xy" + strings.Repeat("😀", 511)},
		{"not UTF-8", "a\xffb\xc3(", "a\ufffdb\ufffd("},
		{"control characters", "a\x00b\x1b[31m\tc\r\n", "a\ufffdb\ufffd[31m\tc\r\n"},
		{"not UTF-8 and long", strings.Repeat("\xff", 5000), strings.Repeat("\ufffd", 682)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, tt.body) })
			message, err := send(t, kind.Request{URI: s.URL})
			require.NoError(t, err)
			_, body, _ := strings.Cut(message, " Body: ")
			require.Equal(t, tt.want, body)
		})
	}
}

func TestMessageIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for n := range 30 {
			w.Header().Set(fmt.Sprintf("X-Long-%d", n), strings.Repeat("v\xff", 900))
		}
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, strings.Repeat("\x00", 10000))
	})
	message, err := send(t, kind.Request{URI: s.URL})
	require.Error(t, err)
	require.LessOrEqual(t, len(message), 7<<10)
	require.True(t, utf8.ValidString(message))
}

func TestMessageHoldsNoSecretsOfTheAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Add("Set-Cookie", "session=topsecret; Path=/")
		h.Add("Set-Cookie", "topsecret")
		h.Set("Location", "https://me:topsecret@elsewhere.example/next?sig=topsecret#topsecret")
		h.Set("Link", "<https://elsewhere.example/2?sig=topsecret>; rel=next")
		h.Set("Refresh", "5; url=https://elsewhere.example/#access_token=topsecret")
		w.WriteHeader(http.StatusFound)
	})
	message, err := send(t, kind.Request{URI: s.URL})
	require.Error(t, err)
	require.NotContains(t, message+err.Error(), "topsecret")
	require.Contains(t, message, "Set-Cookie: session=…, …\r\n")
	require.Contains(t, message, "Location: https://…elsewhere.example/next?…\r\n")
	require.Contains(t, message, "Link: <https://elsewhere.example/2?…>; rel=next\r\n")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	var protocol atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { protocol.Store(r.Proto) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	trusting := senders.NewHTTP(senders.Options{Guard: sendertest.Anywhere, RootCAs: roots})

	t.Run("HTTP/2 to a host that is trusted", func(t *testing.T) {
		_, err := trusting.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Method: "POST", Body: "x"}))
		require.NoError(t, err)
		require.Equal(t, "HTTP/2.0", protocol.Load())
	})
	t.Run("authority that is not trusted", func(t *testing.T) {
		_, err := send(t, kind.Request{URI: s.URL + "/?sig=topsecret"})
		require.EqualError(t, err, "TLS: the certificate is signed by an authority that is not trusted here")
	})
	t.Run("certificate of another host", func(t *testing.T) {
		h := senders.NewHTTP(senders.Options{RootCAs: roots, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}})
		_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "https://elsewhere.invalid"}))
		require.ErrorContains(t, err, "TLS: the certificate is not accepted: ")
		require.ErrorContains(t, err, "not elsewhere.invalid")
	})
	t.Run("no TLS at the port", func(t *testing.T) {
		plain := serve(t, func(http.ResponseWriter, *http.Request) {})
		_, err := send(t, kind.Request{URI: strings.Replace(plain.URL, "http:", "https:", 1)})
		require.ErrorContains(t, err, "does not speak TLS")
	})
}
