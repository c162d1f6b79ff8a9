package console

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A said is a message of the history for a table: what is shown at once, and the whole of it where that is more.
type said struct {
	Status string // what a host answered, such as OK
	Text   string
	Whole  string // "" if nothing is left out
	Host   string // "" if it is not known
}

// Cause returns what is the same in messages of one cause: what a host answered, without its words, or why it did not.
func (s said) Cause() string {
	if s.Status != "" {
		return s.Status
	}
	return s.Text
}

// maxSaid is how much of a message a table shows at once, in characters.
const maxSaid = 160

var (
	// response matches the message of an attempt that was answered: status, headers and body.
	response = regexp.MustCompile(`(?s)^Http Action - Response from host '([^']*)': '([^']*)' Response Headers: (.*?) Body: (.*)$`)

	// unanswered matches that of one that was not.
	unanswered = regexp.MustCompile(`(?s)^Http Action - Request to host '([^']*)' failed: (.*)$`)

	// reasoned matches its end where the attempt failed.
	reasoned = regexp.MustCompile(`(?s)^(.*) \(the host answered ([^()]*)\)$`)
)

// answeredWith matches the status at the beginning of a reason, such as 500 Internal Server Error:.
var answeredWith = regexp.MustCompile(`^\d{3} [A-Z][A-Za-z' -]*(?::|$)`)

// saidOf returns a message for a table. One that is not of a form that is known is shown as it is.
func saidOf(message string) said {
	m := response.FindStringSubmatch(message)
	if m == nil {
		s, text := said{}, message
		if m := unanswered.FindStringSubmatch(message); m != nil {
			s.Host, text = m[1], m[2]
		}
		cut := false
		if s.Text, cut = shortened(text); cut {
			s.Whole = message
		}
		return s
	}
	s := said{Host: m[1], Status: m[2], Whole: message}
	body := m[4]
	if end := reasoned.FindStringSubmatch(body); end != nil && names(end[2], s.Status) {
		body, s.Status = end[1], end[2]
	}
	s.Text, _ = shortened(body)
	s.Status = joined.ReplaceAllString(s.Status, "$1 $2")
	return s
}

// joined matches where two words of a status are written as one, such as ServiceUnavailable.
var joined = regexp.MustCompile(`([a-z])([A-Z])`)

// names reports whether a text begins with a number and a status. One with another status is the end of what the host
// sent.
func names(text, status string) bool {
	words := strings.Fields(text)
	return len(words) > 1 && strings.TrimRight(words[1], ",") == status
}

// shortened returns a text in one line, and whether some of it is missing.
func shortened(text string) (short string, cut bool) {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxSaid {
		return text, false
	}
	return string([]rune(text)[:maxSaid-1]) + "…", true
}
