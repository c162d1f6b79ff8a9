package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

func (s *server) listJobs(c *gin.Context) error {
	k, err := s.collectionKey(c)
	if err != nil {
		return err
	}
	q, err := parseListQuery(c.Request.URL.RawQuery, jobFilter.parse)
	if err != nil {
		return err
	}
	found, next, err := s.scheduler.Jobs(c.Request.Context(), k, q.page)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, listOf(found, newJobEntry, s.nextLink(c.Request, q, next, len(found))))
}

// postJob creates a job with a generated name.
func (s *server) postJob(c *gin.Context) error {
	k, err := s.collectionKey(c)
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	created, err := s.scheduler.PostJob(c.Request.Context(), k, body)
	if err != nil {
		return err
	}
	c.Header("Location", s.link(c, "jobs", created.Key.Name))
	return reply(c, http.StatusCreated, newJobResource(created))
}

func (s *server) getJob(c *gin.Context) error {
	k, err := s.jobKey(c)
	if err != nil {
		return err
	}
	found, err := s.scheduler.Job(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, newJobResource(found))
}

func (s *server) putJob(c *gin.Context) error {
	k, err := s.jobKey(c)
	if err != nil {
		return err
	}
	body, err := readBody(c)
	if err != nil {
		return err
	}
	stored, created, err := s.scheduler.PutJob(c.Request.Context(), k, body)
	if err != nil {
		return err
	}
	return reply(c, putStatus(created), newJobResource(stored))
}

func (s *server) patchJob(c *gin.Context) error {
	k, err := s.jobKey(c)
	if err != nil {
		return err
	}
	patch, err := readBody(c)
	if err != nil {
		return err
	}
	stored, err := s.scheduler.PatchJob(c.Request.Context(), k, patch)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, newJobResource(stored))
}

func (s *server) deleteJob(c *gin.Context) error {
	k, err := s.jobKey(c)
	if err != nil {
		return err
	}
	if err := s.scheduler.DeleteJob(c.Request.Context(), k); err != nil {
		return err
	}
	return done(c)
}

func (s *server) runJob(c *gin.Context) error {
	k, err := s.jobKey(c)
	if err != nil {
		return err
	}
	if err := s.scheduler.RunJob(c.Request.Context(), k); err != nil {
		return err
	}
	return done(c)
}
