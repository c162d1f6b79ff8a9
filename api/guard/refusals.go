package guard

import (
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/internal/audit/refusals"
)

// Keys of what is known of a refusal, in a [gin.Context].
const (
	principalKey = "almanac.principal" // who was refused
	actionKey    = "almanac.action"    // what was refused
)

// Audit writes refused calls to the audit log: those that were answered with 401, 403 or 421, and those that were
// noted by noteRefusal. A caller that sends too much is not among them, since it would fill the log.
func (g *Guard) Audit(c *gin.Context) {
	if g.Refusals == nil {
		return
	}
	c.Next()
	status := c.Writer.Status()
	_, noted := c.Get(actionKey)
	refused := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest}
	if !noted && !slices.Contains(refused, status) {
		return
	}
	code := answer.Code(c)
	if status == http.StatusMisdirectedRequest {
		code = "MisdirectedRequest" // CheckHost has answered
	}
	err := g.Refusals.Write(refusals.Refusal{
		Time: time.Now(), Principal: c.GetString(principalKey), Client: c.ClientIP(), Method: c.Request.Method,
		Path:   c.Request.URL.Path,
		Action: c.GetString(actionKey), Status: status, Code: code,
		RequestID: answer.RequestID(c), CorrelationID: answer.CorrelationID(c),
	})
	if err != nil {
		g.Errors.Log.ErrorContext(
			c.Request.Context(), "a refused request is missing in the audit log", slog.Any("error", err), answer.LogID(c),
		)
	}
}

// noteRefusal says who was refused what, for the audit log, whatever the status of the answer is.
func noteRefusal(c *gin.Context, principal, action string) {
	c.Set(principalKey, principal)
	c.Set(actionKey, action)
}
