package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/route"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
	"almanac/job/preview"
)

// previewRecurrence answers with the next occurrences of a definition. It stores nothing.
func (s *server) previewRecurrence(c *gin.Context) error {
	scope, err := s.acrossScope(c)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	p, err := input.ParsePreview(body, s.Now())
	if err != nil {
		return err
	}
	result, err := s.previewIn(c.Request.Context(), scope, &p)
	if err != nil {
		return err
	}
	if result.Error != nil {
		answer.Error(c, http.StatusBadRequest, *result.Error)
		return nil
	}
	return answer.JSON(c, http.StatusOK, result)
}

// previewIn returns when a job of a scope would run, by the calendars of the request and then by those that are stored.
// Only a job collection has all that a job may name.
func (s *server) previewIn(ctx context.Context, scope listing.Scope, p *preview.Preview) (preview.Result, error) {
	missing := p.Missing()
	if missing == nil || scope.Collection == "" {
		return p.RunOr("calendars have their names in a job collection: POST this to its path, or give the calendar in \"calendars\""), nil
	}
	k := job.CollectionKey{Subscription: scope.Subscription, ResourceGroup: scope.ResourceGroup, Name: scope.Collection}
	stored, err := s.scheduler.CalendarUses(ctx, k, missing)
	if err != nil {
		return preview.Result{}, err
	}
	uses, err := p.Uses(stored)
	if err != nil {
		return preview.Result{}, err
	}
	return p.RunBy(uses), nil
}

// readRecurrence answers with what a text in English means as a recurrence. It stores nothing.
func (s *server) readRecurrence(c *gin.Context) error {
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	readings, err := input.ParseEnglish(body)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, readings)
}
