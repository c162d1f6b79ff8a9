package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// A change changes a whole collection and its jobs. It returns nil if it is complete, and otherwise the
// operation that continues it.
type change func(Scheduler, context.Context, job.CollectionKey) (*job.Operation, error)

// apply returns a handler that makes a change: 200 if it is complete, 202 if it continues.
func (s *server) apply(do change) func(*gin.Context) error {
	return func(c *gin.Context) error {
		k, err := s.collectionKey(c)
		if err != nil {
			return err
		}
		going, err := do(s.scheduler, c.Request.Context(), k)
		switch {
		case err != nil:
			return err
		case going != nil:
			return s.accepted(c, going.ID)
		}
		return done(c)
	}
}

// operationRetryAfter is the Retry-After of a running operation, in seconds.
const operationRetryAfter = "1"

// accepted answers 202 with both ways of Azure Resource Manager to poll the operation: Location and
// Azure-AsyncOperation. Clients prefer the latter.
func (s *server) accepted(c *gin.Context, id string) error {
	c.Header("Location", s.link(c, operationResults, id))
	c.Writer.Header()["Azure-AsyncOperation"] = []string{s.link(c, operations, id)} // Set would change its case
	c.Header("Retry-After", operationRetryAfter)
	c.Status(http.StatusAccepted)
	return nil
}

// operation returns the operation that the path names.
func (s *server) operation(c *gin.Context) (job.CollectionKey, job.Operation, error) {
	k, err := s.collectionKey(c)
	if err != nil {
		return k, job.Operation{}, err
	}
	found, err := s.scheduler.Operation(c.Request.Context(), k, param(c, "id"))
	return k, found, err
}

// getOperation answers 200 with the state of an operation.
func (s *server) getOperation(c *gin.Context) error {
	k, found, err := s.operation(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, newOperationResource(k, found))
}

// getOperationResult answers as the original request would: 200 or an error when the operation has ended,
// 202 until then.
func (s *server) getOperationResult(c *gin.Context) error {
	_, found, err := s.operation(c)
	switch {
	case err != nil:
		return err
	case found.Failed != nil:
		return found.Failed
	case !found.Done:
		return s.accepted(c, found.ID)
	}
	return done(c)
}
