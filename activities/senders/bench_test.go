package senders_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"almanac/internal/sendertest"
	"almanac/job"
	"almanac/job/kind"
)

// One attempt against a server in the same process, whose cost is included.
func BenchmarkHTTP(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer s.Close()
	post := action(kind.Request{
		URI: s.URL + "/path", Method: "POST", Body: `{"a":1}`,
		Headers: job.Members{{Name: "Content-Type", Value: "application/json"}},
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sender.Send(b.Context(), sendertest.Execution, post); err != nil {
			b.Fatal(err)
		}
	}
}

// The response that costs most to describe: the maximum of headers and body, with the maximum of
// secrets in several encodings.
func BenchmarkLargestAnswer(b *testing.B) {
	text := strings.Repeat(`%25&amp;\u0041abcdefgh+`, 2000)
	for name, header := range map[string]http.Header{
		"one header":   {"A": {text}},
		"a location":   {"Location": {"http://a/" + text + "?" + text[:8<<10]}},
		"many headers": {},
	} {
		if len(header) == 0 {
			for i := range 600 {
				header[fmt.Sprintf("H%d", i)] = []string{text[:60]}
			}
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			maps.Copy(w.Header(), header)
			_, _ = io.WriteString(w, text[:2048])
		}))
		defer s.Close()
		uri := s.URL + "/?"
		for i := 0; len(uri) < 2000; i++ {
			uri += fmt.Sprintf("&a=%%41%013d", i)
		}
		get := action(kind.Request{
			URI: uri, Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "me", Password: strings.Repeat("aB3", 4000)},
		})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := sender.Send(b.Context(), sendertest.Execution, get); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
