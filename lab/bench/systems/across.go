package systems

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"almanac/api"
	"almanac/lab/client"
	"almanac/scheduler"
)

// Spread creates a herd whose jobs are due once an hour, spread evenly over it from h.First on.
func (a *AlmanacAPI) Spread(ctx context.Context, h Herd) error {
	if err := a.CreateCollection(ctx, h); err != nil {
		return err
	}
	return h.each(ctx, func(ctx context.Context, number int) error {
		first := h.First.Add(time.Duration(number) * time.Hour / time.Duration(h.Jobs))
		properties := Object{
			"startTime":  first.UTC().Format(time.RFC3339),
			"recurrence": Object{"frequency": "hour"},
			"action": Object{"type": "Http",
				"request": Object{"method": "GET", "uri": h.target(a.receiver, number)}},
		}
		return retryUnavailable(ctx, 10*time.Minute, func() error {
			return a.Call(ctx, http.MethodPut, h.JobPath(number), client.Properties(properties), nil)
		})
	})
}

// idleFor is how long an API has answered no request when a list is asked for, longer than it uses what it knows
// unasked.
const idleFor = 6 * time.Second

// NewCountedAPI starts another API with a connection of its own to Temporal, which has done what an API does when it
// starts, and answered no request for idleFor. calls returns the number of calls to Temporal so far.
func (e *Environment) NewCountedAPI(ctx context.Context) (c *client.Client, calls func() int64, err error) {
	var n atomic.Int64
	count := func(
		ctx context.Context, method string, request, answer any, c *grpc.ClientConn, call grpc.UnaryInvoker,
		o ...grpc.CallOption,
	) error {
		n.Add(1)
		return call(ctx, method, request, answer, c, o...)
	}
	options := e.connection
	options.ConnectionOptions.DialOptions = append(
		slices.Clip(options.ConnectionOptions.DialOptions), grpc.WithChainUnaryInterceptor(count))
	temporal, err := sdk.DialContext(ctx, options)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the embedded Temporal: %w", err)
	}
	e.onClose(func() error { temporal.Close(); return nil })
	o := e.service
	o.Client = temporal
	service := scheduler.New(o)
	service.Warm(ctx, defaultSubscription)
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
	}
	return e.serveTo(service, o, api.Options{}, "")[0], n.Load, nil
}

// ReadPages reads pages of a list, at most so many, and returns the number of their entries.
func ReadPages(ctx context.Context, api *client.Client, path string, pages int) (entries int, err error) {
	for range pages {
		var page struct {
			Value    []json.RawMessage
			NextLink string
		}
		if err := api.Call(ctx, http.MethodGet, path, nil, &page); err != nil {
			return entries, err
		}
		entries += len(page.Value)
		if page.NextLink == "" {
			return entries, nil
		}
		path = client.PathOf(page.NextLink)
	}
	return entries, nil
}
