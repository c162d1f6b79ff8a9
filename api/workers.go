package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/job/presence"
)

// Workers are those that run the jobs of a [Scheduler].
type Workers interface {
	// Workers returns which workers are on record.
	Workers(ctx context.Context) (presence.Log, error)
}

// listWorkers answers with the workers that were there in a window, and when none was.
func (s *server) listWorkers(c *gin.Context) error {
	window, err := s.window(c)
	if err != nil {
		return err
	}
	log, err := s.scheduler.Workers(c.Request.Context())
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, resource.NewWorkers(&log, window.From, window.Before, s.Now()))
}
