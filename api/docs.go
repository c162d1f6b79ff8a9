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

	"almanac/job/jobfile"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 description of this API, in YAML. It is served at /openapi.yaml.
func OpenAPI() []byte { return slices.Clone(openAPI) }

func (s *server) openAPI(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", openAPI)
	return nil
}

// jobSchema serves the JSON schema of job files, for editors.
func (s *server) jobSchema(c *gin.Context) error {
	c.Data(http.StatusOK, "application/json", jobfile.Schema())
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
	f, ok := pageFiles[name]
	if !ok {
		return s.noRoute(c)
	}
	return f.serve(c.Writer, c.Request)
}

//go:embed docs/index.html docs/index.js docs/login.js
var page embed.FS

// A pageFile is a file of the page that shows the OpenAPI description.
type pageFile struct {
	from        fs.FS
	path        string
	contentType string
}

// pageFiles are the files of the page by their names; "" names the page itself. All are embedded, so it needs no
// internet.
var pageFiles = map[string]pageFile{
	"":                     {page, "docs/index.html", "text/html; charset=utf-8"},
	"index.js":             {page, "docs/index.js", "text/javascript; charset=utf-8"},
	"login.js":             {page, "docs/login.js", "text/javascript; charset=utf-8"},
	"swagger-ui.css":       {swagger.FS, "swagger-ui.css.gz", "text/css; charset=utf-8"},
	"swagger-ui-bundle.js": {swagger.FS, "swagger-ui-bundle.js.gz", "text/javascript; charset=utf-8"},
	"favicon-32x32.png":    {swagger.FS, "favicon-32x32.png", "image/png"},
}

// pagePolicy allows browsers to load only the page's own files, and no inline scripts.
const pagePolicy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// serve answers with the file. A compressed file stays compressed if the client accepts gzip.
func (f pageFile) serve(w http.ResponseWriter, r *http.Request) error {
	file, err := f.from.Open(f.path)
	if err != nil {
		return fmt.Errorf("open a file of the documentation page: %w", err)
	}
	defer file.Close()
	var content io.Reader = file
	header := w.Header()
	if strings.HasSuffix(f.path, ".gz") {
		header.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			header.Set("Content-Encoding", "gzip")
		} else if content, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("unpack a file of the documentation page: %w", err)
		}
	}
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Content-Type", f.contentType)
	_, err = io.Copy(w, content)
	return err
}
