package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/job"
	"almanac/job/listing"
)

func (s *server) listHistory(c *gin.Context, k job.Key) error {
	read := func(ctx context.Context, p listing.Page) ([]job.Record, string, error) {
		found, err := s.scheduler.Job(ctx, k)
		if err != nil {
			return nil, "", err
		}
		k = found.Key // with the names as they were first written
		return s.scheduler.History(ctx, k, p)
	}
	return replyPage(s, c, odata.HistoryFilter, read, func(r job.Record) resource.History { return resource.NewHistory(k, r) })
}
