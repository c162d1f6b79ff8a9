package senders_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/senders"
)

// What a scripted mail server does at a step of its conversation instead of its answer.
const (
	closes = "closes the connection"
	hangs  = "hangs"
)

// A scripted mail server takes mail in clear, and at one step does something else.
type scripted struct {
	at       string        // the step: connect, a command, or "." for the end of the mail
	does     string        // closes, hangs, or another answer
	pause    time.Duration // before each answer
	accepted atomic.Int32  // mails
	hung     func()        // is called when it hangs
}

// answers are what a mail server says when all is well.
var answers = map[string]string{
	"connect": "220 mail.example.com", "EHLO": "250 mail.example.com", "MAIL": "250 OK", "RCPT": "250 OK", "DATA": "354 go ahead", ".": "250 accepted", "RSET": "250 OK", "QUIT": "221 bye",
}

// start starts the server until the test ends, and returns its address.
func (s *scripted) start(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.talk(t.Context(), c)
		}
	}()
	return l.Addr().String()
}

func (s *scripted) talk(ctx context.Context, c net.Conn) {
	defer c.Close()
	lines := bufio.NewScanner(c)
	inMail := false
	for step := "connect"; ; {
		time.Sleep(s.pause) //nolint:forbidigo // the slowness that is tested
		answer := answers[step]
		if step == s.at {
			answer = s.does
		}
		switch answer {
		case closes:
			return
		case hangs:
			s.hung()
			<-ctx.Done()
			return
		}
		if _, err := fmt.Fprint(c, answer+"\r\n"); err != nil {
			return
		}
		if step == "." && strings.HasPrefix(answer, "2") {
			s.accepted.Add(1)
		}
		inMail = strings.HasPrefix(answer, "354")
		for step = ""; step == ""; {
			if !lines.Scan() {
				return
			}
			switch word, _, _ := strings.Cut(lines.Text(), " "); {
			case !inMail:
				step = strings.ToUpper(word)
			case word == ".":
				step = "."
			}
		}
	}
}

// attempt returns the context of an attempt, whose time is up when the server hangs.
func (s *scripted) attempt(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	s.hung = cancel
	return ctx, cancel
}

func TestAMailServerThatFailsAnywhereEndsTheAttemptInTime(t *testing.T) {
	t.Parallel()
	for _, does := range []string{closes, hangs, "421 4.3.2 shutting down", "554 5.7.1 not you"} {
		for _, at := range []string{"connect", "EHLO", "MAIL", "RCPT", "DATA", "."} {
			t.Run(at+" "+does, func(t *testing.T) {
				t.Parallel()
				server := &scripted{at: at, does: does}
				ctx, cancel := server.attempt(t)
				defer cancel()
				s := mailTo(t, nil, senders.SMTP{Server: server.start(t), TLS: senders.SMTPClear})
				_, err := s.Send(ctx, mailExecution, mailTarget)
				require.ErrorContains(t, err, "the mail server 127.0.0.1:")
				require.Equal(t, does == hangs, ctx.Err() != nil, "%v", err)
				_, permanent := errors.AsType[*activities.PermanentError](err)
				require.Equal(t, strings.HasPrefix(does, "5") && at != "connect" && at != "EHLO", permanent, "%v", err)
				require.Zero(t, server.accepted.Load())
			})
		}
	}
}

func TestAMailThatWasAcceptedIsSentHoweverTheConversationEnds(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"RSET", "QUIT"} {
		for _, does := range []string{closes, hangs, "500 what?"} {
			t.Run(at+" "+does, func(t *testing.T) {
				t.Parallel()
				server := &scripted{at: at, does: does}
				ctx, cancel := server.attempt(t)
				defer cancel()
				s := mailTo(t, nil, senders.SMTP{Server: server.start(t), TLS: senders.SMTPClear})
				_, err := s.Send(ctx, mailExecution, mailTarget)
				require.NoError(t, err)
				require.EqualValues(t, 1, server.accepted.Load())
			})
		}
	}
}

func TestNoPasswordIsSentInClear(t *testing.T) {
	t.Parallel()
	server := &scripted{at: "AUTH", does: closes}
	s := mailTo(t, nil, senders.SMTP{Server: server.start(t), TLS: senders.SMTPClear, Username: "almanac", Password: "topsecret"})
	_, err := s.Send(t.Context(), mailExecution, mailTarget)
	require.NoError(t, err)
	require.EqualValues(t, 1, server.accepted.Load())
}

func TestASlowMailServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := &scripted{pause: 50 * time.Millisecond}
	s := mailTo(t, nil, senders.SMTP{Server: server.start(t), TLS: senders.SMTPClear})
	_, err := s.Send(t.Context(), mailExecution, mailTarget)
	require.NoError(t, err)
	require.EqualValues(t, 1, server.accepted.Load())
}
