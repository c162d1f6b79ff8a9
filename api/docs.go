package api

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	swagger "github.com/swaggest/swgui/v5/static"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 description of this API, in YAML. It is served at /openapi.yaml.
func OpenAPI() []byte { return slices.Clone(openAPI) }

func (s *server) openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", openAPI)
	return nil
}

//go:embed docs
var page embed.FS

// A docsFile is a file of the documentation page.
type docsFile struct {
	from        fs.FS
	path        string
	contentType string
}

// docsFiles are the files of the page by their names below /docs. All are embedded, so the page needs no
// internet.
var docsFiles = map[string]docsFile{
	"":                     {page, "docs/index.html", "text/html; charset=utf-8"},
	"index.js":             {page, "docs/index.js", "text/javascript; charset=utf-8"},
	"swagger-ui.css":       {swagger.FS, "swagger-ui.css.gz", "text/css; charset=utf-8"},
	"swagger-ui-bundle.js": {swagger.FS, "swagger-ui-bundle.js.gz", "text/javascript; charset=utf-8"},
	"favicon-32x32.png":    {swagger.FS, "favicon-32x32.png", "image/png"},
}

// docsPolicy allows browsers to load only the page's own files, and no inline scripts.
const docsPolicy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

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
	f, ok := docsFiles[name]
	if !ok {
		return noRoute(c)
	}
	return f.serve(c)
}

// serve answers with the file. A compressed file stays compressed if the client accepts gzip.
func (f docsFile) serve(c *gin.Context) error {
	file, err := f.from.Open(f.path)
	if err != nil {
		return fmt.Errorf("opening a part of the documentation page: %w", err)
	}
	defer file.Close()
	var content io.Reader = file
	if strings.HasSuffix(f.path, ".gz") {
		c.Header("Vary", "Accept-Encoding")
		if strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
			c.Header("Content-Encoding", "gzip")
		} else if content, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("unpacking a part of the documentation page: %w", err)
		}
	}
	c.Header("Cache-Control", "no-cache")
	c.Header("Content-Security-Policy", docsPolicy)
	c.Header("Content-Type", f.contentType)
	_, err = io.Copy(c.Writer, content)
	return err
}
