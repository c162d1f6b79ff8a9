package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
	"almanac/job/preview"
	daysoff "almanac/recurrence/calendars"
)

// previewChange answers with what a PUT of the body would do to the next runs of a job, and with how many others of the
// subscription are due with each. It stores nothing.
func (s *server) previewChange(c *gin.Context, k job.Key) error {
	take, err := takeOf(c)
	if err != nil {
		return err
	}
	compared, err := othersOf(c)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	current, err := s.scheduler.Job(ctx, k)
	if err != nil {
		return err
	}
	o := s.optionsFor(c, k, &current)
	o.CheckTarget = nil // nothing is stored or sent
	changed, err := input.ParseDefinition(body, o)
	if err != nil {
		return err
	}
	changed.KeepLocal(&current.Definition)
	changed.KeepOwner(&current.Definition)
	change := preview.Change{Job: current, New: changed, Now: s.Now(), Take: take}
	for _, side := range []struct {
		uses *[]daysoff.Use
		of   *job.Definition
	}{{&change.WasUses, &current.Definition}, {&change.Uses, &changed}} {
		if *side.uses, err = s.scheduler.CalendarUses(ctx, k.Collection, side.of.Recurrence); err != nil {
			return err
		}
	}
	diff, err := change.Run()
	if err != nil {
		return err
	}
	q := listing.ForecastQuery{From: change.Now, Until: change.Now, Step: 1, View: s.viewOf(c), Except: current.Key}
	for _, r := range diff.Runs {
		if !r.WillBe.IsZero() && len(q.Times) < compared {
			q.Times = append(q.Times, r.WillBe)
		}
	}
	var others listing.Forecast
	if len(q.Times) > 0 {
		others = s.others(ctx, k.Collection, q)
	}
	return answer.JSON(c, http.StatusOK, resource.NewDiff(diff, others))
}

// others returns how many others are due: in the subscription or, if that has too many jobs for a forecast, in the job
// collection. The zero forecast, which has no times, means that it is not known.
func (s *server) others(ctx context.Context, k job.CollectionKey, q listing.ForecastQuery) listing.Forecast {
	scope := listing.Scope{Subscription: k.Subscription}
	found, err := s.scheduler.ForecastAcross(ctx, scope, q)
	if job.KindOf(err) == job.KindInvalid {
		scope.ResourceGroup, scope.Collection = k.ResourceGroup, k.Name
		found, err = s.scheduler.ForecastAcross(ctx, scope, q)
	}
	if err != nil {
		s.Log.WarnContext(ctx, "a preview of a change lacks the other jobs that are due", slog.Any("error", err))
		return listing.Forecast{}
	}
	return found
}

// The bounds of take, and its default.
const takeMost, takeDefault = 50, 10

// takeOf returns how many runs of each definition are compared.
func takeOf(c *gin.Context) (int, error) { return countIn(c, "take", 1, takeDefault) }

// othersOf returns how many of the runs are compared with other jobs: all, unless the query says it.
func othersOf(c *gin.Context) (int, error) { return countIn(c, "others", 0, takeMost) }

// countIn returns a parameter of the query that is a number of runs.
func countIn(c *gin.Context, name string, least, unless int) (int, error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return 0, err
	}
	given := values[name]
	if len(given) == 0 {
		return unless, nil
	}
	n, err := strconv.Atoi(given[0])
	if err != nil || len(given) > 1 || n < least || n > takeMost {
		return 0, badQuery(name, fields.OutOfRange, given[0], fmt.Sprintf("%d to %d", least, takeMost))
	}
	return n, nil
}

// viewOf returns what the caller of a request may see anywhere; nil for everything.
func (s *server) viewOf(c *gin.Context) listing.View {
	who := access.PrincipalOf(c.Request.Context())
	if s.Access == nil || s.Access.Policy == nil || who == nil {
		return nil
	}
	return s.Access.Policy().For(who)
}
