package guard

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/route"
	"almanac/internal/ratelimit"
	"almanac/job"
)

// LimitCaller answers 429 to a caller that sends more than it may. Probes are exempt. There is no [job.Kind] for it,
// because it concerns HTTP only.
func (g *Guard) LimitCaller(c *gin.Context) {
	if route.IsProbe(c.FullPath()) {
		return
	}
	done, err := g.Callers.Admit(c.Request.Context(), g.Caller(c.Request))
	if refusal, ok := errors.AsType[*ratelimit.Refusal](err); ok {
		g.refuseCaller(c, refusal)
		return
	}
	if err != nil {
		g.Errors.Fail(c, err)
		return
	}
	defer done()
	c.Next()
}

// refuseCaller answers 429. The official clients of Azure wait for the seconds in Retry-After and send the request
// again.
func (g *Guard) refuseCaller(c *gin.Context, r *ratelimit.Refusal) {
	c.Header("Retry-After", strconv.Itoa(r.Seconds()))
	answer.Error(c, http.StatusTooManyRequests, job.ErrorBody{
		Code: "TooManyRequests",
		Message: fmt.Sprintf(
			"The caller %s %s. Nothing was done: send the request again in %d s.", g.Caller(c.Request), r.Reason, r.Seconds(),
		),
	})
}
