package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job/input"
)

// previewRecurrence answers with the next occurrences of a definition. It stores nothing.
func (s *server) previewRecurrence(c *gin.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	p, err := input.ParsePreview(body, s.Now())
	if err != nil {
		return err
	}
	result := p.Run()
	if result.Error != nil {
		return reply(c, http.StatusBadRequest, errorEnvelope{*result.Error})
	}
	return reply(c, http.StatusOK, result)
}
