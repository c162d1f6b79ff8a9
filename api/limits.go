package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/internal/callers"
	"almanac/job"
)

// isProbe reports whether a route is asked by machines that watch this one.
func isProbe(route string) bool {
	return route == "/healthz" || route == "/readyz" || route == measurements
}

// callerOf names the caller of a request: its principal or, if it is not known who called, its address.
func callerOf(r *http.Request) string {
	if who := access.PrincipalOf(r.Context()); who != nil {
		return who.ID()
	}
	return callers.ByAddress(r)
}

// limitCaller answers 429 to a caller that sends more than it may. Probes are exempt. There is no [job.Kind] for it,
// because it concerns HTTP only.
func (s *server) limitCaller(c *gin.Context) {
	if isProbe(c.FullPath()) {
		return
	}
	done, err := s.Callers.Admit(c.Request.Context(), s.Caller(c.Request))
	if refusal, ok := errors.AsType[*callers.Refusal](err); ok {
		s.refuseCaller(c, refusal)
		return
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	defer done()
	c.Next()
}

// refuseCaller answers 429. The official clients of Azure wait for the seconds in Retry-After and send the request again.
func (s *server) refuseCaller(c *gin.Context, r *callers.Refusal) {
	c.Abort()
	c.Header("Retry-After", strconv.Itoa(r.Seconds()))
	_ = reply(c, http.StatusTooManyRequests, errorEnvelope{job.ErrorBody{
		Code:    "TooManyRequests",
		Message: fmt.Sprintf("The caller %s %s. Nothing was done: send the request again in %d s.", s.Caller(c.Request), r.Reason, r.Seconds()),
	}})
}
