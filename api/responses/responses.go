// Package responses hides what the targets of jobs and notifications answered from callers who may only read and run jobs: the
// answers may hold more than such a caller may know.
package responses

import (
	"context"
	"slices"
	"time"

	"almanac/access"
	"almanac/api"
	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/notification"
)

// Hide returns a scheduler whose answers hold no headers and no bodies of responses, but for callers who may read them. The
// caller is the principal of the context; without one all is hidden.
func Hide(s api.Scheduler, policy func() *access.Policy) api.Scheduler { return &hiding{s, policy} }

// hiding has every method of [api.Scheduler] itself: one that is new does not compile until it is decided whether its answer can have
// what a target said.
type hiding struct {
	next   api.Scheduler
	policy func() *access.Policy
}

// from returns whether responses are hidden from the caller, by scope.
func (h *hiding) from(ctx context.Context) func(access.Scope) bool {
	who := access.PrincipalOf(ctx)
	if who == nil {
		return func(access.Scope) bool { return true }
	}
	view := h.policy().For(who)
	return func(s access.Scope) bool { return !view.Allows(access.ReadResponses, s) }
}

func (h *hiding) Job(ctx context.Context, k job.Key) (job.Job, error) {
	j, err := h.next.Job(ctx, k)
	return without(j, h.from(ctx)), err
}

func (h *hiding) Jobs(ctx context.Context, k job.CollectionKey, p listing.Page) (jobs []job.Job, next string, err error) {
	jobs, next, err = h.next.Jobs(ctx, k, p)
	return each(jobs, h.from(ctx), without), next, err
}

func (h *hiding) PutJob(ctx context.Context, k job.Key, edit func(*job.Job) (job.Definition, error)) (j job.Job, created bool, err error) {
	j, created, err = h.next.PutJob(ctx, k, edit)
	return without(j, h.from(ctx)), created, err
}

func (h *hiding) PatchJob(ctx context.Context, k job.Key, edit func(*job.Job) (job.Definition, error)) (job.Job, error) {
	j, err := h.next.PatchJob(ctx, k, edit)
	return without(j, h.from(ctx)), err
}

func (h *hiding) SkipOccurrence(ctx context.Context, k job.Key, due time.Time) (job.Job, error) {
	j, err := h.next.SkipOccurrence(ctx, k, due)
	return without(j, h.from(ctx)), err
}

func (h *hiding) EnableJob(ctx context.Context, k job.Key) (job.Job, error) {
	j, err := h.next.EnableJob(ctx, k)
	return without(j, h.from(ctx)), err
}

func (h *hiding) DisableJob(ctx context.Context, k job.Key) (job.Job, error) {
	j, err := h.next.DisableJob(ctx, k)
	return without(j, h.from(ctx)), err
}

func (h *hiding) History(ctx context.Context, k job.Key, p listing.Page) (records []job.Record, next string, err error) {
	records, next, err = h.next.History(ctx, k, p)
	return each(records, h.from(ctx), func(r job.Record, hidden func(access.Scope) bool) job.Record {
		if hidden(access.ScopeOfJob(k)) {
			r.Message = job.WithoutResponse(r.Message)
		}
		return r
	}), next, err
}

func (h *hiding) Execution(ctx context.Context, k job.Key, name string) (job.Progress, error) {
	p, err := h.next.Execution(ctx, k, name)
	if !h.from(ctx)(access.ScopeOfJob(k)) {
		return p, err
	}
	p.Reason, p.Retry = job.WithoutResponse(p.Reason), retryWithout(p.Retry)
	p.Records = slices.Clone(p.Records)
	for i := range p.Records {
		p.Records[i].Message = job.WithoutResponse(p.Records[i].Message)
	}
	return p, err
}

func (h *hiding) HistoryAcross(ctx context.Context, s listing.Scope, p listing.Page) (records []listing.JobRecord, next string, err error) {
	records, next, err = h.next.HistoryAcross(ctx, s, p)
	return each(records, h.from(ctx), func(r listing.JobRecord, hidden func(access.Scope) bool) listing.JobRecord {
		if hidden(access.ScopeOfJob(r.Key)) {
			r.Message = job.WithoutResponse(r.Message)
		}
		return r
	}), next, err
}

// TestNotifications shows what the targets of a job's own notifications answered by the role for the job, and what those of its
// collection answered by the role for the collection.
func (h *hiding) TestNotifications(ctx context.Context, k job.Key) ([]notification.Delivery, error) {
	of := access.ScopeOfCollection(k.Collection)
	generation := h.ownNotifications(ctx, k)
	all, err := h.next.TestNotifications(ctx, k)
	if generation >= 0 && generation == h.ownNotifications(ctx, k) { // it had them all the time
		of = access.ScopeOfJob(k)
	}
	return h.deliveries(ctx, of, all), err
}

// ownNotifications returns the generation of a job that has notifications of its own; -1 if it has none, or if the answer makes no
// difference to the caller.
func (h *hiding) ownNotifications(ctx context.Context, k job.Key) int {
	hidden := h.from(ctx)
	if k.Name == "" || !hidden(access.ScopeOfCollection(k.Collection)) || hidden(access.ScopeOfJob(k)) {
		return -1
	}
	j, err := h.next.Job(ctx, k)
	if err != nil || j.Definition.Notifications == nil {
		return -1
	}
	return j.Generation
}

func (h *hiding) Deliveries(ctx context.Context, k job.CollectionKey) ([]notification.Delivery, error) {
	all, err := h.next.Deliveries(ctx, k)
	return h.deliveries(ctx, access.ScopeOfCollection(k), all), err
}

func (h *hiding) deliveries(ctx context.Context, at access.Scope, all []notification.Delivery) []notification.Delivery {
	return each(all, h.from(ctx), func(d notification.Delivery, hidden func(access.Scope) bool) notification.Delivery {
		if hidden(at) {
			d.Message = job.WithoutResponse(d.Message)
		}
		return d
	})
}

func (h *hiding) JobChanges(ctx context.Context, k job.Key, p listing.Page) (changes []audit.Change, next string, err error) {
	changes, next, err = h.next.JobChanges(ctx, k, p)
	return h.changes(ctx, access.ScopeOfJob(k), changes), next, err
}

func (h *hiding) CollectionChanges(ctx context.Context, k job.CollectionKey, p listing.Page) (changes []audit.Change, next string, err error) {
	changes, next, err = h.next.CollectionChanges(ctx, k, p)
	return h.changes(ctx, access.ScopeOfCollection(k), changes), next, err
}

func (h *hiding) changes(ctx context.Context, at access.Scope, all []audit.Change) []audit.Change {
	return each(all, h.from(ctx), func(c audit.Change, hidden func(access.Scope) bool) audit.Change {
		if hidden(at) {
			c.Message = job.WithoutResponse(c.Message)
		}
		return c
	})
}

// without returns a job whose status has no response, if that is hidden.
func without(j job.Job, hidden func(access.Scope) bool) job.Job {
	if !hidden(access.ScopeOfJob(j.Key)) {
		return j
	}
	j.Status.Reason = job.WithoutResponse(j.Status.Reason)
	j.Status.LastError = errorWithout(j.Status.LastError)
	j.Status.Retry = retryWithout(j.Status.Retry)
	return j
}

// retryWithout returns a retry without the response of the attempt before.
func retryWithout(r *job.Retry) *job.Retry {
	if r == nil {
		return nil
	}
	changed := *r
	changed.LastError = errorWithout(r.LastError)
	return &changed
}

func errorWithout(last *job.LastError) *job.LastError {
	if last == nil {
		return nil
	}
	return &job.LastError{Message: job.WithoutResponse(last.Message), EndTime: last.EndTime}
}

// each returns new entries for those of a list, which others may share.
func each[T any](list []T, hidden func(access.Scope) bool, change func(T, func(access.Scope) bool) T) []T {
	changed := make([]T, len(list))
	for i := range list {
		changed[i] = change(list[i], hidden)
	}
	return changed
}
