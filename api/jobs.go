package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"almanac/api/odata"
	"almanac/api/paths"
	"almanac/api/resource"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
)

func (s *server) listJobs(c *gin.Context, k job.CollectionKey) error {
	read := func(ctx context.Context, p listing.Page) ([]job.Job, string, error) {
		return s.scheduler.Jobs(ctx, k, p)
	}
	return replyPage(s, c, odata.JobFilter, read, resource.JobEntry)
}

func (s *server) getJob(c *gin.Context, k job.Key) error {
	found, err := s.scheduler.Job(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return replyTagged(c, found.Generation, resource.NewJob(found))
}

// replyJob answers a change of a job, or returns err.
func replyJob(c *gin.Context, status int, changed job.Job, err error) error {
	if err != nil {
		return err
	}
	return replyChanged(c, status, changed.Generation, resource.NewJob(changed))
}

// postJob creates a job with a generated name, a UUID.
func (s *server) postJob(c *gin.Context, k job.CollectionKey) error {
	stored, _, err := s.createOrReplaceJob(c, k.Job(uuid.NewString()))
	if err == nil {
		c.Header("Location", s.link(c, "jobs", stored.Key.Name))
	}
	return replyJob(c, http.StatusCreated, stored, err)
}

func (s *server) putJob(c *gin.Context, k job.Key) error {
	stored, created, err := s.createOrReplaceJob(c, k)
	return replyJob(c, putStatus(created), stored, err)
}

// createOrReplaceJob creates the job that the body defines, or replaces its definition.
func (s *server) createOrReplaceJob(c *gin.Context, k job.Key) (stored job.Job, created bool, err error) {
	p, err := preconditionsOf(c.Request.Header)
	if err != nil {
		return job.Job{}, false, err
	}
	body, err := readBody(c)
	if err != nil {
		return job.Job{}, false, err
	}
	return s.scheduler.PutJob(c.Request.Context(), k, func(current *job.Job) (job.Definition, error) {
		if err := p.allowJob(current); err != nil {
			return job.Definition{}, err
		}
		return input.ParseDefinition(body, s.optionsFor(c, k, current))
	})
}

func (s *server) patchJob(c *gin.Context, k job.Key) error {
	p, err := preconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	patch, err := readBody(c)
	if err != nil {
		return err
	}
	stored, err := s.scheduler.PatchJob(c.Request.Context(), k, func(current *job.Job) (job.Definition, error) {
		if err := p.allowJob(current); err != nil {
			return job.Definition{}, err
		}
		return input.MergeDefinition(current.Definition, patch, s.optionsFor(c, k, current))
	})
	return replyJob(c, http.StatusOK, stored, err)
}

// optionsFor returns the context in which the body for a job is parsed. current is nil for a new job.
func (s *server) optionsFor(c *gin.Context, k job.Key, current *job.Job) input.ParseOptions {
	o := input.ParseOptions{Limits: s.Limits, Now: s.Now(), ID: k.ARMID(), Short: !paths.Has(c, "sub"), CheckTarget: s.checkTarget(c)}
	if current != nil {
		o.Created, o.Stored, o.ID = current.Created, &current.Definition, current.Key.ARMID()
	}
	return o
}

// checkTarget returns Options.CheckTarget for a request, whose answer has what Options.WarnOfTarget returns.
func (s *server) checkTarget(c *gin.Context) func(*job.Action) error {
	return func(a *job.Action) error {
		if s.WarnOfTarget != nil {
			if warning := s.WarnOfTarget(a); warning != "" {
				c.Header("Warning", fmt.Sprintf("299 - %q", warning))
			}
		}
		if s.CheckTarget == nil {
			return nil
		}
		return s.CheckTarget(a)
	}
}

func (s *server) deleteJob(c *gin.Context, k job.Key) error {
	p, err := preconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	var check func(*job.Job) error
	if p.given() {
		check = p.allowJob
	}
	return replyEmpty(c, s.scheduler.DeleteJob(c.Request.Context(), k, check))
}

// skipOccurrence skips the next occurrence of a job; with the parameter due, only if it is due then.
func (s *server) skipOccurrence(c *gin.Context, k job.Key) error {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	var due time.Time
	if given := values["due"]; len(given) > 0 {
		if due, err = odata.ParseTime(given[0]); err != nil || len(given) > 1 {
			return badQuery("due", fields.Invalid, given[0], "one value, "+odata.AllowedTimes)
		}
	}
	j, err := s.scheduler.SkipOccurrence(c.Request.Context(), k, due)
	return replyJob(c, http.StatusOK, j, err)
}

// changeJob answers a request without a body that enables or disables a job.
func (s *server) changeJob(change func(Scheduler, context.Context, job.Key) (job.Job, error)) func(*gin.Context, job.Key) error {
	return func(c *gin.Context, k job.Key) error {
		changed, err := change(s.scheduler, c.Request.Context(), k)
		return replyJob(c, http.StatusOK, changed, err)
	}
}

func (s *server) runJob(c *gin.Context, k job.Key) error {
	execution, err := s.scheduler.RunJob(c.Request.Context(), k)
	if err == nil {
		c.Header("Location", s.link(c, "jobs", k.Name, executions, execution))
	}
	return replyEmpty(c, err)
}
