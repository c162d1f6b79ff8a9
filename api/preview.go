package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/route"
	"almanac/job/input"
)

// previewRecurrence answers with the next occurrences of a definition. It stores nothing.
func (s *server) previewRecurrence(c *gin.Context) error {
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	p, err := input.ParsePreview(body, s.Now())
	if err != nil {
		return err
	}
	result := p.Run()
	if result.Error != nil {
		answer.Error(c, http.StatusBadRequest, *result.Error)
		return nil
	}
	return answer.JSON(c, http.StatusOK, result)
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
