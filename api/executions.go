package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/resource"
	"almanac/job"
)

const executions = "executions"

func (s *server) getExecution(c *gin.Context, k job.Key) error {
	found, err := s.scheduler.Execution(c.Request.Context(), k, c.Param("id"))
	return replyOrFail(c, http.StatusOK, resource.NewExecution, found, err)
}
