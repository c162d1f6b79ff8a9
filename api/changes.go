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

// A Trail has the changes of jobs and collections of a [Scheduler].
type Trail interface {
	// JobChanges and CollectionChanges return a page of the changes of a job or a collection, newest first, and its
	// continuation. They work for one that was deleted, too, for a while.
	JobChanges(ctx context.Context, k job.Key, p listing.Page) (changes []audit.Change, next string, err error)
	CollectionChanges(
		ctx context.Context, k job.CollectionKey, p listing.Page,
	) (changes []audit.Change, next string, err error)
}

func (s *server) listJobChanges(c *gin.Context, k job.Key) error {
	read := func(ctx context.Context, p listing.Page) ([]audit.Change, string, error) {
		return s.scheduler.JobChanges(ctx, k, p)
	}
	shown := s.shown(c)
	return replyPage(s, c, nil, read, func(one audit.Change) resource.Change { return shown.JobChange(k, one) })
}

func (s *server) listCollectionChanges(c *gin.Context, k job.CollectionKey) error {
	read := func(ctx context.Context, p listing.Page) ([]audit.Change, string, error) {
		return s.scheduler.CollectionChanges(ctx, k, p)
	}
	shown := s.shown(c)
	return replyPage(s, c, nil, read, func(one audit.Change) resource.Change { return shown.CollectionChange(k, one) })
}

// sign makes the caller the actor of what the request changes.
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
