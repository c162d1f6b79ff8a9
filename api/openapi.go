package api

import (
	_ "embed"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 description of this API, in YAML. It is served at /openapi.yaml.
func OpenAPI() []byte { return slices.Clone(openAPI) }

func (s *server) openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", openAPI)
	return nil
}
