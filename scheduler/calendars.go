package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"almanac/internal/calendarusers"
	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/scheduler/pages"
	"almanac/workflows"
	"almanac/workflows/calendar"
)

// Calendar returns a calendar.
func (s *Service) Calendar(ctx context.Context, k job.CalendarKey) (found job.KeptCalendar, err error) {
	if err := k.Validate(); err != nil {
		return found, err
	}
	err = s.core.Ask(ctx, k.WorkflowID(), workflows.QueryStatus, &found)
	if core.IsMissing(err) {
		err = s.missingCalendar(ctx, k)
	}
	return found, s.core.Error(ctx, err, nil)
}

// missingCalendar returns the error of a calendar that does not exist: it may be its collection that is missing.
func (s *Service) missingCalendar(ctx context.Context, k job.CalendarKey) error {
	if err := s.checkScope(ctx, k.Scope); err != nil {
		return err
	}
	return job.MissingCalendar(k)
}

// checkScope returns an error if calendars cannot be in a scope, since the collection is missing.
func (s *Service) checkScope(ctx context.Context, scope job.CollectionKey) error {
	if scope.Name == "" {
		return nil
	}
	_, err := s.Collection(ctx, scope)
	return err
}

// Calendars returns a page of the calendars of a collection, or of a subscription if the scope has no other name, by
// name and without their days; and its continuation.
func (s *Service) Calendars(
	ctx context.Context, scope job.CollectionKey, p listing.Page,
) (page []job.KeptCalendar, next string, err error) {
	deadline := pages.Deadline()
	if err := scope.ValidateScope(); err != nil {
		return nil, "", err
	}
	of := "calendars " + scope.CalendarsWorkflowID()
	if p, err = pages.Resume(of, p); err != nil {
		return nil, "", err
	}
	if err := s.checkScope(ctx, scope); err != nil { // its calendars end a little later
		return nil, "", err
	}
	names, err := s.calendarNames(ctx, scope)
	if err != nil {
		return nil, "", s.core.Error(ctx, err, nil)
	}
	names = slices.DeleteFunc(names, func(r workflows.Registration) bool {
		return p.After != "" && job.NormalizeName(r.Name) <= p.After
	})
	page, next, err = pages.Read(ctx, s.core, p, pages.Source[workflows.Registration, job.KeptCalendar]{
		List: of, Items: names, Deadline: deadline, Query: workflows.QuerySummary,
		ID: func(r workflows.Registration) string { return scope.Calendar(r.Name).WorkflowID() },
		Unreadable: func(r workflows.Registration, why string) job.KeptCalendar {
			return job.KeptCalendar{Key: scope.Calendar(r.Name), Unread: why}
		},
		Matches:      func(*job.KeptCalendar) bool { return true },
		Continuation: func(r workflows.Registration) string { return job.NormalizeName(r.Name) },
	})
	return page, next, s.core.Error(ctx, err, nil)
}

// calendarNames returns the registered names of the calendars of a scope, sorted.
func (s *Service) calendarNames(
	ctx context.Context, scope job.CollectionKey,
) (names []workflows.Registration, err error) {
	err = s.core.AskOnce(ctx, scope.CalendarsWorkflowID(), workflows.QueryCalendars, &names)
	if core.IsMissing(err) {
		err = nil
	}
	return names, err
}

// PutCalendar creates a calendar, or replaces it. created reports which. One that is the same keeps its version. c
// must be as [almanac/job/input.ParseCalendar] returns it. check is as for [Service.PutCollection].
func (s *Service) PutCalendar(
	ctx context.Context, k job.CalendarKey, c job.Calendar, check func(current *job.KeptCalendar) error,
) (stored job.KeptCalendar, created bool, err error) {
	if err := k.Validate(); err != nil {
		return stored, false, err
	}
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return stored, false, err
	}
	defer next()
	if err := s.checkScope(ctx, k.Scope); err != nil {
		return stored, false, err
	}
	replace := func() (job.KeptCalendar, error) {
		generation, err := s.checkCalendar(ctx, k, check)
		if err != nil {
			return stored, err
		}
		var changed job.KeptCalendar
		err = s.core.Update(ctx, k.WorkflowID(), workflows.UpdatePut, &changed,
			workflows.PutCalendarRequest{Calendar: c, Expected: generation})
		changed.Calendar, changed.Listed = c, 0
		return changed, err
	}
	create := func() (job.KeptCalendar, error) {
		if check != nil {
			if err := check(nil); err != nil {
				return stored, err
			}
		}
		if err := s.requireSpace(); err != nil {
			return stored, err
		}
		return startInTime(ctx, func(ctx context.Context) (job.KeptCalendar, error) {
			return s.createCalendar(ctx, k, c)
		})
	}
	stored, created, err = put(ctx, replace, create)
	return stored, created, s.core.Error(ctx, err, nil)
}

// checkCalendar calls check with the calendar and returns its generation; 0 if there is nothing to check.
func (s *Service) checkCalendar(
	ctx context.Context, k job.CalendarKey, check func(current *job.KeptCalendar) error,
) (generation int, err error) {
	if check == nil {
		return 0, nil
	}
	var current job.KeptCalendar
	if err := s.core.Ask(ctx, k.WorkflowID(), workflows.QuerySummary, &current); err != nil {
		return 0, err
	}
	return current.Generation, check(&current)
}

// createCalendar registers the name of a calendar and starts its workflow.
func (s *Service) createCalendar(ctx context.Context, k job.CalendarKey, c job.Calendar) (job.KeptCalendar, error) {
	registered, err := s.registerCalendar(ctx, k)
	if wfclient.IsRefused(err, workflows.ErrTypeFull) {
		if err := s.forgetMissingCalendars(ctx, k.Scope); err != nil {
			return job.KeptCalendar{}, err
		}
		registered, err = s.registerCalendar(ctx, k)
	}
	if err != nil {
		return job.KeptCalendar{}, err
	}
	k.Name = registered.Name
	kept := job.KeptCalendar{Key: k, Calendar: c, Version: 1, Generation: registered.Number}
	err = s.start(ctx, client.StartWorkflowOptions{
		ID: k.WorkflowID(), StaticSummary: "calendar " + k.Name, StaticDetails: "`" + k.ARMID() + "`",
		Memo:     map[string]any{workflows.MemoText: "calendar " + k.Name, workflows.MemoID: k.ARMID()},
		Priority: collectionPriority,
	}, workflows.TypeCalendar, calendar.Input{KeptCalendar: kept, Registration: registered.Number})
	if err != nil {
		return kept, err
	}
	return kept, s.confirmCalendar(ctx, k)
}

// confirmCalendar ends a calendar that was just started, and the list that has its name, if their collection was deleted
// meanwhile: it may have ended its calendars before. If the collection does not answer, these find out by themselves.
func (s *Service) confirmCalendar(ctx context.Context, k job.CalendarKey) error {
	missing := s.checkScope(ctx, k.Scope)
	if !core.IsMissing(missing) {
		return nil
	}
	for _, id := range []string{k.Scope.CalendarsWorkflowID(), k.WorkflowID()} {
		_ = s.core.Temporal.SignalWorkflow(ctx, id, "", workflows.SignalEnd, nil) // it may be gone
	}
	return missing
}

// endingPause is the pause between registrations while the workflow that has the names ends.
const endingPause = 100 * time.Millisecond

// registerCalendar registers the name of a calendar. It starts the workflow that has the names if that does not exist
// yet.
func (s *Service) registerCalendar(
	ctx context.Context, k job.CalendarKey,
) (registered workflows.Registration, err error) {
	ctx, cancel := context.WithTimeout(ctx, core.TryTimeout)
	defer cancel()
	id := k.Scope.CalendarsWorkflowID()
	for {
		err := s.core.Update(ctx, id, workflows.UpdateRegister, &registered, k.Name)
		if !wfclient.IsGone(err) {
			return registered, err
		}
		err = s.start(ctx, client.StartWorkflowOptions{
			ID: id, StaticSummary: "calendars", StaticDetails: "`" + k.Scope.Calendar("").ARMID() + "`",
			Priority: collectionPriority,
		}, workflows.TypeCalendars, calendar.DirectoryInput{Scope: k.Scope})
		if errors.Is(err, core.ErrLost) {
			err = wfclient.Sleep(ctx, endingPause)
		}
		if err != nil {
			return registered, err
		}
	}
}

// forgetMissingCalendars has the names of a scope forgotten that have no calendar, but none whose calendar may be about
// to start.
func (s *Service) forgetMissingCalendars(ctx context.Context, scope job.CollectionKey) error {
	names, err := s.calendarNames(ctx, scope)
	if err != nil {
		return err
	}
	for _, r := range names {
		if time.Since(workflows.RegisteredAt(r.Number)) < wfclient.ChangeTimeout {
			continue
		}
		id := scope.Calendar(r.Name).WorkflowID()
		err := s.core.AskOnce(ctx, id, workflows.QuerySummary, new(job.KeptCalendar))
		if !core.IsMissing(err) {
			continue
		}
		err = s.core.Temporal.SignalWorkflow(ctx, scope.CalendarsWorkflowID(), "", workflows.SignalRemoved, r)
		if err != nil {
			return err
		}
	}
	return nil
}

// maxUsers is how many jobs an error names that use a calendar.
const maxUsers = 10

// checkUnused returns an error that names the jobs that use a calendar. A job that names one of the subscription may use
// one of its collection; it counts as long as that could be deleted.
func (s *Service) checkUnused(ctx context.Context, k job.CalendarKey) error {
	users, err := calendarusers.Of(ctx, s.core.Temporal, s.core.Converter, k)
	if err != nil || len(users) == 0 {
		return err
	}
	slices.SortFunc(users, func(a, b calendarusers.User) int { return strings.Compare(a.ID, b.ID) })
	var names []string
	for i := range users[:min(len(users), maxUsers)] {
		names = append(names, users[i].ID)
	}
	more := ""
	if n := len(users) - len(names); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return job.Conflictf("The calendar '%s' is used by %s%s.", k.Name, strings.Join(names, ", "), more)
}

// DeleteCalendar deletes a calendar that no job uses. check is as for [Service.PutCollection].
func (s *Service) DeleteCalendar(
	ctx context.Context, k job.CalendarKey, check func(current *job.KeptCalendar) error,
) error {
	if err := k.Validate(); err != nil {
		return err
	}
	next, err := s.turns.Take(ctx, k.WorkflowID())
	if err != nil {
		return err
	}
	defer next()
	err = core.UntilUncontended(ctx, func() error {
		generation, err := s.checkCalendar(ctx, k, check)
		if err != nil {
			return err
		}
		if err := s.checkUnused(ctx, k); err != nil {
			return err
		}
		return s.core.Update(ctx, k.WorkflowID(), workflows.UpdateDelete, nil, generation)
	})
	if core.IsMissing(err) {
		err = s.missingCalendar(ctx, k)
	}
	return s.core.Error(ctx, err, nil)
}
