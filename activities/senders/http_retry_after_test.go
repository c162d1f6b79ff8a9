package senders_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
	"almanac/internal/emulators"
	"almanac/internal/sendertest"
	"almanac/job/kind"
)

// A synctest bubble's clock starts at midnight UTC on 2000-01-01, a Saturday.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const none = time.Duration(0)
	for _, tt := range []struct {
		name   string
		status int
		after  string
		date   string // "" sends none
		want   time.Duration
	}{
		{"seconds, throttled", 429, "120", "", 2 * time.Minute},
		{"seconds, unavailable", 503, "120", "", 2 * time.Minute},
		{"seconds between blanks", 503, " 5 ", "", 5 * time.Second},
		{"more seconds than can be counted", 503, "99999999999999999999", "", time.Hour},
		{"date", 503, "Sat, 01 Jan 2000 00:10:00 GMT", "", 10 * time.Minute},
		{"date of an old form", 503, "Saturday, 01-Jan-00 00:10:00 GMT", "", 10 * time.Minute},
		{"date by the clock of the host", 503, "Sun, 02 Jan 2000 00:10:00 GMT", "Sun, 02 Jan 2000 00:09:30 GMT", 30 * time.Second},
		{"date that is over", 503, "Fri, 31 Dec 1999 23:59:59 GMT", "", none},
		{"no wait", 429, "0", "", none},
		{"none", 429, "", "", none},
		{"less than nothing", 429, "-5", "", none},
		{"no number", 429, "soon", "", none},
		{"another status", 500, "120", "", none},
		{"redirect", 301, "120", "", none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := emulators.NewPipes(t)
				s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					h := w.Header()
					h["Date"], h["Retry-After"] = nil, []string{tt.after}
					if tt.date != "" {
						h.Set("Date", tt.date)
					}
					w.WriteHeader(tt.status)
				})}
				go s.Serve(network)
				defer s.Close()
				h := senders.NewHTTP(senders.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
					return network.Dial()
				}})
				_, err := h.Send(t.Context(), sendertest.Execution, action(kind.Request{URI: "http://busy.example"}))
				require.ErrorContains(t, err, "the host answered ")
				require.Equal(t, tt.want, retryAfter(err))
				sendertest.RequirePermanent(t, false, err)
			})
		})
	}
}
