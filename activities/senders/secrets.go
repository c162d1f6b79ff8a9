package senders

import (
	"net/http"
	"strings"

	"almanac/internal/redact"
	"almanac/job"
)

// secretsOf returns an action's secrets, which a receiver may echo.
func secretsOf(a *job.Action) redact.Secrets {
	var s redact.Secrets
	s.Add(a.Secrets()...)
	return s
}

// withRequest adds a web request's credentials and the long values of its query.
func withRequest(s redact.Secrets, req *http.Request) redact.Secrets {
	authorization := req.Header.Get("Authorization")
	if _, credentials, ok := strings.Cut(authorization, " "); ok {
		authorization = credentials
	}
	s.Add(authorization)
	if user, password, ok := req.BasicAuth(); ok {
		s.AddCredentials(user, password)
	}
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		s.AddCredentials(user.Username(), password)
	}
	s.AddQuery(req.URL.RawQuery)
	return s
}
