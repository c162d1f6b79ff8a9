// Package answer forms what the REST API answers: JSON, errors, and the headers that every answer has.
package answer

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"almanac/job"
)

const (
	headerRequestID     = "X-Ms-Request-Id"
	headerCorrelationID = "X-Ms-Correlation-Request-Id"
	headerRoutingID     = "X-Ms-Routing-Request-Id" // region:time:correlation
	headerClientID      = "X-Ms-Client-Request-Id"
	headerReturnID      = "X-Ms-Return-Client-Request-Id"
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
	id := c.GetHeader(headerClientID)
	printable := len(id) <= maxClientID && !strings.ContainsFunc(id, notPrintable)
	if printable && strings.EqualFold(c.GetHeader(headerReturnID), "true") {
		c.Header(headerClientID, id)
	}
	c.Header("Cache-Control", "no-store")
	c.Header("Pragma", "no-cache")
	c.Header("Expires", "-1")
	c.Header("X-Content-Type-Options", "nosniff")
}

// maxClientID is the length of the longest ID of a client that is returned.
const maxClientID = 128

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// RequestID returns the ID of a request, which [Identify] has given it.
func RequestID(c *gin.Context) string { return c.Writer.Header().Get(headerRequestID) }

// CorrelationID returns the ID that the caller or [Identify] has given to a request and others that belong to it.
func CorrelationID(c *gin.Context) string { return c.Writer.Header().Get(headerCorrelationID) }

// LogID returns the log attribute with the ID of a request.
func LogID(c *gin.Context) slog.Attr { return slog.String("request", RequestID(c)) }

const contentType = "application/json; charset=utf-8"

// Encode returns compact JSON. Characters with a meaning in HTML (<, > and &) are not escaped, so URIs
// are shown as they were sent.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Body answers with what [Encode] returned.
func Body(c *gin.Context, status int, body []byte) { c.Data(status, contentType, body) }

// JSON answers with a value as [Encode] returns it.
func JSON(c *gin.Context, status int, v any) error {
	body, err := Encode(v)
	if err == nil {
		Body(c, status, body)
	}
	return err
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
