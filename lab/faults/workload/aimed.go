package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"almanac/lab/record"
	"almanac/lab/wait"
)

// Each of these methods brings about a moment at which a fault can be injected. They draw from the random
// numbers of the faults, so that these do not depend on the changes.

// reachTime is how long a moment is waited for.
const reachTime = 25 * time.Second

// AwaitDue waits until some time before a random job is due. It returns the job, a zero one if none is due soon.
func (w *Workload) AwaitDue(ctx context.Context, ahead time.Duration, random *rand.Rand) record.Job {
	for range 1000 {
		j := w.Jobs[random.IntN(len(w.Jobs))]
		if !j.TryLock() {
			continue
		}
		id := j.ID
		due, ok := j.Next(time.Now().Add(ahead))
		j.Unlock()
		if ok && time.Until(due) < reachTime {
			_ = wait.For(ctx, time.Until(due.Add(-ahead)))
			return id
		}
	}
	return record.Job{}
}

// AwaitWindow waits until some time before the herd of [NewJobs] is due; if there is none, before a second in which a
// third of the jobs are due.
func (w *Workload) AwaitWindow(ctx context.Context, ahead time.Duration, random *rand.Rand) {
	second := herdSeconds[random.IntN(len(herdSeconds))]
	if len(w.Jobs) > 0 && w.Jobs[0].inHerd {
		second = herdSecond
	}
	_ = wait.For(ctx, time.Until(startIn(time.Now().Add(ahead), second).Add(-ahead)))
}

// AwaitAsleep creates one-time jobs, and waits until some time before they are due. It returns one of them. If that
// time is longer than any lead, their workflows have not begun.
func (w *Workload) AwaitAsleep(ctx context.Context, ahead time.Duration) record.Job {
	due := time.Now().Add(ahead + 5*time.Second)
	added := w.createNew(ctx, 5, oneTime(due))
	_ = wait.For(ctx, time.Until(due.Truncate(time.Second).Add(-ahead)))
	return firstOf(added)
}

func firstOf(jobs []record.Job) record.Job {
	if len(jobs) == 0 {
		return record.Job{}
	}
	return jobs[0]
}

// ContinueAsNewRuns is more than the 50 executions after which a job's workflow continues as new.
const ContinueAsNewRuns = 60

// RunUntilContinueAsNew starts [ContinueAsNewRuns] manual runs of a job. It returns some time after a number of them
// was answered; the others continue. The job itself is due much later, so that no occurrence is held meanwhile.
func (w *Workload) RunUntilContinueAsNew(ctx context.Context, answered int, after time.Duration) record.Job {
	j := firstOf(w.createNew(ctx, 1, oneTime(time.Now().Add(6*time.Minute))))
	if j == (record.Job{}) {
		return j
	}
	reached := make(chan struct{})
	var applied atomic.Int64
	var once sync.Once
	for range 6 {
		w.open.Go(func() {
			for applied.Load() < ContinueAsNewRuns && ctx.Err() == nil {
				switch w.change(ctx, record.ManualRun, j, nil, nil) {
				case record.Unknown:
					return // the fault has begun
				case record.Refused:
					_ = wait.For(ctx, 100*time.Millisecond) // too many runs are under way
				case record.Applied:
					if applied.Add(1) >= int64(answered) {
						once.Do(func() { close(reached) })
					}
				}
			}
		})
	}
	select {
	case <-reached:
	case <-ctx.Done():
	case <-time.After(reachTime):
	}
	_ = wait.For(ctx, after)
	return j
}

// FanOut disables a collection with many jobs and enables it again. It returns some time after one of the two
// began, and returns a zero job if the last FanOut has not ended.
func (w *Workload) FanOut(ctx context.Context, after time.Duration, random *rand.Rand) record.Job {
	if !w.toggling.TryLock() {
		return record.Job{}
	}
	j := record.Job{Collection: collectionName(random.IntN(collections - 1))} // the last one is toggled at random
	enabling := random.IntN(2) == 0
	issued := make(chan struct{})
	w.open.Go(func() {
		defer w.toggling.Unlock()
		if !enabling {
			close(issued)
		}
		w.change(ctx, record.DisableCollection, j, nil, nil)
		_ = wait.For(ctx, w.between(2*time.Second, 15*time.Second))
		if enabling {
			close(issued)
		}
		w.change(ctx, record.EnableCollection, j, nil, nil)
	})
	<-issued
	_ = wait.For(ctx, after)
	return j
}

// CreateMany starts to create n jobs at once, and returns one of them some time after that. Half of the
// creates are not repeated if they get no answer, so that only Almanac decides whether the job exists.
func (w *Workload) CreateMany(ctx context.Context, n int, after time.Duration, random *rand.Rand) record.Job {
	var first record.Job
	for i := range n {
		d := newDefinition(time.Now().UTC().Add(10*time.Second), time.Minute, random)
		d.Start = newStart(time.Now().UTC().Add(10*time.Second), random)
		d.Once, d.Count, d.Behaviour = false, 5, "ok"
		j := w.add(d)
		if i == 0 {
			first = j.ID
		}
		tries := 1
		if i%2 == 0 {
			tries = maxTries
		}
		w.open.Go(func() { w.create(ctx, j, tries) })
	}
	_ = wait.For(ctx, after)
	return first
}

// AwaitHerd creates a herd, many jobs that are due together once, and returns it some time before it is due.
func (w *Workload) AwaitHerd(ctx context.Context, ahead time.Duration) []record.Job {
	n := max(20, min(150, len(w.Jobs)/2))
	due := time.Now().Add(15*time.Second + time.Duration(n)*50*time.Millisecond)
	added := w.createNew(ctx, n, oneTime(due))
	_ = wait.For(ctx, time.Until(due.Truncate(time.Second).Add(-ahead)))
	return added
}

const (
	overloadRuns = 300 // manual runs of an overload
	overloadJob  = 40  // manual runs of each job, of which 50 may be under way
	recoveryTime = 2 * time.Minute
)

// Overload starts manual runs of many jobs at once, and waits until they are answered and the herd has run.
func (w *Workload) Overload(ctx context.Context, herd []record.Job, random *rand.Rand) error {
	var locked []*Job
	for _, i := range random.Perm(len(w.Jobs)) {
		if j := w.Jobs[i]; j.TryLock() {
			locked = append(locked, j)
		}
	}
	var group sync.WaitGroup
	for i := range min(overloadRuns, len(locked)*overloadJob) {
		j := locked[i%len(locked)].ID
		group.Go(func() { w.change(ctx, record.ManualRun, j, nil, nil) })
	}
	group.Wait()
	for _, j := range locked {
		j.Unlock()
	}
	return w.receiver.AwaitRequests(ctx, herd, recoveryTime)
}

// add adds a job with a new name, which is not created yet.
func (w *Workload) add(d record.Definition) *Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.added)
	j := &Job{
		ID: record.Job{Collection: collectionName(n % (collections - 1)), Name: fmt.Sprintf("x%05d", n),
			Incarnation: 1},
		Definition: d,
	}
	w.added = append(w.added, j)
	return j
}

// createNew creates n jobs with a definition, and returns those that certainly exist.
func (w *Workload) createNew(ctx context.Context, n int, d record.Definition) []record.Job {
	jobs := make([]*Job, n)
	for i := range jobs {
		jobs[i] = w.add(d)
	}
	exists := make([]bool, n)
	wait.Calls(n, 4, func(i int) { exists[i] = w.create(ctx, jobs[i], maxTries) == record.Applied })
	var ids []record.Job
	for i, j := range jobs {
		if exists[i] {
			ids = append(ids, j.ID)
		}
	}
	return ids
}
