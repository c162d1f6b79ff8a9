package credentials_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/credentials"
	"almanac/cmd/almanac/internal/cli/exit"
)

// A script is an issuer whose answers to polls are written down: the body of an error, "token", or "unreachable". It
// keeps when it was asked.
type script struct {
	expires string // of the code, in seconds
	answers []string
	begun   time.Time
	asked   []int // seconds since then
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	said := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		return said(http.StatusOK, `{"issuer":"https://id.example","token_endpoint":"https://id.example/token","device_authorization_endpoint":"https://id.example/device"}`)
	case "/device":
		s.begun = time.Now()
		return said(http.StatusOK, `{"device_code":"d","user_code":"u","verification_uri":"https://id.example/go","interval":2,"expires_in":`+s.expires+`}`)
	}
	s.asked = append(s.asked, int(time.Since(s.begun).Seconds()))
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	switch answer {
	case "unreachable":
		return nil, errors.New("connection refused")
	case "token":
		return said(http.StatusOK, `{"access_token":"a.e30.c","token_type":"Bearer","expires_in":60}`)
	}
	return said(http.StatusBadRequest, `{"error":"`+answer+`"}`)
}

func TestPollsKeepToTheIntervalsOfTheIssuer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []string
		asked   []int
		status  int
	}{
		{"pending", []string{"authorization_pending", "authorization_pending", "token"}, []int{2, 4, 6}, exit.OK},
		{"slow_down adds five seconds to each interval from then on", []string{"slow_down", "authorization_pending", "token"}, []int{2, 9, 16}, exit.OK},
		{"an issuer that is not reached is asked half as often", []string{"unreachable", "token"}, []int{2, 12}, exit.OK},
		{"denied", []string{"authorization_pending", "access_denied"}, []int{2, 4}, exit.Refused},
		{"expired by the issuer", []string{"expired_token"}, []int{2}, exit.Failed},
		{"expired by the clock", []string{"slow_down"}, []int{2, 9, 21}, exit.Failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{expires: "30", answers: tt.answers}
			l, err := credentials.Request(t.Context(), s, credentials.Place{Issuer: "https://id.example", ClientID: "c"}, "https://api.example", func(credentials.Code) {})
			require.Equal(t, tt.status, exit.CodeOf(err), "%s: %v", tt.name, err)
			require.Equal(t, tt.asked, s.asked, tt.name)
			if err == nil {
				require.Equal(t, "a.e30.c", l.Token)
				require.Equal(t, time.Now().Add(time.Minute), l.Expires)
			}
			time.Sleep(time.Minute) // the library closes no body of an answer, whose timer runs on
		})
	}
}

func TestAnIssuerThatIsNoneIsNotReached(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"http://id.example": "http is not safe from others on the network",
		"https://x.example": "the issuer https://x.example: ",
	} {
		_, err := credentials.Request(t.Context(), &script{}, credentials.Place{Issuer: name, ClientID: "c"}, "https://api.example", func(credentials.Code) {})
		require.ErrorContains(t, err, want)
	}
}
