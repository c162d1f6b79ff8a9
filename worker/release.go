package worker

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"almanac/activities"
	"almanac/activities/notify"
	checkins "almanac/activities/presence"
)

// releasePollers are the pollers of the queue on which a process is asked to release what it holds.
const releasePollers = 2

// pair is a worker, and the one of the same process that releases what it holds. That begins before and ends after it.
type pair struct {
	worker.Worker
	releases worker.Worker
	checkIns *checkins.CheckIns
	zones    *zones // nil: the release of the time zones is not known
	courier  *notify.Courier
}

// goodbyeTimeout is how long a worker that stops waits until it is recorded that it does.
const goodbyeTimeout = 2 * time.Second

// newReleases returns the worker that releases what the runner holds, on a queue of this process alone.
func newReleases(c client.Client, runner *activities.Runner) worker.Worker {
	runner.Queue = "almanac-" + uuid.NewString()
	w := worker.New(c, runner.Queue, worker.Options{
		DisableWorkflowWorker:      true,
		WorkerStopTimeout:          goodbyeTimeout,
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: releasePollers}),
	})
	w.RegisterActivityWithOptions(runner.Release, activity.RegisterOptions{Name: activities.TypeRelease})
	return w
}

// Start implements [worker.Worker].
func (p *pair) Start() error {
	if err := p.releases.Start(); err != nil {
		return err
	}
	if err := p.Worker.Start(); err != nil {
		p.releases.Stop()
		return err
	}
	p.checkIns.Start()
	p.zones.start()
	return nil
}

// Run implements [worker.Worker].
func (p *pair) Run(interrupt <-chan any) error {
	if err := p.releases.Start(); err != nil {
		return err
	}
	defer p.releases.Stop()
	p.checkIns.Start()
	defer p.checkIns.Stop()
	p.zones.start()
	defer p.zones.stop()
	defer p.handOver()
	return p.Worker.Run(interrupt)
}

// Stop implements [worker.Worker].
func (p *pair) Stop() {
	p.checkIns.Stop()
	p.zones.stop()
	p.Worker.Stop()
	p.handOver()
	p.releases.Stop()
}

// handOver hands over the alerts that are left when the worker has stopped.
func (p *pair) handOver() {
	ctx, cancel := context.WithTimeout(context.Background(), lastAlerts)
	defer cancel()
	p.courier.Stop(ctx)
}
