package api

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/listing"
)

// acrossScope returns what a list across jobs covers: the collection in the path if it has one, and otherwise the
// resource group or the subscription, as for a list of collections.
func (s *server) acrossScope(c *gin.Context) (listing.Scope, error) {
	subscription, group := s.paths.Group(c)
	k := job.CollectionKey{Subscription: subscription, ResourceGroup: group, Name: "any"}
	if route.Has(c, "jc") {
		k.Name = route.Name(c, "jc")
		return listing.Scope{Subscription: subscription, ResourceGroup: group, Collection: k.Name}, k.Validate()
	}
	if !route.Has(c, "rg") {
		k.ResourceGroup = cmp.Or(group, "any")
	}
	return listing.Scope{Subscription: subscription, ResourceGroup: group}, k.Validate()
}

func (s *server) listHistoryAcross(c *gin.Context) error {
	scope, err := s.acrossScope(c)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, p listing.Page) ([]listing.JobRecord, string, error) {
		return s.scheduler.HistoryAcross(ctx, scope, p)
	}
	return replyPage(s, c, odata.HistoryAcrossFilter, read, s.shown(c).HistoryEntry)
}

// Without until, a list of occurrences covers upcomingDefault from now; with it, upcomingMost at most.
const (
	upcomingDefault = time.Hour
	upcomingMost    = 7 * 24 * time.Hour
)

func (s *server) listUpcoming(c *gin.Context) error {
	scope, err := s.acrossScope(c)
	if err != nil {
		return err
	}
	until, err := s.until(c)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, p listing.Page) ([]listing.Occurrence, string, error) {
		return s.scheduler.Upcoming(ctx, scope, until, p)
	}
	return replyPage(s, c, odata.UpcomingFilter, read, resource.UpcomingEntry)
}

// until returns the end of a list of occurrences. It is not checked against the present on a page after the first.
func (s *server) until(c *gin.Context) (time.Time, error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return time.Time{}, err
	}
	now := s.Now()
	given := values["until"]
	if len(given) == 0 {
		return now.Add(upcomingDefault), nil
	}
	until, err := odata.ParseTime(given[0])
	switch most := now.Add(upcomingMost); {
	case err != nil || len(given) > 1:
		return until, badQuery("until", fields.Invalid, given[0], "one value, "+odata.AllowedTimes)
	case until.After(most) || until.Before(now) && !values.Has("$skiptoken"):
		return until, badQuery("until", fields.OutOfRange, given[0],
			fmt.Sprintf("from now to 7 days from now, %s", iso8601.NewTime(most)))
	}
	return until, nil
}

func badQuery(parameter string, code fields.Code, value any, allowed string) error {
	return &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid",
		Fields: []*job.FieldError{{Path: parameter, Code: code, Value: value, Allowed: allowed}},
	}
}
