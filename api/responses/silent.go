package responses

import (
	"context"
	"time"

	"almanac/job"
	"almanac/job/listing"
)

// The answers of these methods have nothing that a target said.

func (h *hiding) PutCollection(ctx context.Context, c job.Collection, check func(current *job.Collection) error) (stored job.Collection, created bool, err error) {
	return h.next.PutCollection(ctx, c, check)
}

func (h *hiding) PatchCollection(ctx context.Context, k job.CollectionKey, edit func(current job.Collection) (job.Collection, error)) (job.Collection, error) {
	return h.next.PatchCollection(ctx, k, edit)
}

func (h *hiding) Collection(ctx context.Context, k job.CollectionKey) (job.Collection, error) {
	return h.next.Collection(ctx, k)
}

func (h *hiding) DeleteCollection(ctx context.Context, k job.CollectionKey, check func(current *job.Collection) error) (*job.Operation, error) {
	return h.next.DeleteCollection(ctx, k, check)
}

func (h *hiding) EnableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return h.next.EnableCollection(ctx, k)
}

func (h *hiding) DisableCollection(ctx context.Context, k job.CollectionKey) (*job.Operation, error) {
	return h.next.DisableCollection(ctx, k)
}

func (h *hiding) Operation(ctx context.Context, k job.CollectionKey, id string) (job.Operation, error) {
	return h.next.Operation(ctx, k, id)
}

func (h *hiding) Collections(ctx context.Context, subscription, resourceGroup string, p listing.Page) (found []job.Collection, next string, err error) {
	return h.next.Collections(ctx, subscription, resourceGroup, p)
}

func (h *hiding) Upcoming(ctx context.Context, s listing.Scope, until time.Time, p listing.Page) (due []listing.Occurrence, next string, err error) {
	return h.next.Upcoming(ctx, s, until, p)
}

func (h *hiding) DeleteJob(ctx context.Context, k job.Key, check func(current *job.Job) error) error {
	return h.next.DeleteJob(ctx, k, check)
}

func (h *hiding) RunJob(ctx context.Context, k job.Key) (name string, err error) {
	return h.next.RunJob(ctx, k)
}

func (h *hiding) RerunJob(ctx context.Context, k job.Key, request string) job.Rerun {
	return h.next.RerunJob(ctx, k, request)
}

func (h *hiding) RerunJobs(ctx context.Context, k job.CollectionKey, p listing.Page, request string) (results []job.Rerun, next string, err error) {
	return h.next.RerunJobs(ctx, k, p, request)
}

func (h *hiding) Ready(ctx context.Context) error { return h.next.Ready(ctx) }
