package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/route"
	"almanac/internal/build"
)

// Readiness says whether jobs can be stored and run.
type Readiness interface {
	// Ready returns nil, or an error that says what is missing. Its text is shown to every caller.
	Ready(ctx context.Context) error
}

// readyTimeout is the limit for an answer to /readyz. It is short because probes do not wait long.
const readyTimeout = 5 * time.Second

// An indexBody lists the paths of the API.
type indexBody struct {
	Service   string   `json:"service"`
	Version   string   `json:"version,omitempty"`
	Resources []string `json:"resources"`
	Preview   string   `json:"preview"`
	OpenAPI   string   `json:"openapi"`
	Docs      string   `json:"docs"`
	Health    string   `json:"health"`
	Readiness string   `json:"readiness"`
}

func (s *server) index(c *gin.Context) error {
	return answer.JSON(c, http.StatusOK, indexBody{
		Service: "Almanac",
		Version: s.Build.Version,
		Resources: []string{
			collections,
			"/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}" + provider + collections +
				"?api-version=" + route.Versions[0],
		},
		Preview:   previewPath,
		OpenAPI:   description,
		Docs:      documentation,
		Health:    route.Health,
		Readiness: route.Ready,
	})
}

// A healthBody is the answer to a probe.
type healthBody struct {
	Status  string      `json:"status"`
	Missing string      `json:"missing,omitempty"`
	Problem string      `json:"problem,omitempty"`
	Build   *build.Info `json:"build,omitempty"`
}

// healthz answers 200 as long as the process runs, whether or not Temporal answers, and says what it was
// built from.
func (s *server) healthz(c *gin.Context) error {
	return answer.JSON(c, http.StatusOK, healthBody{Status: "alive", Build: &s.Build})
}

// metrics answers a scrape of Prometheus.
func (s *server) metrics(c *gin.Context) error {
	if s.Metrics == nil {
		return s.noRoute(c)
	}
	s.Metrics.ServeHTTP(c.Writer, c.Request)
	return nil
}

// readyz answers 200 if jobs can be stored and run, and 503 with what is missing if not.
func (s *server) readyz(c *gin.Context) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := s.scheduler.Ready(ctx); err != nil {
		c.Header("Retry-After", answer.RetryAfter)
		return answer.JSON(
			c, http.StatusServiceUnavailable, healthBody{Status: "not ready", Missing: err.Error(), Problem: s.problem()},
		)
	}
	return answer.JSON(c, http.StatusOK, healthBody{Status: "ready", Problem: s.problem()})
}

// problem returns what is wrong although jobs can be stored and run; "" if nothing is.
func (s *server) problem() string {
	if s.Problems == nil {
		return ""
	}
	return strings.Join(s.Problems(), "; ")
}
