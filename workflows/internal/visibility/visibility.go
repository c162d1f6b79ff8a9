// Package visibility keeps what Temporal's lists, Web UI and CLI show of a job.
package visibility

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// ShowState updates the search attribute of a job's state, and in the same command that of its last outcome: see
// ShowOutcome.
func ShowState(ctx workflow.Context, k *job.Key, s job.State, o *job.Outcomes, listed *job.Outcome) {
	state := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState).ValueSet(string(s))
	upsert(ctx, k, append(outcome(ctx, o, listed), state))
}

// ShowOutcome updates the search attributes of a job's last outcome and of its next run, zero for none, if they are not those
// that are listed, which are then these.
func ShowOutcome(ctx workflow.Context, k *job.Key, o *job.Outcomes, listed *job.Outcome, next time.Time, listedNext *time.Time) {
	changed := outcome(ctx, o, listed)
	if key := temporal.NewSearchAttributeKeyTime(workflows.AttributeNextRun); !next.Equal(*listedNext) {
		if *listedNext = next; next.IsZero() {
			changed = append(changed, key.ValueUnset())
		} else {
			changed = append(changed, key.ValueSet(next))
		}
	}
	if len(changed) > 0 {
		upsert(ctx, k, changed)
	}
}

// outcome returns the update of the last outcome; none if it is listed. A job that was started without the search
// attribute gets none: the namespace may lack it, and the server would refuse the workflow task. The value that the SDK
// has is not read, since the SDK (1.50) writes it into the event from which it was read: another replay of the same
// events would find it changed.
func outcome(ctx workflow.Context, o *job.Outcomes, listed *job.Outcome) []temporal.SearchAttributeUpdate {
	key := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)
	_, exists := workflow.GetTypedSearchAttributes(ctx).GetKeyword(key)
	if !exists || o.LastOutcome == nil || *listed == o.LastOutcome.Status {
		return nil
	}
	*listed = o.LastOutcome.Status
	return []temporal.SearchAttributeUpdate{key.ValueSet(string(*listed))}
}

func upsert(ctx workflow.Context, k *job.Key, changed []temporal.SearchAttributeUpdate) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, changed...); err != nil {
		workflow.GetLogger(ctx).Warn("the search attributes could not be updated", "job", k.ARMID(), "error", err)
	}
}

// ShowOutline updates the memo's outline of a job.
func ShowOutline(ctx workflow.Context, k *job.Key, o job.Outline) {
	if err := workflow.UpsertMemo(ctx, map[string]any{workflows.MemoOutline: o}); err != nil {
		workflow.GetLogger(ctx).Warn("the job's outline could not be shown", "job", k.ARMID(), "error", err)
	}
}

// ShowText updates the memo's description of a job.
func ShowText(ctx workflow.Context, k *job.Key, text string) {
	upsertMemo(ctx, k, workflows.MemoText, text)
}

// ShowHalted updates the memo's reason why a job was disabled after failures; "" removes it.
func ShowHalted(ctx workflow.Context, k *job.Key, why string) {
	if why == "" {
		upsertMemo(ctx, k, workflows.MemoHalted, nil)
		return
	}
	upsertMemo(ctx, k, workflows.MemoHalted, why)
}

func upsertMemo(ctx workflow.Context, k *job.Key, name string, value any) {
	if err := workflow.UpsertMemo(ctx, map[string]any{name: value}); err != nil {
		workflow.GetLogger(ctx).Warn("the job's memo could not be updated", "job", k.ARMID(), "error", err)
	}
}
