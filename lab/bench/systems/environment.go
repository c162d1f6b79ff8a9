package systems

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
	_ "modernc.org/sqlite" // the driver "sqlite", which the server uses as well

	"almanac/access"
	"almanac/access/token"
	"almanac/activities/senders"
	"almanac/api"
	"almanac/api/guard"
	"almanac/devserver"
	"almanac/internal/egress"
	"almanac/internal/ratelimit"
	"almanac/job/input"
	"almanac/lab/client"
	"almanac/lab/processes"
	"almanac/lab/receiver"
	"almanac/scheduler"
	"almanac/worker"
)

// An Environment is what the systems share, in this process: a Temporal server on a file, and a worker.
type Environment struct {
	processes.Usage // of this process, in which all systems, the server and the receiver run
	Almanac         *AlmanacAPI

	systems  []System
	temporal *worker.Client
	database *sql.DB
	service  scheduler.Options // of every API
	closers  []func() error

	connection sdk.Options // to Temporal
}

// What the short paths of the API stand for.
const (
	defaultSubscription  = "00000000-0000-0000-0000-000000000000"
	defaultResourceGroup = "default"
)

// NewEnvironment starts all systems. Their jobs send to the receiver; an occurrence that is due
// within maxHold of the execution before it is dispatched at once.
func NewEnvironment(
	ctx context.Context, receiver *receiver.Receiver, maxHold time.Duration, log *slog.Logger,
) (_ *Environment, err error) {
	e := &Environment{Usage: processes.Usage(os.Getpid())}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if err := e.startTemporal(ctx, log); err != nil {
		return nil, err
	}
	if err := e.startWorker(maxHold, log); err != nil {
		return nil, err
	}
	limits := input.DefaultLimits()
	limits.Tiers = input.UnlimitedTiers()
	e.service = scheduler.Options{Client: e.temporal, Limits: &limits, Log: log}
	behind := e.service
	behind.Now = func() time.Time { return time.Now().Add(-MaxBacklog) }
	e.Almanac = &AlmanacAPI{Client: e.NewAPI(), behind: e.serve(behind), receiver: receiver}
	e.systems = []System{&bareLoop{e.temporal, receiver}, &schedules{e.temporal, receiver}, e.Almanac}
	return e, nil
}

// startTemporal starts the server, and connects to it and to its database.
func (e *Environment) startTemporal(ctx context.Context, log *slog.Logger) error {
	data, err := os.MkdirTemp("", "almanac-bench-")
	if err != nil {
		return err
	}
	e.onClose(func() error { return os.RemoveAll(data) })
	worker.SetCachedWorkflows(worker.DefaultCachedWorkflows) // before the server starts its own workers
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: data, Listen: "127.0.0.1:0",
		// no log: callers get the errors, and removing schedules at work causes many
		SearchAttributes: scheduler.SearchAttributes(),
	})
	if err != nil {
		return err
	}
	e.onClose(func() error { server.Stop(); return nil })
	name := url.URL{Path: filepath.ToSlash(filepath.Join(data, "temporal.db"))}
	if e.database, err = sql.Open("sqlite", "file:"+name.EscapedPath()+
		"?mode=ro&_pragma=busy_timeout=10000"); err != nil {
		return err
	}
	e.onClose(e.database.Close)
	e.connection = sdk.Options{
		HostPort: server.Address(), ConnectionOptions: server.ConnectionOptions(),
		Logger: sdklog.NewStructuredLogger(log),
	}
	e.temporal, err = worker.Dial(ctx, e.connection, 0)
	if err != nil {
		return fmt.Errorf("connect to the embedded Temporal: %w", err)
	}
	e.onClose(func() error { e.temporal.Close(); return nil })
	return nil
}

// startWorker starts the worker that knows the workflows of all systems.
func (e *Environment) startWorker(maxHold time.Duration, log *slog.Logger) error {
	guard, err := egress.Parse(egress.ModeAny, nil, nil)
	if err != nil {
		return err
	}
	all, err := senders.New(senders.Options{Version: "bench", Guard: guard})
	if err != nil {
		return err
	}
	e.onClose(func() error { all.Close(); return nil })
	w := worker.New(worker.Options{Client: e.temporal, Senders: all.ByType(), MaxHold: maxHold, Log: log})
	w.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: typeLoop})
	w.RegisterWorkflowWithOptions(scheduled, workflow.RegisterOptions{Name: typeScheduled})
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	e.onClose(func() error { w.Stop(); return nil })
	return nil
}

// NewAPI starts another API, which has not read any job yet.
func (e *Environment) NewAPI() *client.Client { return e.serve(e.service) }

func (e *Environment) serve(o scheduler.Options) *client.Client {
	return e.serveTo(scheduler.New(o), o, api.Options{}, "")[0]
}

// NewAPIFor starts another API, which asks who calls and limits each caller. It returns one Almanac for each of the
// callers, who may do everything.
func (e *Environment) NewAPIFor(names []string, limits ratelimit.Limits) ([]*AlmanacAPI, error) {
	var file []byte
	var secrets []string
	for _, name := range names {
		secret := token.New()
		secrets = append(secrets, secret)
		file = token.Append(file, token.Entry{Name: name, Hash: token.HashOf(secret),
			Grant: access.Grant{Role: access.Owner}}, "/")
	}
	tokens, err := token.Parse(file, access.Defaults{Subscription: defaultSubscription,
		ResourceGroup: defaultResourceGroup})
	if err != nil {
		return nil, err
	}
	rests := e.serveTo(scheduler.New(e.service), e.service, api.Options{
		Callers: ratelimit.NewLimiter(limits),
		Access: &guard.Access{Authenticators: []access.Authenticator{
			&token.Authenticator{Tokens: func() *token.Set { return tokens }},
		}},
	}, secrets...)
	all := make([]*AlmanacAPI, len(rests))
	for i, r := range rests {
		all[i] = &AlmanacAPI{Client: r, receiver: e.Almanac.receiver}
	}
	return all, nil
}

// serveTo starts an API, and returns it as the holder of each token calls it.
func (e *Environment) serveTo(
	s *scheduler.Service, o scheduler.Options, a api.Options, tokens ...string,
) (all []*client.Client) {
	a.Log, a.Limits, a.Now = o.Log, o.Limits, o.Now
	a.DefaultSubscription, a.DefaultResourceGroup = defaultSubscription, defaultResourceGroup
	server := httptest.NewServer(api.New(s, a))
	for _, secret := range tokens {
		all = append(all, client.New(secret, server.URL))
	}
	e.onClose(func() error {
		for _, r := range all {
			r.Close()
		}
		server.Close()
		return nil
	})
	return all
}

// Systems returns the systems with the given slugs.
func (e *Environment) Systems(slugs []string) []System {
	return slices.DeleteFunc(slices.Clone(e.systems),
		func(s System) bool { return !slices.Contains(slugs, Slug(s.Name())) })
}

// A Reading is what was used up to an instant.
type Reading struct {
	At     time.Time
	CPU    float64 // seconds
	Bytes  float64 // in use in the database
	Events float64 // in the histories of the sampled jobs of a herd
}

// Sampled is of how many jobs of a herd the events are counted, at most.
const Sampled = 20

// Read returns what was used until now. It counts the events of a system's workflows that serve a job of
// the herd as long as it exists, and of those that were started for its executions at the given due times.
func (e *Environment) Read(ctx context.Context, s System, h Herd, due []time.Time) (r Reading, err error) {
	r.At = time.Now()
	if r.CPU, err = e.CPU(ctx); err != nil {
		return r, err
	}
	// Pages that are in use, in the file or still in the write-ahead log. Those that were emptied do
	// not count: what is written next fills them.
	const query = `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`
	if err := e.database.QueryRowContext(ctx, query).Scan(&r.Bytes); err != nil {
		return r, fmt.Errorf("read the size of the database: %w", err)
	}
	for number := range min(h.Jobs, Sampled) {
		for _, id := range s.workflows(h, number, due) {
			found, err := e.temporal.DescribeWorkflowExecution(ctx, id, "")
			if err != nil {
				return r, fmt.Errorf("describe workflow %s: %w", id, err)
			}
			r.Events += float64(found.GetWorkflowExecutionInfo().GetHistoryLength())
		}
	}
	return r, nil
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
