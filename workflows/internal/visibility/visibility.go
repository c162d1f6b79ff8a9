// Package visibility keeps what Temporal's lists show of a job.
package visibility

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// ShowState updates the search attribute of a job's state, and in the same command that of its last outcome.
func ShowState(ctx workflow.Context, k *job.Key, s job.State, o *job.Outcomes) {
	state := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState).ValueSet(string(s))
	upsert(ctx, k, append(outcome(ctx, o), state))
}

// ShowOutcome updates the search attribute of a job's last outcome if it is another one than before.
func ShowOutcome(ctx workflow.Context, k *job.Key, o *job.Outcomes) {
	if changed := outcome(ctx, o); len(changed) > 0 {
		upsert(ctx, k, changed)
	}
}

// outcome returns the update of the last outcome; none if it is the one that is shown. A job that was started without
// the search attribute gets none: the namespace may lack it, and the server would refuse the workflow task.
func outcome(ctx workflow.Context, o *job.Outcomes) []temporal.SearchAttributeUpdate {
	key := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)
	shown, ok := workflow.GetTypedSearchAttributes(ctx).GetKeyword(key)
	if !ok || o.LastOutcome == nil || shown == string(o.LastOutcome.Status) {
		return nil
	}
	return []temporal.SearchAttributeUpdate{key.ValueSet(string(o.LastOutcome.Status))}
}

func upsert(ctx workflow.Context, k *job.Key, changed []temporal.SearchAttributeUpdate) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, changed...); err != nil {
		workflow.GetLogger(ctx).Warn("the search attributes could not be updated", "job", k.ARMID(), "error", err)
	}
}

// ShowText updates the memo's description of a job.
func ShowText(ctx workflow.Context, k *job.Key, text string) {
	if err := workflow.UpsertMemo(ctx, map[string]any{workflows.MemoText: text}); err != nil {
		workflow.GetLogger(ctx).Warn("the job's description could not be shown", "job", k.ARMID(), "error", err)
	}
}
