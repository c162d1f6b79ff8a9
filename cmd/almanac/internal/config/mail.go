package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// mailPasswordVariable holds the password at the mail server.
const mailPasswordVariable = "ALMANAC_SMTP_PASSWORD"

// checkMail checks that a mail server has a sender.
func (c *Config) checkMail() error {
	if c.senderOptions.SMTP.Server != "" && !c.settings.Get("smtp-from").Given() {
		return c.settings.Get("smtp-from").Wrong(errors.New("a mail server needs the address of the sender"), "a mail address such as almanac@example.com")
	}
	return nil
}

// readMailPassword reads the password at the mail server from its file, if there is one.
func (c *Config) readMailPassword() error {
	if c.smtpPasswordFile == "" {
		return nil
	}
	source := c.settings.Get("smtp-password-file")
	if c.senderOptions.SMTP.Password != "" {
		return source.Wrong(fmt.Errorf("$%s is set, too", mailPasswordVariable), "one of them")
	}
	content, err := os.ReadFile(c.smtpPasswordFile)
	if err != nil {
		return source.Wrong(err, "")
	}
	c.senderOptions.SMTP.Password = strings.TrimRight(string(content), "\r\n")
	return nil
}
