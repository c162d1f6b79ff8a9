package senders_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"almanac/job/kind"

	"github.com/stretchr/testify/require"
)

// RFC 9110, section 15.4: only 303 changes every method, and 301 and 302 that of POST alone. 300, 304 and 305 are not
// followed.
func TestEachMethodAfterEachRedirect(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		for status, want := range map[int]string{
			300: "", 301: method + " body", 302: method + " body", 303: "GET ", 304: "", 305: "", 307: method + " body", 308: method + " body",
		} {
			switch {
			case method == "POST" && (status == 301 || status == 302):
				want = "GET "
			case method == "HEAD" && status == 303:
				want = "HEAD "
			}
			t.Run(fmt.Sprintf("%s %d", method, status), func(t *testing.T) {
				t.Parallel()
				seen := make(chan string, 10)
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/end" {
						body, _ := io.ReadAll(r.Body)
						seen <- r.Method + " " + string(body)
						return
					}
					w.Header().Set("Location", "/end")
					w.WriteHeader(status)
				})
				message, err := send(t, kind.Request{URI: s.URL + "/start", Method: method, Body: "body"})
				if want == "" {
					require.ErrorContains(t, err, fmt.Sprintf("the host answered %d ", status))
					require.Empty(t, seen)
					return
				}
				require.NoError(t, err)
				require.Equal(t, want, <-seen)
				require.Contains(t, message, fmt.Sprintf("(redirected: %s %s/start was answered %d ", method, s.URL, status))
			})
		}
	}
}
