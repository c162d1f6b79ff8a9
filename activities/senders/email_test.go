package senders_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"almanac/activities"
	"almanac/activities/notify"
	"almanac/activities/senders"
	"almanac/internal/egress"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

// A mailServer takes mail from a user, or refuses it.
type mailServer struct {
	mu     sync.Mutex
	to     []string
	mails  []string
	refuse *smtp.SMTPError // of a recipient
	of     map[string]int  // codes with which these addresses are refused
	roots  *x509.CertPool  // set when it is started
}

func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{m}, nil }

type mailSession struct{ *mailServer }

func (s *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "almanac" || password != "canary-of-mail" {
			return errors.New("wrong password " + password)
		}
		return nil
	}), nil
}

func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	if code := s.of[to]; code != 0 {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: "no such user here"}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, string(text))
	return err
}

func (s *mailSession) Reset()        {}
func (s *mailSession) Logout() error { return nil }

// startMail starts a mail server that encrypts and returns its address. Its certificate is that of tests of HTTP.
func startMail(t *testing.T, m *mailServer) string {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	t.Cleanup(web.Close)
	m.roots = x509.NewCertPool()
	m.roots.AddCert(web.Certificate())
	server := smtp.NewServer(m)
	server.TLSConfig = &tls.Config{Certificates: web.TLS.Certificates}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// mailTo returns what sends through a mail server, from an address that it may reach.
func mailTo(t *testing.T, roots *x509.CertPool, o senders.SMTP) notify.Sender {
	t.Helper()
	guard, err := egress.Parse("public", []string{"127.0.0.1"}, nil)
	require.NoError(t, err)
	o.From = "almanac@example.com"
	s, err := senders.New(senders.Options{Guard: guard, SMTP: o, RootCAs: roots})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s.Notifications()[kind.Mail]
}

var (
	mailTarget = &notification.Post{Type: kind.Mail, Mail: notification.Mail{
		To: []string{"a@example.com", "b@example.com"}, Subject: "Almanac: Job 'täglich' failed", Text: "It failed.\n- once",
	}}
	mailExecution = job.Execution{ID: "3f0c"}
)

func TestAMailIsSentToAllAddressesWithAStableID(t *testing.T) {
	t.Parallel()
	m := &mailServer{}
	server := startMail(t, m)
	s := mailTo(t, m.roots, senders.SMTP{Server: server, Username: "almanac", Password: "canary-of-mail"})
	for range 2 {
		message, err := s.Send(t.Context(), mailExecution, mailTarget)
		require.NoError(t, err)
		require.Contains(t, message, "for 2 addresses")
	}
	require.Equal(t, []string{"a@example.com", "b@example.com", "a@example.com", "b@example.com"}, m.to)
	for _, mail := range m.mails {
		require.Contains(t, mail, "Message-ID: <3f0c@example.com>")
		require.Contains(t, mail, "Auto-Submitted: auto-generated")
		require.Contains(t, mail, "From: <almanac@example.com>")
		require.Contains(t, mail, "It failed.")
	}
}

func TestAnAddressThatIsRefusedForGoodDoesNotLoseTheMailOfTheOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		refused   map[string]int
		sent      string // in the result; "": the attempt fails
		permanent bool   // it fails for good
		accepted  int    // mails
	}{
		{"one for good", map[string]int{"a@example.com": 550}, "for 1 of 2 addresses; of the others: ", false, 1},
		{"one for now", map[string]int{"a@example.com": 450}, "", false, 0},
		{"one for good and one for now", map[string]int{"a@example.com": 550, "b@example.com": 450}, "", false, 0},
		{"both for good", map[string]int{"a@example.com": 550, "b@example.com": 550}, "", true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &mailServer{of: tt.refused}
			server := startMail(t, m)
			s := mailTo(t, m.roots, senders.SMTP{Server: server, Username: "almanac", Password: "canary-of-mail"})
			message, err := s.Send(t.Context(), mailExecution, mailTarget)
			require.Len(t, m.mails, tt.accepted)
			if tt.sent == "" {
				require.ErrorContains(t, err, "no such user here")
				_, permanent := errors.AsType[*activities.PermanentError](err)
				require.Equal(t, tt.permanent, permanent)
				return
			}
			require.NoError(t, err)
			require.Contains(t, message, tt.sent)
			require.Contains(t, message, "no such user here")
			require.Contains(t, m.mails[0], "To: <b@example.com>")
		})
	}
}

func TestAMailServerThatRefusesSaysWhyAndShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		refuse    *smtp.SMTPError
		password  string
		want      string
		permanent bool
	}{
		{"an unknown mailbox", &smtp.SMTPError{Code: 550, Message: "no such mailbox"}, "canary-of-mail", "no such mailbox", true},
		{"a busy mailbox", &smtp.SMTPError{Code: 451, Message: "try later"}, "canary-of-mail", "try later", false},
		{"a wrong password", nil, "canary-that-is-wrong", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &mailServer{refuse: tt.refuse}
			server := startMail(t, m)
			s := mailTo(t, m.roots, senders.SMTP{Server: server, Username: "almanac", Password: tt.password})
			_, err := s.Send(t.Context(), mailExecution, mailTarget)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "canary")
			_, permanent := errors.AsType[*activities.PermanentError](err)
			require.Equal(t, tt.permanent, permanent, "%v", err)
		})
	}
}

func TestAMailServerThatDoesNotAnswerEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	s := mailTo(t, nil, senders.SMTP{Server: silent.Addr().String(), TLS: senders.SMTPClear})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = s.Send(ctx, mailExecution, mailTarget)
	require.Error(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
}

func TestAMailServerMustEncryptUnlessThatIsOff(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &mailServer{}
	server := smtp.NewServer(m)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	_, err = mailTo(t, nil, senders.SMTP{Server: l.Addr().String()}).Send(t.Context(), mailExecution, mailTarget)
	require.Error(t, err)
	require.Contains(t, strings.ToLower(err.Error()), "starttls")
	require.Empty(t, m.mails)
	_, err = mailTo(t, nil, senders.SMTP{Server: l.Addr().String(), TLS: senders.SMTPClear}).Send(t.Context(), mailExecution, mailTarget)
	require.NoError(t, err)
	require.Len(t, m.mails, 1)
}

func TestAMailServerMayEncryptFromTheBeginning(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil)
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	require.NoError(t, err)
	m := &mailServer{}
	server := smtp.NewServer(m)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	_, err = mailTo(t, roots, senders.SMTP{Server: l.Addr().String(), TLS: senders.SMTPImplicit, Username: "almanac", Password: "canary-of-mail"}).Send(t.Context(), mailExecution, mailTarget)
	require.NoError(t, err)
	require.Len(t, m.mails, 1)
}

func TestAMailServerIsSubjectToTheEgressRules(t *testing.T) {
	t.Parallel()
	m := &mailServer{}
	s, err := senders.New(senders.Options{SMTP: senders.SMTP{Server: startMail(t, m), From: "a@example.com", TLS: senders.SMTPClear}})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Notifications()[kind.Mail].Send(t.Context(), mailExecution, mailTarget)
	_, permanent := errors.AsType[*activities.PermanentError](err)
	require.True(t, permanent, "%v", err)
	require.Empty(t, m.mails)
}

func TestWithoutAMailServerNoMailIsSent(t *testing.T) {
	t.Parallel()
	s, err := senders.New(senders.Options{})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Notifications()[kind.Mail].Send(t.Context(), mailExecution, mailTarget)
	require.ErrorContains(t, err, "this worker sends no e-mail")
}
