package webcall

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// hole begins the place of a value that is not known; the number of its reason and hole follow. Sources cannot have it,
// since it is removed from commands.
const hole = "\ue000"

// An environment has what a shell and Kubernetes put in place of names.
type environment struct {
	Environment
	reasons []string // of the holes
}

// put returns what stands for a variable; false if nothing is known of it.
func (e *environment) put(name string) (string, bool) {
	if text, ok := e.Known[name]; ok {
		return strings.ReplaceAll(text, hole, ""), true
	}
	why, ok := e.Unknown[name]
	switch {
	case !ok && e.Else == "":
		return "", false
	case !ok:
		why = e.Else
	}
	e.reasons = append(e.reasons, why)
	return fmt.Sprintf("%s%d%s", hole, len(e.reasons)-1, hole), true
}

var errSeveral = errors.New("it is more than one command, or reads a file")

var errSubstitution = errors.New("it runs another command for a part of itself")

// words splits a command as a POSIX shell does, if it is a simple command. Redirections are left out, and returned as
// notes.
func words(command string, e *environment) (list []string, notes []string, err error) {
	s := splitter{text: strings.ReplaceAll(command, hole, ""), e: e}
	for {
		word, quoted, err := s.word()
		switch {
		case err != nil:
			return nil, nil, err
		case word == "" && !quoted && s.at >= len(s.text):
			return list, s.notes, nil
		case word == "" && !quoted:
			continue
		}
		list, s.begun = append(list, word), true
	}
}

// A splitter splits a command into words.
type splitter struct {
	text  string
	at    int
	e     *environment
	notes []string
	begun bool // a word was read
}

// blank matches the end of a command, which may have comments.
var blank = regexp.MustCompile(`^[; \t\r\n]*(\n[ \t\r]*(#[^\n]*)?)*$`)

// word returns the next word, and whether a part of it is quoted. It is empty at the end and after a redirection.
func (s *splitter) word() (string, bool, error) {
	for s.at < len(s.text) && strings.ContainsRune(" \t\r", rune(s.text[s.at])) {
		s.at++
	}
	var b strings.Builder
	quoted := false
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch c {
		case ' ', '\t', '\r':
			return b.String(), quoted, nil
		case '\'', '"':
			quoted = true
			if err := s.quote(c, &b); err != nil {
				return "", false, err
			}
			continue
		case '\\':
			if s.at++; s.at == len(s.text) { // it escapes nothing
				return b.String(), quoted, nil
			}
			if s.text[s.at] != '\n' {
				b.WriteByte(s.text[s.at])
			}
		case '$':
			if err := s.variable(&b); err != nil {
				return "", false, err
			}
			continue
		case '#':
			if b.Len() == 0 && !quoted { // a comment, up to the line break
				end := strings.IndexByte(s.text[s.at:], '\n')
				if end < 0 {
					end = len(s.text) - s.at
				}
				s.at += end
				return "", false, nil
			}
			b.WriteByte(c)
		case '`':
			return "", false, errSubstitution
		case '>':
			return s.redirected(&b, quoted)
		case '&':
			if strings.HasPrefix(s.text[s.at:], "&>") {
				s.at++
				return s.redirected(&b, quoted)
			}
			if strings.HasPrefix(s.text[s.at:], "&&") {
				return "", false, errSeveral
			}
			return "", false, errors.New("an & outside quotes ends the command there; an address with & stands in quotes")
		case '|', ';', '<', '(', ')', '\n':
			if !s.begun && b.Len() == 0 && !quoted && c == '\n' {
				break
			}
			if blank.MatchString(s.text[s.at:]) {
				s.at = len(s.text)
				return b.String(), quoted, nil
			}
			return "", false, errSeveral
		default:
			b.WriteByte(c)
		}
		s.at++
	}
	return b.String(), quoted, nil
}

// quote reads a quoted part.
func (s *splitter) quote(q byte, b *strings.Builder) error {
	for s.at++; s.at < len(s.text); {
		c := s.text[s.at]
		switch {
		case c == q:
			s.at++
			return nil
		case q == '"' && c == '\\' && s.at+1 < len(s.text) && strings.ContainsRune("$`\"\\\n", rune(s.text[s.at+1])):
			if s.text[s.at+1] != '\n' {
				b.WriteByte(s.text[s.at+1])
			}
			s.at += 2
		case q == '"' && c == '`':
			return errSubstitution
		case q == '"' && c == '$':
			if err := s.variable(b); err != nil {
				return err
			}
		default:
			b.WriteByte(c)
			s.at++
		}
	}
	return errors.New("a quote has no end")
}

var variableName = regexp.MustCompile(`^\$(\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// variable puts in the value of a variable.
func (s *splitter) variable(b *strings.Builder) error {
	rest := s.text[s.at:]
	found := variableName.FindStringSubmatch(rest)
	switch {
	case strings.HasPrefix(rest, "$("), strings.HasPrefix(rest, "$'"):
		return errSubstitution
	case found == nil && (len(rest) == 1 || strings.ContainsRune(" \t\"/.,:&?=%", rune(rest[1]))):
		b.WriteByte('$')
		s.at++
		return nil
	case found == nil:
		return errors.New("it has a parameter of the shell")
	}
	name := found[2] + found[3]
	text, ok := s.e.put(name)
	if !ok {
		return fmt.Errorf("the variable %s is not set in the source", short(name))
	}
	b.WriteString(text)
	s.at += len(found[0])
	return nil
}

// redirected skips a redirection of output.
func (s *splitter) redirected(b *strings.Builder, quoted bool) (string, bool, error) {
	word := b.String()
	if word == "1" || word == "2" {
		word = ""
	}
	s.at++
	for s.at < len(s.text) && strings.ContainsRune(">&| \t", rune(s.text[s.at])) {
		s.at++
	}
	begin := s.at
	for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n;&|<>", rune(s.text[s.at])) {
		if strings.ContainsRune("`$(", rune(s.text[s.at])) {
			if strings.HasPrefix(s.text[s.at:], "$(") || s.text[s.at] == '`' {
				return "", false, errSubstitution
			}
		}
		s.at++
	}
	switch target := strings.Trim(s.text[begin:s.at], `"'`); target {
	case "/dev/null", "1", "2", "-", "/dev/stdout", "/dev/stderr", "/proc/1/fd/1", "/proc/1/fd/2":
	case "":
		return "", false, errors.New("a redirection has no file")
	default:
		s.notes = append(s.notes, "the output is not written to a file; the history shows the beginning of the answer")
	}
	return word, quoted && word != "", nil
}

// short returns a name of a source, cut.
func short(name string) string { return name[:min(len(name), 40)] }
