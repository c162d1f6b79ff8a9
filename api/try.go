package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/route"
	"almanac/job"
	"almanac/job/input"
)

// Trials send actions that are not saved, for a [Scheduler].
type Trials interface {
	// TryJob sends the action of a definition once. stored means that there is a job of that name, whose secrets are used
	// where the definition leaves some out.
	TryJob(ctx context.Context, k job.Key, d *job.Definition, stored bool) (job.Trial, error)
}

// tryJob sends the action of the body once. The body is checked as that of a PUT. The job need not exist.
func (s *server) tryJob(c *gin.Context, k job.Key) error {
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	var stored *job.Job
	current, err := s.scheduler.Job(ctx, k)
	switch {
	case err == nil:
		stored, k = &current, current.Key
	case job.KindOf(err) != job.KindNotFound:
		return err
	}
	d, err := input.ParseDefinition(body, s.optionsFor(c, k, stored))
	if err != nil {
		return err
	}
	tried, err := s.scheduler.TryJob(ctx, k, &d, stored != nil)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, s.shown(c).Trial(tried))
}
