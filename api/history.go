package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/job"
	"almanac/job/listing"
)

// Histories are what happened to the jobs of a [Scheduler], and what comes next.
type Histories interface {
	// History returns a page of a job's history, newest first, and its continuation, as [Collections] does.
	History(ctx context.Context, k job.Key, p listing.Page) (records []job.Record, next string, err error)
	// HistoryAcross and Upcoming return a page of the histories of all jobs of a scope, newest first, and of their
	// occurrences after now up to until, by due time. They ignore Skip. Entries that could not be read come first.
	HistoryAcross(
		ctx context.Context, s listing.Scope, p listing.Page,
	) (records []listing.JobRecord, next string, err error)
	Upcoming(
		ctx context.Context, s listing.Scope, until time.Time, p listing.Page,
	) (due []listing.Occurrence, next string, err error)
}

func (s *server) listHistory(c *gin.Context, k job.Key) error {
	read := func(ctx context.Context, p listing.Page) ([]job.Record, string, error) {
		found, err := s.scheduler.Job(ctx, k)
		if err != nil {
			return nil, "", err
		}
		k = found.Key // with the names as they were first written
		return s.scheduler.History(ctx, k, p)
	}
	shown := s.shown(c)
	return replyPage(s, c, odata.HistoryFilter, read, func(r job.Record) resource.History { return shown.History(k, r) })
}
