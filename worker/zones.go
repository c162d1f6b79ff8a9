package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/timetable"
	"almanac/recurrence"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
	"almanac/workflows/plan"
)

// A worker that has a newer release of the time zone database than the one by which jobs were planned asks these to
// plan again: those of its zones whose rules differ. It looks for them when it starts, and then every hour, since an
// API or a worker with an older release may have planned others. The jobs that are due within an hour come first. Any
// number of workers may do so.
const (
	sweepEvery = time.Hour
	sweepRetry = 10 * time.Second       // after an error
	soon       = time.Hour              // what is due within it is asked first
	askPause   = 100 * time.Millisecond // between two jobs: each costs a workflow task
	sweepPage  = 500

	// sweepFailures is after how many errors in a row no further jobs are asked: it is not the jobs, then.
	sweepFailures = 10

	// watchEvery is how often a worker looks whether others have another release. The server names workers for five
	// minutes after their last poll; those that have not polled for pollerFresh have stopped.
	watchEvery  = time.Minute
	pollerFresh = 90 * time.Second
)

// identityMark is before the release in the identity of a worker, which the server shows to all who ask for a task
// queue's workers.
const identityMark = ", time zones "

// identity returns the identity of this worker. It is also in the history of each workflow whose tasks it did.
func identity(release string) string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%d@%s%s%s", os.Getpid(), host, identityMark, cmp.Or(release, "of an unknown release"))
}

// zones has jobs planned again, and compares the releases of the workers. A nil one does nothing.
type zones struct {
	client    client.Client
	converter converter.DataConverter
	log       *slog.Logger
	now       func() time.Time
	show      func(workers map[string]int) // by release
	differ    string                       // releases of the workers that were reported last

	cancel context.CancelFunc
	done   chan struct{}
}

// newZones returns the zones of a worker; nil if it does not know the release of its time zones.
func newZones(o *Options) *zones {
	if recurrence.CurrentZones() == nil {
		return nil
	}
	return &zones{
		client: o.Client.Client, converter: cmp.Or(o.Converter, converter.GetDefaultDataConverter()), log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		now: time.Now, show: o.Telemetry.ZoneWorkers(),
	}
}

func (z *zones) start() {
	if z == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	z.cancel, z.done = cancel, make(chan struct{})
	go func() {
		defer close(z.done)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for wfclient.Sleep(ctx, watchEvery) == nil {
				z.watch(ctx)
			}
		}()
		for again := true; again; {
			pause := sweepEvery + rand.N(sweepEvery/4)
			asked, err := z.sweep(ctx)
			if err != nil && ctx.Err() == nil {
				z.log.WarnContext(ctx, "not all jobs could be asked to plan again with newer time zones; this is tried again", "asked", asked, "error", err)
				pause = sweepRetry
			}
			if asked > 0 {
				z.log.InfoContext(ctx, "jobs were asked to plan again, since the rules of their time zones have changed", "asked", asked, "release", recurrence.CurrentZones().Release())
			}
			again = wfclient.Sleep(ctx, pause) == nil
		}
		<-watched
	}()
}

func (z *zones) stop() {
	if z == nil || z.cancel == nil {
		return
	}
	z.cancel()
	<-z.done
}

// An outdated job was planned by an older release, in which its zone has other rules.
type outdated struct {
	id      string
	zone    plan.Zone
	next    time.Time // by this worker's time zones
	delayed bool      // its workflow has not begun
}

// sweep asks all jobs that are outdated to plan again, and returns how many it has asked.
func (z *zones) sweep(ctx context.Context) (asked int, err error) {
	jobs, err := z.outdated(ctx)
	if err != nil {
		return 0, err
	}
	// Workers that start together ask in different orders, so that each finds most of what another one has done.
	rand.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	near := z.now().Add(soon)
	slices.SortStableFunc(jobs, func(a, b outdated) int {
		if a.next.After(near) && b.next.After(near) {
			return 0
		}
		return a.next.Compare(b.next)
	})
	var failed error // the last one
	for inRow, i := 0, 0; i < len(jobs) && inRow < sweepFailures; i++ {
		one := &jobs[i]
		found, err := z.client.DescribeWorkflowExecution(ctx, one.id, "")
		if err == nil && z.outdatedJob(found.GetWorkflowExecutionInfo()) == nil {
			continue // it has ended, or another worker was quicker
		}
		if err == nil {
			err = z.ask(ctx, one)
		}
		if err != nil && !wfclient.IsNotFound(err) {
			failed = fmt.Errorf("%s: %w", one.id, err)
			inRow++
		} else {
			asked, inRow = asked+1, 0
		}
		if err := wfclient.Sleep(ctx, askPause); err != nil {
			return asked, err
		}
	}
	return asked, failed
}

// ask asks a job to plan again. One whose start is delayed begins, since only so does it get the signal;
// scheduler.Service.begin says more.
func (z *zones) ask(ctx context.Context, one *outdated) error {
	if !one.delayed {
		return z.client.SignalWorkflow(ctx, one.id, "", workflows.SignalZones, one.zone)
	}
	_, err := z.client.SignalWithStartWorkflow(ctx, one.id, workflows.SignalZones, one.zone, client.StartWorkflowOptions{
		ID: one.id, TaskQueue: workflows.TaskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflows.TypeJob, state.Input{}) // it starts none: a workflow with this input would end at once
	return err
}

// outdated returns the jobs that are outdated, from Temporal's lists.
func (z *zones) outdated(ctx context.Context) (jobs []outdated, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: "WorkflowType = '" + workflows.TypeJob + "' AND ExecutionStatus = 'Running'", PageSize: sweepPage,
	}
	for {
		page, err := z.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			if one := z.outdatedJob(e); one != nil {
				jobs = append(jobs, *one)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return jobs, nil
		}
	}
}

// outdatedJob returns the job of a workflow if it is outdated; otherwise nil.
func (z *zones) outdatedJob(e *workflowpb.WorkflowExecutionInfo) *outdated {
	id := e.GetExecution().GetWorkflowId()
	memo := e.GetMemo().GetFields()[workflows.MemoOutline]
	if memo == nil || e.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil
	}
	var o job.Outline
	if err := wfclient.ConverterFor(z.converter, id).FromPayloads(&common.Payloads{Payloads: []*common.Payload{memo}}, &o); err != nil {
		return nil
	}
	if o.ZoneRules == "" || o.Inactive || o.Recurrence == nil {
		return nil
	}
	t, err := timetable.NominalFromOutline(&o) // which zones matter, and about when, does not depend on calendars
	if err != nil {
		return nil // the zone is unknown here
	}
	release, rules := t.Zone()
	planned := plan.Zone{Release: o.Zones, Rules: o.ZoneRules}
	if !planned.Outdated(release, rules) {
		return nil
	}
	next, _ := t.After(z.now())
	return &outdated{id: id, zone: plan.Zone{Release: release, Rules: rules}, next: next, delayed: e.GetExecutionTime().AsTime().After(z.now())}
}

// watch reports workers whose time zones are those of another release.
func (z *zones) watch(ctx context.Context) {
	queue, err := z.client.DescribeTaskQueue(ctx, workflows.TaskQueue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return
	}
	count := map[string]int{}
	for _, p := range queue.GetPollers() {
		if z.now().Sub(p.GetLastAccessTime().AsTime()) < pollerFresh {
			_, release, _ := strings.Cut(p.GetIdentity(), identityMark)
			count[cmp.Or(release, "unknown")]++
		}
	}
	z.show(count)
	releases := slices.Sorted(maps.Keys(count))
	text := strings.Join(releases, ", ")
	if len(releases) > 1 && text != z.differ {
		z.log.WarnContext(ctx, "workers have time zones of different releases: give all the same version of Almanac, and the same --zoneinfo", "releases", text)
	}
	z.differ = text
}
