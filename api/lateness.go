package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/lateness"
	"almanac/job/listing"
)

// Reports say how late jobs of a [Scheduler] were.
type Reports interface {
	// Lateness returns how late the executions of a collection's jobs began, or of the one with that name, whose first
	// attempts started in [listing.Filter.Start] of the page. It is read page by page: each page has what those before
	// it have counted, and a continuation unless all was read.
	Lateness(ctx context.Context, k job.CollectionKey, name string, p listing.Page) (r lateness.Report, next string, err error)
}

// Without from, a report covers latenessDefault up to until, which is now by default; it covers latenessMost at most.
const (
	latenessDefault = 24 * time.Hour
	latenessMost    = 60 * 24 * time.Hour
)

func (s *server) collectionLateness(c *gin.Context, k job.CollectionKey) error {
	return s.replyLateness(c, k, "")
}

func (s *server) jobLateness(c *gin.Context, k job.Key) error {
	found, err := s.scheduler.Job(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return s.replyLateness(c, found.Key.Collection, found.Key.Name)
}

func (s *server) replyLateness(c *gin.Context, k job.CollectionKey, name string) error {
	q, err := odata.ParseListQuery(c.Request.URL.RawQuery, nil)
	if err != nil {
		return err
	}
	q.Page.View = guard.View(c)
	if q.Page.Filter.Start, err = s.window(c); err != nil {
		return err
	}
	report, next, err := s.scheduler.Lateness(c.Request.Context(), k, name, q.Page)
	if err != nil {
		return err
	}
	form := resource.NewLateness(k, name, &report)
	form.NextLink = q.NextLink(s.base(c.Request)+c.Request.URL.EscapedPath(), next, 0)
	return answer.JSON(c, http.StatusOK, form)
}

// window returns the time that from and until name.
func (s *server) window(c *gin.Context) (p listing.Period, err error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return p, err
	}
	now := s.Now()
	read := func(name string, otherwise time.Time) (time.Time, error) {
		given := values[name]
		if len(given) == 0 {
			return otherwise, nil
		}
		at, err := odata.ParseTime(given[0])
		if err != nil || len(given) > 1 {
			return at, badQuery(name, fields.Invalid, given[0], "one value, "+odata.AllowedTimes)
		}
		return at, nil
	}
	if p.Before, err = read("until", now); err != nil {
		return p, err
	}
	if p.Before.After(now) {
		p.Before = now
	}
	if p.From, err = read("from", p.Before.Add(-latenessDefault)); err != nil {
		return p, err
	}
	if !p.From.Before(p.Before) || p.Before.Sub(p.From) > latenessMost {
		return p, badQuery("from", fields.OutOfRange, iso8601.NewTime(p.From), fmt.Sprintf("before until, which is %s, by 60 days at most", iso8601.NewTime(p.Before)))
	}
	return p, nil
}
