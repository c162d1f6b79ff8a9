package senders_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"almanac/activities"
	"almanac/activities/lease"
	"almanac/activities/senders"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job/kind"
)

var quiet = log.New(io.Discard, "", 0)

// misbehave listens, and calls f with the first connection after a whole request.
func misbehave(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	return respond(t, func(c net.Conn, _ *http.Request) { f(c) })
}

// respond is misbehave for an f that needs the request.
func respond(t *testing.T, f func(net.Conn, *http.Request)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			f(c, r)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

func write(text string) func(net.Conn) {
	return func(c net.Conn) { io.WriteString(c, text) }
}

func reset(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }

func TestTargetsThatMisbehave(t *testing.T) {
	t.Parallel()
	const (
		broken = "the host closed the connection before its answer was complete"
		read   = "; it may have read the request"
	)
	for _, tt := range []struct {
		name    string
		target  func(net.Conn)
		message string // substring
		err     string
	}{
		{"no answer", func(net.Conn) {}, "failed: " + broken + read, broken + read},
		{"reset", reset, "failed: the host reset the connection" + read, "the host reset the connection" + read},
		{"not HTTP", write("SSH-2.0-OpenSSH_9.9\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"status that is no number", write("HTTP/1.1 abc Fine\r\n\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"header that is none", write("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"length that is no number", write("HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"two lengths", write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"unknown transfer encoding", write("HTTP/1.1 200 OK\r\nTransfer-Encoding: pigeon\r\n\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"half a status line", write("HTTP/1.1 2"), "failed: " + broken + read, broken + read},
		{"the first byte", write("H"), "failed: " + broken + read, broken + read},
		{"half a version", write("HTTP/1"), "failed: " + broken + read, broken + read},
		{"a status line without its end", write("HTTP/1.1 200 OK"), "failed: " + broken + read, broken + read},
		{"a short status line with an end", write("HTTP/1.1 2\r\n\r\n"), "failed: the answer is not valid HTTP", "the answer is not valid HTTP"},
		{"half a header", write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"), "failed: " + broken + read, broken + read},
		{"endless header", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			endless(c, "X-More: and more\r\n")
		}, "failed: the headers of the answer are longer than 64 KiB", "the headers of the answer are longer than 64 KiB"},
		{"body that breaks off", write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
			"'OK' Response Headers: Content-Length: 10\r\n Body: abc (the host answered 200 OK, but not all of its body came: " + broken + ")",
			"the host answered 200 OK, but not all of its body came: " + broken},
		{"error whose body breaks off", write("HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc"),
			"'InternalServerError' Response Headers: Content-Length: 10\r\n Body: abc (the host answered 500 InternalServerError)",
			"the host answered 500 InternalServerError"},
		{"chunk that is none", write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), "'OK'", "not all of its body came"},
		{"trailers for ever", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n")
			endless(c, "X: y\r\n")
		}, "'OK'", "not all of its body came: the answer is not valid HTTP"},
		{"a chunk whose length never ends", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;")
			endless(c, "x=y;")
		}, "'OK'", "not all of its body came: the answer is not valid HTTP"},
		{"hints for ever", func(c net.Conn) { endless(c, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n") },
			"failed: the headers of the answer are longer than 64 KiB", "the headers of the answer are longer than 64 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message, err := send(t, kind.Request{URI: misbehave(t, tt.target) + "/?sig=topsecret"})
			require.ErrorContains(t, err, tt.err)
			require.Contains(t, message, tt.message)
			require.NotContains(t, message+err.Error(), "topsecret")
			_, permanent := errors.AsType[*activities.PermanentError](err)
			require.False(t, permanent)
		})
	}
}

func TestAConnectionThatIsLostBeforeTheRequestIsSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = c.Read(make([]byte, 1))
				c.Close()
			}()
		}
	}()
	broken := senders.NewHTTP(senders.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return unwritable{c}, err
	}})
	for name, tt := range map[string]struct {
		sender *senders.HTTP
		scheme string
	}{
		"in the TLS handshake":         {sender, "https"},
		"before its first byte is out": {broken, "http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.sender.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: tt.scheme + "://" + l.Addr().String(), Method: "POST", Body: "x"}))
			require.EqualError(t, err, "the host closed the connection before any of the request was sent")
		})
	}
}

// An unwritable connection is reset when something is written.
type unwritable struct{ net.Conn }

func (unwritable) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// endless writes text until the other side stops reading, and returns the number of bytes written.
func endless(c net.Conn, text string) int {
	block := []byte(strings.Repeat(text, 1+4096/len(text)))
	for written := 0; ; {
		n, err := c.Write(block)
		written += n
		if err != nil {
			return written
		}
	}
}

func TestTargetsThatCannotBeReached(t *testing.T) {
	t.Parallel()
	const closed = "127.0.0.1:1" // a port that no other test gets
	failing := func(err error) *senders.HTTP {
		return senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, err }})
	}
	for _, tt := range []struct {
		name, host, want string
		sender           *senders.HTTP
	}{
		{"refused", closed, "the connection was refused: nothing listens at this port", sender},
		{"unknown name", "nobody.invalid", "the name 'nobody.invalid' is not known to DNS",
			failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "nobody.invalid", Server: "10.1.2.3:53", IsNotFound: true}})},
		{"name server is slow", "slow.invalid", "DNS did not answer for 'slow.invalid' in time",
			failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "slow.invalid", IsTimeout: true}})},
		{"name server fails", "broken.invalid", "DNS could not answer for 'broken.invalid'",
			failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "broken.invalid", Server: "10.1.2.3:53", IsTemporary: true}})},
		{"silence", "192.0.2.1", "the host did not accept a connection within 10 s",
			failing(&net.OpError{Op: "dial", Err: context.DeadlineExceeded})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message, err := tt.sender.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://user:topsecret@" + tt.host + "/?sig=topsecret"}))
			require.EqualError(t, err, tt.want)
			require.Equal(t, "Http Action - Request to host '"+tt.host+"' failed: "+tt.want, message)
		})
	}
}

func TestHugeBodyIsNotRead(t *testing.T) {
	t.Parallel()
	taken := make(chan int, 1)
	uri := misbehave(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
		taken <- endless(c, "0123456789abcdef")
	})
	_, err := send(t, kind.Request{URI: uri})
	require.NoError(t, err)
	require.Less(t, <-taken, 16<<20, "what the kernel buffers, and no more")
}

func TestHugeBodyOfUnknownLengthIsNotRead(t *testing.T) {
	t.Parallel()
	taken := make(chan int, 1)
	uri := misbehave(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		taken <- endless(c, "0123456789abcdef")
	})
	_, err := send(t, kind.Request{URI: uri})
	require.NoError(t, err)
	require.Less(t, <-taken, 16<<20, "what the kernel buffers, and no more")
}

// Cases with delays run in a synctest bubble, over pipes. The bubble also detects leaked goroutines.
func TestTargetsThatTakeTheirTime(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for _, tt := range []struct {
		name   string
		target func(net.Conn)
		took   time.Duration
		err    string
	}{
		{"hangs before it answers", hang, limit, "no time left"},
		{"hangs within the header", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nX-"); hang(c) }, limit, "no time left"},
		{"drips its header", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n"); drip(c, "X-More: 1\r\n") }, limit, "no time left"},
		{"drips its body from the start", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); drip(c, "x") }, limit,
			"the host answered 200 OK, but not all of its body came: no time left"},
		{"hints for ever, one a second", func(c net.Conn) { drip(c, "HTTP/1.1 103 Early Hints\r\n\r\n") }, limit, "no time left"},
		{"continues for ever", func(c net.Conn) { drip(c, "HTTP/1.1 100 Continue\r\n\r\n") }, limit, "no time left"},
		{"switches protocols and hangs", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			hang(c)
		}, 0,
			"the host answered 101 SwitchingProtocols"},
		{"switches protocols and talks on", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
			drip(c, "x")
		}, 0,
			"the host answered 101 SwitchingProtocols"},
		{"hangs within a chunk", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
			hang(c)
		}, limit,
			"the host answered 200 OK, but not all of its body came: no time left"},
		{"drips its trailers", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nab\r\n0\r\n")
			drip(c, "X: y\r\n")
		}, limit,
			"the host answered 200 OK, but not all of its body came: no time left"},
		{"hangs within a redirect", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: /next\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
			hang(c)
		}, limit,
			"the host answered 302 Found, which is not followed: at most 10 redirects are"},
		{"drips after 2048 bytes", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 2048))
			drip(c, "x")
		}, 50 * time.Millisecond, ""},
		{"hangs after 2048 bytes of many", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("x", 2048))
			hang(c)
		}, 0, ""},
		{"answers just in time", func(c net.Conn) {
			time.Sleep(limit - time.Second)
			io.WriteString(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}, limit - time.Second, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var targets sync.WaitGroup
				h := senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					targets.Go(func() {
						defer theirs.Close()
						if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
							tt.target(theirs)
						}
					})
					return ours, nil
				}})
				ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("no time left"))
				defer cancel()
				start := time.Now()
				message, err := h.Send(ctx, sendertest.Execution, action(kind.Request{URI: "http://slow.example"}))
				require.Equal(t, tt.took, time.Since(start))
				targets.Wait() // hangs if the connection is not closed
				if tt.err == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, tt.err)
				require.Contains(t, message, tt.err)
			})
		})
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"empty": 0, "short": 100, "cut for the history": 5000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := emulators.NewPipes(t)
				connections := 0
				h := senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
					connections++
					return network.Dial()
				}})
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					io.WriteString(w, strings.Repeat("x", size))
				})}
				go s.Serve(network)
				defer s.Close()
				for range 5 {
					_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://herd.example"}))
					require.NoError(t, err)
				}
				require.Equal(t, 1, connections)
			})
		})
	}
}

// hang waits until the other side gives up.
func hang(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

// drip writes text once a second until the other side gives up.
func drip(c net.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// The debug data of a GOAWAY frame may echo the request.
func TestHTTP2HostThatGoesAway(t *testing.T) {
	t.Parallel()
	s := &secured{Server: httptest.NewUnstartedServer(nil)}
	s.TLS = &tls.Config{NextProtos: []string{"h2"}}
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": goAway}
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := s.sender().Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL + "/?sig=topsecret"}))
	require.EqualError(t, err, "the host ended the request without an answer (PROTOCOL_ERROR); it may have read the request")
	sendertest.RequirePermanent(t, false, err)
}

func TestAnHTTP2HostThatEndsARequest(t *testing.T) {
	t.Parallel()
	s := serveSecured(t, true, &tls.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
	_, err := s.sender().Send(t.Context(), sendertest.Execution, action(kind.Request{URI: s.URL, Method: "POST", Body: "body"}))
	require.EqualError(t, err, "the host ended the request without an answer (INTERNAL_ERROR); it may have read the request")
	sendertest.RequirePermanent(t, false, err)
}

// goAway speaks HTTP/2 until the first request has arrived.
func goAway(_ *http.Server, c *tls.Conn, _ http.Handler) {
	if _, err := io.CopyN(io.Discard, c, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(c, c)
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if _, ok := frame.(*http2.HeadersFrame); ok {
			_ = framer.WriteGoAway(frame.Header().StreamID, http2.ErrCodeProtocol, []byte(`no "topsecret"`))
			_ = c.CloseWrite() // and reads on, or the frame may get lost
		}
	}
}

// A refused stream was not processed, so Go's transport writes it again at once, and 1, 2, 4 … s later.
func TestARequestThatAnHTTP2HostRefusesIsNotWrittenAgainOnceItsLeaseIsOver(t *testing.T) {
	t.Parallel()
	const length = 900 * time.Millisecond
	written := make(chan time.Time, 100)
	s := &secured{Server: httptest.NewUnstartedServer(nil)}
	s.TLS = &tls.Config{NextProtos: []string{"h2"}}
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, c *tls.Conn, _ http.Handler) { refuseAll(c, written) }}
	s.StartTLS()
	t.Cleanup(s.Close)
	l := lease.New(time.Now(), length)
	_, err := s.sender().Send(lease.With(t.Context(), l), sendertest.Execution, action(kind.Request{URI: s.URL}))
	require.EqualError(t, err, "the host refused the request without processing it, and the time within which it might be sent again was over")
	sendertest.RequirePermanent(t, false, err)
	require.True(t, l.Used())
	require.LessOrEqual(t, len(written), 2, "within the lease it is written again; the next time is a second later")
}

// refuseAll speaks HTTP/2 and refuses each request.
func refuseAll(c *tls.Conn, written chan<- time.Time) {
	if _, err := io.CopyN(io.Discard, c, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(c, c)
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if _, ok := frame.(*http2.HeadersFrame); ok {
			written <- time.Now()
			_ = framer.WriteRSTStream(frame.Header().StreamID, http2.ErrCodeRefusedStream)
		}
	}
}
