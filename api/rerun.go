package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/listing"
)

const rerun = "/rerun"

// repeatability is the header that names a request, so that it can be repeated: that of Azure's newer services.
const (
	repeatability = "Repeatability-Request-ID"
	maxRequestID  = 100 // bytes
)

func (s *server) rerunJobs(c *gin.Context, k job.CollectionKey) error {
	request, err := repeatable(c)
	if err != nil {
		return err
	}
	run := func(ctx context.Context, p listing.Page) ([]job.Rerun, string, error) {
		return s.scheduler.RerunJobs(ctx, k, p, request)
	}
	return replyPage(s, c, odata.RerunFilter, run, s.newRerunEntry(c.Request.Context()))
}

func (s *server) rerunJob(c *gin.Context, k job.Key) error {
	request, err := repeatable(c)
	if err != nil {
		return err
	}
	result := s.scheduler.RerunJob(c.Request.Context(), k, request)
	if result.Err != nil {
		return result.Err
	}
	if result.Execution != "" {
		c.Header("Location", s.link(c, "jobs", k.Name, executions, result.Execution))
	}
	return answer.JSON(c, http.StatusOK, s.newRerunEntry(c.Request.Context())(result))
}

// repeatable returns the name of the request; empty if it has none.
func repeatable(c *gin.Context) (string, error) {
	name := c.GetHeader(repeatability)
	if len(name) <= maxRequestID {
		return name, nil
	}
	return "", &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: "A header is not valid",
		Fields: []*job.FieldError{{Path: repeatability, Code: fields.TooLong, Allowed: "at most 100 bytes"}},
	}
}

// A rerunResource is the result for one job of a request to run jobs again.
type rerunResource struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Properties rerunProperties `json:"properties"`
}

type rerunProperties struct {
	Status    job.RerunStatus `json:"status"`
	Execution string          `json:"execution,omitempty"` // its id
	Error     *job.ErrorBody  `json:"error,omitempty"`     // why it was refused
}

// newRerunEntry returns the form of a result.
func (s *server) newRerunEntry(ctx context.Context) func(job.Rerun) rerunResource {
	return func(r job.Rerun) rerunResource {
		of := resource.NewJob(job.Job{Key: r.Key})
		entry := rerunResource{ID: of.ID, Type: of.Type, Name: of.Name, Properties: rerunProperties{Status: r.Status}}
		if r.Execution != "" {
			entry.Properties.Execution = resource.ExecutionID(r.Key, r.Execution)
		}
		if r.Err != nil {
			shown := s.errors.Body(ctx, http.MethodPost, r.Err, "a job could not be run again", slog.String("job", r.Key.ARMID()))
			entry.Properties.Error = &shown
		}
		return entry
	}
}
