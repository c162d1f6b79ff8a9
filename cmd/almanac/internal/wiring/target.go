package wiring

import (
	"errors"

	"almanac/job/kind"
)

// checkTarget returns an error for an action that would fail on every attempt: see [senders.Senders.Check]. Where
// workers run in this process, a mail without a mail server is one.
func (p *Process) checkTarget(t kind.Type, sent kind.Parameters) error {
	if t.Kind() == kind.Mail && p.hasMailSettings() && p.Sending.SMTP.Server == "" {
		return errors.New("no mail server is set: start Almanac with --smtp-server and --smtp-from (ALMANAC_SMTP_SERVER and ALMANAC_SMTP_FROM)")
	}
	return p.Senders.Check(t, sent)
}

// warnOfTarget returns what may keep an action from being sent that this process cannot see; "" for nothing.
func (p *Process) warnOfTarget(sent kind.Parameters) string {
	if _, mail := sent.(*kind.Email); !mail || p.hasMailSettings() {
		return ""
	}
	return "Mail is sent by workers that were started with --smtp-server and --smtp-from. This API cannot see whether " +
		"any was: POST to testNotification to find out."
}

// hasMailSettings reports whether the command has workers, and so the settings of the mail server.
func (p *Process) hasMailSettings() bool { return p.Setting("smtp-server").Flag != "" }
