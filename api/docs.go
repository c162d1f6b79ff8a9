package api

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/docs"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 description of this API, in YAML. It is served at /openapi.yaml.
func OpenAPI() []byte { return slices.Clone(openAPI) }

func (s *server) openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", openAPI)
	return nil
}

// docs serves a page that shows the OpenAPI description. Its links are relative, since a proxy may serve it
// at any path; so a path with a trailing slash is redirected.
func (s *server) docs(c *gin.Context) error {
	name := strings.TrimPrefix(strings.TrimPrefix(c.Request.URL.Path, documentation), "/")
	sent, _, _ := strings.Cut(c.Request.RequestURI, "?")
	if name == "" && strings.HasSuffix(sent, "/") {
		c.Header("Location", "../docs")
		c.Status(http.StatusPermanentRedirect)
		return nil
	}
	f, ok := docs.Lookup(name)
	if !ok {
		return noRoute(c)
	}
	return f.Serve(c.Writer, c.Request)
}
