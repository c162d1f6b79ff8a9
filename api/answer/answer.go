// Package answer forms what the REST API answers: JSON, errors, and the headers that every answer has.
package answer

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"almanac/job"
)

const (
	headerRequestID     = "X-Ms-Request-Id"
	headerCorrelationID = "X-Ms-Correlation-Request-Id"
	headerRoutingID     = "X-Ms-Routing-Request-Id" // region:time:correlation
)

// Identify is a handler that sets the headers that all answers have.
func Identify(c *gin.Context) {
	correlation := c.GetHeader(headerCorrelationID)
	if len(correlation) != len(uuid.Nil.String()) || uuid.Validate(correlation) != nil {
		correlation = uuid.NewString()
	}
	c.Header(headerRequestID, uuid.NewString())
	c.Header(headerCorrelationID, correlation)
	c.Header(headerRoutingID, "ALMANAC:"+time.Now().UTC().Format("20060102T150405Z")+":"+correlation)
	c.Header("Cache-Control", "no-store")
	c.Header("Pragma", "no-cache")
	c.Header("Expires", "-1")
	c.Header("X-Content-Type-Options", "nosniff")
}

// RequestID returns the ID of a request, which [Identify] has given it.
func RequestID(c *gin.Context) string { return c.Writer.Header().Get(headerRequestID) }

// CorrelationID returns the ID that the caller or [Identify] has given to a request and others that belong to it.
func CorrelationID(c *gin.Context) string { return c.Writer.Header().Get(headerCorrelationID) }

// LogID returns the log attribute with the ID of a request.
func LogID(c *gin.Context) slog.Attr { return slog.String("request", RequestID(c)) }

const contentType = "application/json; charset=utf-8"

// JSON answers with compact JSON. Characters with a meaning in HTML (<, > and &) are not escaped, so URIs
// are shown as they were sent.
func JSON(c *gin.Context, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	c.Data(status, contentType, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return nil
}

// An Envelope is the body of every error.
type Envelope struct {
	Error job.ErrorBody `json:"error"`
}

const codeKey = "almanac.code" // in a gin.Context

// Error answers with an error, and ends the request.
func Error(c *gin.Context, status int, body job.ErrorBody) {
	c.Abort()
	c.Set(codeKey, body.Code)
	_ = JSON(c, status, Envelope{body})
}

// Code returns the code of the error that [Error] answered with; "" if it did not.
func Code(c *gin.Context) string { return c.GetString(codeKey) }
