package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/api"
	"almanac/devserver"
	"almanac/internal/egress"
	"almanac/job/input"
	"almanac/scheduler"
	"almanac/worker"
)

// An environment is what all systems stand on, in this process: one Temporal server
// on a file, one worker, one sink.
type environment struct {
	systems map[string]system
	almanac *almanac
	sink    *sink
	usage   *usage
	service scheduler.Options // of the API

	closers []func() error
}

// The systems' names, in the order in which they are measured. Almanac is
// last, on the fullest database.
const (
	nameLoop      = "bare loop"
	nameSchedules = "Temporal Schedules"
	nameAlmanac   = "Almanac"
)

// What the short paths of the API stand for.
const (
	defaultSubscription  = "00000000-0000-0000-0000-000000000000"
	defaultResourceGroup = "default"
)

func newEnvironment(ctx context.Context, o options, log *slog.Logger) (_ *environment, err error) {
	g := &environment{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	data, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return nil, err
	}
	g.closeWith(func() error { return os.RemoveAll(data) })
	worker.SetCachedWorkflows(worker.DefaultCachedWorkflows) // before the server starts its own workers
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: data, Listen: "127.0.0.1:0", Synchronous: o.synchronous,
		SearchAttributes: scheduler.SearchAttributes(), // no log: what fails is told to who called, and removing schedules at work fails many
	})
	if err != nil {
		return nil, err
	}
	g.closeWith(func() error { server.Stop(); return nil })
	if g.usage, err = newUsage(filepath.Join(data, "temporal.db")); err != nil {
		return nil, err
	}
	g.closeWith(g.usage.close)
	c, err := worker.Dial(ctx, client.Options{
		HostPort: server.Address(), ConnectionOptions: server.ConnectionOptions(), Logger: sdklog.NewStructuredLogger(log),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded Temporal: %w", err)
	}
	g.closeWith(func() error { c.Close(); return nil })
	if g.sink, err = newSink(ctx); err != nil {
		return nil, err
	}
	g.closeWith(g.sink.close)
	lead := activities.DefaultLead()
	lead.Hold = o.maxHold
	return g, g.open(c, o, lead, log)
}

// open starts the worker that knows the workflows of all systems, and
// Almanac's API.
func (g *environment) open(c *worker.Client, o options, lead activities.Lead, log *slog.Logger) error {
	guard, err := egress.Parse(egress.ModeAny, nil, nil)
	if err != nil {
		return err
	}
	all, err := senders.New(senders.Options{Version: "bench", Guard: guard})
	if err != nil {
		return err
	}
	g.closeWith(func() error { all.Close(); return nil })
	w := worker.New(worker.Options{Client: c, Senders: all.ByType(), Lead: lead, Log: log})
	g.almanac = &almanac{temporal: c, sink: g.sink}
	g.systems = map[string]system{
		nameLoop: newLoop(c, w, g.sink), nameSchedules: newSchedules(c, w, g.sink), nameAlmanac: g.almanac,
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	g.closeWith(func() error { w.Stop(); return nil })

	limits := input.DefaultLimits()
	limits.Tiers = input.UnlimitedTiers()
	g.service = scheduler.Options{Client: c, Limits: &limits, Log: log}
	g.almanac.api = g.serve(g.service)
	g.almanac.api.once = o.once
	behind := g.service
	behind.Now = func() time.Time { return time.Now().Add(-backlogAge) }
	g.almanac.overdue = g.serve(behind)
	return nil
}

// serve starts an API of Almanac and returns what calls it.
func (g *environment) serve(o scheduler.Options) *rest {
	front := httptest.NewServer(api.New(scheduler.New(o), api.Options{
		Log: o.Log, Limits: o.Limits, Now: o.Now, DefaultSubscription: defaultSubscription, DefaultResourceGroup: defaultResourceGroup,
	}))
	r := newREST(front.URL)
	g.closeWith(func() error { r.close(); front.Close(); return nil })
	return r
}

func (g *environment) closeWith(f func() error) { g.closers = append(g.closers, f) }

// close stops everything, the last first.
func (g *environment) close() error {
	var errs []error
	for _, f := range slices.Backward(g.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
