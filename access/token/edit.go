package token

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"almanac/access"
)

// maxTries is how many places of a file are tried for a change.
const maxTries = 100

// ErrNoToken is the error for a name that the file does not have.
var ErrNoToken = errors.New("the file has no token of that name")

// A TakenError says that a file has a token of that name.
type TakenError struct{ Name string }

func (e *TakenError) Error() string { return "there is a token named " + e.Name }

// Add returns the text of a file of tokens with a further one, whose scope is written as given. All else stays as it
// is. The result has been parsed: it has the tokens of before and the new one. A layout in which that cannot be done is
// an error.
func Add(text []byte, e Entry, scope string, d access.Defaults) ([]byte, error) {
	set, err := Parse(text, d)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(set.list, func(other Entry) bool { return other.Name == e.Name }) {
		return nil, &TakenError{e.Name}
	}
	want := append(slices.Clone(set.list), e)
	root, _ := access.ParseYAML(text)
	var found []byte
	try := func(candidate []byte) bool {
		found = candidate
		return hasTokens(candidate, want, d)
	}
	if (isFlow(root) && addToFlow(text, e.flow(scope), try)) || (!isFlow(root) && addLine(text, set, root, e.flow(scope), try)) {
		return found, nil
	}
	return nil, errors.New("the layout of the file has no place for a further token that is safe to fill: run almanac " +
		"token create without --token-file, and add the line that it prints by hand")
}

// Remove returns the text of a file of tokens without the one of a name. All else stays as it is. The result has been
// parsed: it has the other tokens. A layout in which that cannot be done is an error.
func Remove(text []byte, name string, d access.Defaults) ([]byte, error) {
	set, err := Parse(text, d)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(set.list, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil, ErrNoToken
	}
	want := slices.Delete(slices.Clone(set.list), i, i+1)
	root, err := access.ParseYAML(text)
	if err != nil {
		return nil, err
	}
	var found []byte
	try := func(candidate []byte) bool {
		found = candidate
		return hasTokens(candidate, want, d)
	}
	if (isFlow(root) && removeFromFlow(text, root.Content[i], try)) || (!isFlow(root) && removeLines(text, set, i, try)) {
		return found, nil
	}
	return nil, fmt.Errorf("the layout of the file does not let the token %s be taken out safely: remove it by hand", name)
}

// hasTokens reports whether a text is a file with these tokens, and no others.
func hasTokens(text []byte, want []Entry, d access.Defaults) bool {
	set, err := Parse(text, d)
	return err == nil && slices.EqualFunc(set.list, want, func(a, b Entry) bool {
		return a.Name == b.Name && a.Hash == b.Hash && a.Grant == b.Grant && a.Expires.Equal(b.Expires)
	})
}

func isFlow(root *yaml.Node) bool {
	return root != nil && root.Kind == yaml.SequenceNode && root.Style&yaml.FlowStyle != 0
}

// addLine tries to add a line to a list whose elements begin with hyphens: at the end of the file, or further up, to
// the last token.
func addLine(text []byte, s *Set, root *yaml.Node, flow string, try func([]byte) bool) bool {
	lines, end := splitLines(text)
	if n := len(lines); n > 0 && !bytes.HasSuffix(lines[n-1], []byte("\n")) {
		lines[n-1] = append(slices.Clone(lines[n-1]), end...)
	}
	indent, last := 0, 0
	if len(s.list) > 0 {
		indent, last = root.Column-1, s.lines[len(s.lines)-1][1]
	}
	line := []byte(strings.Repeat(" ", indent) + "- " + flow + end)
	for at := len(lines); at >= max(last, len(lines)-maxTries); at-- {
		if try(slices.Concat(bytes.Join(lines[:at], nil), line, bytes.Join(lines[at:], nil))) {
			return true
		}
	}
	return false
}

// addToFlow tries to add an element to a list between brackets.
func addToFlow(text []byte, flow string, try func([]byte) bool) bool {
	end := len(text)
	for range maxTries {
		if end = bytes.LastIndexByte(text[:end], ']'); end < 0 {
			return false
		}
		for _, at := range []int{len(bytes.TrimRight(text[:end], " \t\r\n")), end} {
			for _, insert := range []string{", " + flow, flow, " " + flow} {
				if try(slices.Concat(text[:at], []byte(insert), text[at:])) {
					return true
				}
			}
		}
	}
	return false
}

// removeLines tries to remove an element that begins with a hyphen: its lines, and as few others as there have to be.
func removeLines(text []byte, s *Set, i int, try func([]byte) bool) bool {
	lines, _ := splitLines(text)
	before, after := 0, len(lines)
	if i > 0 {
		before = s.lines[i-1][1]
	}
	if i+1 < len(s.lines) {
		after = s.lines[i+1][0] - 1
	}
	first, last := s.lines[i][0], s.lines[i][1]
	for more := range min(maxTries, first-before+after-last) {
		for above := range more + 1 {
			from, to := first-1-above, last+more-above
			if from < before || to > after || to > len(lines) {
				// the YAML decoder counts line breaks that are none here
				continue
			}
			if try(slices.Concat(bytes.Join(lines[:from], nil), bytes.Join(lines[to:], nil))) {
				return true
			}
		}
	}
	return false
}

// removeFromFlow tries to remove a mapping from a list between brackets, with the comma after it or else the one before
// it.
func removeFromFlow(text []byte, n *yaml.Node, try func([]byte) bool) bool {
	from := offset(text, n)
	if from < 0 {
		return false
	}
	to := from
	for range maxTries {
		next := bytes.IndexByte(text[to:], '}')
		if next < 0 {
			return false
		}
		to += next + 1
		rest := bytes.TrimLeft(text[to:], " \t\r\n")
		if after, comma := bytes.CutPrefix(rest, []byte(",")); comma {
			rest = bytes.TrimLeft(after, " \t")
			if try(slices.Concat(text[:from], rest)) {
				return true
			}
		}
		before := bytes.TrimRight(text[:from], " \t\r\n")
		if shorter, comma := bytes.CutSuffix(before, []byte(",")); comma && try(slices.Concat(shorter, text[to:])) {
			return true
		}
		if try(slices.Concat(text[:from], text[to:])) {
			return true
		}
	}
	return false
}

// offset returns where a node begins in a text; -1 if that is not in the text.
func offset(text []byte, n *yaml.Node) int {
	at := 0
	for range n.Line - 1 {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return -1
		}
		at += end + 1
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	if at >= len(text) {
		return -1
	}
	return at
}

// splitLines returns the lines of a text with their ends, and how a line ends.
func splitLines(text []byte) (lines [][]byte, end string) {
	lines = slices.Collect(bytes.SplitAfterSeq(text, []byte("\n")))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	if len(lines) > 0 && bytes.HasSuffix(lines[0], []byte("\r\n")) {
		return lines, "\r\n"
	}
	return lines, "\n"
}
