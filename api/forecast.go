package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/guard"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
)

// Forecasts count what comes due, for a [Scheduler].
type Forecasts interface {
	ForecastAcross(ctx context.Context, s listing.Scope, q listing.ForecastQuery) (listing.Forecast, error)
}

// The bounds of a forecast.
const (
	forecastWindow = 7 * 24 * time.Hour
	forecastAhead  = 366 * 24 * time.Hour // how far from now its window may begin
	forecastSteps  = 3600
	forecastTake   = 100 // occurrences of a definition that is not saved
)

func (s *server) getForecast(c *gin.Context) error {
	scope, q, err := s.forecastQuery(c)
	if err != nil {
		return err
	}
	return s.replyForecast(c, scope, q, nil)
}

// postForecast answers as getForecast does, and for each of the next occurrences of a definition how many others are
// due in its second.
func (s *server) postForecast(c *gin.Context) error {
	scope, q, err := s.forecastQuery(c)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	p, err := input.ParsePreview(body, s.Now())
	if err != nil {
		return err
	}
	if p.Take > forecastTake {
		return &job.Error{
			Kind: job.KindInvalid, Code: "BadRequest", Message: "The preview is not valid",
			Fields: []*job.FieldError{{
				Path: "take", Code: fields.OutOfRange, Value: p.Take, Allowed: fmt.Sprintf("1 to %d", forecastTake),
			}},
		}
	}
	result, err := s.previewIn(c.Request.Context(), scope, &p)
	if err != nil {
		return err
	}
	if result.Error != nil {
		answer.Error(c, http.StatusBadRequest, *result.Error)
		return nil
	}
	q.Times = result.Occurrences
	return s.replyForecast(c, scope, q, &result.Done)
}

// replyForecast answers with a forecast. done is whether no occurrence follows those of a definition; nil if there is
// none.
func (s *server) replyForecast(c *gin.Context, scope listing.Scope, q listing.ForecastQuery, done *bool) error {
	q.View = guard.View(c)
	found, err := s.scheduler.ForecastAcross(c.Request.Context(), scope, q)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, resource.NewForecast(q, found, done))
}

// forecastQuery parses the query of a forecast: an hour from now, by the minute, if it does not say more.
func (s *server) forecastQuery(c *gin.Context) (listing.Scope, listing.ForecastQuery, error) {
	var q listing.ForecastQuery
	scope, err := s.acrossScope(c)
	if err != nil {
		return scope, q, err
	}
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return scope, q, err
	}
	now := s.Now().UTC().Truncate(time.Second)
	var bad fields.Errors
	q.From = oneTime(values, "from", now, &bad).Truncate(time.Second)
	q.Until = oneTime(values, "until", q.From.Add(time.Hour), &bad).Truncate(time.Second)
	q.Step = oneStep(values, &bad)
	q.Host = job.NormalizeName(oneValue(values, "host", &bad))
	if strings.ContainsFunc(q.Host, fields.IsBlankOrControl) || strings.ContainsAny(q.Host, "/?#@") {
		bad.Add(&job.FieldError{
			Path: "host", Code: fields.Invalid, Value: q.Host,
			Allowed: "a host as jobs have it, such as api.example.com or api.example.com:8443, without a scheme or a path",
		})
	}
	if name := oneValue(values, "except", &bad); name != "" {
		k := job.CollectionKey{Subscription: scope.Subscription, ResourceGroup: scope.ResourceGroup, Name: scope.Collection}
		q.Except = k.Job(name)
		if scope.Collection == "" || q.Except.Validate() != nil {
			bad.Add(&job.FieldError{
				Path: "except", Code: fields.Invalid, Value: name,
				Allowed: "the name of a job, for a forecast of its job collection",
			})
		}
	}
	if len(bad.List) == 0 {
		checkWindow(&q, now, &bad)
	}
	return scope, q, route.BadRequest("The query is not valid", &bad)
}

// checkWindow reports what is wrong with the window of a forecast.
func checkWindow(q *listing.ForecastQuery, now time.Time, bad *fields.Errors) {
	out := func(path string, value any, allowed string) {
		bad.Add(&job.FieldError{Path: path, Code: fields.OutOfRange, Value: value, Allowed: allowed})
	}
	earliest, latest := now.Add(-time.Hour), now.Add(forecastAhead)
	switch most := q.From.Add(forecastWindow); {
	case q.From.Before(earliest) || q.From.After(latest):
		out("from", job.NewTime(q.From).String(),
			fmt.Sprintf("an hour ago to 366 days from now, %s", iso8601.NewTime(latest)))
	case !q.Until.After(q.From) || q.Until.After(most):
		out("until", job.NewTime(q.Until).String(),
			fmt.Sprintf("after from and at most 7 days after it, %s", iso8601.NewTime(most)))
	case q.Until.Sub(q.From) > forecastSteps*q.Step:
		out("step", iso8601.FormatDuration(q.Step), fmt.Sprintf("at most %d steps from from to until", forecastSteps))
	}
}

// oneValue returns the value of a parameter that may be there once; "" if it is not there.
func oneValue(values url.Values, name string, bad *fields.Errors) string {
	given := values[name]
	if len(given) == 0 {
		return ""
	}
	if len(given) > 1 || given[0] == "" {
		bad.Add(&job.FieldError{Path: name, Code: fields.Invalid, Value: given[0], Allowed: "one value"})
	}
	return given[0]
}

// oneTime is oneValue for a time.
func oneTime(values url.Values, name string, otherwise time.Time, bad *fields.Errors) time.Time {
	given := values[name]
	if len(given) == 0 {
		return otherwise
	}
	t, err := odata.ParseTime(given[0])
	if err != nil || len(given) > 1 {
		bad.Add(&job.FieldError{
			Path: name, Code: fields.Invalid, Value: given[0], Allowed: "one value, " + odata.AllowedTimes,
		})
	}
	return t.UTC()
}

// oneStep is oneValue for the step.
func oneStep(values url.Values, bad *fields.Errors) time.Duration {
	given := values["step"]
	if len(given) == 0 {
		return time.Minute
	}
	step, err := iso8601.ParseDuration(given[0])
	if err != nil || len(given) > 1 || step < time.Second || step > 24*time.Hour || step%time.Second != 0 {
		bad.Add(&job.FieldError{
			Path: "step", Code: fields.Invalid, Value: given[0], Allowed: "whole seconds, from PT1S to P1D",
		})
		return time.Minute
	}
	return step
}
