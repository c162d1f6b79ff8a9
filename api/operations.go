package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/job"
)

// Operations change whole collections and their jobs, for a [Scheduler]. They return nil if the change is complete, and
// otherwise the operation that continues it.
type Operations interface {
	DeleteCollection(
		ctx context.Context, k job.CollectionKey, check func(current *job.Collection) error,
	) (*job.Operation, error)
	EnableCollection(ctx context.Context, k job.CollectionKey, p job.Promise) (*job.Operation, error)
	DisableCollection(ctx context.Context, k job.CollectionKey, p job.Promise) (*job.Operation, error)
	// Operation fails with [job.KindNotFound] if there is no operation with that ID.
	Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error)
}

func (s *server) deleteCollection(c *gin.Context, k job.CollectionKey) error {
	check, err := collectionCheck(c)
	if err != nil {
		return err
	}
	operation, err := s.scheduler.DeleteCollection(c.Request.Context(), k, check)
	return s.replyOperation(c, operation, err)
}

// replyOperation answers 202 for an operation, and 200 if there is none, or returns err.
func (s *server) replyOperation(c *gin.Context, operation *job.Operation, err error) error {
	if err == nil && operation != nil {
		return s.accepted(c, operationResults, operation.ID)
	}
	return replyEmpty(c, err)
}

// operationRetryAfter is the Retry-After of a running operation, in seconds.
const operationRetryAfter = "1"

// accepted answers 202 with both ways of Azure Resource Manager to poll the operation: Location and
// Azure-AsyncOperation. Clients prefer the latter. results is where the result will be.
func (s *server) accepted(c *gin.Context, results, id string) error {
	c.Header("Location", s.link(c, results, id))
	c.Writer.Header()["Azure-AsyncOperation"] = []string{s.link(c, operations, id)} // Set would change its case
	c.Header("Retry-After", operationRetryAfter)
	c.Status(http.StatusAccepted)
	return nil
}

// getOperation answers 200 with the state of an operation.
func (s *server) getOperation(c *gin.Context, k job.CollectionKey) error {
	found, err := s.scheduler.Operation(c.Request.Context(), k, route.Name(c, "id"))
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, resource.NewOperation(k, found))
}

// getOperationResult answers as the original request would: 200 or an error when the operation has ended,
// 202 until then.
func (s *server) getOperationResult(c *gin.Context, k job.CollectionKey) error {
	found, err := s.scheduler.Operation(c.Request.Context(), k, route.Name(c, "id"))
	switch {
	case err != nil:
		return err
	case found.Failed != nil:
		return found.Failed
	case !found.Done:
		return s.accepted(c, operationResults, found.ID)
	}
	return replyEmpty(c, nil)
}
