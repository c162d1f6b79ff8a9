package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"almanac/activities"
	"almanac/job"
)

// A system runs jobs. All systems share one Temporal server, one worker, and
// the activity that sends the requests.
type system interface {
	name() string

	// every returns the time between two ticks of herds with that many jobs in
	// all: whole minutes, long enough for the system to be done before the next.
	every(jobs int) time.Duration

	// create makes the jobs of a herd, each due at its first tick and after it.
	create(ctx context.Context, h herd) error

	// createOverdue makes the jobs of a herd such that each has an occurrence for
	// every minute of backlog to run at once, one after another.
	createOverdue(ctx context.Context, h herd, backlog time.Duration) error

	// remove ends the jobs of a herd.
	remove(ctx context.Context, h herd) error

	// events returns how many events the histories behind one job hold that last,
	// and those of the occurrences named.
	events(ctx context.Context, h herd, number int, due []time.Time) (int64, error)
}

// A herd is jobs that are due in the same second.
type herd struct {
	name  string // unique in this run
	jobs  int
	first time.Time // of its ticks, in whole seconds
	every time.Duration
}

// id names one of the herd's jobs.
func (h herd) id(number int) string { return fmt.Sprintf("%s-%d", h.name, number) }

// slug returns a system's name as it can stand in a path.
func slug(s system) string { return strings.ReplaceAll(strings.ToLower(s.name()), " ", "-") }

// parallel is how many jobs are created, or removed, at the same time.
const parallel = 16

// each does something to every job of the herd.
func (h herd) each(ctx context.Context, do func(ctx context.Context, number int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for number := range h.jobs {
		group.Go(func() error {
			if err := do(ctx, number); err != nil {
				return fmt.Errorf("job %s: %w", h.id(number), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// orGone returns err unless it says that what was to be removed is not there.
func orGone(err error) error {
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil
	}
	return err
}

// sending is the activity's input for the execution of a job that calls a URL:
// what Almanac's own jobs give it.
func sending(id, url string, due time.Time) activities.Input {
	return activities.Input{
		Execution:   job.Execution{ID: id, Due: due, Job: id, Collection: "bench", ActionName: job.MainAction},
		Action:      job.Action{Type: job.ActionHTTP, Request: &job.Request{Method: "GET", URI: url}},
		MaxAttempts: 1,
	}
}

// historyLength returns the number of events of a workflow's current run.
func historyLength(ctx context.Context, c client.Client, id string) (int64, error) {
	found, err := c.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return 0, fmt.Errorf("describe workflow %s: %w", id, err)
	}
	return found.GetWorkflowExecutionInfo().GetHistoryLength(), nil
}
