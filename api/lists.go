package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/api/odata"
	"almanac/job/listing"
)

// A list is one page of a list. Value must not be nil.
type list[T any] struct {
	Value    []T     `json:"value"`
	NextLink *string `json:"nextLink"`
}

// replyPage answers with the page that the query asks for. filter is nil for a list without filters. read
// returns the page's items and its continuation, shape the form of an item.
func replyPage[I, T any](
	s *server, c *gin.Context, filter *odata.Filter, read func(context.Context, listing.Page) ([]I, string, error),
	shape func(I) T,
) error {
	q, err := odata.ParseListQuery(c.Request.URL.RawQuery, filter)
	if err != nil {
		return err
	}
	q.Page.View = guard.View(c)
	items, next, err := read(c.Request.Context(), q.Page)
	if err != nil {
		return err
	}
	page := list[T]{
		Value: make([]T, len(items)), NextLink: q.NextLink(s.base(c.Request)+c.Request.URL.EscapedPath(), next, len(items)),
	}
	for i, item := range items {
		page.Value[i] = shape(item)
	}
	return answer.JSON(c, http.StatusOK, page)
}
