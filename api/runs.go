package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/listing"
)

// Runs are the executions of jobs of a [Scheduler].
type Runs interface {
	// RunJob returns the name of the execution that it starts. In a blackout it fails with [job.KindConflict], unless it is
	// forced.
	RunJob(ctx context.Context, k job.Key, force bool) (execution string, err error)
	// Execution returns an execution by its name. It fails with [job.KindNotFound] for one that the job has never had.
	Execution(ctx context.Context, k job.Key, name string) (job.ExecutionStatus, error)
	SkipOccurrences(ctx context.Context, k job.Key, r job.SkipRequest) (job.Job, error)
	UnskipOccurrences(ctx context.Context, k job.Key, r job.SkipRequest) (job.Job, error)
	// RerunJob runs a job whose last execution failed again, and RerunJobs those of a page of a collection, as for
	// [Jobs]. request names the request, for one that is repeated; it may be empty.
	RerunJob(ctx context.Context, k job.Key, request string) job.Rerun
	RerunJobs(
		ctx context.Context, k job.CollectionKey, p listing.Page, request string,
	) (results []job.Rerun, next string, err error)
}

func (s *server) runJob(c *gin.Context, k job.Key) error {
	force, err := forced(c)
	if err != nil {
		return err
	}
	execution, err := s.scheduler.RunJob(c.Request.Context(), k, force)
	if err == nil {
		c.Header("Location", s.link(c, "jobs", k.Name, executions, execution))
	}
	return replyEmpty(c, err)
}

// forced returns whether a run is to start in a blackout, too.
func forced(c *gin.Context) (bool, error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil || !values.Has("force") {
		return false, err
	}
	force, err := strconv.ParseBool(values.Get("force"))
	if given := values["force"]; err != nil || len(given) != 1 {
		return false, badQuery("force", fields.Invalid, given[0], "true or false")
	}
	return force, nil
}

func (s *server) getExecution(c *gin.Context, k job.Key) error {
	found, err := s.scheduler.Execution(c.Request.Context(), k, c.Param("id"))
	return replyOrFail(c, http.StatusOK, s.shown(c).Execution, found, err)
}

const maxRequestID = 100 // bytes

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
	name := c.GetHeader(route.Repeatability)
	if len(name) <= maxRequestID {
		return name, nil
	}
	return "", &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: "A header is not valid",
		Fields: []*job.FieldError{{Path: route.Repeatability, Code: fields.TooLong, Allowed: "at most 100 bytes"}},
	}
}

// newRerunEntry returns the form of a result.
func (s *server) newRerunEntry(ctx context.Context) func(job.Rerun) resource.Rerun {
	return func(r job.Rerun) resource.Rerun {
		entry := resource.NewRerun(r)
		if r.Err != nil {
			shown := s.errors.Body(
				ctx, http.MethodPost, r.Err, "a job could not be run again", slog.String("job", r.Key.ARMID()),
			)
			entry.Properties.Error = &shown
		}
		return entry
	}
}
