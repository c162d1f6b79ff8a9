package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
)

// A Pruner prunes jobs that their owners do not have any more, for a [Scheduler].
type Pruner interface {
	// BindOwner puts an owner of job files on record in a collection.
	BindOwner(ctx context.Context, k job.CollectionKey, b job.Binding) (job.Owner, error)
	// PruneJob prunes a job of an owner that is on record, and RestoreJob takes it back. check is as for DeleteJob.
	PruneJob(ctx context.Context, k job.Key, owner string, check func(current *job.Job) error) (job.Job, error)
	RestoreJob(ctx context.Context, k job.Key, check func(current *job.Job) error) (job.Job, error)
	// CompareSecrets reports whether the secrets of a definition are those that a job has.
	CompareSecrets(ctx context.Context, k job.Key, d *job.Definition) (same bool, err error)
}

// compareSecrets says whether the secrets of the body are those that the job has.
func (s *server) compareSecrets(c *gin.Context, k job.Key) error {
	text, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	current, err := s.scheduler.Job(ctx, k)
	if err != nil {
		return err
	}
	o := s.optionsFor(c, k, &current)
	o.CheckTarget = nil // nothing is stored or sent
	d, err := input.ParseDefinition(text, o)
	if err != nil {
		return err
	}
	same, err := s.scheduler.CompareSecrets(ctx, current.Key, &d)
	if err != nil {
		return err
	}
	answered := map[bool]string{true: "same", false: "differs"}
	return answer.JSON(c, http.StatusOK, gin.H{"secrets": answered[same]})
}

// ownerOf returns the parameters of a PUT: the owner, "" if there is none, and whether it adopts a job that has none.
func ownerOf(c *gin.Context) (owner string, adopt bool, err error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return "", false, err
	}
	if given := values["owner"]; len(given) > 0 {
		id, err := uuid.Parse(given[0])
		if err != nil || len(given) > 1 {
			return "", false, badQuery("owner", fields.Invalid, given[0], "one value, a UUID")
		}
		owner = id.String()
	}
	if given := values["adopt"]; len(given) > 0 {
		if adopt = given[0] == "true"; len(given) > 1 || !adopt && given[0] != "false" {
			return "", false, badQuery("adopt", fields.Invalid, given[0], "true or false")
		}
		if adopt && owner == "" {
			return "", false, badQuery("adopt", fields.Forbidden, given[0], "with owner only")
		}
	}
	return owner, adopt, nil
}

// pruneJob prunes a job. The owner is required: who has no files prunes nothing.
func (s *server) pruneJob(c *gin.Context, k job.Key) error {
	text, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	owner, err := input.ParseOwner(text)
	if err != nil {
		return err
	}
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	pruned, err := s.scheduler.PruneJob(c.Request.Context(), k, owner, p.AllowJob)
	return s.replyJob(c, http.StatusOK, pruned, err)
}

func (s *server) restoreJob(c *gin.Context, k job.Key) error {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	restored, err := s.scheduler.RestoreJob(c.Request.Context(), k, p.AllowJob)
	return s.replyJob(c, http.StatusOK, restored, err)
}

// bindOwner puts an owner of job files on record.
func (s *server) bindOwner(c *gin.Context, k job.CollectionKey) error {
	text, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	b, err := input.ParseBinding(text, k.Name)
	if err != nil {
		return err
	}
	bound, err := s.scheduler.BindOwner(c.Request.Context(), k, b)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, bound)
}
