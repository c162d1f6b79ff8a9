package senders

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"almanac/activities"
	"almanac/internal/egress"
	"almanac/internal/redact"
	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

// SMTP is the server that sends mail. The zero SMTP sends none.
type SMTP struct {
	Server   string // host:port
	From     string // address of the sender
	Username string // "" means that the server asks for no password
	Password string
	TLS      SMTPSecurity // "" means SMTPStartTLS
	Domains  MailDomains  // to which mail may be sent; none means all
}

// SMTPSecurity says how a connection to a mail server is encrypted.
type SMTPSecurity string

// The ways to encrypt.
const (
	SMTPStartTLS SMTPSecurity = "starttls" // the server must offer it
	SMTPImplicit SMTPSecurity = "implicit" // from the beginning, as on port 465
	SMTPClear    SMTPSecurity = "off"      // not at all
)

// IsMailAddress reports whether a text is a mail address without a name.
func IsMailAddress(text string) bool {
	a, err := netmail.ParseAddress(text)
	return err == nil && a.Address == text
}

// Email sends mail. It is safe for concurrent use, and opens a connection for each mail.
type Email struct{ options Options }

// Send sends the mail once. Its Message-ID is made of the execution's id, the same for all attempts.
func (m *Email) Send(ctx context.Context, e job.Execution, p *notification.Post) (string, error) {
	smtp := &m.options.SMTP
	if smtp.Server == "" {
		return "", &activities.PermanentError{
			Err: errors.New("this worker sends no e-mail: start it with --smtp-server (ALMANAC_SMTP_SERVER)"),
		}
	}
	if err := smtp.Domains.Check(p.Mail.To); err != nil {
		return "", &activities.PermanentError{Err: err}
	}
	client, err := m.client(ctx)
	if err != nil {
		// err may quote them
		return "", &activities.PermanentError{Err: errors.New("the settings of the mail server cannot be used")}
	}
	message, err := m.message(e, &p.Mail, p.Mail.To...)
	if err != nil {
		return "", &activities.PermanentError{Err: err}
	}
	// What fails after the server has accepted the mail, such as the farewell, is no failure of the mail.
	err = client.DialAndSendWithContext(ctx, message)
	switch {
	case err == nil || message.IsDelivered():
		return fmt.Sprintf("mail accepted by %s for %d addresses", smtp.Server, len(p.Mail.To)), nil
	case refusedForGood(err) && len(p.Mail.To) > 1:
		return m.sendEach(ctx, client, e, &p.Mail)
	}
	return "", m.failure(err)
}

// Check returns an error if mail may not be sent to an address of a target.
func (m *Email) Check(p kind.Parameters) error {
	return m.options.SMTP.Domains.Check(p.(*kind.Email).To)
}

// sendEach sends a mail to each address, after the server has refused one for all of them. What it refuses again is
// in the result; it is an error if no mail was accepted, or if another one may be accepted later.
func (m *Email) sendEach(ctx context.Context, client *mail.Client, e job.Execution, to *notification.Mail) (string, error) {
	var messages []*mail.Msg
	for _, address := range to.To {
		message, err := m.message(e, to, address)
		if err != nil {
			return "", &activities.PermanentError{Err: err}
		}
		messages = append(messages, message)
	}
	err := client.DialAndSendWithContext(ctx, messages...)
	accepted, refused := 0, 0
	var why error
	for _, message := range messages {
		switch failed := message.SendError(); {
		case message.IsDelivered():
			accepted++
		case refusedForGood(failed):
			refused, why = refused+1, failed
		case failed != nil:
			err = failed // which a retry may mend
		}
	}
	switch {
	case accepted == len(messages):
		return fmt.Sprintf("mail accepted by %s for %d addresses", m.options.SMTP.Server, accepted), nil
	case accepted > 0 && accepted+refused == len(messages):
		return fmt.Sprintf("mail accepted by %s for %d of %d addresses; of the others: %s", m.options.SMTP.Server, accepted, len(messages), m.redacted(why)), nil
	}
	return "", m.failure(err)
}

// refusedForGood reports whether the server said that it will not take the mail later either.
func refusedForGood(err error) bool {
	failed, ok := errors.AsType[*mail.SendError](err)
	return ok && failed.ErrorCode() >= 500
}

func (m *Email) message(e job.Execution, content *notification.Mail, to ...string) (*mail.Msg, error) {
	message := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := message.From(m.options.SMTP.From); err != nil {
		return nil, errors.New("the address of the sender, of --smtp-from, is not valid")
	}
	if err := message.To(to...); err != nil {
		return nil, errors.New("an address is not valid")
	}
	_, domain, _ := strings.Cut(m.options.SMTP.From, "@")
	message.SetMessageIDWithValue(e.ID + "@" + domain)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office replies
	message.Subject(content.Subject)
	message.SetDate()
	message.SetBodyString(mail.TypeTextPlain, content.Text)
	return message, nil
}

// client returns a client of the mail server whose connection ends with ctx.
func (m *Email) client(ctx context.Context) (*mail.Client, error) {
	smtp := &m.options.SMTP
	host, portText, err := net.SplitHostPort(smtp.Server)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{RootCAs: m.options.RootCAs, ServerName: host}
	dial := func(dialCtx context.Context, network, address string) (net.Conn, error) {
		connection, err := m.options.dial()(dialCtx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = connection.Close() }) // a server that does not answer ends no other way
		if smtp.TLS != SMTPImplicit {
			return connection, nil
		}
		encrypted := tls.Client(connection, secure)
		return encrypted, encrypted.HandshakeContext(dialCtx)
	}
	policy := mail.TLSMandatory
	switch smtp.TLS {
	case SMTPClear:
		policy = mail.NoTLS
	case SMTPImplicit:
		policy = mail.TLSOpportunistic // it looks whether the connection is encrypted already
	}
	options := []mail.Option{mail.WithPort(port), mail.WithTLSPolicy(policy), mail.WithTLSConfig(secure), mail.WithDialContextFunc(dial), mail.WithoutNoop()}
	if smtp.Username != "" && smtp.TLS != SMTPClear { // a password is sent over an encrypted connection alone
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(smtp.Username), mail.WithPassword(smtp.Password))
	}
	return mail.NewClient(host, options...)
}

// failure returns the attempt's error.
func (m *Email) failure(err error) error {
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return &activities.PermanentError{Err: refused}
	}
	text := fmt.Errorf("the mail server %s: %s", m.options.SMTP.Server, m.redacted(err))
	if refusedForGood(err) {
		return &activities.PermanentError{Err: text}
	}
	return text
}

// redacted returns the text of an error without what only Almanac and the server know.
func (m *Email) redacted(err error) string {
	var s redact.Secrets
	s.AddCredentials(m.options.SMTP.Username, m.options.SMTP.Password)
	return s.Text(err.Error(), egress.MaxReason)
}
