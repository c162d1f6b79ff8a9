package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/resource"
	"almanac/api/route"
	"almanac/job"
	"almanac/job/input"
	"almanac/job/listing"
	"almanac/job/preview"
	daysoff "almanac/recurrence/calendars"
)

// Calendars are those of a [Scheduler]. A scope is a collection, or a subscription if it has no other name.
type Calendars interface {
	// CalendarUses reads the calendars that a recurrence of a job in a collection names; nil if it names none.
	CalendarUses(ctx context.Context, k job.CollectionKey, r *job.Recurrence) ([]daysoff.Use, error)
	// Calendars returns a page of calendars, by name and without their days, and its continuation.
	Calendars(
		ctx context.Context, scope job.CollectionKey, p listing.Page,
	) (found []job.KeptCalendar, next string, err error)
	Calendar(ctx context.Context, k job.CalendarKey) (job.KeptCalendar, error)
	// PutCalendar creates or replaces a calendar. check is as for [Collections.PutCollection].
	PutCalendar(
		ctx context.Context, k job.CalendarKey, c job.Calendar, check func(current *job.KeptCalendar) error,
	) (stored job.KeptCalendar, created bool, err error)
	// CalendarUsage returns a page of the jobs that use a calendar, with what it makes of their next runs, and its
	// continuation.
	CalendarUsage(ctx context.Context, k job.CalendarKey, p listing.Page) (found []preview.Usage, next string, err error)
	// DeleteCalendar deletes a calendar.
	DeleteCalendar(ctx context.Context, k job.CalendarKey, check func(current *job.KeptCalendar) error) error
}

func (s *server) listCalendars(c *gin.Context, scope job.CollectionKey) error {
	read := func(ctx context.Context, p listing.Page) ([]job.KeptCalendar, string, error) {
		return s.scheduler.Calendars(ctx, scope, p)
	}
	return replyPage(s, c, nil, read, resource.CalendarEntry(s.Now()))
}

func (s *server) getCalendar(c *gin.Context, k job.CalendarKey) error {
	found, err := s.scheduler.Calendar(c.Request.Context(), k)
	if err != nil {
		return err
	}
	return answer.Tagged(c, found.Generation, resource.NewCalendar(found, s.Now()))
}

func (s *server) listCalendarUsage(c *gin.Context, k job.CalendarKey) error {
	read := func(ctx context.Context, p listing.Page) ([]preview.Usage, string, error) {
		return s.scheduler.CalendarUsage(ctx, k, p)
	}
	return replyPage(s, c, nil, read, resource.CalendarUsage)
}

func (s *server) putCalendar(c *gin.Context, k job.CalendarKey) error {
	check, err := calendarCheck(c)
	if err != nil {
		return err
	}
	body, err := route.ReadBody(c)
	if err != nil {
		return err
	}
	sent, err := input.ParseCalendar(body)
	if err != nil {
		return err
	}
	stored, created, err := s.scheduler.PutCalendar(c.Request.Context(), k, sent, check)
	if err != nil {
		return err
	}
	return answer.Changed(c, putStatus(created), stored.Generation, resource.NewCalendar(stored, s.Now()))
}

func (s *server) deleteCalendar(c *gin.Context, k job.CalendarKey) error {
	check, err := calendarCheck(c)
	if err != nil {
		return err
	}
	return replyEmpty(c, s.scheduler.DeleteCalendar(c.Request.Context(), k, check))
}

// calendarCheck returns the check of the request's preconditions; nil if it has none.
func calendarCheck(c *gin.Context) (func(*job.KeptCalendar) error, error) {
	p, err := answer.PreconditionsOf(c.Request.Header)
	if err != nil || !p.Given() {
		return nil, err
	}
	return p.AllowCalendar, nil
}
