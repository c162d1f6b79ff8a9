// Package installation holds the workflow that keeps which workers of an installation were there: their starts, stops
// and losses, and when none was there.
//
// A worker announces itself by a signal. The workflow gives it an activity, whose heartbeats are the worker's check-ins
// ([almanac/activities/presence]), and takes what is known of the worker when that ends. So a check-in costs the workflow
// nothing, and a worker about ten events from its start to its end, or to the end of the run. A worker that stops while no
// activity follows it says goodbye by a signal.
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
	// maxWaiting is how many workers wait until there is room: those that announced themselves last.
	maxWaiting = 50
	// arrivalsPerRun and signalsPerRun are after how many workers that come, and after how many signals, a run continues
	// as new, if the server does not suggest it before. A signal without effect costs four events, a worker about twelve.
	arrivalsPerRun = 300
	signalsPerRun  = 1000

	// takenWithin is how long a worker has to take its activity.
	takenWithin = 30 * time.Second
	// longest is how long a worker is followed by one activity at most.
	longest = 365 * 24 * time.Hour
)

// Input is the input of a run of [Workflow].
type Input struct {
	presence.State
	Here    []presence.Worker `json:"here,omitempty"`    // that are to be followed
	Waiting []Announced       `json:"waiting,omitempty"` // that are followed when there is room, in the order in which they came
}

// An Announced is a worker that announced itself.
type Announced struct {
	presence.Worker
	At time.Time `json:"at"`
}

// Workflow keeps which workers were there. It does not end.
func Workflow(ctx workflow.Context, in Input) error {
	i := &installation{Input: in, here: in.Here, followed: map[string]*follower{}}
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
	i.goodbyes = await.Signals(ctx, workflows.SignalGone, "a worker stops that no activity follows")
	return i.run(ctx)
}

type installation struct {
	Input
	here     []presence.Worker    // that are followed, or are to be
	followed map[string]*follower // by the worker's ID
	signals  workflow.ReceiveChannel
	goodbyes workflow.ReceiveChannel
	arrived  int  // workers that came in this run
	received int  // signals of this run
	changed  bool // wakes the loop
	over     bool // no other activity begins in this run
}

// A follower follows a worker by one activity after the other.
type follower struct {
	cancel  workflow.CancelFunc
	goodbye *presence.Segment // what the worker said when it stopped; nil: nothing
}

// run follows the workers that are there until the run is long, and hands them over to the next one.
func (i *installation) run(ctx workflow.Context) error {
	following, handOver := workflow.WithCancel(ctx)
	for _, w := range i.here {
		i.follow(following, Announced{Worker: w, At: workflow.Now(ctx).UTC()})
	}
	for !i.long(ctx) {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d workers", len(i.here)))
		err := workflow.Await(ctx, func() bool { return i.changed || i.signals.Len() > 0 || i.goodbyes.Len() > 0 })
		if err != nil {
			return err
		}
		i.changed = false
		for _, w := range i.receive(ctx) {
			i.follow(following, w)
		}
		i.receiveGoodbyes(ctx)
		for _, w := range i.admit() {
			i.follow(following, w)
		}
	}
	i.over = true
	handOver()
	if err := workflow.Await(ctx, func() bool { return len(i.followed) == 0 }); err != nil {
		return err
	}
	i.receive(ctx)
	i.receiveGoodbyes(ctx)
	i.Here = i.here
	return workflow.NewContinueAsNewError(ctx, workflows.TypeInstallation, i.Input)
}

func (i *installation) long(ctx workflow.Context) bool {
	return i.arrived >= arrivalsPerRun || i.received >= signalsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// receive takes the signals that wait, and returns the workers that are new and have room. Others wait.
func (i *installation) receive(ctx workflow.Context) (arrived []Announced) {
	for i.signals.Len() > 0 {
		var w presence.Worker
		i.signals.ReceiveAsync(&w)
		i.received++
		w = w.Bounded()
		if w.ID == "" || w.Queue == "" || i.find(w.ID) >= 0 {
			continue
		}
		i.forget(w.ID)
		one := Announced{Worker: w, At: workflow.Now(ctx).UTC()}
		if len(i.here) < maxHere {
			i.arrived++
			i.here, arrived = append(i.here, w), append(arrived, one)
			continue
		}
		i.Waiting = append(i.Waiting, one)
		i.Waiting = i.Waiting[max(0, len(i.Waiting)-maxWaiting):]
	}
	return arrived
}

// admit returns the workers that waited and have room now, the last to come first: it is the likeliest to be there.
func (i *installation) admit() (admitted []Announced) {
	for len(i.Waiting) > 0 && len(i.here) < maxHere {
		last := len(i.Waiting) - 1
		one := i.Waiting[last]
		i.Waiting = i.Waiting[:last]
		i.arrived++
		i.here, admitted = append(i.here, one.Worker), append(admitted, one)
	}
	return admitted
}

// forget has a worker wait no more.
func (i *installation) forget(id string) {
	i.Waiting = slices.DeleteFunc(i.Waiting, func(w Announced) bool { return w.ID == id })
}

// receiveGoodbyes takes the goodbyes that wait. A worker that is followed is gone when its activity has ended.
func (i *installation) receiveGoodbyes(ctx workflow.Context) {
	for i.goodbyes.Len() > 0 {
		var span presence.Span
		i.goodbyes.ReceiveAsync(&span)
		i.received++
		at := i.find(span.ID)
		if at < 0 {
			i.forget(span.ID)
			continue
		}
		span.End, span.Gaps = presence.Stopped, span.Gaps[:min(len(span.Gaps), presence.MaxGaps)]
		if f := i.followed[span.ID]; f != nil {
			f.goodbye = &span.Segment
			f.cancel()
			continue
		}
		in := checkins.Input{Worker: i.here[at], Announced: workflow.Now(ctx).UTC()}
		i.gone(ctx, in.SpanOf(span.Segment, nil, nil))
	}
}

func (i *installation) find(id string) int {
	return slices.IndexFunc(i.here, func(w presence.Worker) bool { return w.ID == id })
}

// gone notes that a worker is not there any more.
func (i *installation) gone(ctx workflow.Context, span presence.Span) {
	i.Add(span, workflow.Now(ctx))
	at := i.find(span.ID)
	i.here = slices.Delete(i.here, at, at+1)
}

// follow has a worker check in, until it is gone or handed over.
func (i *installation) follow(ctx workflow.Context, announced Announced) {
	w := announced.Worker
	options := workflow.ActivityOptions{
		TaskQueue: w.Queue, ScheduleToStartTimeout: takenWithin, StartToCloseTimeout: longest,
		HeartbeatTimeout: checkins.LostAfter, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: w.Identity,
	}
	ctx, cancel := workflow.WithCancel(ctx)
	f := &follower{cancel: cancel}
	i.followed[w.ID] = f
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer func() {
			delete(i.followed, w.ID)
			i.changed = true
		}()
		for in := (checkins.Input{Worker: w, Announced: announced.At}); ; in.Announced = workflow.Now(ctx).UTC() {
			var result presence.Segment
			err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), checkins.TypePresent, in).Get(ctx, &result)
			span := in.SpanOf(result, err, f.goodbye)
			if span.End != presence.Continues {
				i.gone(ctx, span)
				return
			}
			i.Add(span, workflow.Now(ctx))
			if i.over && f.goodbye == nil {
				return
			}
			i.changed = true // the run may be long
		}
	})
}
