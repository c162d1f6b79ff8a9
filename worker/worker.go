// Package worker runs Almanac's workflows and activities: what is registered,
// and how it is tuned, on one screen.
package worker

import (
	"cmp"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/internal/clock"
	"almanac/job"
	"almanac/workflows"
)

// Options configure [New].
type Options struct {
	Client    *Client
	Converter converter.DataConverter // the client's; nil means the SDK's default
	Senders   map[job.ActionType]activities.Sender
	Lead      activities.Lead // the zero Lead means activities.DefaultLead
	Log       *slog.Logger
	Now       func() time.Time // this machine's clock; nil means time.Now
	Slots     int              // how many actions are held or made at once; 0 means DefaultSlots
	PerHost   int              // how many requests to one host may be unanswered; 0 means activities.DefaultPerHost
}

// An attempt that is under way when the worker stops may go on for grace;
// then it is aborted, and reported until stopTimeout is over.
const (
	grace       = 8 * time.Second
	stopTimeout = 10 * time.Second
)

// DefaultSlots is enough for herds, which are held until they are due: that costs little.
const DefaultSlots = 20_000

// DefaultCachedWorkflows is enough for two thousand jobs that are due every
// minute, and has a worker beside any number of sleeping ones stay small.
const DefaultCachedWorkflows = 2200

// SetCachedWorkflows sets how many workflows the workers of this process keep in memory,
// those that were at work last; otherwise it is the SDK's default, 10,000. Each takes some
// 20 to 60 kB. Another one that wakes up is replayed from its history first.
//
// It has no effect once a worker of the process was started, and an embedded Temporal
// server starts some.
func SetCachedWorkflows(n int) { worker.SetStickyWorkflowCacheSize(n) }

// pollers are those of workflow tasks, for each of the two queues: that of all workers, and
// the sticky one. Without autoscaling both would share them, and one answer that tells of a
// backlog in the sticky queue has all of them ask there, for up to a minute, while tasks
// that another worker left behind lie in the other one (SDK 1.50). There are few where there
// is little to do: a worker that is paused takes a task along with each, for 10 s.
var pollers = worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 2, MinimumNumberOfPollers: 2, MaximumNumberOfPollers: 10}

// New returns a worker for all of Almanac. Start and Stop it.
func New(o Options) worker.Worker {
	w := worker.New(o.Client.Client, workflows.TaskQueue, worker.Options{
		WorkerStopTimeout: stopTimeout,

		// Jobs come in herds: many timers fire in the same second. An attempt
		// mostly waits for its receiver and costs little meanwhile.
		WorkflowTaskPollerBehavior:         worker.NewPollerBehaviorAutoscaling(pollers),
		MaxConcurrentActivityTaskPollers:   10,
		MaxConcurrentActivityExecutionSize: cmp.Or(o.Slots, DefaultSlots),

		StickyScheduleToStartTimeout: stickyTimeout,
	})
	w.RegisterWorkflowWithOptions(workflows.Job, workflow.RegisterOptions{Name: workflows.TypeJob})
	w.RegisterWorkflowWithOptions(workflows.Collection, workflow.RegisterOptions{Name: workflows.TypeCollection})
	w.RegisterWorkflowWithOptions(workflows.Subscription, workflow.RegisterOptions{Name: workflows.TypeSubscription})

	runner := &activities.Runner{
		Senders: o.Senders, Log: o.Log, Grace: grace, PerHost: cmp.Or(o.PerHost, activities.DefaultPerHost),
		Lead: cmp.Or(o.Lead, activities.DefaultLead()), Clock: clock.Clock{Local: o.Now}, Reports: o.Client.reports,
	}
	lookups := &activities.Lookups{Converter: o.Converter}
	w.RegisterActivityWithOptions(runner.Run, activity.RegisterOptions{Name: activities.TypeAction})
	w.RegisterActivityWithOptions(lookups.MissingWorkflows, activity.RegisterOptions{Name: activities.TypeMissing})
	w.RegisterActivityWithOptions(lookups.UpdateWorkflow, activity.RegisterOptions{Name: activities.TypeUpdate})
	w.RegisterActivityWithOptions(lookups.UpdateWorkflows, activity.RegisterOptions{Name: activities.TypeUpdateAll})
	w.RegisterActivityWithOptions(lookups.TerminateWorkflows, activity.RegisterOptions{Name: activities.TypeTerminate})
	w.RegisterActivityWithOptions(lookups.PendingActions, activity.RegisterOptions{Name: activities.TypePending})
	return w
}
