package main

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

// bareLoop is the smallest job that Temporal allows: a workflow that sleeps,
// sends, and starts over. It cannot be changed, read or retried later, and
// knows one recurrence. It is what a job costs at least.
type bareLoop struct {
	temporal client.Client
	sink     *sink
}

const typeLoop = "BenchLoop"

// attemptTimeout is the activity's, for the systems that are not Almanac.
const attemptTimeout = activities.DefaultTimeout + 10*time.Second

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
		StartToCloseTimeout: attemptTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	return workflow.ExecuteActivity(ctx, activities.TypeAction, sending(id, url, due)).Get(ctx, nil)
}

func newLoop(c client.Client, w worker.Registry, s *sink) *bareLoop {
	w.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: typeLoop})
	return &bareLoop{temporal: c, sink: s}
}

func (*bareLoop) name() string { return nameLoop }

func (*bareLoop) every(int) time.Duration { return time.Minute }

func (l *bareLoop) create(ctx context.Context, h herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		next := h.first
		if late := time.Since(next); late > 0 { // like the others, it begins with a tick that is ahead
			next = next.Add(late.Truncate(h.every) + h.every)
		}
		return l.start(ctx, h, number, next)
	})
}

func (l *bareLoop) createOverdue(ctx context.Context, h herd, backlog time.Duration) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		return l.start(ctx, h, number, time.Now().UTC().Truncate(time.Second).Add(-backlog))
	})
}

func (l *bareLoop) start(ctx context.Context, h herd, number int, next time.Time) error {
	_, err := l.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: h.id(number), TaskQueue: workflows.TaskQueue}, typeLoop,
		loopInput{ID: h.id(number), URL: l.sink.target(h.name, number), Next: next, Every: h.every})
	return err
}

func (l *bareLoop) remove(ctx context.Context, h herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		return orGone(l.temporal.TerminateWorkflow(ctx, h.id(number), "", "measured"))
	})
}

func (l *bareLoop) events(ctx context.Context, h herd, number int, _ []time.Time) (int64, error) {
	return historyLength(ctx, l.temporal, h.id(number))
}
