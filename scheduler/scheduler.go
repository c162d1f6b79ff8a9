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

	"almanac/internal/calendarcache"
	"almanac/job"
	"almanac/job/input"
	"almanac/scheduler/core"
	"almanac/scheduler/history"
	"almanac/scheduler/names"
	"almanac/scheduler/notifications"
	"almanac/scheduler/operations"
	"almanac/scheduler/overview"
	"almanac/scheduler/readiness"
	"almanac/scheduler/trail"
	"almanac/scheduler/workers"
)

// Options configure a [Service].
type Options struct {
	Client    client.Client
	Namespace string                  // of Client; "" means the SDK's default
	Converter converter.DataConverter // of Client; nil means the SDK's default
	Limits    *input.Limits           // nil means input.DefaultLimits
	Log       *slog.Logger            // nil means no log
	Now       func() time.Time        // nil means time.Now

	// Lead is how long before they are due the occurrences of a job that is created are dispatched; 0 means by a hash
	// of its name, see package plan.
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
	*overview.Overview           // what happened and what comes next across jobs
	*notifications.Notifications // tests and deliveries of notifications
	*operations.Operations       // changes of whole collections

	core      *core.Client
	limits    *input.Limits
	lead      time.Duration
	space     func() error
	history   *history.Reader
	trail     *trail.Reader
	workers   *workers.Reader
	readiness *readiness.Checker

	registrar *names.Registrar
	calendars *calendarcache.Reader
	turns     core.Turns

	lacking   sync.Map    // optional search attributes that the namespace lacks, by name
	wantsNext bool        // see [Options.ShowNext]
	nextRun   atomic.Bool // the namespace has the search attribute of the next run
}

// New returns a Service. Defaults are those of [Options].
func New(o Options) *Service {
	c := core.New(core.Options{
		Temporal: o.Client, Namespace: o.Namespace, Converter: o.Converter, Log: o.Log, Now: o.Now,
	})
	limits := input.DefaultLimits()
	s := &Service{
		core:          c,
		limits:        cmp.Or(o.Limits, &limits),
		lead:          o.Lead,
		wantsNext:     o.ShowNext,
		space:         o.CheckSpace,
		history:       history.New(c),
		trail:         trail.New(c),
		workers:       workers.New(c),
		readiness:     readiness.New(c.Temporal, c.Namespace, c.Log),
		Notifications: notifications.New(c),
		Operations:    operations.New(c),
	}
	if s.space == nil {
		s.space = func() error { return nil }
	}
	s.registrar = names.New(c, s.limits.Tiers)
	s.Overview = overview.New(overview.Options{Client: c, History: s.history, Ask: c.AskOnce, Uses: s.CalendarUses})
	c.OnChange(s.Forget)
	s.calendars = calendarcache.New(c.Queries)
	c.OnChange(s.calendars.Forget)
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
	return &job.Error{
		Kind: job.KindUnavailable, Code: "InsufficientStorage", Err: err,
		Message: "Nothing new is stored: " + err.Error() + ".",
	}
}
