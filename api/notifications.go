package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/job"
	"almanac/job/notification"
)

// Notifications are those of the jobs and collections of a [Scheduler].
type Notifications interface {
	// TestNotifications sends a test to the targets of a job's notifications, or of a collection's if the key has no
	// name.
	TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error)
	// Deliveries returns the newest deliveries of a collection, newest first.
	Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error)
}

// deliveries answers with the deliveries of the notifications of a scope, or returns err.
func (s *server) deliveries(c *gin.Context, of access.Scope, all []notification.Delivery, err error) error {
	if err != nil {
		return err
	}
	page := list[resource.Delivery]{Value: make([]resource.Delivery, len(all))}
	for i, d := range all {
		page.Value[i] = s.shown(c).Delivery(of, d)
	}
	return answer.JSON(c, http.StatusOK, page)
}

func (s *server) listNotifications(c *gin.Context, k job.CollectionKey) error {
	all, err := s.scheduler.Deliveries(c.Request.Context(), k)
	return s.deliveries(c, access.ScopeOfCollection(k), all, err)
}

func (s *server) testCollection(c *gin.Context, k job.CollectionKey) error {
	all, err := s.scheduler.TestNotifications(c.Request.Context(), k.Job(""))
	return s.deliveries(c, access.ScopeOfCollection(k), all, err)
}

// testNotifications shows what the targets of a job's own notifications answered by the role for the job, and what
// those of its collection answered by the role for the collection.
func (s *server) testNotifications(c *gin.Context, k job.Key) error {
	of := access.ScopeOfCollection(k.Collection)
	generation := s.ownNotifications(c, k)
	all, err := s.scheduler.TestNotifications(c.Request.Context(), k)
	if generation >= 0 && generation == s.ownNotifications(c, k) { // it had them all the time
		of = access.ScopeOfJob(k)
	}
	return s.deliveries(c, of, all, err)
}

// ownNotifications returns the generation of a job that has notifications of its own; -1 if it has none, or if the
// answer makes no difference to the caller.
func (s *server) ownNotifications(c *gin.Context, k job.Key) int {
	shown := s.shown(c)
	if !shown.Hides(access.ScopeOfCollection(k.Collection)) || shown.Hides(access.ScopeOfJob(k)) {
		return -1
	}
	j, err := s.scheduler.Job(c.Request.Context(), k)
	if err != nil || j.Definition.Notifications == nil {
		return -1
	}
	return j.Generation
}
