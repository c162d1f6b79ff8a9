package main

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A host may repeat a secret of the request behind its answer, where nothing redacts it.
func TestTheLogHasNothingThatAHostSendsBehindItsAnswer(t *testing.T) { //nolint:paralleltest // sets the standard library's log
	var logged strings.Builder
	before := log.Writer()
	log.SetOutput(withoutAnswers{&logged})
	defer log.SetOutput(before)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\ncanary")
			_, _ = c.Read(make([]byte, 1)) // until the client has seen that, and closes the connection
		}
	}()
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Get("http://" + l.Addr().String()) //nolint:noctx // ends with the listener
	require.NoError(t, err)
	resp.Body.Close()
	<-ended
	log.Print("something else")
	require.Contains(t, logged.String(), "something else")
	require.NotContains(t, logged.String(), "canary")
}
