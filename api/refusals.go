package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/internal/audit/refusals"
)

// Keys of what is known of a refusal, in a [gin.Context].
const (
	codeKey      = "almanac.code"      // of the error that was answered
	principalKey = "almanac.principal" // who was refused
	actionKey    = "almanac.action"    // what was refused
)

// auditRefusals writes refused calls to the audit log: those that were answered with 401, 403 or 421, and those that were
// noted by noteRefusal. A caller that sends too much is not among them, since it would fill the log.
func (s *server) auditRefusals(c *gin.Context) {
	if s.Refusals == nil {
		return
	}
	c.Next()
	status := c.Writer.Status()
	_, noted := c.Get(actionKey)
	if !noted && status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusMisdirectedRequest {
		return
	}
	code := c.GetString(codeKey)
	if status == http.StatusMisdirectedRequest {
		code = "MisdirectedRequest" // the guard has answered
	}
	header := c.Writer.Header()
	err := s.Refusals.Write(refusals.Refusal{
		Time: time.Now(), Principal: c.GetString(principalKey), Client: c.ClientIP(), Method: c.Request.Method, Path: c.Request.URL.Path,
		Action: c.GetString(actionKey), Status: status, Code: code,
		RequestID: header.Get(headerRequestID), CorrelationID: header.Get(headerCorrelationID),
	})
	if err != nil {
		s.Log.ErrorContext(c.Request.Context(), "a refused request is missing in the audit log", slog.Any("error", err), requestID(c))
	}
}

// noteRefusal says who was refused what, for the audit log, whatever the status of the answer is.
func noteRefusal(c *gin.Context, principal, action string) {
	c.Set(principalKey, principal)
	c.Set(actionKey, action)
}
