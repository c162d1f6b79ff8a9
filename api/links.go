package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// base returns what absolute URLs of this API start with.
func (s *server) base(r *http.Request) string {
	base := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		base.Scheme = "https"
	}
	if s.publicURL != nil {
		base = *s.publicURL
	}
	return strings.TrimSuffix(base.String(), "/")
}

// nextLink returns the absolute URL of the page that next continues the list
// with after so many entries, or nil: where there is none, and where $top asked
// for no more than these.
func (s *server) nextLink(r *http.Request, q listQuery, next string, entries int) *string {
	if next == "" || q.single && entries >= q.page.Top {
		return nil
	}
	if q.single {
		q.values.Set("$top", strconv.Itoa(q.page.Top-entries))
	}
	q.values.Del("$skip") // which the page before has left out already
	q.values.Set("$skiptoken", next)
	query := strings.ReplaceAll(q.values.Encode(), "%24", "$") // as the parameters are written
	return new(s.base(r) + r.URL.EscapedPath() + "?" + query)
}

// link returns the absolute URL of something within the collection that the
// request is about: on a long or a short path, and with an api-version, as the
// request came.
func (s *server) link(c *gin.Context, kind, name string) string {
	link := s.base(c.Request) + collectionPath(c) + "/" + kind + "/" + url.PathEscape(name)
	if query, err := parseQuery(c.Request.URL.RawQuery); err == nil && query.Has("api-version") {
		link += "?" + url.Values{"api-version": query["api-version"]}.Encode()
	}
	return link
}

// collectionPath returns the part of the request's path that names the
// collection, escaped.
func collectionPath(c *gin.Context) string {
	_, below, _ := strings.Cut(c.FullPath(), collection)
	path := c.Request.URL.EscapedPath()
	for range strings.Count(below, "/") {
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return path
}
