// Package docs has the page that shows the OpenAPI description of the API. All of its files are embedded, so it needs no
// internet.
package docs

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	swagger "github.com/swaggest/swgui/v5/static"
)

//go:embed index.html index.js login.js
var page embed.FS

// A File is a file of the page.
type File struct {
	from        fs.FS
	path        string
	contentType string
}

// files are the files of the page by their names.
var files = map[string]File{
	"":                     {page, "index.html", "text/html; charset=utf-8"},
	"index.js":             {page, "index.js", "text/javascript; charset=utf-8"},
	"login.js":             {page, "login.js", "text/javascript; charset=utf-8"},
	"swagger-ui.css":       {swagger.FS, "swagger-ui.css.gz", "text/css; charset=utf-8"},
	"swagger-ui-bundle.js": {swagger.FS, "swagger-ui-bundle.js.gz", "text/javascript; charset=utf-8"},
	"favicon-32x32.png":    {swagger.FS, "favicon-32x32.png", "image/png"},
}

// Lookup returns the file of that name; "" names the page itself.
func Lookup(name string) (f File, ok bool) {
	f, ok = files[name]
	return f, ok
}

// policy allows browsers to load only the page's own files, and no inline scripts.
const policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Serve answers with the file. A compressed file stays compressed if the client accepts gzip.
func (f File) Serve(w http.ResponseWriter, r *http.Request) error {
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
	header.Set("Content-Security-Policy", policy)
	header.Set("Content-Type", f.contentType)
	_, err = io.Copy(w, content)
	return err
}
