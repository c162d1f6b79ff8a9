package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Kind says what went wrong in terms of what the caller can do about it.
type Kind int

// The kinds of failure that a caller can tell apart.
const (
	KindInternal    Kind = iota // a fault of ours: nothing the caller can mend
	KindInvalid                 // the input is wrong and was not applied
	KindNotFound                // the named thing does not exist
	KindConflict                // the state of the thing, or a quota, forbids it
	KindTooLarge                // the input is larger than is taken
	KindForbidden               // whoever asks may not
	KindUnavailable             // Temporal or the workers cannot be reached now; try again
)

// An Error is a failure whose text may be shown to the caller: it holds no
// secret and no internals. Code is the REST API's error code.
type Error struct {
	Kind     Kind
	Code     string
	Message  string
	Fields   []*FieldError // what is wrong with the bad fields, when the input is to blame
	Unlisted int           // how much is wrong beyond that
	Err      error         // the cause, for logs only
}

// Error returns the message, and all that is wrong with the fields.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Message
	}
	text := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		text[i] = f.Error()
	}
	message := e.Message
	if e.Unlisted > 0 {
		message += fmt.Sprintf(", the first %d of %d errors", len(e.Fields), len(e.Fields)+e.Unlisted)
	}
	return message + ": " + strings.Join(text, "; ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of the first [Error] in err's tree, or KindInternal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindInternal
}

// A FieldError tells what is wrong with one field.
type FieldError struct {
	Path  string // JSON path from the top of the body, such as properties.recurrence.interval
	Value any    // what was given; nil where there is nothing to show, or it is a secret
	Want  string // what is wanted, such as "1 to 31"
}

func (e *FieldError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("%s: want %s", e.Path, e.Want)
	}
	return fmt.Sprintf("%s is %s, want %s", e.Path, show(e.Value), e.Want)
}

// show renders a value as JSON, shortened so that an error stays readable.
func show(v any) string {
	const most = 100
	if t, ok := v.(time.Time); ok {
		return t.UTC().Format(time.RFC3339)
	}
	b, err := plainJSON(v)
	text := string(b)
	if err != nil {
		text = fmt.Sprint(v)
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

func badRequest(format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Code: "BadRequest", Message: fmt.Sprintf(format, args...)}
}

// NotFound returns a KindNotFound error with the service's wording.
func NotFound(what, resourceGroup string) *Error {
	return &Error{
		Kind: KindNotFound, Code: "ResourceNotFound",
		Message: fmt.Sprintf("The Resource 'Microsoft.Scheduler/%s' under resource group '%s' was not found.", what, resourceGroup),
	}
}

// Conflictf returns a KindConflict error.
func Conflictf(format string, args ...any) *Error {
	return &Error{Kind: KindConflict, Code: "ConflictError", Message: fmt.Sprintf(format, args...)}
}

// An ErrorBody is an error as the REST API shows it.
type ErrorBody struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Details []ErrorDetail `json:"details,omitempty"` // one for every bad field, up to 50
}

// An ErrorDetail is what is wrong with one field, Target.
type ErrorDetail struct {
	Code    string `json:"code"`
	Target  string `json:"target"`
	Message string `json:"message"`
}

// Body returns what to show of the error. Many clients show the message alone, so
// it says what is wrong with the first bad field, and names others. The details
// say what is wrong with each.
func (e *Error) Body() ErrorBody {
	b := ErrorBody{Code: e.Code, Message: e.summary()}
	for _, f := range e.Fields {
		b.Details = append(b.Details, ErrorDetail{Code: e.Code, Target: f.Path, Message: f.Error()})
	}
	return b
}

// summary returns all of the error if one field is bad. Otherwise it returns the
// message, the number of bad fields, what is wrong with the first, and the paths
// of some others.
func (e *Error) summary() string {
	const most = 5 // others
	var paths []string
	for _, f := range e.Fields {
		if !slices.Contains(paths, f.Path) {
			paths = append(paths, f.Path)
		}
	}
	if len(paths) < 2 {
		return e.Error()
	}
	bad := fmt.Sprintf("%d fields are wrong", len(paths))
	if e.Unlisted > 0 {
		bad = "at least " + bad
	}
	others := paths[1:]
	if more := len(others) - most; more > 0 {
		others = append(others[:most:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s (%s): %s; also %s", e.Message, bad, e.Fields[0], and(others))
}

// and lists words: "a, b and c".
func and(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
