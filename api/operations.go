package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/paths"
	"almanac/api/resource"
	"almanac/job"
)

// A change changes a whole collection and its jobs. It returns nil if it is complete, and otherwise the
// operation that continues it.
type change func(Scheduler, context.Context, job.CollectionKey) (*job.Operation, error)

// changeCollection returns a handler that makes a change: 200 if it is complete, 202 if it continues.
func (s *server) changeCollection(do change) gin.HandlerFunc {
	return s.forCollection(func(c *gin.Context, k job.CollectionKey) error {
		operation, err := do(s.scheduler, c.Request.Context(), k)
		return s.replyOperation(c, operation, err)
	})
}

// replyOperation answers 202 for an operation, and 200 if there is none, or returns err.
func (s *server) replyOperation(c *gin.Context, operation *job.Operation, err error) error {
	if err == nil && operation != nil {
		return s.accepted(c, operation.ID)
	}
	return replyEmpty(c, err)
}

// operationRetryAfter is the Retry-After of a running operation, in seconds.
const operationRetryAfter = "1"

// accepted answers 202 with both ways of Azure Resource Manager to poll the operation: Location and
// Azure-AsyncOperation. Clients prefer the latter.
func (s *server) accepted(c *gin.Context, id string) error {
	c.Header("Location", s.link(c, paths.OperationResults, id))
	c.Writer.Header()["Azure-AsyncOperation"] = []string{s.link(c, paths.Operations, id)} // Set would change its case
	c.Header("Retry-After", operationRetryAfter)
	c.Status(http.StatusAccepted)
	return nil
}

// getOperation answers 200 with the state of an operation.
func (s *server) getOperation(c *gin.Context, k job.CollectionKey) error {
	found, err := s.scheduler.Operation(c.Request.Context(), k, paths.Name(c, "id"))
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, resource.NewOperation(k, found))
}

// getOperationResult answers as the original request would: 200 or an error when the operation has ended,
// 202 until then.
func (s *server) getOperationResult(c *gin.Context, k job.CollectionKey) error {
	found, err := s.scheduler.Operation(c.Request.Context(), k, paths.Name(c, "id"))
	switch {
	case err != nil:
		return err
	case found.Failed != nil:
		return found.Failed
	case !found.Done:
		return s.accepted(c, found.ID)
	}
	return replyEmpty(c, nil)
}
