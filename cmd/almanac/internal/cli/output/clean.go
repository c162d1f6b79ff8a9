package output

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unsafe reports whether a terminal may take a character for a command, or whether it changes the order of what is
// shown: control characters, and those that turn the direction of a text.
func unsafe(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0x061c:
		return true
	}
	return false
}

// Clean returns a text of several lines that a terminal shows and does not obey: other control characters are written
// as in a program, such as \x1b.
func Clean(text string) string {
	return cleaned(text, func(r rune) bool { return r == '\n' || r == '\t' })
}

// Line returns a text as a line for a terminal, with blanks for line ends.
func Line(text string) string {
	return cleaned(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text), func(rune) bool { return false })
}

func cleaned(text string, allowed func(rune) bool) string {
	bad := func(r rune) bool { return unsafe(r) && !allowed(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, bad) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text { // bytes that are no UTF-8 become U+FFFD
		if !bad(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteToASCII(string(r))
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// EscapedJSON returns JSON, or YAML in double quotes, with escapes for the characters that a terminal may obey.
func EscapedJSON(text string) string {
	bad := func(r rune) bool { return unsafe(r) && r != '\n' }
	if strings.IndexFunc(text, bad) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if bad(r) {
			b.WriteString(`\u` + strconv.FormatInt(0x10000+int64(r), 16)[1:])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
