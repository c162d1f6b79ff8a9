package systems

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/workflows"
	"almanac/workflows/jobloop"
)

// bareLoop is the smallest job that Temporal allows: a workflow that sleeps, sends, and starts over.
// It cannot be changed, read or retried later, and knows one recurrence. It shows the least that a
// job can cost.
type bareLoop struct {
	temporal client.Client
	receiver *Receiver
}

const typeLoop = "BenchLoop"

type loopInput struct {
	ID    string
	URL   string
	Next  time.Time
	Every time.Duration
}

func loop(ctx workflow.Context, in loopInput) error {
	for range jobloop.ExecutionsPerRun {
		if err := workflow.Sleep(ctx, in.Next.Sub(workflow.Now(ctx))); err != nil {
			return err
		}
		if err := send(ctx, in.ID, in.URL, in.Next); err != nil {
			return err
		}
		in.Next = in.Next.Add(in.Every)
	}
	return workflow.NewContinueAsNewError(ctx, typeLoop, in)
}

// send runs the activity that sends a job's request.
func send(ctx workflow.Context, id, url string, due time.Time) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: AttemptTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	return workflow.ExecuteActivity(ctx, activities.TypeAction, actionInput(id, url, due)).Get(ctx, nil)
}

func newLoop(c client.Client, w worker.Registry, r *Receiver) *bareLoop {
	w.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: typeLoop})
	return &bareLoop{temporal: c, receiver: r}
}

func (*bareLoop) Name() string { return Loop }

func (l *bareLoop) Create(ctx context.Context, h Herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		in := loopInput{ID: h.ID(number), URL: l.receiver.target(h.Name, number), Next: h.First, Every: h.Every}
		if h.Backlog > 0 {
			in.Next, in.Every = time.Now().UTC().Truncate(time.Second).Add(-h.Backlog), time.Minute
		} else if late := time.Since(h.First); late > 0 { // like the others, it begins with a tick in the future
			in.Next = h.First.Add(late.Truncate(h.Every) + h.Every)
		}
		_, err := l.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: in.ID, TaskQueue: workflows.TaskQueue}, typeLoop, in)
		return err
	})
}

func (l *bareLoop) Remove(ctx context.Context, h Herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		return ignoreNotFound(l.temporal.TerminateWorkflow(ctx, h.ID(number), "", "measured"))
	})
}

func (l *bareLoop) Events(ctx context.Context, h Herd, number int, _ []time.Time) (int64, error) {
	return historyLength(ctx, l.temporal, h.ID(number))
}
