package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/route"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
	"almanac/job/listing"
)

// Jobs are the jobs of a [Scheduler].
type Jobs interface {
	// Jobs returns a page of the jobs of a collection and its continuation, as [Collections] does.
	Jobs(ctx context.Context, k job.CollectionKey, p listing.Page) (jobs []job.Job, next string, err error)
	Job(ctx context.Context, k job.Key) (job.Job, error)
	// PutJob creates a job, or edits it as PatchJob does; created reports which. current is nil for a new job.
	PutJob(
		ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error),
	) (j job.Job, created bool, err error)
	// PatchJob replaces a job's definition, as [Collections] does with a collection.
	PatchJob(ctx context.Context, k job.Key, edit func(current *job.Job) (job.Definition, error)) (job.Job, error)
	DeleteJob(ctx context.Context, k job.Key, check func(current *job.Job) error) error
	EnableJob(ctx context.Context, k job.Key, p job.Promise) (job.Job, error)
	DisableJob(ctx context.Context, k job.Key, p job.Promise) (job.Job, error)
	Pruner
}

func (s *server) listJobs(c *gin.Context, k job.CollectionKey) error {
	read := func(ctx context.Context, p listing.Page) ([]job.Job, string, error) {
		return s.scheduler.Jobs(ctx, k, p)
	}
	return replyPage(s, c, odata.JobFilter, read, s.shown(c).JobEntry)
}

func (s *server) getJob(c *gin.Context, k job.Key) error {
	found, err := s.scheduler.Job(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return answer.Tagged(c, found.Generation, s.shown(c).Job(found))
}

// replyJob answers a change of a job, or returns err.
func (s *server) replyJob(c *gin.Context, status int, changed job.Job, err error) error {
	if err != nil {
		return err
	}
	return answer.Changed(c, status, changed.Generation, s.shown(c).Job(changed))
}

// postJob creates a job with a generated name, a UUID.
func (s *server) postJob(c *gin.Context, k job.CollectionKey) error {
	stored, _, err := s.createOrReplaceJob(c, k.Job(uuid.NewString()))
	if err == nil {
		c.Header("Location", s.link(c, "jobs", stored.Key.Name))
	}
	return s.replyJob(c, http.StatusCreated, stored, err)
}

func (s *server) putJob(c *gin.Context, k job.Key) error {
	stored, created, err := s.createOrReplaceJob(c, k)
	return s.replyJob(c, putStatus(created), stored, err)
}

// createOrReplaceJob creates the job that the body defines, or replaces its definition.
func (s *server) createOrReplaceJob(c *gin.Context, k job.Key) (stored job.Job, created bool, err error) {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil {
		return job.Job{}, false, err
	}
	body, err := route.ReadBody(c)
	if err != nil {
		return job.Job{}, false, err
	}
	owner, adopt, err := ownerOf(c)
	if err != nil {
		return job.Job{}, false, err
	}
	return s.scheduler.PutJob(c.Request.Context(), k, func(current *job.Job) (job.Definition, error) {
		if err := p.AllowJob(current); err != nil {
			return job.Definition{}, err
		}
		d, err := input.ParseDefinition(body, s.optionsFor(c, k, current))
		if current == nil || adopt {
			d.Owner = owner
		}
		if current != nil {
			d.KeepOwner(&current.Definition)
		}
		return d, err
	})
}

func (s *server) patchJob(c *gin.Context, k job.Key) error {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	patch, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	stored, err := s.scheduler.PatchJob(c.Request.Context(), k, func(current *job.Job) (job.Definition, error) {
		if err := p.AllowJob(current); err != nil {
			return job.Definition{}, err
		}
		return input.MergeDefinition(current.Definition, patch, s.optionsFor(c, k, current))
	})
	return s.replyJob(c, http.StatusOK, stored, err)
}

// optionsFor returns the context in which the body for a job is parsed. current is nil for a new job.
func (s *server) optionsFor(c *gin.Context, k job.Key, current *job.Job) input.ParseOptions {
	o := input.ParseOptions{
		Limits: s.Limits, Now: s.Now(), ID: k.ARMID(), Short: !route.Has(c, "sub"), CheckTarget: s.checkTarget(c),
	}
	if current != nil {
		o.Created, o.Stored, o.ID = current.Created, &current.Definition, current.Key.ARMID()
	}
	return o
}

// checkTarget returns Options.CheckTarget for a request, whose answer has what Options.WarnOfTarget returns.
func (s *server) checkTarget(c *gin.Context) input.CheckTarget {
	return func(t kind.Type, sent kind.Parameters) error {
		if s.WarnOfTarget != nil {
			if warning := s.WarnOfTarget(sent); warning != "" {
				c.Header("Warning", fmt.Sprintf("299 - %q", warning))
			}
		}
		if s.CheckTarget == nil {
			return nil
		}
		return s.CheckTarget(t, sent)
	}
}

func (s *server) deleteJob(c *gin.Context, k job.Key) error {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	var check func(*job.Job) error
	if p.Given() {
		check = p.AllowJob
	}
	return replyEmpty(c, s.scheduler.DeleteJob(c.Request.Context(), k, check))
}
