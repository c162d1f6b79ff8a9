package systems

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"almanac/internal/wait"
	"almanac/job"
)

// An AlmanacAPI is Almanac. Its jobs are created, changed and read through the REST API only; each
// herd has a collection of its own.
type AlmanacAPI struct {
	*REST

	all      []*REST // its APIs: jobs are created through all in turn
	behind   *REST   // an API whose clock is MaxBacklog behind; nil if Almanac runs elsewhere
	receiver *Receiver
}

// The schedules of Almanac's jobs, besides the start time.
var (
	Minutely = Object{"recurrence": Object{"frequency": "minute"}}
	Daily    = Object{"recurrence": Object{"frequency": "day"}}
)

// MaxBacklog is the largest backlog of a herd.
const MaxBacklog = 24 * time.Hour

// NewAlmanac returns an Almanac that runs in other processes, with one or more APIs. Its jobs send
// to the receiver.
func NewAlmanac(receiver *Receiver, urls []string) *AlmanacAPI {
	a := &AlmanacAPI{receiver: receiver}
	for _, url := range urls {
		a.all = append(a.all, newREST(url))
	}
	a.REST = a.all[0]
	return a
}

// Name returns [Almanac].
func (*AlmanacAPI) Name() string { return Almanac }

// Create creates a herd. A call that is answered by 503 is tried again.
func (a *AlmanacAPI) Create(ctx context.Context, h Herd) error {
	if err := a.CreateCollection(ctx, h); err != nil {
		return err
	}
	apis := a.all
	if h.Backlog > 0 {
		apis = []*REST{a.behind}
	}
	return h.each(ctx, func(ctx context.Context, number int) error {
		return retryUnavailable(ctx, time.Minute, func() error { return a.put(ctx, apis[number%len(apis)], h, number) })
	})
}

// CreateCollection creates the collection of a herd.
func (a *AlmanacAPI) CreateCollection(ctx context.Context, h Herd) error {
	return a.Call(ctx, http.MethodPut, h.Path(), Object{"properties": Object{"sku": Object{"name": "P20Premium"}}}, nil)
}

// PutJob creates or replaces one of the herd's jobs by one call.
func (a *AlmanacAPI) PutJob(ctx context.Context, h Herd, number int) error {
	return a.put(ctx, a.REST, h, number)
}

func (a *AlmanacAPI) put(ctx context.Context, api *REST, h Herd, number int) error {
	action := Object{"type": "Http", "request": Object{"method": "GET", "uri": a.receiver.target(h.Name, number)}}
	if h.NoRetries {
		action["retryPolicy"] = Object{"retryType": "none"}
	}
	properties := Object{"action": action}
	if h.Backlog > 0 { // as far as the job knows, no worker ran since it was created
		window := fmt.Sprintf("PT%dM", int(h.Backlog.Minutes()))
		properties["recurrence"] = Object{"frequency": "minute", "catchUpWindow": window}
	} else {
		properties["startTime"] = h.First.UTC().Format(time.RFC3339)
		maps.Copy(properties, h.Schedule)
	}
	return api.Call(ctx, http.MethodPut, h.JobPath(number), Object{"properties": properties}, nil)
}

// retryUnavailable makes a call again for some time if it is answered by 503, as that answer asks for: under full load
// Temporal may not answer an API in time.
func retryUnavailable(ctx context.Context, within time.Duration, call func() error) (err error) {
	for end := time.Now().Add(within); time.Now().Before(end); {
		if err = call(); !hasStatus(err, http.StatusServiceUnavailable) || wait.For(ctx, 200*time.Millisecond) != nil {
			break
		}
	}
	return err
}

// Remove deletes the herd's collection, and waits until it is gone.
func (a *AlmanacAPI) Remove(ctx context.Context, h Herd) error {
	err := a.Call(ctx, http.MethodDelete, h.Path(), nil, nil)
	for err == nil {
		if err = wait.For(ctx, 100*time.Millisecond); err == nil {
			err = a.Call(ctx, http.MethodGet, h.Path(), nil, nil)
		}
	}
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// workflows returns the job's workflow, in which all executions are.
func (*AlmanacAPI) workflows(h Herd, number int, _ []time.Time) []string {
	collection := job.CollectionKey{Subscription: defaultSubscription, ResourceGroup: defaultResourceGroup, Name: h.Name}
	return []string{collection.Job(h.ID(number)).WorkflowID()}
}
