package systems

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

// An Environment is what the systems share, in this process: a Temporal server on a file, and a worker.
type Environment struct {
	Almanac *AlmanacAPI
	Usage   *Usage

	systems []System
	service scheduler.Options // of every API
	closers []func() error
}

// What the short paths of the API stand for.
const (
	defaultSubscription  = "00000000-0000-0000-0000-000000000000"
	defaultResourceGroup = "default"
)

// NewEnvironment starts all systems. Their jobs send to the receiver; an occurrence that is due
// within maxHold of the execution before it is dispatched at once.
func NewEnvironment(ctx context.Context, receiver *Receiver, maxHold time.Duration, log *slog.Logger) (_ *Environment, err error) {
	e := &Environment{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	data, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return nil, err
	}
	e.onClose(func() error { return os.RemoveAll(data) })
	worker.SetCachedWorkflows(worker.DefaultCachedWorkflows) // before the server starts its own workers
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: data, Listen: "127.0.0.1:0",
		SearchAttributes: scheduler.SearchAttributes(), // no log: callers get the errors, and removing schedules at work causes many
	})
	if err != nil {
		return nil, err
	}
	e.onClose(func() error { server.Stop(); return nil })
	if e.Usage, err = newUsage(filepath.Join(data, "temporal.db")); err != nil {
		return nil, err
	}
	e.onClose(e.Usage.db.Close)
	c, err := worker.Dial(ctx, client.Options{
		HostPort: server.Address(), ConnectionOptions: server.ConnectionOptions(), Logger: sdklog.NewStructuredLogger(log),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded Temporal: %w", err)
	}
	e.onClose(func() error { c.Close(); return nil })
	if err := e.startWorker(c, receiver, maxHold, log); err != nil {
		return nil, err
	}
	e.startAPIs(c, receiver, log)
	return e, nil
}

// startWorker starts the worker that knows the workflows of all systems.
func (e *Environment) startWorker(c *worker.Client, receiver *Receiver, maxHold time.Duration, log *slog.Logger) error {
	guard, err := egress.Parse(egress.ModeAny, nil, nil)
	if err != nil {
		return err
	}
	all, err := senders.New(senders.Options{Version: "bench", Guard: guard})
	if err != nil {
		return err
	}
	e.onClose(func() error { all.Close(); return nil })
	lead := activities.DefaultLead()
	lead.Hold = maxHold
	w := worker.New(worker.Options{Client: c, Senders: all.ByType(), Lead: lead, Log: log})
	e.systems = []System{newLoop(c, w, receiver), newSchedules(c, w, receiver)}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	e.onClose(func() error { w.Stop(); return nil })
	return nil
}

// startAPIs starts an API of Almanac, and one whose clock is behind, which creates overdue jobs.
func (e *Environment) startAPIs(c *worker.Client, receiver *Receiver, log *slog.Logger) {
	limits := input.DefaultLimits()
	limits.Tiers = input.UnlimitedTiers()
	e.service = scheduler.Options{Client: c, Limits: &limits, Log: log}
	behind := e.service
	behind.Now = func() time.Time { return time.Now().Add(-MaxBacklog) }
	e.Almanac = &AlmanacAPI{REST: e.NewAPI(), behind: e.serve(behind), temporal: c, receiver: receiver}
	e.systems = append(e.systems, e.Almanac)
}

// NewAPI starts another API, which has not read any job yet.
func (e *Environment) NewAPI() *REST { return e.serve(e.service) }

func (e *Environment) serve(o scheduler.Options) *REST {
	server := httptest.NewServer(api.New(scheduler.New(o), api.Options{
		Log: o.Log, Limits: o.Limits, Now: o.Now, DefaultSubscription: defaultSubscription, DefaultResourceGroup: defaultResourceGroup,
	}))
	r := newREST(server.URL)
	e.onClose(func() error { r.client.CloseIdleConnections(); server.Close(); return nil })
	return r
}

// Systems returns the systems with the given slugs.
func (e *Environment) Systems(slugs []string) []System {
	return slices.DeleteFunc(slices.Clone(e.systems), func(s System) bool { return !slices.Contains(slugs, Slug(s.Name())) })
}

func (e *Environment) onClose(f func() error) { e.closers = append(e.closers, f) }

// Close stops everything, the last first.
func (e *Environment) Close() error {
	var errs []error
	for _, f := range slices.Backward(e.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
