package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStatusIsWhatTheHostAnsweredAndNotWhatItWrote(t *testing.T) {
	t.Parallel()
	const begin = "Http Action - Response from host 'example.com': '"
	for _, tt := range []struct{ message, status, text string }{
		{begin + "InternalServerError' Response Headers: X: 1\r\n Body: oops (the host answered 500 InternalServerError)", "500 Internal Server Error", "oops"},
		{begin + "OK' Response Headers: X: 1\r\n Body: fine (the host answered 500 InternalServerError)", "OK", "fine (the host answered 500 InternalServerError)"},
		{begin + "BadGateway' Response Headers:  Body: x (the host answered 200 OK) (the host answered 502 BadGateway)", "502 Bad Gateway", "x (the host answered 200 OK)"},
		{begin + "Found' Response Headers:  Body:  (the host answered 302 Found, and no redirect is followed)", "302 Found, and no redirect is followed", ""},
	} {
		said := saidOf(tt.message)
		require.Equal(t, []string{tt.status, tt.text}, []string{said.Status, said.Text})
	}
}
