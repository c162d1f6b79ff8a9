package alerts

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job"
	"almanac/job/notification"
	"almanac/workflows"
)

// A Courier hands the alerts of a worker's jobs over to the workflows that deliver them; see [notify.Courier].
type Courier interface {
	// Exchange takes what is in the outbox of a job, by the ID of the job's workflow, and returns what of it is known to
	// be handed over. It waits for nothing.
	Exchange(workflowID string, k job.CollectionKey, offered []notification.Raised) notify.Exchanged
}

type courierKey struct{}

// WithCourier returns a context for the workflow of a job whose alerts are handed over by a courier.
func WithCourier(ctx workflow.Context, c Courier) workflow.Context {
	return workflow.WithValue(ctx, courierKey{}, c)
}

// CourierOf returns the courier that the context has; nil for none.
func CourierOf(ctx workflow.Context) Courier {
	c, _ := ctx.Value(courierKey{}).(Courier)
	return c
}

// A job asks after the time that the courier says whether its alerts were handed over. If they were not, and none is
// new, it asks less and less often: after leastPause, and up to mostPause.
const (
	leastPause = 30 * time.Second
	mostPause  = 10 * time.Minute
)

// Resume begins to hand over what the run before has left in the outbox.
func (r *Raiser) Resume() { r.raised = !r.State.Outbox.Empty() }

// Raised reports whether HandOver has something to offer.
func (r *Raiser) Raised() bool { return r.raised }

// AskAt returns when HandOver is to be called at the latest; zero for never.
func (r *Raiser) AskAt() time.Time { return r.again }

// HandOver has the worker's courier hand over what was raised since it was last called. If it is time to ask, it takes
// out of the outbox what was handed over, and offers the rest again. It costs a marker in the workflow task in which it
// is called, and no more.
func (r *Raiser) HandOver(ctx workflow.Context) {
	if r.raised || !r.again.IsZero() && !workflow.Now(ctx).Before(r.again) {
		r.exchange(ctx)
	}
}

// exchange offers what is in the outbox to the worker's courier, and removes what was handed over. The courier takes
// the rest when the server has recorded this workflow task, and with it the outbox. If the task is repeated, or the
// next one is another worker's, the ids of the alerts make the repetition harmless.
func (r *Raiser) exchange(ctx workflow.Context) {
	if r.raised {
		r.pause = 0
	}
	r.raised, r.again = false, time.Time{}
	outbox := &r.State.Outbox
	for offered := outbox.Offer(); offered != nil; offered = outbox.Offer() {
		var got notify.Exchanged
		err := workflow.SideEffect(ctx, func(ctx workflow.Context) any {
			if r.Courier == nil {
				return notify.Exchanged{}
			}
			return r.Courier.Exchange(workflow.GetInfo(ctx).WorkflowExecution.ID, r.Key.Collection, offered)
		}).Get(&got)
		if err != nil {
			workflow.GetLogger(ctx).Error("what was recorded of alerts cannot be read", "job", r.Key.ARMID(), "error", err)
		}
		outbox.HandedOver(got.HandedOver)
		if len(got.HandedOver) < len(offered) {
			r.askAfter(workflow.Now(ctx), &got)
			return
		}
	}
}

// askAfter sets when to ask again.
func (r *Raiser) askAfter(now time.Time, got *notify.Exchanged) {
	if len(got.HandedOver) > 0 {
		r.pause = 0
	}
	r.pause = min(max(2*r.pause, leastPause), mostPause)
	r.again = now.Add(max(got.Again, r.pause))
}

// Leave sends what is in the outbox of a job that is deleted, without waiting for it: the server passes signals on
// while the workflow runs. The returned function counts the alerts as lost of which it is not known by then that they
// have arrived.
func (r *Raiser) Leave(ctx workflow.Context) (left func()) {
	type sent struct {
		arrived workflow.Future
		alerts  int
	}
	var all []sent
	r.exchange(ctx) // most has arrived
	for number, part := range notification.Split(r.State.Outbox.All()) {
		if len(part) > 0 {
			shard := notification.Shard{Collection: r.Key.Collection, Number: number}
			all = append(all, sent{workflow.SignalExternalWorkflow(ctx, shard.WorkflowID(), "", workflows.SignalRaise, part), len(part)})
		}
	}
	return func() {
		unknown := 0
		for _, s := range all {
			if !s.arrived.IsReady() || s.arrived.Get(ctx, nil) != nil {
				unknown += s.alerts
			}
		}
		if unknown > 0 {
			r.lost(ctx, unknown, "the job was deleted before it is known that they were handed over")
		}
	}
}

// lost logs and counts alerts that were lost.
func (r *Raiser) lost(ctx workflow.Context, alerts int, why string) {
	workflow.GetLogger(ctx).Warn("alerts are lost", "job", r.Key.ARMID(), "alerts", alerts, "error", why)
	workflow.GetMetricsHandler(ctx).WithTags(map[string]string{"where": "job"}).Counter(notify.LostCounter).Inc(int64(alerts))
}
