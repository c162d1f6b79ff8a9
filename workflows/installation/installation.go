// Package installation holds the workflow that keeps which workers of an installation were there: their starts, stops
// and losses, and when none was there.
//
// A worker announces itself by a signal. The workflow gives it an activity, whose heartbeats are the worker's check-ins
// ([almanac/activities/presence]), and takes what is known of the worker when that ends. So a check-in costs the workflow
// nothing, and a worker about ten events from its start to its end.
package installation

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	checkins "almanac/activities/presence"
	"almanac/job/presence"
	"almanac/workflows"
	"almanac/workflows/internal/await"
)

const (
	// maxHere is how many workers are followed at a time. Further ones announce themselves until there is room.
	maxHere = 200
	// signalsPerRun is after how many signals a run continues as new, if the server does not suggest it before.
	signalsPerRun = 300

	// takenWithin is how long a worker has to take its activity.
	takenWithin = 30 * time.Second
	// longest is how long a worker is followed by one activity at most.
	longest = 365 * 24 * time.Hour
)

// Input is the input of a run of [Workflow].
type Input struct {
	presence.State
	Here []presence.Worker `json:"here,omitempty"` // that are to be followed
}

// Workflow keeps which workers were there. It does not end.
func Workflow(ctx workflow.Context, in Input) error {
	i := &installation{Input: in, here: in.Here}
	i.Here = nil
	if i.Since.IsZero() {
		i.Since = workflow.Now(ctx).UTC()
	}
	err := workflow.SetQueryHandlerWithOptions(ctx, workflows.QueryWorkers, func() (presence.State, error) { return i.State, nil },
		workflow.QueryHandlerOptions{Description: "the workers that have gone, and when"})
	if err != nil {
		return err
	}
	i.signals = await.Signals(ctx, workflows.SignalWorker, "a worker is there")
	return i.run(ctx)
}

type installation struct {
	Input
	here     []presence.Worker // that are followed, or are to be
	followed int               // activities that have not ended
	signals  workflow.ReceiveChannel
	received int  // signals of this run
	changed  bool // wakes the loop
	over     bool // no other activity begins in this run
}

// run follows the workers that are there until the run is long, and hands them over to the next one.
func (i *installation) run(ctx workflow.Context) error {
	following, handOver := workflow.WithCancel(ctx)
	for _, w := range i.here {
		i.follow(following, w)
	}
	for !i.long(ctx) {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d workers", len(i.here)))
		err := workflow.Await(ctx, func() bool { return i.changed || i.signals.Len() > 0 })
		if err != nil {
			return err
		}
		i.changed = false
		for _, w := range i.receive() {
			i.follow(following, w)
		}
	}
	i.over = true
	handOver()
	if err := workflow.Await(ctx, func() bool { return i.followed == 0 }); err != nil {
		return err
	}
	i.receive()
	i.Here = i.here
	return workflow.NewContinueAsNewError(ctx, workflows.TypeInstallation, i.Input)
}

func (i *installation) long(ctx workflow.Context) bool {
	return i.received >= signalsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// receive takes the signals that wait, and returns the workers that are new.
func (i *installation) receive() (arrived []presence.Worker) {
	for i.signals.Len() > 0 {
		var w presence.Worker
		i.signals.ReceiveAsync(&w)
		i.received++
		w = w.Bounded()
		if w.ID != "" && w.Queue != "" && i.find(w.ID) < 0 && len(i.here) < maxHere {
			i.here, arrived = append(i.here, w), append(arrived, w)
		}
	}
	return arrived
}

func (i *installation) find(id string) int {
	return slices.IndexFunc(i.here, func(w presence.Worker) bool { return w.ID == id })
}

// follow has a worker check in, until it is gone or handed over.
func (i *installation) follow(ctx workflow.Context, w presence.Worker) {
	options := workflow.ActivityOptions{
		TaskQueue: w.Queue, ScheduleToStartTimeout: takenWithin, StartToCloseTimeout: longest,
		HeartbeatTimeout: checkins.LostAfter, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: w.Identity,
	}
	i.followed++
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			in := checkins.Input{Worker: w, Announced: workflow.Now(ctx).UTC()}
			var result presence.Segment
			err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), checkins.TypePresent, in).Get(ctx, &result)
			span := in.SpanOf(result, err)
			i.Add(span, workflow.Now(ctx))
			switch {
			case span.End != presence.Continues:
				at := i.find(w.ID)
				i.here = slices.Delete(i.here, at, at+1)
			case !i.over:
				continue
			}
			i.followed--
			i.changed = true
			return
		}
	})
}
