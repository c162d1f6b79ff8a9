package value

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of a document.
const (
	maxDepth  = 100
	maxValues = 2_000_000
)

// A SyntaxError is the error of a text that is not JSON. It quotes nothing of the text, which may hold secrets.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// ReadAll reads the JSON documents of a text, as people have them: with comments, commas before a closing bracket,
// line breaks in strings, and any number of documents with white space, commas or nothing between them. Each value has
// its line. The error is a [*SyntaxError]; the documents before it are returned.
func ReadAll(text string) (documents []*Value, err error) {
	r := reader{text: text, line: 1}
	for {
		if err := r.space(); err != nil {
			return documents, err
		}
		switch {
		case r.at == len(r.text):
			return documents, nil
		case r.text[r.at] == ',' && len(documents) > 0:
			r.at++
			continue
		}
		v, err := r.value(0)
		if err != nil {
			return documents, err
		}
		documents = append(documents, v)
	}
}

// A reader reads values from a text.
type reader struct {
	text   string
	at     int
	line   int
	values int
}

func (r *reader) fail(format string, args ...any) error {
	return &SyntaxError{r.line, fmt.Sprintf(format, args...)}
}

// space skips white space and comments.
func (r *reader) space() error {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case rest[0] == '\n':
			r.line++
			r.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			r.at++
		case strings.HasPrefix(rest, "\ufeff"):
			r.at += len("\ufeff")
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			r.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return r.fail("a comment has no end")
			}
			r.line += strings.Count(rest[:end], "\n")
			r.at += end + 2
		default:
			return nil
		}
	}
	return nil
}

// next skips space and returns the next byte; 0 at the end.
func (r *reader) next() (byte, error) {
	if err := r.space(); err != nil {
		return 0, err
	}
	if r.at == len(r.text) {
		return 0, nil
	}
	return r.text[r.at], nil
}

func (r *reader) value(depth int) (*Value, error) {
	if r.values++; r.values > maxValues {
		return nil, r.fail("there are more than %d values", maxValues)
	}
	if depth > maxDepth {
		return nil, r.fail("values are nested more than %d deep", maxDepth)
	}
	c, err := r.next()
	if err != nil {
		return nil, err
	}
	line := r.line
	switch {
	case c == 0 && r.at == len(r.text):
		return nil, r.fail("the text ends before the value does")
	case c == '{':
		return r.object(depth, line)
	case c == '[':
		return r.list(depth, line)
	case c == '"':
		s, err := r.string()
		return &Value{Kind: String, Text: s, Line: line}, err
	}
	return r.word(line)
}

// word reads a number, true, false or null.
func (r *reader) word(line int) (*Value, error) {
	end := r.at
	for end < len(r.text) && !strings.ContainsRune(" \t\r\n,:]}/", rune(r.text[end])) {
		end++
	}
	word := r.text[r.at:end]
	switch {
	case word == "null":
		r.at = end
		return &Value{Line: line}, nil
	case word == "true" || word == "false":
		r.at = end
		return &Value{Kind: Bool, Text: word, Line: line}, nil
	case len(word) <= 64 && word != "" && json.Valid([]byte(word)):
		r.at = end
		return &Value{Kind: Number, Text: word, Line: line}, nil
	}
	return nil, r.fail("a value is expected here: text stands in double quotes")
}

func (r *reader) list(depth, line int) (*Value, error) {
	v := &Value{Kind: List, Line: line}
	r.at++
	for {
		c, err := r.next()
		switch {
		case err != nil:
			return nil, err
		case c == ']':
			r.at++
			return v, nil
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Items = append(v.Items, item)
		if err := r.comma(']'); err != nil {
			return nil, err
		}
	}
}

func (r *reader) object(depth, line int) (*Value, error) {
	v := &Value{Kind: Object, Line: line}
	seen := map[string]bool{}
	r.at++
	for {
		c, err := r.next()
		switch {
		case err != nil:
			return nil, err
		case c == '}':
			r.at++
			return v, nil
		case c != '"':
			return nil, r.fail("the name of a member is expected here, in double quotes")
		}
		name, err := r.string()
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, r.fail("a member comes twice in its object")
		}
		seen[name] = true
		if c, err := r.next(); err != nil || c != ':' {
			return nil, r.fail("a colon is expected after the name of a member")
		}
		r.at++
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v.Members = append(v.Members, Member{name, item})
		if err := r.comma('}'); err != nil {
			return nil, err
		}
	}
}

// comma skips a comma, which may be left out before the end.
func (r *reader) comma(end byte) error {
	c, err := r.next()
	switch {
	case err != nil:
		return err
	case c == ',':
		r.at++
		return nil
	case c == end:
		return nil
	}
	return r.fail("a comma or %c is expected here", end)
}

// string reads a string, which may have line breaks.
func (r *reader) string() (string, error) {
	start := r.line
	var b strings.Builder
	for r.at++; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		switch c {
		case '"':
			r.at++
			if s := b.String(); utf8.ValidString(s) {
				return s, nil
			}
			return "", r.fail("the text is not UTF-8")
		case '\n':
			r.line++
			b.WriteByte(c)
		case '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", &SyntaxError{start, "a string that begins here has no end"}
}

// escape reads an escape sequence, up to its last byte.
func (r *reader) escape(b *strings.Builder) error {
	rest := r.text[r.at:]
	size := 2
	if strings.HasPrefix(rest, `\u`) {
		size = 6
		if len(rest) >= 12 && rest[6] == '\\' && rest[7] == 'u' && strings.ContainsAny(rest[2:3], "dD") {
			size = 12
		}
	}
	if len(rest) < size {
		return r.fail("an escape has no end")
	}
	var s string
	if err := json.Unmarshal([]byte(`"`+rest[:size]+`"`), &s); err != nil {
		return r.fail("a backslash begins no escape here; write it as two")
	}
	b.WriteString(s)
	r.at += size - 1
	return nil
}
