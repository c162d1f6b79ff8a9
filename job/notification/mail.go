package notification

import (
	"errors"

	"almanac/job"
	"almanac/job/kind"
)

// A Mail is what is sent to some addresses.
type Mail struct {
	To            []string
	Subject, Text string
}

type mailWriter struct{ one }

func (mailWriter) kind() kind.Type { return kind.Mail }

func (mailWriter) addresses(t *job.Target) int {
	if t.Email == nil {
		return 1
	}
	return len(t.Email.To)
}

func (mailWriter) posts(m *Message, t *job.Target) ([]Post, error) {
	if t.Email == nil {
		return nil, errors.New("the target has no email")
	}
	mail := Mail{To: t.Email.To, Subject: "Almanac: " + oneLine(m.Subject(), 200), Text: m.Text()}
	return []Post{{ID: m.ID, Type: kind.Mail, Mail: mail}}, nil
}
