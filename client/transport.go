package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ServedBy returns a transport that has a handler of this process answer requests. The handler sees the host and the
// headers of a request, and the context of the call. Its RemoteAddr is 127.0.0.1:0, unless the context says otherwise:
// see [WithCaller].
func ServedBy(h http.Handler) http.RoundTripper { return handler{h} }

type handler struct{ http.Handler }

// RoundTrip has the handler answer. The answer is whole when it returns.
func (h handler) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	sent := r.Clone(r.Context())
	sent.RequestURI = sent.URL.RequestURI()
	sent.Host = sent.URL.Host
	sent.Proto, sent.ProtoMajor, sent.ProtoMinor = "HTTP/1.1", 1, 1
	sent.RemoteAddr = "127.0.0.1:0"
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	if caller, ok := r.Context().Value(callerKey{}).(*http.Request); ok {
		actFor(sent, caller)
	}
	defer sent.Body.Close()
	w := &recorder{header: http.Header{}}
	defer func() {
		if p := recover(); p != nil { // the handler gave up on the answer, as with http.ErrAbortHandler
			resp, err = nil, aborted(p)
		}
	}()
	h.ServeHTTP(w, sent)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.response(r), nil
}

func aborted(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("the handler did not answer: %w", err)
	}
	return errors.New("the handler did not answer")
}

// A recorder keeps an answer.
type recorder struct {
	header http.Header
	sent   http.Header // the headers when the answer began
	status int
	body   bytes.Buffer
}

// Header returns the headers of the answer.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader begins the answer.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status, w.sent = status, w.header.Clone()
	}
}

// Write adds to the body of the answer.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

func (w *recorder) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	header := http.Header{}
	for name, values := range w.sent {
		for _, value := range values {
			header.Add(name, value) // handlers may set names in another spelling, such as ETag
		}
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}
}
