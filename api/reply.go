package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

const contentType = "application/json; charset=utf-8"

// reply answers with compact JSON. Characters with a meaning in HTML (<, > and &) are not escaped, so URIs
// are shown as they were sent.
func reply(c *gin.Context, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	c.Data(status, contentType, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return nil
}

// replyEmpty answers 200 without a body, or returns err.
func replyEmpty(c *gin.Context, err error) error {
	if err == nil {
		c.Status(http.StatusOK)
	}
	return err
}

// replyOrFail answers with a resource in the given shape, or returns err.
func replyOrFail[T, R any](c *gin.Context, status int, shape func(T) R, resource T, err error) error {
	if err != nil {
		return err
	}
	return reply(c, status, shape(resource))
}

// putStatus returns the status of a PUT: 201 or 200.
func putStatus(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// An errorEnvelope is the body of every error.
type errorEnvelope struct {
	Error job.ErrorBody `json:"error"`
}
