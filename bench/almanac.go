package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.temporal.io/sdk/client"

	"almanac/job"
)

// almanac is what is sold here. Its jobs are made, changed and read through the
// REST API only.
type almanac struct {
	api      *rest
	others   []*rest // further APIs
	overdue  *rest   // the API of an Almanac whose clock is backlogAge behind
	temporal client.Client
	sink     *sink
}

// backlogAge is how far in the past overdue jobs were created, as far as
// they know. Every backlog that is measured fits into it.
const backlogAge = 24 * time.Hour

func (*almanac) name() string { return nameAlmanac }

func (*almanac) every(int) time.Duration { return time.Minute }

func (a *almanac) create(ctx context.Context, h herd) error {
	recurrence := object{"frequency": "minute", "interval": int(h.every / time.Minute)}
	return a.put(ctx, a.api, h, object{"startTime": h.first.UTC().Format(time.RFC3339), "recurrence": recurrence})
}

// createOverdue makes jobs whose worker, as far as they know, was down since
// they were created.
func (a *almanac) createOverdue(ctx context.Context, h herd, backlog time.Duration) error {
	if backlog > backlogAge {
		return fmt.Errorf("a backlog of %s is more than the %s that are prepared", backlog, backlogAge)
	}
	window := fmt.Sprintf("PT%dM", int(backlog/time.Minute))
	return a.put(ctx, a.overdue, h, object{"recurrence": object{"frequency": "minute", "interval": 1, "catchUpWindow": window}})
}

func (a *almanac) put(ctx context.Context, api *rest, h herd, more object) error {
	if err := api.putCollection(ctx, h.name); err != nil {
		return err
	}
	return h.each(ctx, func(ctx context.Context, number int) error {
		return api.putJob(ctx, h.name, h.id(number), a.sink.target(h.name, number), more)
	})
}

// remove deletes the herd's collection, and waits until it is gone.
func (a *almanac) remove(ctx context.Context, h herd) error {
	_, err := a.api.call(ctx, http.MethodDelete, collectionPath(h.name), nil, http.StatusOK, http.StatusAccepted, http.StatusNoContent)
	for err == nil {
		if err = pause(ctx, 100*time.Millisecond); err == nil {
			_, err = a.api.call(ctx, http.MethodGet, collectionPath(h.name), nil, http.StatusOK)
		}
	}
	if answer, ok := errors.AsType[*statusError](err); ok && answer.code == http.StatusNotFound {
		return nil
	}
	return err
}

func (a *almanac) events(ctx context.Context, h herd, number int, _ []time.Time) (int64, error) {
	collection := job.CollectionKey{Subscription: defaultSubscription, ResourceGroup: defaultResourceGroup, Name: h.name}
	return historyLength(ctx, a.temporal, collection.Job(h.id(number)).WorkflowID())
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
