package scheduler

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"almanac/internal/calendarusers"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/preview"
	"almanac/scheduler/core"
	"almanac/scheduler/pages"
	"almanac/workflows"
)

// CalendarUsage returns a page of the jobs that use a calendar, by their IDs, with what it makes of their next runs; and
// its continuation. It finds them in Temporal's lists, which lag a little. Jobs whose collection has a calendar of the
// same name do not use that of the subscription.
func (s *Service) CalendarUsage(
	ctx context.Context, k job.CalendarKey, p listing.Page,
) (page []preview.Usage, next string, err error) {
	deadline := pages.Deadline()
	if err := k.Validate(); err != nil {
		return nil, "", err
	}
	of := "usage " + k.WorkflowID()
	if p, err = pages.Resume(of, p); err != nil {
		return nil, "", err
	}
	err = s.core.Ask(ctx, k.WorkflowID(), workflows.QuerySummary, new(job.KeptCalendar))
	if core.IsMissing(err) {
		err = s.missingCalendar(ctx, k)
	}
	if err != nil {
		return nil, "", s.core.Error(ctx, err, nil)
	}
	users, err := calendarusers.Of(ctx, s.core.Temporal, s.core.Converter, k)
	if err != nil {
		return nil, "", s.core.Error(ctx, err, nil)
	}
	byID := func(u *calendarusers.User) string { return job.NormalizeName(u.ID) }
	slices.SortFunc(users, func(a, b calendarusers.User) int { return strings.Compare(byID(&a), byID(&b)) })
	users = slices.DeleteFunc(users, func(u calendarusers.User) bool {
		return p.After != "" && byID(&u) <= p.After || !p.ShowsJob(u.Key)
	})
	jobs, next, err := pages.Read(ctx, s.core, p, pages.Source[calendarusers.User, job.Job]{
		List: of, Items: users, Deadline: deadline,
		ID:           func(u calendarusers.User) string { return u.WorkflowID },
		Unreadable:   func(u calendarusers.User, why string) job.Job { return job.Job{Key: u.Key, Unread: why} },
		Matches:      func(j *job.Job) bool { return j.Unread != "" || s.uses(ctx, j, k) },
		Continuation: func(u calendarusers.User) string { return byID(&u) },
	})
	for i := range jobs {
		if time.Now().After(deadline) { // each takes up to seconds
			jobs[i].Unread = cmp.Or(jobs[i].Unread, "there was no time left to look at its runs; ask for fewer jobs at once, with $top")
		}
		page = append(page, s.usage(ctx, &jobs[i], k))
	}
	return page, next, s.core.Error(ctx, err, nil)
}

// uses reports whether a job uses a calendar; so it does if that cannot be found out.
func (s *Service) uses(ctx context.Context, j *job.Job, k job.CalendarKey) bool {
	for _, name := range j.Definition.Recurrence.CalendarNames() {
		if job.NormalizeName(name) == job.NormalizeName(k.Name) {
			found, err := s.calendars.Read(ctx, j.Key.Collection, []string{name})
			return err != nil || found[0].Key.WorkflowID() == k.WorkflowID()
		}
	}
	return false
}

// usage returns what a calendar makes of the next runs of a job.
func (s *Service) usage(ctx context.Context, j *job.Job, k job.CalendarKey) preview.Usage {
	if j.Unread != "" {
		return preview.Usage{Key: j.Key, Unread: j.Unread}
	}
	uses, err := s.CalendarUses(ctx, j.Key.Collection, j.Definition.Recurrence)
	u := preview.Usage{Key: j.Key}
	if err == nil {
		u, err = preview.UsageOf(j, uses, k.Name, s.core.Now())
	}
	if err != nil {
		u.Unread = "a calendar that it names cannot be read"
	}
	return u
}
