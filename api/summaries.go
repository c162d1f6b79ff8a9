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

// Summaries are lists of thousands of jobs, of a [Scheduler].
type Summaries interface {
	// Summaries returns a page of the jobs of a scope, with what lists search and sort by.
	Summaries(ctx context.Context, s listing.Scope, q listing.SummaryQuery) (listing.Summaries, error)
}

// A summaryList is a page of summaries, and what is in the whole list.
type summaryList struct {
	list[any]
	AsOf     *job.Time       `json:"asOf"`
	Total    int             `json:"total"`
	Matching int             `json:"matching"`
	Counts   resource.Counts `json:"counts"`
}

func (s *server) listSummaries(c *gin.Context) error {
	scope, err := s.acrossScope(c)
	if err != nil {
		return err
	}
	query, q, err := odata.ParseSummaryQuery(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	q.View = guard.View(c)
	found, err := s.scheduler.Summaries(c.Request.Context(), scope, q)
	if err != nil {
		return err
	}
	next := query.NextLink(s.base(c.Request)+c.Request.URL.EscapedPath(), found.Next, len(found.Page))
	page := summaryList{
		list: list[any]{Value: make([]any, len(found.Page)), NextLink: next},
		AsOf: job.NewTime(found.AsOf), Total: found.Total, Matching: found.Matching,
		Counts: resource.NewCounts(found.Counts),
	}
	for i, item := range found.Page {
		page.Value[i] = resource.SummaryEntry(item)
	}
	return answer.JSON(c, http.StatusOK, page)
}
