package scheduler

import (
	"cmp"
	"context"
	"slices"

	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence/calendars"
)

// checkingCalendars returns edit with a check of the calendars that its definition names.
func (s *Service) checkingCalendars(
	ctx context.Context, k job.CollectionKey, edit func(current *job.Job) (job.Definition, error),
) func(current *job.Job) (job.Definition, error) {
	return func(current *job.Job) (job.Definition, error) {
		d, err := edit(current)
		if err == nil && (current == nil || !current.Definition.SameSchedule(&d)) {
			err = s.checkCalendars(ctx, k, d.Recurrence)
		}
		return d, err
	}
}

// checkCalendars returns an error of kind [job.KindInvalid] if a recurrence of a job in a collection names a calendar
// that exists neither there nor in the subscription.
func (s *Service) checkCalendars(ctx context.Context, k job.CollectionKey, r *job.Recurrence) error {
	if !r.ByCalendars() {
		return nil
	}
	return s.checkNames(ctx, k, r)
}

// checkNames is checkCalendars for a recurrence that names some.
func (s *Service) checkNames(ctx context.Context, k job.CollectionKey, r *job.Recurrence) error {
	var names []string
	for _, scope := range []job.CollectionKey{k, job.SubscriptionScope(k.Subscription)} {
		registered, err := s.calendarNames(ctx, scope)
		if err != nil {
			return s.core.Error(ctx, err, nil)
		}
		for _, one := range registered {
			names = append(names, one.Name)
		}
	}
	for i := range r.Calendars {
		same := func(name string) bool { return job.NormalizeName(name) == job.NormalizeName(r.Calendars[i].Name) }
		if !slices.ContainsFunc(names, same) {
			return job.UnknownCalendar(k, r, i, names)
		}
	}
	return nil
}

// CalendarUses reads the calendars that a recurrence of a job in a collection names; nil if it names none. What cannot be
// read is an error: no reader goes by the bare rule.
func (s *Service) CalendarUses(
	ctx context.Context, k job.CollectionKey, r *job.Recurrence,
) ([]calendars.Use, error) {
	if !r.ByCalendars() {
		return nil, nil
	}
	found, err := s.calendars.Uses(ctx, k, r)
	if job.KindOf(err) == job.KindNotFound {
		err = cmp.Or(s.checkNames(ctx, k, r), err)
	}
	if err != nil {
		return nil, s.core.Error(ctx, err, nil)
	}
	return found.Uses, nil
}

// timetableOf returns the timetable of a job from its creation on, by its calendars as they are now.
func (s *Service) timetableOf(ctx context.Context, j *job.Job) (*timetable.Timetable, error) {
	uses, err := s.CalendarUses(ctx, j.Key.Collection, j.Definition.Recurrence)
	if err != nil {
		return nil, err
	}
	return timetable.With(j.Definition.Under(j.SharedBlackouts), j.Created, uses, j.Created, nil)
}
