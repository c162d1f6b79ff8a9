package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/job"
	"almanac/job/listing"
)

// Digests tell whether jobs are as somebody has them, for a [Scheduler].
type Digests interface {
	Digests(ctx context.Context, k job.CollectionKey, p listing.Page) (listing.Digests, error)
}

// A digestList is a page of digests.
type digestList struct {
	list[resource.Digest]
	AsOf *job.Time `json:"asOf"`
}

func (s *server) listDigests(c *gin.Context, k job.CollectionKey) error {
	query, err := odata.ParseListQuery(c.Request.URL.RawQuery, nil)
	if err != nil {
		return err
	}
	p := query.Page
	p.Top, p.View = listing.MaxDigests, guard.View(c)
	found, err := s.scheduler.Digests(c.Request.Context(), k, p)
	if err != nil {
		return err
	}
	next := query.NextLink(s.base(c.Request)+c.Request.URL.EscapedPath(), found.Next, len(found.Page))
	page := digestList{
		list: list[resource.Digest]{Value: make([]resource.Digest, len(found.Page)), NextLink: next},
		AsOf: job.NewTime(found.AsOf),
	}
	for i, d := range found.Page {
		page.Value[i] = resource.NewDigest(d)
	}
	return answer.JSON(c, http.StatusOK, page)
}
