package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// A change changes a whole collection, its jobs included. It returns nil when
// all is done, or the operation that goes on.
type change func(Scheduler, context.Context, job.CollectionKey) (*job.Operation, error)

// apply returns a handler that makes a change.
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

// operationRetryAfter is how many seconds a client should wait before it asks
// again how an operation stands.
const operationRetryAfter = "1"

// accepted answers that an operation goes on, and where to ask about it. Both
// ways of Azure Resource Manager are offered; clients prefer
// Azure-AsyncOperation.
func (s *server) accepted(c *gin.Context, id string) error {
	c.Header("Location", s.link(c, operationResults, id))
	c.Writer.Header()["Azure-AsyncOperation"] = []string{s.link(c, operations, id)} // Set would change its case
	c.Header("Retry-After", operationRetryAfter)
	c.Status(http.StatusAccepted)
	return nil
}

// operation finds the operation that the path names.
func (s *server) operation(c *gin.Context) (job.CollectionKey, job.Operation, error) {
	k, err := s.collectionKey(c)
	if err != nil {
		return k, job.Operation{}, err
	}
	found, err := s.scheduler.Operation(c.Request.Context(), k, param(c, "id"))
	return k, found, err
}

// getOperation tells how an operation stands.
func (s *server) getOperation(c *gin.Context) error {
	k, found, err := s.operation(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, newOperationResource(k, found))
}

// getOperationResult answers as the request that started the operation would
// have, had it waited so long.
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
