package activities_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"almanac/job"
)

// One attempt against a server of the same process, whose cost is included.
func BenchmarkHTTP(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer s.Close()
	post := action(job.Request{
		URI: s.URL + "/path", Method: "POST", Body: `{"a":1}`,
		Headers: job.Members{{Name: "Content-Type", Value: "application/json"}},
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sender.Send(b.Context(), execution, post); err != nil {
			b.Fatal(err)
		}
	}
}
