package systems

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"almanac/job"
	"almanac/lab/client"
	"almanac/lab/receiver"
	"almanac/lab/record"
	"almanac/lab/wait"
)

// An AlmanacAPI is Almanac. Its jobs are created, changed and read through the REST API only; each
// herd has a collection of its own.
type AlmanacAPI struct {
	*client.Client // of its APIs: jobs are created through all in turn

	behind   *client.Client // an API whose clock is MaxBacklog behind; nil if Almanac runs elsewhere
	receiver *receiver.Receiver
}

// The schedules of Almanac's jobs, besides the start time.
var (
	Minutely = Object{"recurrence": Object{"frequency": "minute"}}
	Daily    = Object{"recurrence": Object{"frequency": "day"}}
)

// MaxBacklog is the largest backlog of a herd.
const MaxBacklog = 24 * time.Hour

// NewAlmanac returns an Almanac that runs in other processes, with one or more APIs. Its jobs send to the receiver.
func NewAlmanac(r *receiver.Receiver, urls []string) *AlmanacAPI {
	return &AlmanacAPI{Client: client.New("", urls...), receiver: r}
}

// Name returns [Almanac].
func (*AlmanacAPI) Name() string { return Almanac }

// Create creates a herd. A call that is answered by 503 is tried again.
func (a *AlmanacAPI) Create(ctx context.Context, h Herd) error {
	if err := a.CreateCollection(ctx, h); err != nil {
		return err
	}
	apis := a.Client
	if h.Backlog > 0 {
		apis = a.behind
	}
	return h.each(ctx, func(ctx context.Context, number int) error {
		return retryUnavailable(ctx, time.Minute, func() error {
			return apis.CallAPI(ctx, number, http.MethodPut, h.JobPath(number), a.job(h, number), nil)
		})
	})
}

// CreateCollection creates the collection of a herd.
func (a *AlmanacAPI) CreateCollection(ctx context.Context, h Herd) error {
	return a.Client.CreateCollection(ctx, h.Name)
}

// PutJob creates or replaces one of the herd's jobs by one call.
func (a *AlmanacAPI) PutJob(ctx context.Context, h Herd, number int) error {
	return a.CallAPI(ctx, 0, http.MethodPut, h.JobPath(number), a.job(h, number), nil)
}

// job returns the body of the request that creates one of the herd's jobs.
func (a *AlmanacAPI) job(h Herd, number int) Object {
	action := Object{"type": "Http", "request": Object{"method": "GET", "uri": h.target(a.receiver, number)}}
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
	if h.Alerts {
		target := a.receiver.AlertURI(record.Job{Collection: h.Name, Name: h.ID(number)})
		properties["notifications"] = []Object{{
			"on": []string{"failed"}, "target": Object{"type": "Http", "request": Object{"uri": target}},
		}}
	}
	return client.Properties(properties)
}

// retryUnavailable makes a call again for some time if it is answered by 503, as that answer asks for: under full load
// Temporal may not answer an API in time.
func retryUnavailable(ctx context.Context, within time.Duration, call func() error) (err error) {
	for end := time.Now().Add(within); time.Now().Before(end); {
		if err = call(); !client.HasStatus(err, http.StatusServiceUnavailable) ||
			wait.For(ctx, 200*time.Millisecond) != nil {
			break
		}
	}
	return err
}

// Notify gives the collection of a herd notifications of all events.
func (a *AlmanacAPI) Notify(ctx context.Context, h Herd) error {
	return a.Call(ctx, http.MethodPatch, h.Path(), client.Properties(Object{"notifications": []Object{{
		"on":     []string{"failed", "recovered", "missed", "late", "disabled", "quiet"},
		"lateBy": "PT1M", "within": "PT1H",
		"target": Object{"type": "Http", "request": Object{"uri": a.receiver.AlertURI(record.Job{Collection: h.Name})}},
	}}}), nil)
}

// Metrics reads the metrics of the first API, and returns their size in bytes.
func (a *AlmanacAPI) Metrics(ctx context.Context) (int, error) {
	answer, err := a.Send(ctx, 0, http.MethodGet, "/metrics", nil)
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("GET /metrics: %d", answer.Status)
	}
	return len(answer.Body), err
}

// Scrape reads the metrics again and again until ctx ends, and then sends how many bytes they had.
func (a *AlmanacAPI) Scrape(ctx context.Context, every time.Duration) <-chan int {
	done := make(chan int, 1)
	go func() {
		total := 0
		for ctx.Err() == nil {
			n, _ := a.Metrics(ctx) // what could not be read is not counted
			total += n
			_ = wait.For(ctx, every)
		}
		done <- total
	}()
	return done
}

// Remove deletes the herd's collection, and waits until it is gone.
func (a *AlmanacAPI) Remove(ctx context.Context, h Herd) error {
	err := a.Call(ctx, http.MethodDelete, h.Path(), nil, nil)
	for err == nil {
		if err = wait.For(ctx, 100*time.Millisecond); err == nil {
			err = a.Call(ctx, http.MethodGet, h.Path(), nil, nil)
		}
	}
	if client.HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// workflows returns the job's workflow, in which all executions are.
func (*AlmanacAPI) workflows(h Herd, number int, _ []time.Time) []string {
	collection := job.CollectionKey{Subscription: defaultSubscription, ResourceGroup: defaultResourceGroup,
		Name: h.Name}
	return []string{collection.Job(h.ID(number)).WorkflowID()}
}
