package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/internal/fields"
	"almanac/job"
)

// Backfills run occurrences that are past, for a [Scheduler].
type Backfills interface {
	PreviewBackfill(ctx context.Context, k job.Key, r job.BackfillRequest) (job.BackfillPreview, error)
	Backfill(ctx context.Context, k job.Key, r job.BackfillRequest) (job.Job, error)
	ChangeBackfill(ctx context.Context, k job.Key, name string, action job.BackfillAction) (job.Job, error)
}

// previewBackfill answers with the occurrences that a backfill would run.
func (s *server) previewBackfill(c *gin.Context, k job.Key) error {
	r, err := s.backfillRequest(c)
	if err != nil {
		return err
	}
	found, err := s.scheduler.PreviewBackfill(c.Request.Context(), k, r)
	return replyOrFail(c, http.StatusOK, resource.NewBackfillPreview, found, err)
}

// backfill begins a backfill. An operator may run as many occurrences as manual runs would take; more take a contributor.
func (s *server) backfill(c *gin.Context, k job.Key) error {
	r, err := s.backfillRequest(c)
	if err != nil {
		return err
	}
	if r.Name == "" {
		r.Name = "b" + s.Now().UTC().Format("20060102-150405.000")
	}
	if r.Most = job.MaxBackfill; !s.mayWrite(c, k) {
		r.Most = job.OperatorBackfill
	}
	j, err := s.scheduler.Backfill(c.Request.Context(), k, r)
	return s.replyBackfill(c, &j, r.Name, err)
}

// mayWrite reports whether the caller may change a job. An API that asks for no login lets everybody.
func (s *server) mayWrite(c *gin.Context, k job.Key) bool {
	who := access.PrincipalOf(c.Request.Context())
	if who == nil || s.Access == nil {
		return true
	}
	var policy *access.Policy
	if s.Access.Policy != nil {
		policy = s.Access.Policy()
	}
	return policy.For(who).Allows(access.WriteJobs, access.ScopeOfJob(k))
}

// changeBackfill pauses, resumes or ends a backfill.
func (s *server) changeBackfill(c *gin.Context, k job.Key) error {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	action := job.BackfillAction(values.Get("action"))
	if len(values["action"]) > 1 || action != job.BackfillPause && action != job.BackfillResume && action != job.BackfillEnd {
		return badQuery("action", fields.Unsupported, values.Get("action"), "pause, resume or end")
	}
	name := c.Param("id")
	j, err := s.scheduler.ChangeBackfill(c.Request.Context(), k, name, action)
	return s.replyBackfill(c, &j, name, err)
}

// listBackfills answers with the backfills of a job, newest first.
func (s *server) listBackfills(c *gin.Context, k job.Key) error {
	j, err := s.scheduler.Job(c.Request.Context(), k)
	if err != nil {
		return err
	}
	all := list[resource.Backfill]{Value: []resource.Backfill{}}
	for i := len(j.Backfills) - 1; i >= 0; i-- {
		all.Value = append(all.Value, resource.NewBackfill(&j, &j.Backfills[i]))
	}
	return answer.JSON(c, http.StatusOK, all)
}

func (s *server) replyBackfill(c *gin.Context, j *job.Job, name string, err error) error {
	if err != nil {
		return err
	}
	for i := range j.Backfills {
		if j.Backfills[i].Name == name {
			return answer.JSON(c, http.StatusOK, resource.NewBackfill(j, &j.Backfills[i]))
		}
	}
	return fmt.Errorf("the job has no backfill %s", name)
}

// backfillRequest returns what a query says of a backfill.
func (s *server) backfillRequest(c *gin.Context) (r job.BackfillRequest, err error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return r, err
	}
	if r.From, err = timeIn(values, "from"); err != nil {
		return r, err
	}
	if r.Until, err = timeIn(values, "until"); err != nil {
		return r, err
	}
	if r.AtOnce, err = numberIn(values, "atOnce", 1, job.MaxBackfillAtOnce); err != nil {
		return r, err
	}
	if r.Every, err = durationIn(values, "every"); err != nil {
		return r, err
	}
	if r.Name = values.Get("name"); values.Has("name") && r.Name == "" || len(values["name"]) > 1 {
		return r, badQuery("name", fields.Invalid, r.Name, job.AllowedBackfillNames)
	}
	for _, name := range []string{"from", "until"} {
		if !values.Has(name) {
			return r, badQuery(name, fields.Required, nil, odata.AllowedTimes)
		}
	}
	checked := r
	if checked.Name == "" {
		checked.Name = "unnamed"
	}
	if wrong := checked.Check(s.Now()); wrong != "" {
		path, must, _ := strings.Cut(wrong, ": must ")
		return r, badQuery(path, fields.OutOfRange, values.Get(job.NormalizeName(path)), "it must "+must)
	}
	return r, nil
}
