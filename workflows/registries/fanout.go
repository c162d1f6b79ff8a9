package registries

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/activities/lookups"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

// A collection sends its jobs an update when it is enabled, disabled or deleted. A job that does not
// answer, for example because no worker can read its history, must not delay the others: it is asked
// again after all of them; if it stays silent, it is updated again in the background, or terminated.

const (
	// patience is how long a job has to answer, lastPatience how long in the second round: after a
	// worker crash, a task is not handed out again for 10 s.
	patience     = 2 * time.Second
	lastPatience = 12 * time.Second

	// jobsPerUpdate is the maximum number of workflows per activity, silentPerUpdate the maximum in the
	// second round.
	jobsPerUpdate   = 200
	silentPerUpdate = 1000

	// Silent jobs are updated again after a pause that doubles with each round, between these limits.
	leastPause = time.Second
	mostPause  = 5 * time.Minute
)

// answers are the jobs, by workflow id, that did not apply an update.
type answers struct {
	missing map[string]bool   // gone, or about to end
	failed  map[string]string // no answer; the reason is set for the first ones only
}

// update sends an update to jobs, chunk of them per activity, each with patience to answer.
func (c *collection) update(ctx workflow.Context, ids []string, update string, chunk int, patience time.Duration, arguments ...any) (answers, error) {
	a := answers{missing: map[string]bool{}, failed: map[string]string{}}
	ctx = withLookup(ctx, update)
	for some := range slices.Chunk(ids, chunk) {
		var r lookups.UpdateResult
		err := workflow.ExecuteActivity(ctx, lookups.TypeUpdateAll, lookups.UpdateInput{
			Workflows: some, Update: update, ID: fmt.Sprintf("%s-%d", update, c.Generation), Arguments: arguments, Patience: patience,
		}).Get(ctx, &r)
		if err != nil {
			return a, err
		}
		for _, i := range r.Missing {
			a.missing[some[i]] = true
		}
		for n, i := range r.Failed {
			a.failed[some[i]] = ""
			if n < len(r.Reasons) {
				a.failed[some[i]] = r.Reasons[n]
			}
		}
	}
	return a, nil
}

// updateTwice sends an update to jobs, and once more to those that did not answer.
func (c *collection) updateTwice(ctx workflow.Context, ids []string, update string, arguments ...any) (answers, error) {
	first, err := c.update(ctx, ids, update, jobsPerUpdate, patience, arguments...)
	if err != nil || len(first.failed) == 0 {
		return first, err
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, failed := first.failed[id]; return !failed })
	last, err := c.update(ctx, ids, update, silentPerUpdate, lastPatience, arguments...)
	for _, id := range ids {
		if last.missing[id] {
			first.missing[id] = true
		}
	}
	first.failed = last.failed
	return first, err
}

// updateAll sends the collection's state to every job that may not have it.
func (c *collection) updateAll(ctx workflow.Context) error {
	return c.updateJobs(ctx, c.outdated(true))
}

// updateJobs sends the collection's state to jobs and returns when all have applied it. It waits for a job
// that may still be started, until workflows.StartWithin is over. The error names the jobs that did not answer.
func (c *collection) updateJobs(ctx workflow.Context, ids []string) error {
	failed := map[string]string{}
	for len(ids) > 0 && !c.deleted {
		asked := workflow.Now(ctx)
		a, err := c.updateTwice(ctx, ids, workflows.UpdateCollection, c.forJobs())
		if err != nil {
			return err
		}
		starting := c.recordAnswers(asked, ids, a)
		for _, id := range ids {
			if why, ok := a.failed[id]; ok {
				failed[id] = why
			}
		}
		if ids = starting; len(ids) == 0 {
			break
		}
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return c.reportSilent(ctx, failed)
}

// outdated returns the ids of the jobs that have not applied the collection's state. Silent jobs are
// included only on request.
func (c *collection) outdated(silent bool) []string {
	var ids []string
	for _, e := range c.entries {
		stale := e.Applied != c.State || e.Before != nil // a name that is registered twice may belong to either job
		if silent && e.Silent || !e.Silent && stale {
			ids = append(ids, c.id(e.Name))
		}
	}
	return ids
}

// recordAnswers records which of the jobs that were asked at a time applied the collection's state, and returns the
// missing ones that may have been started since, or may still be.
func (c *collection) recordAnswers(at time.Time, ids []string, a answers) (starting []string) {
	asked := map[string]bool{}
	for _, id := range ids {
		asked[id] = true
	}
	for i := range c.entries {
		e := &c.entries[i]
		id := c.id(e.Name)
		_, failed := a.failed[id]
		switch {
		case !asked[id]:
		case a.missing[id]:
			e.Silent = false
			if mayStillStart(e, at) {
				starting = append(starting, id)
			}
		case failed:
			e.Silent = true
		default:
			e.Silent = false
			if e.Before == nil { // otherwise it is not known which job answered
				e.Applied = c.State
			}
		}
	}
	c.note()
	return starting
}

// mayStillStart reports whether a job that was missing at a time may have been started since, or may still be, without
// having to ask whether its name is registered.
func mayStillStart(e *Entry, at time.Time) bool {
	return e.Unverified && at.Before(workflows.RegisteredAt(e.Number).Add(workflows.StartWithin+lookups.ServerSkew))
}

// reportSilent schedules the repeated updates of silent jobs, and returns an error that names the first of them; nil
// if there are none.
func (c *collection) reportSilent(ctx workflow.Context, failed map[string]string) error {
	if len(failed) == 0 {
		return nil
	}
	c.again, c.Pause = again{timer: c.again.timer, at: workflow.Now(ctx).Add(leastPause)}, leastPause
	workflow.GetLogger(ctx).Warn("jobs did not answer and are updated again", "collection", c.Key.ARMID(), "jobs", len(failed), "state", c.Properties.State)
	const most = 5
	var names []string
	for _, e := range c.entries {
		why, ok := failed[c.id(e.Name)]
		if !ok || len(names) == most {
			continue
		}
		name := "'" + e.Name + "'"
		if why != "" {
			name += " (" + why + ")"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(failed) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return workflows.Refusef(workflows.ErrTypeSilent,
		"The state of the job collection '%s' is %s, but %d of its %d jobs did not answer and may not know: %s. "+
			"They are updated again, at least every five minutes, until they answer.",
		c.Key.Name, c.Properties.State, len(failed), len(c.entries), text)
}

// again is the state of the repeated updates of silent jobs.
type again struct {
	timer await.Timer
	at    time.Time // of the next chunk; zero for never
	after int       // sequence of the last job updated in this round
}

// resume continues the updates of jobs that were silent in the run before.
func (c *collection) resume(ctx workflow.Context) {
	if len(c.silent()) == 0 {
		c.Pause = 0
		return
	}
	c.Pause = max(c.Pause, leastPause)
	c.again.at = workflow.Now(ctx).Add(c.Pause)
}

func (c *collection) silent() (silent []Entry) {
	for _, e := range c.entries {
		if e.Silent {
			silent = append(silent, e)
		}
	}
	return silent
}

// updateSilent updates the next chunk of silent jobs. Other changes of the properties wait for it, so the
// chunk is small.
func (c *collection) updateSilent(ctx workflow.Context) error {
	silent := c.silent()
	if len(silent) == 0 || c.deleted {
		c.again, c.Pause = again{timer: c.again.timer}, 0
		return nil
	}
	some := slices.DeleteFunc(silent, func(e Entry) bool { return e.Sequence <= c.again.after })
	some = some[:min(len(some), jobsPerUpdate)]
	ids := make([]string, len(some))
	for i, e := range some {
		ids[i], c.again.after = c.id(e.Name), e.Sequence
	}
	pause := leastPause
	if len(some) < jobsPerUpdate { // the last chunk of this round
		c.again.after, c.Pause = 0, min(2*c.Pause, mostPause)
		pause = c.Pause
	}
	asked := workflow.Now(ctx)
	a, err := c.update(ctx, ids, workflows.UpdateCollection, jobsPerUpdate, patience, c.forJobs())
	if err != nil {
		return err
	}
	c.recordAnswers(asked, ids, a)
	c.again.at = workflow.Now(ctx).Add(pause)
	return nil
}

// dismiss ends all jobs, and terminates those that do not answer. It waits for a job that may still be
// started. When it returns nil, no more requests are sent by them.
func (c *collection) dismiss(ctx workflow.Context) error {
	for pause := time.Second; len(c.entries) > 0; {
		ids := make([]string, len(c.entries))
		for i, e := range c.entries {
			ids[i] = c.id(e.Name)
		}
		asked := workflow.Now(ctx)
		a, err := c.updateTwice(ctx, ids, workflows.UpdateDismiss, c.forJobs())
		if err != nil {
			return err
		}
		// A missing job may just have been terminated: then wait until its leases are over.
		ids = slices.DeleteFunc(ids, func(id string) bool { _, failed := a.failed[id]; return !failed && !a.missing[id] })
		still, err := c.terminate(ctx, ids)
		if err != nil {
			return err
		}
		c.note()
		c.set(slices.DeleteFunc(c.entries, func(e Entry) bool {
			id := c.id(e.Name)
			_, failed := a.failed[id]
			starts := (failed || a.missing[id]) && mayStillStart(&e, asked)
			return !still[id] && !starts
		}))
		if len(c.entries) == 0 {
			return nil
		}
		if err := workflow.Sleep(ctx, pause); err != nil {
			return err
		}
		if len(still) > 0 {
			pause = min(2*pause, mostPause)
		}
	}
	return nil
}

// terminate terminates jobs, and returns the set of those that may still send requests.
func (c *collection) terminate(ctx workflow.Context, ids []string) (map[string]bool, error) {
	still := map[string]bool{}
	ctx = withLookup(ctx, "terminate jobs that do not answer")
	for some := range slices.Chunk(ids, jobsPerUpdate) {
		var left []int
		err := workflow.ExecuteActivity(ctx, lookups.TypeTerminate, lookups.TerminateInput{
			Workflows: some, Reason: "its job collection was deleted, and it did not answer", Last: c.last,
		}).Get(ctx, &left)
		if err != nil {
			return still, err
		}
		for _, i := range left {
			still[some[i]] = true
		}
	}
	return still, nil
}
