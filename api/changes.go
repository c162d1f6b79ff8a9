package api

import (
	"context"
	"net"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
)

const changes = "/changes"

func (s *server) listJobChanges(c *gin.Context, k job.Key) error {
	read := func(ctx context.Context, p listing.Page) ([]audit.Change, string, error) {
		return s.scheduler.JobChanges(ctx, k, p)
	}
	return replyPage(s, c, nil, read, func(change audit.Change) resource.Change { return resource.JobChange(k, change) })
}

func (s *server) listCollectionChanges(c *gin.Context, k job.CollectionKey) error {
	read := func(ctx context.Context, p listing.Page) ([]audit.Change, string, error) {
		return s.scheduler.CollectionChanges(ctx, k, p)
	}
	return replyPage(s, c, nil, read, func(change audit.Change) resource.Change { return resource.CollectionChange(k, change) })
}

// sign makes the caller the actor of what the request changes. The request has its headers already; see identify.
func (s *server) sign(c *gin.Context) {
	address, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		address = c.Request.RemoteAddr
	}
	actor := audit.Actor{Address: address, CorrelationID: answer.CorrelationID(c)}
	if who := access.PrincipalOf(c.Request.Context()); who != nil {
		actor.Caller = who.ID()
	}
	c.Request = c.Request.WithContext(audit.WithActor(c.Request.Context(), actor))
}
