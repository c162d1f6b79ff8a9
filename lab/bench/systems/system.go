// Package systems has what the benchmark compares: Almanac, the smallest job workflow that one could write, and
// Temporal's own Schedules. It starts them and creates their jobs, herds that are due together, sorts the requests that
// came by due time, and makes the calls of an API's users beside them.
package systems

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"almanac/lab/client"
	"almanac/lab/receiver"
)

// The systems' names.
const (
	Loop      = "bare loop"
	Schedules = "Temporal Schedules"
	Almanac   = "Almanac"
)

// Slugs are the systems as they are written in flags and paths, in the order in which they are measured:
// Almanac is the last one, on the fullest database.
var Slugs = []string{Slug(Loop), Slug(Schedules), Slug(Almanac)}

// Slug returns a system's name as it is written in flags and paths.
func Slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// A System runs jobs. All systems share one Temporal server, one worker, and the activity that
// sends the requests.
type System interface {
	Name() string

	// Create creates the jobs of a herd.
	Create(ctx context.Context, h Herd) error

	// Remove ends the jobs of a herd. Those that do not exist are no error.
	Remove(ctx context.Context, h Herd) error

	// workflows returns the ids of a job's workflows: of those that serve the job as long as it exists,
	// and of those that were started for its executions at the given due times.
	workflows(h Herd, number int, due []time.Time) []string
}

// A Herd is a number of jobs that are due in the same second.
type Herd struct {
	Name  string        // unique in a run of the benchmark
	Jobs  int           // numbered from 0 on
	First time.Time     // of its due times, in whole seconds
	Every time.Duration // from one due time to the next, in whole minutes

	// Backlog makes jobs that have an occurrence for every minute of it to execute at once, one after
	// another. At most [MaxBacklog]; First and Every are not used then.
	Backlog time.Duration

	// Used by Almanac only.
	Schedule  Object // properties of a job besides its start time
	NoRetries bool   // whether retryType is none
	Fails     bool   // whether every execution fails
	Slow      bool   // whether every request is answered after a second
	Alerts    bool   // whether each job has a notification of failures, to a target of its own

	Parallel int // how many jobs are created at the same time; 0: 16
}

// An Object is a JSON object of the REST API.
type Object = client.Object

// Path returns the path of the herd's collection.
func (h Herd) Path() string { return client.CollectionPath(h.Name) }

// JobPath returns the path of one of the herd's jobs.
func (h Herd) JobPath(number int) string { return client.JobPath(h.Name, h.ID(number)) }

// target returns the address that one of the jobs calls.
func (h Herd) target(r *receiver.Receiver, number int) string {
	uri := r.Target(h.Name, strconv.Itoa(number))
	switch {
	case h.Fails:
		uri += receiver.Failing
	case h.Slow:
		uri += receiver.Slow
	}
	return uri
}

// ID returns the name of one of the jobs.
func (h Herd) ID(number int) string { return fmt.Sprintf("%s-%d", h.Name, number) }

const defaultParallel = 16

// each calls do for every job of the herd, several at the same time.
func (h Herd) each(ctx context.Context, do func(ctx context.Context, number int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(h.Parallel, defaultParallel))
	for number := range h.Jobs {
		group.Go(func() error {
			if err := do(ctx, number); err != nil {
				return fmt.Errorf("job %s: %w", h.ID(number), err)
			}
			return nil
		})
	}
	return group.Wait()
}
