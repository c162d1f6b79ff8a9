package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
)

// base returns the start of absolute URLs of this API.
func (s *server) base(r *http.Request) string {
	base := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		base.Scheme = "https"
	}
	if s.PublicURL != nil {
		base = *s.PublicURL
	}
	return strings.TrimSuffix(base.String(), "/")
}

// link returns the absolute URL of a resource in the request's collection, with that path below it. It has a long or
// a short path, and the api-version, if any, as in the request.
func (s *server) link(c *gin.Context, path ...string) string {
	escaped := []string{s.base(c.Request) + collectionPath(c)}
	for _, name := range path {
		escaped = append(escaped, url.PathEscape(name))
	}
	link := strings.Join(escaped, "/")
	if query, err := odata.ParseQuery(c.Request.URL.RawQuery); err == nil && query.Has("api-version") {
		link += "?" + url.Values{"api-version": query["api-version"]}.Encode()
	}
	return link
}

// collectionPath returns the escaped part of the request's path up to the collection's name.
func collectionPath(c *gin.Context) string {
	_, below, _ := strings.Cut(c.FullPath(), collection)
	path := c.Request.URL.EscapedPath()
	for range strings.Count(below, "/") {
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return path
}
