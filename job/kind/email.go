package kind

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"almanac/internal/fields"
)

// An Email is a mail to some addresses.
type Email struct {
	To []string `json:"to" field:"required,rule=address"`
}

const maxAddresses = 20

func (e *Email) rules(Limits) map[string]fields.Rule {
	return map[string]fields.Rule{
		"address": {Allowed: "a mail address such as team@example.com, without a name", Valid: isMailAddress},
	}
}

func isMailAddress(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && len(s) <= 254 && !strings.ContainsFunc(s, fields.IsBlankOrControl)
}

// Text implements [Parameters].
func (e *Email) Text() string { return "mail to " + strings.Join(e.To, ", ") }

// Secrets implements [Parameters]: it has none.
func (e *Email) Secrets(Parameters) []Secret { return nil }

func (e *Email) copied() Parameters { return &Email{To: slices.Clone(e.To)} }

// Check implements [Parameters]. It checks the number of addresses.
func (e *Email) Check(c *Checker) {
	switch n := len(e.To); {
	case c.Has("to"):
	case n == 0:
		c.Fail("to", fields.Required, "a list of mail addresses", "")
	case n > maxAddresses:
		c.Fail("to", fields.TooMany, fmt.Sprintf("at most %d addresses, not %d", maxAddresses, n), "")
	}
}
