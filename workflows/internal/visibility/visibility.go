// Package visibility keeps what Temporal's lists show of a job.
package visibility

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"almanac/job"
	"almanac/workflows"
)

// ShowState updates the search attribute of a job's state.
func ShowState(ctx workflow.Context, k *job.Key, s job.State) {
	state := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState).ValueSet(string(s))
	if err := workflow.UpsertTypedSearchAttributes(ctx, state); err != nil {
		workflow.GetLogger(ctx).Warn("the state could not be shown", "job", k.ARMID(), "error", err)
	}
}

// ShowText updates the memo's description of a job.
func ShowText(ctx workflow.Context, k *job.Key, text string) {
	if err := workflow.UpsertMemo(ctx, map[string]any{workflows.MemoText: text}); err != nil {
		workflow.GetLogger(ctx).Warn("the job's description could not be shown", "job", k.ARMID(), "error", err)
	}
}
