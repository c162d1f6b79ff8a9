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
