// Package fields decodes JSON objects and reports all their bad fields at once.
package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Code classifies what is wrong with a field.
type Code string

// The codes.
const (
	Required    Code = "Required"    // the field is missing
	Invalid     Code = "Invalid"     // the value has the wrong type or form
	Unsupported Code = "Unsupported" // the value is none of the allowed words
	OutOfRange  Code = "OutOfRange"  // the value is too small or too large
	TooLong     Code = "TooLong"     // the text is too long
	TooMany     Code = "TooMany"     // the object has too many members
	Forbidden   Code = "Forbidden"   // the field is not allowed beside the others, or not allowed here
	Duplicate   Code = "Duplicate"   // the object has the field twice
	Unknown     Code = "Unknown"     // the field does not exist

	UnknownParameter  Code = "UnknownParameter"  // the request has no such query parameter
	UnsupportedHeader Code = "UnsupportedHeader" // the request has no such condition
)

// An Error is an error in one field.
type Error struct {
	Path    string // JSON path from the top of the body, such as properties.recurrence.interval
	Code    Code
	Value   any    // the given value, or its [Kind]; nil if it is absent, or a secret
	Allowed string // what is allowed instead, such as "1 to 31"
	Hint    string // a reason, or what to do; most errors have none
}

// Error returns the path, what is wrong, and what is allowed or what to do: "interval: 0 is out of range;
// allowed: 1 to 1000".
func (e *Error) Error() string {
	text := e.Path + ": " + e.problem()
	if e.Allowed != "" {
		text += "; allowed: " + e.Allowed
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// problems are the texts for what is wrong. %s stands for the value.
var problems = map[Code]string{
	Required: "required", Invalid: "%s is not valid", Unsupported: "%s is not supported", OutOfRange: "%s is out of range",
	TooLong: "too long", TooMany: "too many", Forbidden: "not allowed", Duplicate: "repeated", Unknown: "unknown field",
	UnknownParameter: "unknown query parameter", UnsupportedHeader: "this request does not take this header",
}

func (e *Error) problem() string {
	shown := "the value"
	if e.Value != nil {
		shown = Show(e.Value)
	}
	return strings.Replace(problems[e.Code], "%s", shown, 1)
}

// Show returns a value as JSON, cut to 100 characters within the quotes of a text.
func Show(v any) string {
	const most = 100
	cut := func(text string) string { return Cut(text, most) }
	switch known := v.(type) {
	case time.Time:
		return known.UTC().Format(time.RFC3339)
	case Kind:
		return known.String()
	case string:
		v = cut(known)
	}
	b, err := PlainJSON(v)
	if err != nil {
		return cut(fmt.Sprint(v))
	}
	if _, text := v.(string); text {
		return string(b)
	}
	return cut(string(b))
}

// PlainJSON returns the JSON of a value without HTML escapes.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxErrors is the limit of listed errors, so that a small body cannot cause a large answer.
const maxErrors = 50

// Errors collects the errors of a body. The zero value is empty.
type Errors struct {
	List     []*Error // the first 50
	Unlisted int      // the number of further errors
}

// Add adds an error. It returns false.
func (l *Errors) Add(e *Error) bool {
	if len(l.List) < maxErrors {
		l.List = append(l.List, e)
	} else {
		l.Unlisted++
	}
	return false
}

// Error returns the listed errors.
func (l *Errors) Error() string {
	text := make([]string, len(l.List))
	for i, e := range l.List {
		text[i] = e.Error()
	}
	return strings.Join(text, "; ")
}

// Has reports whether path, a part of it, or a parent of it has an error.
func (l *Errors) Has(path string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(l.List, func(e *Error) bool { return within(e.Path, path) || within(path, e.Path) })
}

// Joined returns the errors of one type that err joins.
func Joined[E error](err error) (all []E) {
	type joint interface {
		error
		Unwrap() []error
	}
	if joined, ok := errors.AsType[joint](err); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, Joined[E](e)...)
		}
		return all
	}
	if e, ok := errors.AsType[E](err); ok {
		all = append(all, e)
	}
	return all
}

// IsBlankOrControl reports whether r is white space or a control character.
func IsBlankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
