package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// base returns the start of absolute URLs of this API.
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

// nextLink returns the absolute URL of the next page. next is its continuation, entries the length of this
// page. It returns nil if no page follows, or if this page has as many entries as $top asks for.
func (s *server) nextLink(r *http.Request, q listQuery, next string, entries int) *string {
	if next == "" || q.single && entries >= q.page.Top {
		return nil
	}
	if q.single {
		q.values.Set("$top", strconv.Itoa(q.page.Top-entries))
	}
	q.values.Del("$skip") // the previous page has applied it
	q.values.Set("$skiptoken", next)
	query := strings.ReplaceAll(q.values.Encode(), "%24", "$") // as the service writes its parameters
	return new(s.base(r) + r.URL.EscapedPath() + "?" + query)
}

// link returns the absolute URL of a resource in the request's collection. It has a long or a short path,
// and the api-version, if any, as in the request.
func (s *server) link(c *gin.Context, kind, name string) string {
	link := s.base(c.Request) + collectionPath(c) + "/" + kind + "/" + url.PathEscape(name)
	if query, err := parseQuery(c.Request.URL.RawQuery); err == nil && query.Has("api-version") {
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
