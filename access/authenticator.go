package access

import (
	"net/http"
	"strings"
)

// An Authenticator finds the sender of a request by one kind of credential.
type Authenticator interface {
	// Authenticate returns nil and no error if the request has no credential of its kind. A credential that does not
	// count is a [CredentialError]; another error means that it could not be checked now.
	Authenticate(r *http.Request) (*Principal, error)
}

// A CredentialError is a credential that does not count. Its text is shown to the caller, and does not repeat the
// credential.
type CredentialError struct {
	Problem string // a sentence
	Err     error  // the cause, for the log; nil if there is no other
}

func (e *CredentialError) Error() string { return e.Problem }

// Unwrap returns the cause.
func (e *CredentialError) Unwrap() error { return e.Err }

// Bearer returns the token in the header Authorization of a request; "" if there is none. The word Bearer compares
// without case.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
