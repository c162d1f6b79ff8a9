package api

import (
	"github.com/gin-gonic/gin"

	"almanac/api/route"
	"almanac/job"
)

// forCollection adapts a handler of the collection in the path.
func (s *server) forCollection(f func(*gin.Context, job.CollectionKey) error) gin.HandlerFunc {
	return s.errors.Handle(func(c *gin.Context) error {
		k := s.paths.Collection(c)
		if err := k.Validate(); err != nil {
			return err
		}
		return f(c, k)
	})
}

// forJob adapts a handler of the job in the path.
func (s *server) forJob(f func(*gin.Context, job.Key) error) gin.HandlerFunc {
	return s.errors.Handle(func(c *gin.Context) error {
		k := s.paths.Collection(c).Job(route.Name(c, "job"))
		if err := k.Validate(); err != nil {
			return err
		}
		return f(c, k)
	})
}

// forSubscription adapts a handler of the subscription in the path, which it gets as a key without other names.
func (s *server) forSubscription(f func(*gin.Context, job.CollectionKey) error) gin.HandlerFunc {
	return s.errors.Handle(func(c *gin.Context) error {
		subscription, _ := s.paths.Group(c)
		k := job.SubscriptionScope(subscription)
		if err := k.ValidateScope(); err != nil {
			return err
		}
		return f(c, k)
	})
}

// forCalendar adapts a handler of the calendar in the path, whose scope is known.
func forCalendar(f func(*gin.Context, job.CalendarKey) error) func(*gin.Context, job.CollectionKey) error {
	return func(c *gin.Context, scope job.CollectionKey) error {
		k := scope.Calendar(route.Name(c, "calendar"))
		if err := k.Validate(); err != nil {
			return err
		}
		return f(c, k)
	}
}
