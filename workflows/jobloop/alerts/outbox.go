package alerts

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"almanac/activities/notify"
	"almanac/job/notification"
	"almanac/workflows"
	"almanac/workflows/notifier"
)

// againAfter is the pause after a hand-over that the server does not repeat.
const againAfter = time.Minute

// HandOver hands over what is in the outbox, in a coroutine, unless it does so already. The activity begins in the
// workflow task that calls HandOver. If the run continues as new meanwhile, the next one has the alerts in its outbox,
// and their ids make the repetition harmless.
func (r *Raiser) HandOver(ctx workflow.Context) {
	outbox := &r.State.Outbox
	taken := outbox.Take()
	if taken == nil {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancelled workflow ends with what it has to end
	workflow.Go(ctx, func(ctx workflow.Context) {
		for ; taken != nil; taken = outbox.Take() {
			err := notifier.Raise(ctx, r.Key.Collection, taken)
			if err != nil {
				workflow.GetLogger(ctx).Warn("alerts were not handed over", "job", r.Key.ARMID(), "alerts", len(taken), "error", err)
				_ = workflow.Sleep(ctx, againAfter) // it is never cancelled
			}
			outbox.HandedOver(err == nil)
		}
	})
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
	for number, part := range notification.Split(r.State.Outbox.All()) {
		if len(part) > 0 {
			shard := notification.Shard{Collection: r.Key.Collection, Number: number}
			all = append(all, sent{workflow.SignalExternalWorkflow(ctx, shard.WorkflowID(), "", workflows.SignalRaise, part), len(part)})
		}
	}
	return func() {
		unknown := 0
		for _, s := range all {
			if len(r.State.Outbox.All()) > 0 && (!s.arrived.IsReady() || s.arrived.Get(ctx, nil) != nil) {
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
