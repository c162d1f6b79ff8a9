package senders_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

const someToken = "sv=2024-08-04&sp=a&se=2999-01-01&sig=topsecret"

func TestAnswersOfTheQueueService(t *testing.T) {
	t.Parallel()
	const base = "the service answered "
	for _, tt := range []struct {
		status    int
		code      string
		header    string // a further header, as name: value
		want      string
		permanent bool
		after     time.Duration
	}{
		{status: 403, code: "AuthenticationFailed", want: base + "403 AuthenticationFailed: the sasToken is not one for this account and queue, or its key was changed: put a new one into the job"},
		{status: 403, code: "AuthorizationServiceMismatch", want: base + "403 AuthorizationServiceMismatch: the sasToken is not for the messages of queues: put one into the job for the service Queue (ss has a q) and the resource type Object (srt has an o)"},
		{status: 403, code: "AuthorizationSourceIPMismatch", want: base + "403 AuthorizationSourceIPMismatch: the sasToken does not allow this address: Almanac's has to be within its range (sip)"},
		{status: 403, code: "AuthorizationFailure", want: base + "403 AuthorizationFailure: the storage account refuses it: its firewall has to allow Almanac's address, and its settings shared access signatures"},
		{status: 403, code: "AccountIsDisabled", want: base + "403 AccountIsDisabled: the storage account is disabled"},
		{status: 404, code: "QueueNotFound", want: base + "404 QueueNotFound: the storage account has no queue of this name: create it"},
		{status: 409, code: "QueueBeingDeleted", want: base + "409 QueueBeingDeleted: the queue is being deleted: create it again, which takes a minute to become possible"},
		{status: 409, code: "QueueDisabled", want: base + "409 QueueDisabled: the queue is disabled"},
		{status: 400, code: "InvalidUri", want: base + "400 InvalidUri", permanent: true},
		{status: 413, code: "RequestBodyTooLarge", want: base + "413 RequestBodyTooLarge: the message is longer than the 64 KiB that a queue holds: shorten it", permanent: true},
		{status: 429, code: "ServerBusy", header: "Retry-After: 90", want: base + "429 ServerBusy: the storage account has more to do than it can: send less at the same time, or spread it over accounts", after: 90 * time.Second},
		{status: 503, code: "ServerBusy", header: "Retry-After: 10", want: base + "503 ServerBusy: the storage account has more to do than it can: send less at the same time, or spread it over accounts", after: 10 * time.Second},
		{status: 503, want: base + "503"},
		{status: 500, code: "OperationTimedOut", want: base + "500 OperationTimedOut"},
		{status: 307, header: "Location: /elsewhere", want: base + "307"},
		{status: 200, want: base + "200"},
		{status: 403, code: "got-top%73ecret.", want: base + "403 got-…."},
		{status: 418, code: strings.Repeat("x", 200), want: base + "418 " + strings.Repeat("x", 97) + "…"},
	} {
		t.Run(fmt.Sprintf("%d %.20s", tt.status, tt.code), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				if tt.code != "" {
					w.Header().Set("x-ms-error-code", tt.code)
				}
				if name, value, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
			})
			message, err := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: s.URL + "/{account}"}).
				Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
			require.EqualError(t, err, tt.want)
			require.Equal(t, "StorageQueue Action - Message to queue 'devstoreaccount1/orders' failed: "+tt.want, message)
			sendertest.RequirePermanent(t, tt.permanent, err)
			var after time.Duration
			if asked, ok := errors.AsType[*activities.RetryAfterError](err); ok {
				after = asked.After
			}
			require.Equal(t, tt.after, after)
			require.EqualValues(t, 1, requests.Load(), "retries are the job's")
		})
	}
}

func TestAnswersOfTheQueueServiceAreReadInTheirEncodings(t *testing.T) {
	t.Parallel()
	const text = `<?xml version="1.0" encoding="utf-8"?><Error><Code>Code_topsecret_</Code><Message>Gibt es nicht: Aufträge</Message></Error>`
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	for _, tt := range []struct{ name, contentType, encoding, body, want string }{
		{"as it is", "application/xml", "", text, " Code_…_"},
		{"gzip", "application/xml", "gzip", compressed(t, gzipped, text), " Code_…_"},
		{"UTF-16", "application/xml; charset=utf-16", "", inCharset(t, utf16, text), " Code_…_"},
		{"both", "application/xml", "gzip", compressed(t, gzipped, inCharset(t, utf16, text)), " Code_…_"},
		{"one that is not read", "application/xml", "br", "\x8b\x03\x80", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				w.WriteHeader(http.StatusNotFound)
				io.WriteString(w, tt.body)
			})
			_, err := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: s.URL + "/{account}"}).
				Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
			require.EqualError(t, err, "the service answered 404"+tt.want)
		})
	}
}

func TestRequestToTheQueueService(t *testing.T) {
	t.Parallel()
	s, requests := recording(t)
	q := queueSender(t, senders.Options{Guard: sendertest.Anywhere, Version: "1.2.3", QueueEndpoint: s.URL + "/{account}"})
	_, err := q.Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
	require.Error(t, err, "a stored message is answered by 201")
	got := <-requests
	require.Equal(t, "POST", got.Method)
	require.Equal(t, "/devstoreaccount1/orders/messages?se=2999-01-01&sig=topsecret&sp=a&sv=2024-08-04", got.RequestURI)
	require.Equal(t, sendertest.Execution.ID, got.Header.Get("x-ms-client-request-id"))
	require.Regexp(t, `^Almanac/1\.2\.3 `, got.Header.Get("User-Agent"))
}

func TestQueueServiceThatCannotBeReached(t *testing.T) {
	t.Parallel()
	refusing := func(context.Context, string, string) (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:1") }
	failing := func(err error) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: err}
		}
	}
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request came without TLS") })
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	t.Cleanup(secure.Close)
	refused := &egress.RefusedError{Target: "orders.example", Rule: "it has a private address"}

	for _, tt := range []struct {
		name      string
		dial      func(context.Context, string, string) (net.Conn, error)
		want      string
		permanent bool
	}{
		{"refused", refusing, "the connection was refused: nothing listens at this port", false},
		{"a name that DNS does not know", failing(&net.DNSError{Name: "devstoreaccount1.queue.core.windows.net", IsNotFound: true}),
			"the name 'devstoreaccount1.queue.core.windows.net' is not known to DNS; is 'devstoreaccount1' the name of a storage account?", false},
		{"DNS that fails", failing(&net.DNSError{Name: "devstoreaccount1.queue.core.windows.net", Server: "10.1.2.3:53", IsTemporary: true}),
			"DNS could not answer for 'devstoreaccount1.queue.core.windows.net'", false},
		{"silence", failing(context.DeadlineExceeded), "the host did not accept a connection within 10 s", false},
		{"a certificate for another name", func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", secure.Listener.Addr().String())
		}, "TLS: the certificate is not accepted: certificate is valid for example.com, *.example.com, not devstoreaccount1.queue.core.windows.net", false},
		{"no TLS", func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", plain.Listener.Addr().String())
		},
			"TLS: the host does not speak TLS at this port; is the endpoint of storage queues to begin with http?", false},
		{"the guard", failing(refused), refused.Error(), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message, err := queueSender(t, senders.Options{Dial: tt.dial}).
				Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
			require.EqualError(t, err, tt.want)
			require.Equal(t, "StorageQueue Action - Message to queue 'devstoreaccount1/orders' failed: "+tt.want, message)
			sendertest.RequirePermanent(t, tt.permanent, err)
		})
	}
}

func TestQueueServiceThatMisbehaves(t *testing.T) {
	t.Parallel()
	const lost = "the host closed the connection before its answer was complete; it may have read the request"
	for _, tt := range []struct {
		name   string
		target func(net.Conn)
		want   string // "" means success
	}{
		{"no answer", func(net.Conn) {}, lost},
		{"not HTTP", write("SSH-2.0-OpenSSH_9.9\r\n"), "the answer is not valid HTTP"},
		{"a refusal without an end", func(c net.Conn) { c.Write([]byte("HTTP/1.1 404 No\r\n\r\n")); endless(c, "x") }, "the service answered 404"},
		{"an error whose text breaks off", write("HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nabc"), "the host closed the connection before its answer was complete"},
		{"a success whose text breaks off", write("HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nabc"), ""},
		{"a success whose text is none", write("HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: misbehave(t, tt.target) + "/{account}"})
			message, err := q.Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
			if tt.want == "" {
				require.NoError(t, err, "the message is in the queue")
				return
			}
			require.EqualError(t, err, tt.want)
			require.NotContains(t, message, "topsecret")
			sendertest.RequirePermanent(t, false, err)
		})
	}
}

func TestQueueServiceThatHangs(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	q := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: misbehave(t, func(c net.Conn) {
		close(arrived)
		hang(c)
	}) + "/{account}"})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(errors.New("timed out: not complete after 60 s"))
	}()
	message, err := q.Send(ctx, sendertest.Execution, queueAction("orders", someToken))
	require.EqualError(t, err, "timed out: not complete after 60 s")
	require.Equal(t, "StorageQueue Action - Message to queue 'devstoreaccount1/orders' failed: timed out: not complete after 60 s", message)
}

// Azurite does not show the limit: it corrupts multi-byte characters at the ends of the chunks in which
// it reads a long request.
func TestTheLengthOfAMessageIsInBytes(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- string(body)
		w.WriteHeader(http.StatusCreated)
	})
	q := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: s.URL + "/{account}"})
	a := queueAction("orders", someToken)
	a.QueueMessage.MessageFormat = kind.MessageRaw

	a.QueueMessage.Message = strings.Repeat("ü", 32768)
	_, err := q.Send(t.Context(), sendertest.Execution, a)
	require.NoError(t, err)
	var sent struct{ MessageText string }
	require.NoError(t, xml.Unmarshal([]byte(<-bodies), &sent))
	require.Equal(t, 32768, strings.Count(sent.MessageText, "ü"))

	a.QueueMessage.Message += "ü"
	_, err = q.Send(t.Context(), sendertest.Execution, a)
	require.EqualError(t, err, "the message is 65538 bytes long as it is sent, and a queue holds 65536 (64 KiB): shorten it")
	require.Empty(t, bodies, "it is not sent")
}

// A reused connection may break during the request.
func TestMessageIsSentOnceOverAConnectionThatBreaks(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	s.Config.ErrorLog = quiet
	s.Start()
	t.Cleanup(s.Close)
	q := queueSender(t, senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: s.URL + "/{account}"})
	_, err := q.Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
	require.NoError(t, err)
	_, err = q.Send(t.Context(), sendertest.Execution, queueAction("orders", someToken))
	require.EqualError(t, err, "the host closed the connection before its answer was complete; it may have read the request")
	require.EqualValues(t, 2, requests.Load())
}

func TestQueueActionWithoutAMessage(t *testing.T) {
	t.Parallel()
	_, err := queueSender(t, senders.Options{Guard: sendertest.Anywhere}).Send(t.Context(), sendertest.Execution, &job.Action{Type: "StorageQueue"})
	require.EqualError(t, err, "the action has no queueMessage")
	sendertest.RequirePermanent(t, true, err)
}

func TestEndpointsOfStorageQueues(t *testing.T) {
	t.Parallel()
	for endpoint, ok := range map[string]bool{
		"": true,
		"https://{account}.queue.core.chinacloudapi.cn": true,
		"http://127.0.0.1:10001/{account}/":             true,
		"https://queue.core.windows.net":                false,
		"{account}.queue.core.windows.net":              false,
		"ftp://{account}.queue.core.windows.net":        false,
		"https:///{account}":                            false,
		"https://{account}:port":                        false,
	} {
		_, err := senders.NewStorageQueue(senders.Options{Guard: sendertest.Anywhere, QueueEndpoint: endpoint})
		if ok {
			require.NoError(t, err, endpoint)
		} else {
			require.EqualError(t, err, "the endpoint of storage queues is to be an http or https address with {account} in it, such as https://{account}.queue.core.windows.net", endpoint)
		}
	}
}
