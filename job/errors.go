package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"almanac/internal/fields"
)

// A Kind classifies errors by what the caller can do about them.
type Kind int

// The kinds of error.
const (
	KindInternal     Kind = iota // an internal error, which the caller cannot fix
	KindInvalid                  // the input is wrong and was not applied
	KindNotFound                 // the named resource does not exist
	KindConflict                 // the resource's state, or a quota, forbids it
	KindTooLarge                 // the input is too large
	KindForbidden                // the caller is not allowed to do this
	KindUnavailable              // Temporal or the workers do not answer; try again
	KindPrecondition             // a condition that the caller set does not hold
	KindTooMany                  // it was asked for too often; try again after RetryAfter
)

// An Error is an error whose text may be shown to the caller: it contains no secrets and no internals. Code
// is the REST API's error code.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []*FieldError // the bad fields, if the input is wrong
	Unlisted   int           // the number of further errors in fields
	RetryAfter time.Duration // after which to try again; 0: the usual time, if it is worth it
	Unanswered bool          // there was no answer: a change, if one was asked for, may or may not have been applied
	Unchanged  bool          // of Unanswered: nothing was sent, so that nothing was changed
	Err        error         // the cause, for logs only
}

// Error returns the message and the errors of all listed fields.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Message
	}
	message := e.Message
	if e.Unlisted > 0 {
		message += fmt.Sprintf(", the first %d of %d errors", len(e.Fields), len(e.Fields)+e.Unlisted)
	}
	return message + ": " + (&fields.Errors{List: e.Fields}).Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of the first [Error] in err's tree; KindInternal if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindInternal
}

// A FieldError is an error in one field.
type FieldError = fields.Error

// NotFound returns a KindNotFound error in the service's words.
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

// An ErrorBody is the form of an error in the REST API.
type ErrorBody struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Details []ErrorDetail `json:"details,omitempty"` // one for each bad field, up to 50
}

// An ErrorDetail is an error in the field Target.
type ErrorDetail struct {
	Code    string `json:"code"` // a [fields.Code]
	Target  string `json:"target"`
	Message string `json:"message"`
}

// Body returns the form to show. Since many clients show only the message, it has the error of the first
// bad field and the names of others. The details have all errors.
func (e *Error) Body() ErrorBody {
	b := ErrorBody{Code: e.Code, Message: e.summary()}
	for _, f := range e.Fields {
		b.Details = append(b.Details, ErrorDetail{Code: string(f.Code), Target: f.Path, Message: f.Error()})
	}
	return b
}

// summary returns the whole error if one field is bad, and otherwise the message, the number of bad fields,
// the error of the first, and the paths of up to five others.
func (e *Error) summary() string {
	const most = 5 // fields beside the first
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

// and joins words: "a, b and c".
func and(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
