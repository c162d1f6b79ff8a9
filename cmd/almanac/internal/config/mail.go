package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"almanac/job"
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

// checkTarget returns an error for an action that would fail on every attempt: see [senders.Senders.Check]. Where workers run in this
// process, a mail without a mail server is one.
func (c *Config) checkTarget(a *job.Action) error {
	if a.Email != nil && c.hasMailSettings() && c.senderOptions.SMTP.Server == "" {
		return errors.New("no mail server is set: start Almanac with --smtp-server and --smtp-from (ALMANAC_SMTP_SERVER and ALMANAC_SMTP_FROM)")
	}
	return c.Senders.Check(a)
}

// warnOfTarget returns what may keep an action from being sent that this process cannot see; "" for nothing.
func (c *Config) warnOfTarget(a *job.Action) string {
	if a.Email == nil || c.hasMailSettings() {
		return ""
	}
	return "Mail is sent by workers that were started with --smtp-server and --smtp-from. This API cannot see whether any was: POST to testNotification to find out."
}

// hasMailSettings reports whether the command has workers, and so the settings of the mail server.
func (c *Config) hasMailSettings() bool { return c.settings.Get("smtp-server").Flag != "" }
