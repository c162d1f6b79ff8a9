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
// [Listing].
func ShowState(ctx workflow.Context, k *job.Key, s job.State, optional Optional, o *job.Outcomes, listed *job.Outcome) {
	state := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeState).ValueSet(string(s))
	upsert(ctx, k, append(outcome(optional, o, listed), state))
}

// Optional says which of the optional search attributes a job was started with. Others get no value: the namespace may
// lack them, and the server would refuse the workflow task.
type Optional struct {
	Recorded    bool `json:"recorded,omitempty"` // the others are known
	LastOutcome bool `json:"lastOutcome,omitempty"`
	OutlineTime bool `json:"outlineTime,omitempty"`
}

// Record returns o as recorded, by the first run of a job, in its history. What the SDK says in a replay does not do:
// an attribute that the namespace has lost is missing from the events, too. The value that the SDK has of an attribute
// is not read, since the SDK (1.50) writes it into the event from which it was read: another replay of the same events
// would find it changed.
func (o Optional) Record(ctx workflow.Context) (Optional, error) {
	if o.Recorded {
		return o, nil
	}
	err := workflow.SideEffect(ctx, func(ctx workflow.Context) any {
		started := workflow.GetTypedSearchAttributes(ctx)
		return Optional{
			Recorded:    true,
			LastOutcome: started.ContainsKey(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)),
			OutlineTime: started.ContainsKey(temporal.NewSearchAttributeKeyTime(workflows.AttributeOutlineTime)),
		}
	}).Get(&o)
	return o, err
}

// A Listing is the state of a job that Temporal's lists show. Listed values are not written again.
type Listing struct {
	Optional   Optional
	Outcomes   *job.Outcomes
	Listed     *job.Outcome // the last outcome that is listed; set to the one of Outcomes
	Next       time.Time    // the next run, zero for none
	ListedNext *time.Time   // the next run that is listed; set to Next
	Outline    *job.Outline // nil if it has not changed
}

// Show updates what Temporal's lists show of a job.
func (p *Listing) Show(ctx workflow.Context, k *job.Key) {
	changed := outcome(p.Optional, p.Outcomes, p.Listed)
	if key := temporal.NewSearchAttributeKeyTime(workflows.AttributeNextRun); !p.Next.Equal(*p.ListedNext) {
		if *p.ListedNext = p.Next; p.Next.IsZero() {
			changed = append(changed, key.ValueUnset())
		} else {
			changed = append(changed, key.ValueSet(p.Next))
		}
	}
	if p.Outline != nil {
		upsertMemo(ctx, k, workflows.MemoOutline, *p.Outline)
		if p.Optional.OutlineTime {
			changed = append(changed, temporal.NewSearchAttributeKeyTime(workflows.AttributeOutlineTime).ValueSet(workflow.Now(ctx)))
		}
	}
	if len(changed) > 0 {
		upsert(ctx, k, changed)
	}
}

// outcome returns the update of the last outcome; none if it is listed.
func outcome(optional Optional, o *job.Outcomes, listed *job.Outcome) []temporal.SearchAttributeUpdate {
	key := temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)
	if !optional.LastOutcome || o.LastOutcome == nil || *listed == o.LastOutcome.Status {
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
