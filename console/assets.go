package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets/*.css assets/*.js
var assetFiles embed.FS

//go:embed assets/marks.svg
var marks string

//go:embed pages/*.html
var pageFiles embed.FS

// An asset is a file that pages use.
type asset struct {
	kind       string
	text, gzip []byte
}

// assets returns the files by name, and what changes with them, so that browsers may keep them for ever.
var assets = sync.OnceValues(readAssets)

func readAssets() (map[string]asset, string) {
	all, sum := map[string]asset{}, sha256.New()
	names, _ := fs.Glob(assetFiles, "assets/*") // the pattern is valid
	for _, name := range names {
		text, _ := assetFiles.ReadFile(name) // it is embedded
		sum.Write(text)
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}[path.Ext(name)]
		all[path.Base(name)] = asset{kind, text, gzipped(text)}
	}
	return all, hex.EncodeToString(sum.Sum(nil))[:12]
}

func gzipped(text []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Bytes()
}

// serveAsset serves a file. Another version gets the one that there is, which nothing keeps.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	all, version := assets()
	found, ok := all[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if r.PathValue("version") == version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	text := found.text
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		text = found.gzip
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // the caller may be gone
}

// templates returns the template of each page, with the frame around it.
var templates = sync.OnceValue(readTemplates)

func readTemplates() map[string]*template.Template {
	frame := template.Must(template.New("frame").Funcs(functions).ParseFS(pageFiles, "pages/frame.html", "pages/parts.html"))
	all := map[string]*template.Template{}
	names, _ := fs.Glob(pageFiles, "pages/*.html") // the pattern is valid
	for _, name := range names {
		if base := strings.TrimSuffix(path.Base(name), ".html"); base != "frame" && base != "parts" {
			all[base] = template.Must(template.Must(frame.Clone()).ParseFS(pageFiles, name))
		}
	}
	return all
}

// sprite has the marks once on each page, as symbols.
var sprite = template.HTML(strings.Replace(marks, `<svg xmlns="http://www.w3.org/2000/svg">`, //nolint:gosec // it is embedded
	`<svg class="sprite" aria-hidden="true">`, 1))

// functions are those that templates call.
var functions = template.FuncMap{
	"mark": mark, "sprite": func() template.HTML { return sprite },
	"barKey": barKey, "weekDays": weekDays, "overlaps": overlaps, "onMatches": onMatches, "plans": plans, "collectionStates": collectionStates, "atMosts": atMosts, "methods": methods, "auths": auths, "count": count, "plural": plural, "args": args,
}
