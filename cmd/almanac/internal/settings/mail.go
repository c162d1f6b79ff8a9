package settings

import (
	"errors"

	"almanac/activities/senders"
)

// mailPasswordVariable holds the password at the mail server.
const mailPasswordVariable = "ALMANAC_SMTP_PASSWORD"

// checkMail checks that a mail server has a sender.
func (c *Config) checkMail() error {
	if c.Sending.SMTP.Server != "" && !c.set.Get("smtp-from").Given() {
		return c.set.Get("smtp-from").Wrong(errors.New("a mail server needs the address of the sender"), "a mail address such as almanac@example.com")
	}
	return nil
}

func (c *Config) readMailDomains(list []string) (err error) {
	c.Sending.SMTP.Domains, err = senders.ParseMailDomains(list)
	return err
}

// readMailPassword reads the password at the mail server from its file, if there is one.
func (c *Config) readMailPassword() (err error) {
	smtp := &c.Sending.SMTP
	smtp.Password, err = secretOf(c.set.Get("smtp-password-file"), c.smtpPasswordFile, mailPasswordVariable, smtp.Password)
	return err
}
