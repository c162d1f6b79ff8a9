package systems

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/activities"
	"almanac/job"
	"almanac/job/kind"
	"almanac/lab/receiver"
	"almanac/workflows"
	"almanac/workflows/jobloop"
)

// bareLoop is the smallest job that Temporal allows: a workflow that sleeps, sends, and starts over.
// It cannot be changed, read or retried later, and knows one recurrence. It shows the least that a
// job can cost.
type bareLoop struct {
	temporal client.Client
	receiver *receiver.Receiver
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

// AttemptTimeout is how long one attempt may take in the systems other than Almanac.
const AttemptTimeout = activities.DefaultTimeout + 10*time.Second

// send sends a job's request, by the activity and the input that Almanac's own jobs use.
func send(ctx workflow.Context, id, url string, due time.Time) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: AttemptTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	return workflow.ExecuteActivity(ctx, activities.TypeAction, activities.Input{
		Execution:   job.Execution{ID: id, Due: due, Job: id, Collection: "bench", ActionName: job.MainAction},
		Action:      job.Action{Type: kind.HTTP, Content: kind.Content{Request: &kind.Request{Method: "GET", URI: url}}},
		MaxAttempts: 1,
	}).Get(ctx, nil)
}

func (*bareLoop) Name() string { return Loop }

func (l *bareLoop) Create(ctx context.Context, h Herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		in := loopInput{ID: h.ID(number), URL: h.target(l.receiver, number), Next: h.First, Every: h.Every}
		if h.Backlog > 0 {
			in.Next, in.Every = time.Now().UTC().Truncate(time.Second).Add(-h.Backlog), time.Minute
		}
		_, err := l.temporal.ExecuteWorkflow(ctx,
			client.StartWorkflowOptions{ID: in.ID, TaskQueue: workflows.TaskQueue}, typeLoop, in)
		return err
	})
}

func (l *bareLoop) Remove(ctx context.Context, h Herd) error {
	return h.each(ctx, func(ctx context.Context, number int) error {
		return ignoreNotFound(l.temporal.TerminateWorkflow(ctx, h.ID(number), "", "measured"))
	})
}

func (*bareLoop) workflows(h Herd, number int, _ []time.Time) []string { return []string{h.ID(number)} }
