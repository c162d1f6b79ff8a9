// Package scheduler keeps jobs and job collections as Temporal workflows. A create is a workflow start, a
// change an update, a read a query; the history of a job is read from the event histories of its workflow's
// runs.
//
// There is no other store, so any number of Services may share a namespace.
package scheduler

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/input"
	"almanac/scheduler/alerting"
	"almanac/scheduler/history"
	"almanac/scheduler/internal/cache"
	"almanac/scheduler/operations"
	"almanac/scheduler/overview"
	"almanac/scheduler/readiness"
	"almanac/scheduler/registrations"
	"almanac/scheduler/trail"
)

// Options configure a [Service].
type Options struct {
	Client    client.Client
	Namespace string                  // of Client; "" means the SDK's default
	Converter converter.DataConverter // of Client; nil means the SDK's default
	Limits    *input.Limits           // nil means input.DefaultLimits
	Log       *slog.Logger            // nil means no log
	Now       func() time.Time        // nil means time.Now

	// Lead is how long before they are due the occurrences of a job that is created are dispatched; 0 means by a hash of its
	// name, see package plan.
	Lead time.Duration
	// ShowNext has jobs keep up the search attribute of their next run, once [Service.NextRunExists] was called. Each
	// execution costs a write to Temporal's visibility store then.
	ShowNext bool
	// CheckSpace returns an error while there is too little disk space for new jobs, which are refused then. Its text
	// may be shown to every caller. Nil means that there always is enough.
	CheckSpace func() error
}

// A Service creates, changes, reads and deletes jobs and collections. Its errors are of type [job.Error].
// It is safe for concurrent use.
type Service struct {
	*overview.Overview     // what happened and what comes next across jobs
	*alerting.Alerting     // tests and deliveries of notifications
	*operations.Operations // changes of whole collections

	client    client.Client
	namespace string
	queries   *wfclient.Queries
	converter converter.DataConverter
	limits    *input.Limits
	log       *slog.Logger
	now       func() time.Time
	lead      time.Duration
	space     func() error
	history   *history.Reader
	trail     *trail.Reader
	readiness *readiness.Checker

	registrar *registrations.Registrar
	turns     turns

	lacking   sync.Map    // optional search attributes that the namespace lacks, by name
	wantsNext bool        // see [Options.ShowNext]
	nextRun   atomic.Bool // the namespace has the search attribute of the next run
	answers   cache.Cache[versionedAnswer]
}

// New returns a Service. Defaults are those of [Options].
func New(o Options) *Service {
	limits := input.DefaultLimits()
	s := &Service{
		client:    o.Client,
		namespace: cmp.Or(o.Namespace, client.DefaultNamespace),
		converter: cmp.Or(o.Converter, converter.GetDefaultDataConverter()),
		limits:    cmp.Or(o.Limits, &limits),
		log:       cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		now:       o.Now,
		lead:      o.Lead,
		wantsNext: o.ShowNext,
		space:     o.CheckSpace,
	}
	if s.space == nil {
		s.space = func() error { return nil }
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.queries = wfclient.NewQueries(s.client, s.namespace)
	s.history = &history.Reader{Client: s.client, Namespace: s.namespace, Converter: s.converter, Log: s.log}
	s.trail = &trail.Reader{Client: s.client, Namespace: s.namespace, Converter: s.converter, Log: s.log}
	s.Overview = overview.New(overview.Options{
		Client: s.client, History: s.history, Log: s.log, Now: s.now,
		Ask: s.ask, Error: s.jobError, Why: whyUnreadable,
	})
	updateWithin := func(timeout time.Duration) func(ctx context.Context, id, name string, result any, arguments ...any) error {
		return func(ctx context.Context, id, name string, result any, arguments ...any) error {
			return s.update(ctx, timeout, id, name, result, arguments...)
		}
	}
	s.Alerting = alerting.New(alerting.Options{
		Ask: s.queries.Ask, Job: s.beginJob, Collection: s.Collection, Error: s.jobError, Update: updateWithin(wfclient.ChangeTimeout),
	})
	s.Operations = operations.New(operations.Options{Client: s.client, Namespace: s.namespace, Converter: s.converter, Log: s.log, Error: s.jobError})
	s.registrar = registrations.New(registrations.Options{Collection: s.Collection, Update: updateWithin(updateTimeout), Tiers: s.limits.Tiers})
	s.readiness = readiness.New(s.client, s.namespace, s.log)
	return s
}

// Ready returns nil if jobs can be stored and run, and otherwise what is missing: see
// [readiness.Checker.Check] and [Options]. The error of CheckSpace comes if nothing else is missing.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.readiness.Check(ctx); err != nil {
		return err
	}
	return s.space()
}

// requireSpace returns an error if there is too little disk space for what a caller wants to create.
func (s *Service) requireSpace() error {
	err := s.space()
	if err == nil {
		return nil
	}
	return &job.Error{Kind: job.KindUnavailable, Code: "InsufficientStorage", Message: "Nothing new is stored: " + err.Error() + ".", Err: err}
}
