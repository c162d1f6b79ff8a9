package activities

import (
	"net/http"
	"strings"

	"almanac/internal/redact"
	"almanac/job"
)

// secretsOf returns the secrets of an action, which its receiver may send back.
func secretsOf(a *job.Action) redact.Secrets {
	var s redact.Secrets
	s.Add(a.Secrets()...)
	if m := a.QueueMessage; m != nil {
		token, _ := sasParameters(m.SASToken) // without one there is no signature
		s.Add(token.Get("sig"))
	}
	return s
}

// withRequest adds what a web request proves its sender by, and long values of its query.
func withRequest(s redact.Secrets, req *http.Request) redact.Secrets {
	authorization := req.Header.Get("Authorization")
	if _, credentials, ok := strings.Cut(authorization, " "); ok {
		authorization = credentials
	}
	s.Add(authorization)
	if user, password, ok := req.BasicAuth(); ok {
		s.AddCredentials(user, password)
	}
	if password, ok := req.URL.User.Password(); ok {
		s.AddCredentials(req.URL.User.Username(), password)
	}
	s.AddQuery(req.URL.RawQuery)
	return s
}
