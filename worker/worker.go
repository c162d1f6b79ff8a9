// Package worker configures the Temporal worker that runs Almanac's workflows and activities.
package worker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/activities/bulk"
	"almanac/activities/journal"
	"almanac/activities/lookups"
	"almanac/activities/notify"
	checkins "almanac/activities/presence"
	"almanac/activities/trials"
	"almanac/internal/audit/header"
	"almanac/internal/clock"
	"almanac/internal/telemetry"
	"almanac/internal/telemetry/sdktelemetry"
	"almanac/job"
	"almanac/job/kind"
	"almanac/recurrence"
	"almanac/workflows"
	changes "almanac/workflows/bulk"
	"almanac/workflows/calendar"
	"almanac/workflows/installation"
	"almanac/workflows/jobloop"
	"almanac/workflows/notifier"
	"almanac/workflows/registries"
	"almanac/workflows/trial"
)

// Options configure [New].
type Options struct {
	Client    *Client
	Converter converter.DataConverter // the client's; nil means the SDK's default
	Senders   map[kind.Type]activities.Sender
	Notifies  map[kind.Type]notify.Sender // of notifications; nil: they are sent by Senders
	PublicURL string                      // begins the links in alerts; "" means that there are none
	MaxHold   time.Duration               // see [activities.Runner]; usually activities.DefaultMaxHold
	Log       *slog.Logger
	Now       func() time.Time     // this machine's clock; nil means time.Now
	Slots     int                  // maximum number of actions held or in flight; 0 means DefaultSlots
	PerHost   int                  // maximum number of unanswered requests per host; 0 means activities.DefaultPerHost
	Telemetry *telemetry.Telemetry // nil: nothing is measured
	Journal   *journal.Journal     // nil: outcomes that the server does not have are lost with this process
	Version   string               // of Almanac, for the record of who was there
	// Bulk changes jobs, as a Service of package scheduler does; nil: no operation on many jobs can be made
	Bulk func(ctx context.Context, k job.CollectionKey, action job.BulkAction, jobs []job.BulkJob, request string) []job.BulkResult
	Only bool // workers that follow this one are on this machine, with the same journal
}

// On graceful shutdown, running attempts may continue for grace. Then they are aborted, and have until
// stopTimeout to report.
const (
	grace       = 8 * time.Second
	stopTimeout = 10 * time.Second
)

// DefaultSlots is enough for herds: held actions cost little.
const DefaultSlots = 20_000

// DefaultCachedWorkflows is enough for 9,500 jobs due every few minutes, more than two cores sustain. If there are more
// than fit, each is replayed whenever it is due, since the others have run since.
const DefaultCachedWorkflows = 10_000

// SetCachedWorkflows sets how many workflows the workers of this process cache, least recently used
// ones being evicted. Each takes 20 to 60 kB. A workflow that is not
// cached is replayed from its history.
//
// It has no effect after a worker was started in the process, and an embedded Temporal server starts some.
func SetCachedWorkflows(n int) { worker.SetStickyWorkflowCacheSize(n) }

// pollers are the workflow task pollers of each queue, the shared and the sticky one. Without autoscaling the queues
// share them, and one answer that reports a sticky backlog sends all of them there for up to a minute, while tasks left
// by another worker wait in the shared queue (SDK 1.50). Their number is fixed, since the SDK adds one only when tasks
// have been waiting for 0.2 s; a gate limits how many of them poll.
var pollers = worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: manyPolls, MinimumNumberOfPollers: manyPolls, MaximumNumberOfPollers: manyPolls}

// New returns a worker for all workflows and activities. The caller starts and stops it.
func New(o Options) worker.Worker {
	w := worker.New(o.Client.Client, workflows.TaskQueue, worker.Options{
		Identity:          identity(recurrence.CurrentZones().Release()),
		WorkerStopTimeout: stopTimeout,

		// For herds of timers that fire in the same second. An attempt mostly waits for its receiver
		// and costs little meanwhile.
		WorkflowTaskPollerBehavior:         worker.NewPollerBehaviorAutoscaling(pollers),
		ActivityTaskPollerBehavior:         worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: manyPolls}),
		MaxConcurrentActivityExecutionSize: cmp.Or(o.Slots, DefaultSlots),

		StickyScheduleToStartTimeout: stickyTimeout,
		BuildID:                      workflows.BuildID, //nolint:staticcheck // the versioning that replaces it sets the same search attribute

		Interceptors: append(interceptors(o.Telemetry), header.ForWorker(cmp.Or(o.Converter, converter.GetDefaultDataConverter()))),
	})
	courier := courierOf(&o)
	w.RegisterWorkflowWithOptions(jobloop.For(courier), workflow.RegisterOptions{Name: workflows.TypeJob})
	w.RegisterWorkflowWithOptions(registries.Collection, workflow.RegisterOptions{Name: workflows.TypeCollection})
	w.RegisterWorkflowWithOptions(notifier.Workflow, workflow.RegisterOptions{Name: workflows.TypeNotifications})
	w.RegisterWorkflowWithOptions(registries.Subscription, workflow.RegisterOptions{Name: workflows.TypeSubscription})
	w.RegisterWorkflowWithOptions(installation.Workflow, workflow.RegisterOptions{Name: workflows.TypeInstallation})
	w.RegisterWorkflowWithOptions(changes.Workflow, workflow.RegisterOptions{Name: workflows.TypeBulk})
	w.RegisterWorkflowWithOptions(calendar.Workflow, workflow.RegisterOptions{Name: workflows.TypeCalendar})
	w.RegisterWorkflowWithOptions(calendar.Directory, workflow.RegisterOptions{Name: workflows.TypeCalendars})
	w.RegisterWorkflowWithOptions(trial.Workflow, workflow.RegisterOptions{Name: workflows.TypeTry})

	runner := &activities.Runner{
		Senders: o.Senders, Log: o.Log, Grace: grace, PerHost: cmp.Or(o.PerHost, activities.DefaultPerHost),
		MaxHold: o.MaxHold, Clock: clock.Clock{Local: o.Now}, Completions: o.Client.completions, Latency: o.Client.latency,
		Journal: o.Journal, OnlyWorker: o.Only,
	}
	if o.Telemetry != nil {
		runner.Observe = o.Telemetry.Attempts()
		runner.ObserveHeld()
	}
	if o.Notifies == nil {
		o.Notifies = notify.Actions(o.Senders)
	}
	notifies := &notify.Activities{Senders: o.Notifies, Log: o.Log, PublicURL: o.PublicURL}
	planner := jobloop.NewPlanner(calendarReader(o.Client.Client))
	w.RegisterActivityWithOptions(planner.Plan, activity.RegisterOptions{Name: workflows.ActivityPlan})
	w.RegisterActivityWithOptions(planner.Ask, activity.RegisterOptions{Name: workflows.ActivityAsk})
	tells := newTeller(&o)
	w.RegisterActivityWithOptions(tells.Tell, activity.RegisterOptions{Name: workflows.ActivityTell})
	warns := &warner{teller: tells}
	w.RegisterActivityWithOptions(warns.Warn, activity.RegisterOptions{Name: workflows.ActivityWarn})
	w.RegisterActivityWithOptions(notifies.Send, activity.RegisterOptions{Name: notify.TypeSend})
	w.RegisterActivityWithOptions(notifies.Targets, activity.RegisterOptions{Name: notify.TypeTargets})
	tries := &trials.Trials{Runner: runner}
	w.RegisterActivityWithOptions(tries.Try, activity.RegisterOptions{Name: trials.TypeTry})
	if o.Bulk != nil {
		w.RegisterActivityWithOptions((&bulk.Activities{Do: o.Bulk}).Change, activity.RegisterOptions{Name: bulk.TypeChange})
	}
	looks := &lookups.Lookups{Converter: o.Converter}
	w.RegisterActivityWithOptions(runner.Run, activity.RegisterOptions{Name: activities.TypeAction})
	w.RegisterActivityWithOptions(looks.Registrations, activity.RegisterOptions{Name: lookups.TypeRegistrations})
	w.RegisterActivityWithOptions(looks.UpdateWorkflow, activity.RegisterOptions{Name: lookups.TypeUpdate})
	w.RegisterActivityWithOptions(looks.UpdateWorkflows, activity.RegisterOptions{Name: lookups.TypeUpdateAll})
	w.RegisterActivityWithOptions(looks.TerminateWorkflows, activity.RegisterOptions{Name: lookups.TypeTerminate})
	w.RegisterActivityWithOptions(looks.PendingActions, activity.RegisterOptions{Name: lookups.TypePending})
	releases := newReleases(o.Client.Client, runner)
	checkIns := newCheckIns(&o, runner)
	releases.RegisterActivityWithOptions(checkIns.Present, activity.RegisterOptions{Name: checkins.TypePresent})
	return &pair{Worker: w, releases: releases, checkIns: checkIns, zones: newZones(&o), courier: courier}
}

// interceptors returns what counts operations in progress and, if traces are on, passes the spans of requests to
// actions.
func interceptors(t *telemetry.Telemetry) (all []interceptor.WorkerInterceptor) {
	if t != nil {
		all = append(all, sdktelemetry.NewOperations(t.Registry, lookups.TypeUpdateAll, lookups.TypeTerminate))
	}
	if t.Traces() {
		all = append(all, sdktelemetry.NewHeaders(activities.TypeAction))
	}
	return all
}
