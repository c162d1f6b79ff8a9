package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/route"
	"almanac/internal/redact"
)

// parameters are the names in route templates, as callers know them.
var parameters = strings.NewReplacer(":jc", "{collection}", ":job", "{job}", ":id", "{id}", ":file", "{file}")

// observe measures every request.
func (s *server) observe(c *gin.Context) {
	if s.Observe == nil {
		return
	}
	end := s.Observe(c.Request, parameters.Replace(route.Below(c.FullPath())))
	c.Next()
	end(c.Writer.Status())
}

// trace begins the span of a request that is not refused at the door.
func (s *server) trace(c *gin.Context) {
	if s.Trace == nil {
		return
	}
	known := s.Access == nil || access.PrincipalOf(c.Request.Context()) != nil
	ctx, end := s.Trace(c.Request, parameters.Replace(route.Below(c.FullPath())), known)
	c.Request = c.Request.WithContext(ctx)
	c.Next()
	end(c.Writer.Status())
}

// Limits of what is logged of a request, in bytes.
const (
	maxLoggedPath   = 512
	maxLoggedMethod = 20
)

// logAccess logs every request, at level debug for probes, and for 429 if there are more than some a second. It
// leaves out the query, which may hold secrets sent by mistake.
func (s *server) logAccess(c *gin.Context) {
	start := time.Now()
	c.Next()
	level := slog.LevelInfo
	if route.IsProbe(c.FullPath()) || c.Writer.Status() == http.StatusTooManyRequests && !s.tooMany.Allow() {
		level = slog.LevelDebug
	}
	s.Log.LogAttrs(c.Request.Context(), level, "request answered",
		slog.String("method", redact.Cut(c.Request.Method, maxLoggedMethod)),
		slog.String("path", redact.Cut(c.Request.URL.Path, maxLoggedPath)),
		slog.Int("status", c.Writer.Status()), slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.Duration("took", time.Since(start)), slog.String("client", c.ClientIP()), answer.LogID(c), principal(c))
}

// principal returns the log attribute with who sent the request; an empty one, which is not logged, if nothing asked.
func principal(c *gin.Context) slog.Attr {
	if who := access.PrincipalOf(c.Request.Context()); who != nil {
		return slog.String("principal", who.ID())
	}
	return slog.Attr{}
}

// limitTime gives the request a deadline.
func (s *server) limitTime(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.Timeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}
