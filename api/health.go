package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// readyTimeout is short: whoever probes does not wait long either.
const readyTimeout = 5 * time.Second

// An indexBody tells where things are.
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
	return reply(c, http.StatusOK, indexBody{
		Service: "Almanac",
		Version: s.version,
		Resources: []string{
			collections,
			"/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}" + provider + collections + "?api-version=" + supportedVersions[0],
		},
		Preview:   preview,
		OpenAPI:   description,
		Docs:      documentation,
		Health:    "/healthz",
		Readiness: "/readyz",
	})
}

// A healthBody answers a probe.
type healthBody struct {
	Status  string `json:"status"`
	Missing string `json:"missing,omitempty"`
}

// healthz says that the process is alive, whatever it depends on.
func (s *server) healthz(c *gin.Context) error {
	return reply(c, http.StatusOK, healthBody{Status: "alive"})
}

// readyz says whether jobs can be kept and run.
func (s *server) readyz(c *gin.Context) error {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := s.scheduler.Ready(ctx); err != nil {
		c.Header("Retry-After", retryAfter)
		return reply(c, http.StatusServiceUnavailable, healthBody{Status: "not ready", Missing: err.Error()})
	}
	return reply(c, http.StatusOK, healthBody{Status: "ready"})
}
